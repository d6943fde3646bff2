//! Indexed Accel-Sim traces. They are mutated before packing, in the index numbers, or after
//! packing.

use std::io;

use fastrand::Rng;

use crate::mutate::{Words, flip, mutated};

/// Contents of an indexed trace of two blocks of two warps, each with one packed series of lines.
pub(crate) struct Indexed {
    header: Vec<u8>,
    dictionary: Vec<u8>,
    lines: Vec<u8>,
    /// Position of the number to replace and its new value.
    number: Option<(usize, u32)>,
}

const LINES: &str = "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f0000000000 4 0\n\
    0010 0000000f 0 STG.E 2 R2 R4 4 2 0x7f0000001000 64 -32 8 0\n0020 ffffffff 0 EXIT 0 0 0\n";

const HEADER: &str = "-kernel name = k\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n\
    -shmem = 0\n-nregs = 8\n-binary version = 90\n-cuda stream id = 0\n";

const HOSTILE: [u32; 8] = [0, 1, 3, 65, 1 << 16, 1 << 24, 0x7fff_ffff, u32::MAX];

impl Default for Indexed {
    fn default() -> Self {
        Self {
            header: HEADER.into(),
            dictionary: b"ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f".into(),
            lines: LINES.into(),
            number: None,
        }
    }
}

impl Indexed {
    /// Builds such a file with one mutation.
    pub(crate) fn mutated(mut self, words: &Words<'_>, rng: &mut Rng) -> io::Result<Vec<u8>> {
        match rng.u8(..10) {
            0 | 1 => self.header = mutated(&self.header, words, rng),
            2..=4 => self.lines = mutated(&self.lines, words, rng),
            5 => self.dictionary = mutated(&self.dictionary, words, rng),
            6 | 7 => {
                let hostile = HOSTILE[rng.usize(..HOSTILE.len())];
                self.number = Some((rng.usize(..NUMBERS), hostile));
            }
            _ => {
                let mut bytes = self.packed()?;
                flip(&mut bytes, rng);
                return Ok(bytes);
            }
        }
        self.packed()
    }

    /// Builds the packed file with its index.
    pub(crate) fn packed(&self) -> io::Result<Vec<u8>> {
        let mut numbers = 0;
        let mut put = |to: &mut Vec<u8>, number: usize| {
            let said = match self.number {
                Some((at, hostile)) if at == numbers => hostile,
                _ => number as u32,
            };
            numbers += 1;
            to.extend(said.to_le_bytes());
        };
        let mut packer = zstd::bulk::Compressor::with_dictionary(1, &self.dictionary)?;
        let frame = packer.compress(&self.lines)?;
        let count = self.lines.split(|byte| *byte == b'\n');
        let count = count.filter(|line| !line.trim_ascii().is_empty()).count();
        let mut file = [&self.header[..], &[0]].concat();
        let mut index = Vec::new();
        put(&mut file, self.dictionary.len());
        put(&mut file, 1);
        file.extend(&self.dictionary);
        put(&mut index, 2);
        for block in 0..2 {
            put(&mut index, block);
            (0..9).for_each(|_| put(&mut index, 0));
            put(&mut index, 2);
            for _ in 0..2 {
                for to in [&mut index, &mut file] {
                    put(to, count);
                    put(to, 1);
                }
                index.extend((file.len() as u64 - 8).to_le_bytes());
                put(&mut index, count);
                put(&mut file, frame.len());
                file.extend(&frame);
            }
        }
        let place = file.len() as u64;
        file.extend(index);
        file.extend(place.to_le_bytes());
        Ok(file)
    }
}

/// Count of numbers in such a file: two before the blocks and one of them; eleven of a block; six
/// of a warp.
const NUMBERS: usize = 3 + 2 * (11 + 2 * 6);
