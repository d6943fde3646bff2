//! Header of a kernel trace.

use std::io::BufRead;

use warpweave_params::{Diagnostic, name_hint};

use crate::Architecture;
use crate::text::{Field, Line, Lines};

/// Maximum number of threads in a block on any architecture.
pub(crate) const BLOCK_THREADS_MAX: u32 = 1024;

/// Maximum accepted size of local memory, in bytes.
pub(crate) const LOCAL_BYTES_MAX: u32 = 16 << 20;

/// Maximum number of registers per thread on any architecture.
pub(crate) const REGISTERS_MAX: u32 = 255;

/// Launch parameters from the header of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) local_bytes: u32,
    pub(crate) registers: u32,
    pub(crate) architecture: Architecture,
    /// Number or 64-bit handle of the stream.
    pub(crate) stream: u64,
    /// Base generic address of the local memory of the work-group; 0 if unknown.
    pub(crate) shared_window: u64,
    /// Base generic address of private memory; 0 if unknown.
    pub(crate) private_window: u64,
    /// True if each instruction line begins with block and warp numbers.
    pub(crate) with_place: bool,
    /// True if each instruction line begins with a source line number.
    pub(crate) with_line: bool,
    /// True if instruction lines end with values of registers, which are not used.
    pub(crate) with_values: bool,
}

/// Header keys; the mandatory keys come first.
const KEYS: [&str; 13] = [
    "kernel name",
    "kernel id",
    "grid dim",
    "block dim",
    "shmem",
    "nregs",
    "binary version",
    "cuda stream id",
    "shmem base_addr",
    "local mem base_addr",
    "nvbit version",
    "accelsim tracer version",
    "enable lineinfo",
];

/// Number of mandatory keys at the start of `KEYS`.
const NEEDED: usize = 8;

impl Header {
    /// Returns the number of warps in each block.
    pub(crate) fn warps(&self) -> u32 {
        self.block.iter().product::<u32>().div_ceil(32)
    }

    /// Returns the number of blocks in the grid.
    pub(crate) fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Returns the lane mask of a warp; the last warp may be partial.
    pub(crate) fn lanes(&self, warp: u32) -> u32 {
        let threads = self.block.iter().product::<u32>() - 32 * warp;
        if threads >= 32 {
            u32::MAX
        } else {
            (1 << threads) - 1
        }
    }

    /// Reads header lines up to the first line that begins with `#`, or to the end of the file.
    pub(crate) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Self, Diagnostic> {
        let mut header = Self {
            name: String::new(),
            grid: [0; 3],
            block: [0; 3],
            local_bytes: 0,
            registers: 0,
            architecture: Architecture::Volta,
            stream: 0,
            shared_window: 0,
            private_window: 0,
            with_place: false,
            with_line: false,
            with_values: false,
        };
        let mut seen = [false; KEYS.len()];
        loop {
            let missing = KEYS[..NEEDED].iter().zip(seen).find(|(_, seen)| !seen);
            let Some(line) = lines.next_filled()? else {
                return match missing {
                    Some((key, _)) => {
                        Err(lines.ended(format_args!("`-{key} = ...` in the header")))
                    }
                    None => Ok(header),
                };
            };
            if line.text.starts_with('#') {
                return match missing {
                    Some((key, _)) => {
                        Err(line
                            .refuse_whole(format!("the header above is missing `-{key} = ...`")))
                    }
                    None => Ok(header),
                };
            }
            let key = key(&line)?;
            if std::mem::replace(&mut seen[key], true) {
                return Err(line.refuse_whole(format!("`-{}` is given twice", KEYS[key])));
            }
            let value = line.value_of(&format!("-{}", KEYS[key]));
            let value = value.ok_or_else(|| line.refuse_whole("expected `-key = value`"))?;
            header.set(KEYS[key], &line, value)?;
        }
    }

    fn set(&mut self, key: &str, line: &Line<'_>, value: Field<'_>) -> Result<(), Diagnostic> {
        match key {
            "kernel name" if value.text.is_empty() => {
                return Err(line.blame(value, "a kernel name"));
            }
            "kernel name" => value.text.clone_into(&mut self.name),
            "kernel id" => {
                line.number::<u64>(value, "the launch number")?;
            }
            "grid dim" => {
                self.grid = extent(line, value)?;
                if self
                    .grid
                    .into_iter()
                    .try_fold(1_u32, u32::checked_mul)
                    .is_none()
                {
                    return Err(line.blame(value, "fewer than 4294967296 blocks"));
                }
            }
            "block dim" => {
                self.block = extent(line, value)?;
                let threads = self.block.into_iter().try_fold(1_u32, u32::checked_mul);
                if threads.is_none_or(|threads| threads > BLOCK_THREADS_MAX) {
                    return Err(line.blame(value, "at most 1024 threads in a block"));
                }
            }
            "shmem" => {
                self.local_bytes = up_to(line, value, LOCAL_BYTES_MAX, "bytes of shared memory")?;
            }
            "nregs" => self.registers = up_to(line, value, REGISTERS_MAX, "registers of a thread")?,
            "binary version" => {
                let version = line.number(value, "a binary version")?;
                self.architecture = Architecture::of_version(version).ok_or_else(|| {
                    let known = Architecture::VERSIONS.map(|(version, _)| version.to_string());
                    line.blame(value, format!("one of {}", known.join(", ")))
                })?;
            }
            "cuda stream id" => self.stream = line.number(value, "a stream number or handle")?,
            "shmem base_addr" => {
                self.shared_window = line.hexadecimal(value, "a hexadecimal address")?;
            }
            "local mem base_addr" => {
                self.private_window = line.hexadecimal(value, "a hexadecimal address")?;
            }
            "nvbit version" => {}
            "accelsim tracer version" => {
                let version: u32 = line.number(value, "the tracer version")?;
                if !(1..=6).contains(&version) {
                    return Err(line.blame(value, "a tracer version from 1 to 6"));
                }
                self.with_place = version < 3;
                self.with_values = version > 5;
            }
            "enable lineinfo" => {
                self.with_line = match value.text {
                    "0" => false,
                    "1" => true,
                    _ => return Err(line.blame(value, "0 or 1")),
                };
            }
            _ => unreachable!("all keys are handled"),
        }
        Ok(())
    }
}

/// Returns the index in `KEYS` of the key at the start of a line.
fn key(line: &Line<'_>) -> Result<usize, Diagnostic> {
    let Some((key, _)) = line
        .text
        .strip_prefix('-')
        .and_then(|text| text.split_once('='))
    else {
        return Err(line.refuse_whole("expected `-key = value`, or `#` after the header"));
    };
    let key = key.trim();
    KEYS.iter().position(|known| *known == key).ok_or_else(|| {
        line.refuse(
            1,
            1 + key.len(),
            format!("unknown key `{key}` in a kernel header"),
        )
        .hint(name_hint(key, "header keys", KEYS))
    })
}

fn up_to(line: &Line<'_>, value: Field<'_>, most: u32, what: &str) -> Result<u32, Diagnostic> {
    let expected = format!("0 to {most} {what}");
    match line.number(value, &expected)? {
        number if number <= most => Ok(number),
        _ => Err(line.blame(value, &expected)),
    }
}

/// Parses three numbers, each at least 1, as in `(16,1,1)`.
pub(crate) fn extent(line: &Line<'_>, value: Field<'_>) -> Result<[u32; 3], Diagnostic> {
    let expected = "three numbers of at least 1, as in `(16,1,1)`";
    let inner = value
        .text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let numbers = inner
        .and_then(triple)
        .filter(|numbers| !numbers.contains(&0));
    numbers.ok_or_else(|| line.blame(value, expected))
}

/// Parses three decimal numbers separated by commas.
pub(crate) fn triple(text: &str) -> Option<[u32; 3]> {
    let numbers: Option<Vec<u32>> = text
        .split(',')
        .map(|part| part.trim().parse().ok())
        .collect();
    numbers?.try_into().ok()
}
