//! Streams of a launch that take too much memory, in a temporary file.
//!
//! The file has no name from the start (`O_TMPFILE`, or removed at once), so it goes away with the last trace that
//! uses it, however the process ends.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use warpweave_files::OutputError;

use crate::TraceError;

/// Bytes of streams from which on a launch spills them.
pub(crate) const SPILLS_FROM: u64 = 256 << 20;

/// Bytes handed out at a time.
pub(crate) const WINDOW: usize = 1 << 10;
/// Bytes at the end of a window that no token begins in; the longest token takes fewer.
pub(crate) const TOKEN_MAX: usize = 512;

/// Bytes read from the file at a time.
const BLOCK: u64 = 16 << 10;
/// Blocks kept of one file: enough for all wavefronts of a large machine.
const BLOCKS_MAX: usize = 1 << 11;

/// Streams that are being written.
#[derive(Debug)]
pub(crate) struct SpillWriter {
    file: File,
    length: u64,
}

impl SpillWriter {
    pub(crate) fn create(folder: &Path) -> Result<Self, TraceError> {
        let file = tempfile::tempfile_in(folder).map_err(|error| failed(folder, error))?;
        Ok(Self { file, length: 0 })
    }

    /// Bytes written so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Writes streams that follow those before; `folder` is where the file lies, for messages.
    pub(crate) fn append(&mut self, folder: &Path, bytes: &[u8]) -> Result<(), TraceError> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| failed(folder, error))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn finish(self) -> Spilled {
        Spilled {
            file: self.file,
            length: self.length,
            blocks: Mutex::default(),
        }
    }
}

fn failed(folder: &Path, error: io::Error) -> TraceError {
    TraceError::Write(OutputError::of(folder, error))
}

/// Streams that were written.
#[derive(Debug)]
pub(crate) struct Spilled {
    file: File,
    length: u64,
    blocks: Mutex<Blocks>,
}

/// Blocks that were read, and in which order.
#[derive(Debug, Default)]
struct Blocks {
    kept: BTreeMap<u64, Arc<[u8]>>,
    order: VecDeque<u64>,
}

impl Spilled {
    /// The bytes from `position` on, zeros after the last; none when they cannot be read.
    pub(crate) fn window(&self, position: u64) -> Option<[u8; WINDOW]> {
        let mut window = [0; WINDOW];
        let mut filled = 0;
        while filled < WINDOW {
            let at = position + filled as u64;
            if at >= self.length {
                break;
            }
            let block = self.block(at / BLOCK)?;
            let rest = &block[(at % BLOCK) as usize..];
            let take = rest.len().min(WINDOW - filled);
            window[filled..filled + take].copy_from_slice(&rest[..take]);
            filled += take;
        }
        Some(window)
    }

    /// The bytes of one stream.
    pub(crate) fn read(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (end - start) as usize];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }

    fn block(&self, number: u64) -> Option<Arc<[u8]>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = blocks.kept.get(&number) {
            return Some(Arc::clone(block));
        }
        let start = number * BLOCK;
        let read = self.read(start, (start + BLOCK).min(self.length));
        let block: Arc<[u8]> = read.ok()?.into();
        if blocks.order.len() == BLOCKS_MAX
            && let Some(oldest) = blocks.order.pop_front()
        {
            blocks.kept.remove(&oldest);
        }
        blocks.order.push_back(number);
        blocks.kept.insert(number, Arc::clone(&block));
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_of_writing() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut writer = SpillWriter {
            file: full,
            length: 0,
        };
        let folder = Path::new("/a/folder");
        let error = writer.append(folder, &[1, 2, 3]).unwrap_err();
        assert!(matches!(error, TraceError::Write(_)), "{error}");
        assert!(error.to_string().contains("/a/folder"), "{error}");
    }

    #[test]
    fn windows_are_the_bytes_of_the_file_and_zeros_after_them() {
        let bytes: Vec<u8> = (0..3 * BLOCK).map(|n| (n * 7 % 251) as u8).collect();
        let folder = std::env::temp_dir();
        let mut writer = SpillWriter::create(&folder).unwrap();
        for part in bytes.chunks(5000) {
            writer.append(&folder, part).unwrap();
        }
        let file = writer.finish();
        let ends = [
            0,
            1,
            BLOCK - 1,
            BLOCK - 300,
            2 * BLOCK,
            3 * BLOCK - 5,
            3 * BLOCK,
        ];
        for position in ends {
            let window = file.window(position).unwrap();
            let rest = &bytes[position as usize..];
            let length = rest.len().min(WINDOW);
            assert_eq!(window[..length], rest[..length], "from {position}");
            assert!(window[length..].iter().all(|byte| *byte == 0));
        }
        assert_eq!(
            file.read(5, BLOCK + 5).unwrap(),
            bytes[5..BLOCK as usize + 5]
        );
    }
}
