//! File tests: round trips, and errors instead of panics for damaged files.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;
use warpweave_trace::{
    HostCommand, KernelTrace, Program, Storage, StreamWriter, TraceError, TraceFile, TraceWriter,
};

use crate::model::{Plain, PlainKernel, code, kernel, program, read};

/// Small chunks, so that few records fill several.
const SMALL: Storage = Storage {
    chunk_bytes: 64,
    compression_level: 1,
};

/// Returns all records of every wavefront.
fn records(kernel: &KernelTrace) -> Vec<Vec<crate::model::Seen>> {
    let mut all = Vec::new();
    for work_group in 0..kernel.work_groups() {
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            all.push(read(kernel, kernel.cursor(work_group, wavefront)));
        }
    }
    all
}

fn same(a: &Program, b: &Program) {
    assert_eq!(a.head(), b.head());
    assert_eq!(a.kernels.len(), b.kernels.len());
    for (a, b) in a.kernels.iter().zip(&b.kernels) {
        assert_eq!(a.code, b.code);
        assert_eq!((a.grid, a.block), (b.grid, b.block));
        assert_eq!(
            (a.dynamic_local_bytes, &a.arguments),
            (b.dynamic_local_bytes, &b.arguments)
        );
        assert_eq!((a.parent, &a.attributes), (b.parent, &b.attributes));
        assert_eq!(a.counts(), b.counts());
        assert_eq!(records(a), records(b));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_saved_program_opens_as_the_same_program(kernels in prop::collection::vec(kernel(), 0..3)) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("program.trace");
        let program = program(&kernels);
        let hash = program.save_as(&path, SMALL).unwrap();
        prop_assert_eq!(hash, program.hash());
        let opened = Program::open(&path).unwrap();
        same(&program, &opened);
        prop_assert_eq!(opened.hash(), hash);
    }

    #[test]
    fn a_program_whose_streams_stay_in_the_file_is_the_same_program(
        kernels in prop::collection::vec(kernel(), 1..3)
    ) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("program.trace");
        let program = program(&kernels);
        let hash = program.save_as(&path, SMALL).unwrap();
        let opened = TraceFile::open(&path).unwrap().program_holding(0).unwrap();
        let held: usize = opened.kernels.iter().map(|kernel| kernel.bytes()).sum();
        let entries: usize = program.kernels.iter().map(|kernel| kernel.bytes()).sum();
        prop_assert!(held < entries, "the streams are in memory");
        same(&program, &opened);
        prop_assert_eq!(opened.hash(), hash);
        // And once more, saved from there.
        let again = folder.path().join("again.trace");
        opened.save_as(&again, SMALL).unwrap();
        prop_assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&again).unwrap());
    }

    #[test]
    fn one_work_group_is_read_alone_as_it_is_in_the_whole(kernel in kernel()) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("program.trace");
        program(std::slice::from_ref(&kernel)).save_as(&path, SMALL).unwrap();
        let mut file = TraceFile::open(&path).unwrap();
        for (work_group, wavefront, written) in kernel.places() {
            let alone = file.work_group(0, work_group).unwrap();
            prop_assert_eq!(alone.work_groups(), 1);
            let expected: Vec<_> = written.iter().map(Plain::seen).collect();
            prop_assert_eq!(read(&alone, alone.cursor(0, wavefront)), expected);
        }
    }

    #[test]
    fn a_file_written_as_wavefronts_finish_is_the_file_saved_whole(
        kernel in kernel(), order in any::<prop::sample::Index>()
    ) {
        let folder = TempDir::new().unwrap();
        let (whole, streamed) = (folder.path().join("whole"), folder.path().join("streamed"));
        let program = program(std::slice::from_ref(&kernel));
        program.save_as(&whole, SMALL).unwrap();

        let mut places: Vec<_> = kernel.places().collect();
        let turn = order.index(places.len());
        places.rotate_left(turn);
        let mut file = TraceWriter::create(&streamed, SMALL).unwrap();
        let trace = &program.kernels[0];
        let mut writer = file
            .kernel(code(), trace.grid, trace.block, trace.dynamic_local_bytes, kernel.arguments.clone())
            .unwrap();
        for (work_group, wavefront, records) in places {
            let mut stream = StreamWriter::new();
            for record in records {
                record.write(&mut stream);
            }
            writer.finish_wavefront(work_group, wavefront, stream).unwrap();
        }
        prop_assert_eq!(writer.finish().unwrap(), 0);
        prop_assert_eq!(file.finish(program.head()).unwrap(), program.hash());
        prop_assert_eq!(std::fs::read(whole).unwrap(), std::fs::read(streamed).unwrap());
    }

    #[test]
    fn the_hash_ignores_how_the_file_is_laid_out(kernel in kernel(), level in 1..10_i32) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("program.trace");
        let program = program(&[kernel]);
        let storage = Storage { chunk_bytes: 1 << 20, compression_level: level };
        prop_assert_eq!(program.save_as(&path, storage).unwrap(), program.hash());
        prop_assert_eq!(program.save_as(&path, SMALL).unwrap(), program.hash());
    }

    #[test]
    fn the_hash_differs_when_any_record_does(
        kernel in kernel(), at in any::<prop::sample::Index>(), lane in 0..32_u32, kind in 0..4_u8
    ) {
        let before = program(std::slice::from_ref(&kernel)).hash();
        prop_assert_eq!(program(std::slice::from_ref(&kernel)).hash(), before);
        let mut changed = kernel.clone();
        let mut all: Vec<&mut Plain> = changed.streams.iter_mut().flatten().collect();
        prop_assume!(!all.is_empty());
        let at = at.index(all.len());
        let record = &mut *all[at];
        let was = record.seen();
        match (&mut record.addresses, kind) {
            (Some(addresses), 0) => addresses[lane as usize] ^= 4,
            (Some(_), 1) if record.space == warpweave_trace::Space::Global => {
                record.space = warpweave_trace::Space::Const;
            }
            (None, 2) => record.pc = (record.pc + 1) % crate::model::INSTRUCTIONS,
            _ => record.mask ^= 1 << lane,
        }
        let differs = record.seen() != was;
        prop_assert_eq!(program(&[changed]).hash() != before, differs);
    }

    #[test]
    fn damaged_bytes_are_an_error_and_never_a_panic(
        kernel in kernel(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4),
        cut in any::<prop::sample::Index>()
    ) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("program.trace");
        program(&[kernel]).save_as(&path, SMALL).unwrap();
        let good = std::fs::read(&path).unwrap();
        for (place, flip) in damage {
            let mut bad = good.clone();
            bad[place.index(good.len())] ^= flip;
            refused(&path, &bad)?;
        }
        refused(&path, &good[..cut.index(good.len())])?;
        refused(&path, &[&good[..], &[0]].concat())?;
    }
}

/// Checks that opening a file of these bytes fails with a file error.
fn refused(path: &Path, bytes: &[u8]) -> Result<(), TestCaseError> {
    std::fs::write(path, bytes).unwrap();
    let result = Program::open(path);
    prop_assert!(
        matches!(result, Err(TraceError::File { .. })),
        "{:?}",
        result.map(|p| p.hash())
    );
    Ok(())
}

fn small_program() -> Program {
    let streams = vec![Vec::new(); 2];
    program(&[PlainKernel {
        work_groups: 2,
        wavefronts: 1,
        arguments: vec![1],
        parent: None,
        streams,
    }])
}

#[test]
fn the_hash_depends_on_everything_around_the_records() {
    let hash = small_program().hash();
    let changes: [fn(&mut Program); 8] = [
        |program| program.name.push('x'),
        |program| program.allocations[0].base += 1,
        |program| program.commands.swap(0, 1),
        |program| program.front_end.quantum += 1,
        |program| program.front_end.seed += 1,
        |program| program.kernels.push(Arc::clone(&program.kernels[0])),
        |program| Arc::make_mut(&mut program.kernels[0]).arguments[0] = 2,
        |program| {
            let kernel = Arc::make_mut(&mut program.kernels[0]);
            Arc::make_mut(&mut kernel.code).instructions[7].line += 1;
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut program = small_program();
        change(&mut program);
        assert_ne!(program.hash(), hash, "change {number}");
    }
}

#[test]
fn records_that_move_to_another_wavefront_change_the_hash() {
    let step = Plain {
        pc: 0,
        mask: 1,
        space: warpweave_trace::Space::None,
        continues: false,
        addresses: None,
    };
    let with = |streams| {
        program(&[PlainKernel {
            work_groups: 2,
            wavefronts: 1,
            arguments: Vec::new(),
            parent: None,
            streams,
        }])
        .hash()
    };
    let one = vec![step.clone()];
    assert_ne!(
        with(vec![one.clone(), Vec::new()]),
        with(vec![Vec::new(), one])
    );
}

#[test]
fn errors_name_the_file_the_place_and_what_to_do() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("program.trace");
    let message = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let message = Program::open(&path).unwrap_err().to_string();
        message
            .strip_prefix(&format!("{}: ", path.display()))
            .unwrap()
            .to_owned()
    };
    small_program().save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    assert_eq!(message(&[0; 100]), "offset 0: not a program trace");
    assert_eq!(
        message(b"hello"),
        "offset 5: too short for a program trace; record the trace again"
    );
    let mut newer = good.clone();
    newer[8] = 9;
    assert_eq!(
        message(&newer),
        "offset 8: format version 9, but this program reads 4; record the trace again"
    );
    let mut chunk = good.clone();
    chunk[20] ^= 1;
    assert_eq!(
        message(&chunk),
        "offset 16: the chunk is damaged; record the trace again"
    );
    let cut = message(&good[..good.len() - 1]);
    assert!(
        cut.ends_with("the file is truncated; record the trace again"),
        "{cut}"
    );
    let missing = Program::open(folder.path().join("absent")).unwrap_err();
    assert!(matches!(missing, TraceError::Io { .. }), "{missing}");
}

#[test]
fn a_program_that_contradicts_itself_is_not_saved() {
    let folder = TempDir::new().unwrap();
    let refusal = |command| {
        let mut program = small_program();
        program.commands.push(command);
        program
            .save(folder.path().join("bad"))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal(HostCommand::Launch {
            kernel: 1,
            stream: 0
        }),
        "program random: host command 4: launches kernel 1, but the program has only 1 kernels"
    );
    assert_eq!(
        refusal(HostCommand::CopyToHost {
            allocation: 0,
            offset: 60,
            bytes: 5
        }),
        "program random: host command 4: copies 5 bytes at offset 60 of buffer, which has 64 bytes"
    );
}

#[test]
fn a_full_disk_keeps_the_older_trace() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("program.trace");
    let program = small_program();
    warpweave_files::check_full_disks(&path, || program.save(&path).map(drop));
    assert_eq!(Program::open(&path).unwrap().hash(), program.hash());
}

#[test]
fn asking_a_file_for_what_it_does_not_have_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("program.trace");
    small_program().save(&path).unwrap();
    let mut file = TraceFile::open(&path).unwrap();
    assert!(
        file.kernel(1)
            .unwrap_err()
            .to_string()
            .ends_with("no kernel 1: the trace has 1")
    );
    let message = file.work_group(0, 2).unwrap_err().to_string();
    assert!(
        message.ends_with("kernel 0 has work-groups 0 to 1, not 2"),
        "{message}"
    );
}

#[test]
fn who_launched_a_kernel_is_part_of_the_hash_and_of_the_file() {
    let mut plain = PlainKernel {
        work_groups: 2,
        wavefronts: 1,
        arguments: Vec::new(),
        parent: None,
        streams: vec![Vec::new(); 2],
    };
    let host = plain.clone();
    plain.parent = Some((0, 3));
    let child = program(&[host.clone(), plain.clone()]);
    assert_ne!(child.kernels[1].hash(), child.kernels[0].hash());
    plain.parent = Some((0, 4));
    assert_ne!(program(&[host.clone(), plain.clone()]).hash(), child.hash());

    let folder = TempDir::new().unwrap();
    let path = folder.path().join("streamed");
    let mut file = TraceWriter::create(&path, SMALL).unwrap();
    for kernel in &child.kernels {
        let mut writer = file
            .kernel(code(), kernel.grid, kernel.block, 128, Vec::new())
            .unwrap();
        if let Some(parent) = kernel.parent {
            writer = writer
                .launched_by(parent)
                .saying(kernel.attributes[0].clone());
        }
        for work_group in 0..2 {
            writer
                .finish_wavefront(work_group, 0, StreamWriter::new())
                .unwrap();
        }
        writer.finish().unwrap();
    }
    assert_eq!(file.finish(child.head()).unwrap(), child.hash());
    same(&Program::open(&path).unwrap(), &child);
}

#[test]
fn a_kernel_launched_by_one_that_comes_later_is_refused_when_written_and_when_checked() {
    let kernel = |parent| PlainKernel {
        work_groups: 1,
        wavefronts: 1,
        arguments: Vec::new(),
        parent,
        streams: vec![Vec::new()],
    };
    let mut turned = program(&[kernel(None), kernel(Some((0, 0)))]);
    turned.kernels.reverse();
    assert!(matches!(turned.check(), Err(TraceError::Parent(_))));
    let folder = TempDir::new().unwrap();
    let mut file = TraceWriter::create(folder.path().join("turned"), SMALL).unwrap();
    let child = turned.kernels[0].parent.unwrap();
    let mut writer = file
        .kernel(code(), [1; 3], [32, 1, 1], 128, Vec::new())
        .unwrap();
    writer = writer.launched_by(child);
    writer.finish_wavefront(0, 0, StreamWriter::new()).unwrap();
    assert!(matches!(writer.finish(), Err(TraceError::Parent(_))));
}
