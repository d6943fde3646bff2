//! Streams of a launch that take too much memory, in a temporary file.
//!
//! The file has no name from the start (`O_TMPFILE`, or removed at once), so it goes away with the last trace that
//! uses it, however the process ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use warpweave_files::OutputError;

use crate::TraceError;
use crate::encoding::PADDING;
use crate::window::Window;

/// Bytes of streams from which on a launch spills them.
pub(crate) const SPILLS_FROM: u64 = 256 << 20;

/// Bytes at the end of a window that no token begins in; the longest token takes fewer.
pub(crate) const TOKEN_MAX: u64 = 512;

/// Bytes read from the file at a time.
const BLOCK: u64 = 2 << 10;

/// A part of a stream in the file; tokens do not cross from one part to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Bytes of the stream before it.
    pub(crate) position: u64,
    /// Where it begins in the file.
    pub(crate) offset: u64,
}

/// Streams that are being written.
#[derive(Debug)]
pub(crate) struct SpillWriter {
    file: Arc<File>,
    length: u64,
}

impl SpillWriter {
    pub(crate) fn create(folder: &Path) -> Result<Self, TraceError> {
        let file = tempfile::tempfile_in(folder).map_err(|error| failed(folder, error))?;
        Ok(Self {
            file: Arc::new(file),
            length: 0,
        })
    }

    /// Bytes written so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Writes bytes that follow those before; `folder` is where the file lies, for messages.
    pub(crate) fn append(&mut self, folder: &Path, bytes: &[u8]) -> Result<(), TraceError> {
        let written = (&*self.file).write_all(bytes);
        written.map_err(|error| failed(folder, error))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// A stream of so many bytes that lies in these parts of the file.
    pub(crate) fn stream(&self, length: u64, parts: Box<[Part]>) -> SpilledStream {
        SpilledStream {
            file: Arc::clone(&self.file),
            length,
            parts,
        }
    }

    /// All that was written; `parts` of the streams, by their numbers, that do not lie in one piece.
    pub(crate) fn finish(self, parts: BTreeMap<u64, Box<[Part]>>) -> Spilled {
        Spilled {
            file: self.file,
            parts,
        }
    }
}

fn failed(folder: &Path, error: io::Error) -> TraceError {
    TraceError::Write(OutputError::of(folder, error))
}

/// What is said of a file that cannot be read.
pub(crate) fn unreadable(error: &io::Error) -> String {
    format!("the temporary file of streams cannot be read: {error}")
}

/// One stream that was written.
#[derive(Debug)]
pub(crate) struct SpilledStream {
    file: Arc<File>,
    length: u64,
    parts: Box<[Part]>,
}

impl SpilledStream {
    pub(crate) fn window(&self, position: u64) -> io::Result<Window> {
        window(&self.file, &self.parts, self.length, position)
    }

    /// Its bytes.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        read(&self.file, &self.parts, self.length)
    }
}

/// All streams of a launch that were written.
#[derive(Debug)]
pub(crate) struct Spilled {
    file: Arc<File>,
    /// By number of a stream, of those that do not lie in one piece.
    parts: BTreeMap<u64, Box<[Part]>>,
}

impl Spilled {
    /// What can be read from `position` on of a stream of `length` bytes that begins at `start` if it lies in one
    /// piece.
    pub(crate) fn window(
        &self,
        stream: u32,
        (start, length): (u64, u64),
        position: u64,
    ) -> io::Result<Window> {
        let whole = whole(start);
        let parts = self.parts.get(&stream.into());
        let parts = parts.map_or(&whole[..], |parts| parts);
        window(&self.file, parts, length, position)
    }

    /// The bytes of a stream.
    pub(crate) fn read(&self, stream: u32, (start, length): (u64, u64)) -> io::Result<Vec<u8>> {
        let whole = whole(start);
        let parts = self.parts.get(&stream.into());
        read(&self.file, parts.map_or(&whole[..], |parts| parts), length)
    }
}

fn whole(offset: u64) -> [Part; 1] {
    [Part {
        position: 0,
        offset,
    }]
}

/// Reads from a position within a stream, no further than to the end of the part that it lies in.
fn window(file: &File, parts: &[Part], length: u64, position: u64) -> io::Result<Window> {
    let next = parts.partition_point(|part| part.position <= position);
    let part = parts[next - 1];
    let part_end = parts.get(next).map_or(length, |part| part.position);
    let end = part_end.min(position + BLOCK);
    let mut bytes = vec![0; (end - position) as usize + PADDING];
    let offset = part.offset + (position - part.position);
    file.read_exact_at(&mut bytes[..(end - position) as usize], offset)?;
    Ok(Window {
        first: position,
        // Tokens that begin before this lie within what was read.
        end: if end == part_end {
            end
        } else {
            end - TOKEN_MAX
        },
        bytes: bytes.into(),
        from: 0,
    })
}

fn read(file: &File, parts: &[Part], length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    let ends = parts.iter().skip(1).map(|part| part.position);
    for (part, end) in parts.iter().zip(ends.chain([length])) {
        let place = &mut bytes[part.position as usize..end as usize];
        file.read_exact_at(place, part.offset)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_of_writing() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut writer = SpillWriter {
            file: Arc::new(full),
            length: 0,
        };
        let folder = Path::new("/a/folder");
        let error = writer.append(folder, &[1, 2, 3]).unwrap_err();
        assert!(matches!(error, TraceError::Write(_)), "{error}");
        assert!(error.to_string().contains("/a/folder"), "{error}");
    }

    #[test]
    fn windows_are_the_bytes_of_the_stream_and_end_where_a_part_ends() {
        let bytes: Vec<u8> = (0..5 * BLOCK).map(|n| (n * 7 % 251) as u8).collect();
        let folder = std::env::temp_dir();
        let mut writer = SpillWriter::create(&folder).unwrap();
        // The second part lies before the first.
        let cut = 2 * BLOCK + 100;
        writer.append(&folder, &bytes[cut as usize..]).unwrap();
        let offset = writer.length();
        writer.append(&folder, &bytes[..cut as usize]).unwrap();
        let parts = [(0, offset), (cut, 0)].map(|(position, offset)| Part { position, offset });
        let length = bytes.len() as u64;
        let stream = writer.stream(length, parts.into());
        assert_eq!(stream.read().unwrap(), bytes);
        for position in [0, 1, BLOCK - 1, cut - 1, cut, cut + 1, length - 1] {
            let window = stream.window(position).unwrap();
            let part_end = if position < cut { cut } else { length };
            let read = (position + BLOCK).min(part_end);
            let known = (read - position) as usize;
            assert_eq!(window.first, position);
            assert_eq!(
                window.bytes[..known],
                bytes[position as usize..read as usize]
            );
            assert_eq!(window.bytes[known..], [0; PADDING]);
            let rest = if read == part_end { 0 } else { TOKEN_MAX };
            assert_eq!(window.end, read - rest, "from {position}");
        }
    }
}
