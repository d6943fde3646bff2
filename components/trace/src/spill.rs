//! Temporary file for the streams of a launch that exceed the memory limit.
//!
//! The file never has a name (`O_TMPFILE`, or removed at once). It disappears with the last trace
//! that uses it, even if the process is killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use warpweave_files::OutputError;

use crate::TraceError;
use crate::encoding::PADDING;
use crate::window::{TOKEN_MAX, Window};

/// Total stream bytes at which a launch starts spilling.
pub(crate) const SPILLS_FROM: u64 = 256 << 20;

/// Bytes read from the file at a time.
const BLOCK: u64 = 2 << 10;

/// Part of a stream in the file. Tokens do not cross from one part to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Number of bytes of the stream before this part.
    pub(crate) position: u64,
    /// Offset of the part in the file.
    pub(crate) offset: u64,
}

/// Writer that appends streams to the temporary file.
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

    /// Returns the number of bytes written so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Appends bytes to the file. `folder` is the location of the file, for messages.
    pub(crate) fn append(&mut self, folder: &Path, bytes: &[u8]) -> Result<(), TraceError> {
        let written = (&*self.file).write_all(bytes);
        written.map_err(|error| failed(folder, error))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Returns a stream of `length` bytes that is stored in these parts of the file.
    pub(crate) fn stream(&self, length: u64, parts: Box<[Part]>) -> SpilledStream {
        SpilledStream {
            file: Arc::clone(&self.file),
            length,
            parts,
        }
    }

    /// Ends writing. `parts` has the parts of the streams that are not contiguous, by stream
    /// number.
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

/// Returns the error message for a file that cannot be read.
pub(crate) fn unreadable(error: &io::Error) -> String {
    format!("the temporary file of streams cannot be read: {error}")
}

/// One stream stored in the temporary file.
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

    /// Reads all bytes of the stream from the file.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        read(&self.file, &self.parts, self.length)
    }
}

/// All streams of a launch in the temporary file.
#[derive(Debug)]
pub(crate) struct Spilled {
    file: Arc<File>,
    /// Parts of each stream that is not contiguous, by stream number.
    parts: BTreeMap<u64, Box<[Part]>>,
}

impl Spilled {
    /// Reads a window from `position` of a stream of `length` bytes. A contiguous stream begins at
    /// `start` in the file.
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

    /// Reads all bytes of a stream from the file.
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

/// Reads from a position within a stream, at most up to the end of the part that contains it.
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
        // Tokens that begin before this are entirely within the bytes read.
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
        // The second part is stored before the first.
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
