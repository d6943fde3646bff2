//! Tests that an indexed trace is equivalent to its text form.

use std::fmt::Write as _;
use std::fs;

use warpweave_accel_sim::{Quirks, is_accel_sim};

use crate::imported;

const HEADER: &str = "-kernel name = k\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n-shmem = 0\n\
                      -nregs = 8\n-binary version = 90\n-cuda stream id = 0\n";

type Series = Vec<Vec<String>>;

fn lines(block: u32, warp: u32) -> Series {
    let load = |pc: u32| {
        let address = 0x7f00_0000_0000_u64 + u64::from(1000 * block + 100 * warp + pc);
        format!("{pc:04x} ffffffff 1 R4 LDG.E 1 R2 4 1 {address:#x} 4 0\n")
    };
    let exit = "0100 ffffffff 0 EXIT 0 0 0\n".to_owned();
    vec![vec![load(0), load(16)], vec![load(32)], vec![exit]]
}

/// Returns an indexed trace with these blocks of two warps each.
fn packed(blocks: [u32; 2], dictionary: &[u8]) -> Vec<u8> {
    let mut file = [HEADER.as_bytes(), &[0]].concat();
    let mut index = 2_u32.to_le_bytes().to_vec();
    let put = |to: &mut Vec<u8>, number: usize| to.extend((number as u32).to_le_bytes());
    put(&mut file, dictionary.len());
    put(&mut file, 2);
    file.extend(dictionary);
    for block in blocks {
        put(&mut index, block as usize);
        (0..9).for_each(|_| put(&mut index, 0));
        put(&mut index, 2);
        for warp in 0..2 {
            let series = lines(block, warp);
            let count = series.iter().map(Vec::len).sum();
            for to in [&mut index, &mut file] {
                put(to, count);
                put(to, series.len());
            }
            let offset = file.len() as u64 - 8;
            index.extend(offset.to_le_bytes());
            for lines in &series {
                put(&mut index, lines.len());
                let mut packer =
                    zstd::bulk::Compressor::with_dictionary(3, dictionary).expect("a packer");
                let frame = packer.compress(lines.concat().as_bytes()).expect("packed");
                put(&mut file, frame.len());
                file.extend(frame);
            }
        }
    }
    let place = file.len() as u64;
    file.extend(index);
    file.extend(place.to_le_bytes());
    file
}

fn text(blocks: [u32; 2]) -> String {
    let mut text = format!("{HEADER}#\n");
    for block in blocks {
        write!(text, "#BEGIN_TB\nthread block = {block},0,0\n").expect("a string");
        for warp in 0..2 {
            let lines = lines(block, warp).concat().concat();
            write!(
                text,
                "warp = {warp}
insts = 4
{lines}"
            )
            .expect("a string");
        }
        text += "#END_TB\n";
    }
    text
}

#[test]
fn an_index_leads_to_the_warps_that_the_text_has() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plain = folder.path().join("kernel.traceg");
    fs::write(&plain, text([0, 1])).expect("it is written");
    let (plain, _) = imported(&plain, Quirks::default()).expect("it is read");
    let path = folder.path().join("kernel.tracez");
    for blocks in [[0, 1], [1, 0]] {
        fs::write(&path, packed(blocks, b"ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f"))
            .expect("it is written");
        assert!(is_accel_sim(&path));
        let (indexed, _) = imported(&path, Quirks::default()).expect("it is read");
        for place in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut texts = [String::new(), String::new()];
            for (text, program) in texts.iter_mut().zip([&plain, &indexed]) {
                let kernel = &program.kernels[0];
                kernel
                    .write_dump(place.0, Some(place.1), text)
                    .expect("a string");
            }
            assert_eq!(texts[0], texts[1], "{place:?}");
        }
    }
}

#[test]
fn a_file_cut_short_or_changed_is_refused_or_read_but_nothing_worse() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kernel.tracez");
    let whole = packed([0, 1], b"some words that are used");
    for at in (0..whole.len()).step_by(3) {
        fs::write(&path, &whole[..at]).expect("it is written");
        assert!(imported(&path, Quirks::default()).is_err(), "{at}");
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        fs::write(&path, &changed).expect("it is written");
        let _ = imported(&path, Quirks::default());
    }
}
