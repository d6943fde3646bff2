//! Decompression of input files; the format is detected from the first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::num::NonZeroUsize;
use std::path::Path;

use warpweave_files::Input;
use warpweave_params::Diagnostic;
use xz4rust::{XzDecoder, XzReader};

use crate::error::unreadable;

const XZ: &[u8] = b"\xfd7zXZ\0";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Maximum dictionary size of an xz file in bytes: that of its strongest preset.
const DICTIONARY_BYTES_MAX: usize = 64 << 20;

/// Binary logarithm of the maximum window of a zstd file: that of its strongest level.
const WINDOW_LOG_MAX: u32 = 27;

/// Size of a read in bytes.
const READ_AT_ONCE: usize = 64 << 10;

/// Opens a text file, decompressed while it is read.
pub(crate) fn open_text(path: &Path) -> Result<Box<dyn BufRead>, Diagnostic> {
    open(path).map_err(|error| unreadable(path, &error))
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file: File = Input::open(path)?.into_file();
    let mut first = [0; XZ.len()];
    let read = read_up_to(&mut file, &mut first)?;
    file.rewind()?;
    let first = &first[..read];
    let text: Box<dyn Read> = if first.starts_with(XZ) {
        let size = NonZeroUsize::new(READ_AT_ONCE).expect("the read size is not zero");
        let decoder = XzDecoder::in_heap_with_alloc_dict_size(1 << 16, DICTIONARY_BYTES_MAX);
        Box::new(XzReader::new_with_buffer_size_and_decoder(
            file, size, decoder,
        ))
    } else if first.starts_with(ZSTD) {
        let mut decoder = zstd::Decoder::new(file)?;
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        Box::new(decoder)
    } else {
        Box::new(file)
    };
    Ok(Box::new(BufReader::with_capacity(READ_AT_ONCE, text)))
}

/// Reads until the buffer is full or the file ends, and returns the byte count.
fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
