//! Files that hold an array as a device memory does.

use std::path::Path;

use warpweave_files::{Input, Ledger, ReadError};
use warpweave_params::Files;

use crate::arrays::MAX_ELEMENTS;
use crate::error::InputError;

/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// The little-endian words of a file.
///
/// # Errors
/// The file cannot be read, is a text, has more than [`MAX_ELEMENTS`] words, ends within one, or takes more
/// memory than there may be.
pub fn read_words(path: &Path, files: &Files) -> Result<Vec<u32>, InputError> {
    let path = &files.folder().join(path);
    let file = || path.display().to_string();
    let unreadable = |reason| InputError::Words {
        file: file(),
        reason,
    };
    let input = Input::open(path).map_err(unreadable)?;
    let bytes = input.size();
    let most = MAX_ELEMENTS as u64 * WORD_BYTES;
    if bytes > most {
        return Err(InputError::TooManyWords {
            file: file(),
            bytes,
            most,
        });
    }
    files.ledger().charge(&file(), bytes)?;
    // The words, and the bytes while they are read.
    let reading = Ledger::new(&files.ledger().budget());
    let data = input.read(&reading).map_err(|error| match error {
        ReadError::Io(reason) => unreadable(reason),
        ReadError::OverBudget(error) => error.into(),
    })?;
    if is_text(&data) {
        return Err(InputError::TextForWords { file: file() });
    }
    let (words, rest) = data.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(InputError::PartOfAWord {
            file: file(),
            bytes: data.len() as u64,
        });
    }
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Whether a file of several words holds nothing but lines of printable characters, as no useful array does.
fn is_text(data: &[u8]) -> bool {
    let printable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    data.contains(&b'\n') && data.iter().all(printable)
}
