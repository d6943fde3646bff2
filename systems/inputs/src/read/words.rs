//! Files that hold an array as a device memory does.

use std::path::Path;

use crate::arrays::MAX_ELEMENTS;
use crate::error::InputError;

/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// The little-endian words of a file.
///
/// # Errors
/// The file cannot be read, has more than [`MAX_ELEMENTS`] words, or ends within one.
pub fn read_words(path: &Path) -> Result<Vec<u32>, InputError> {
    let file = || path.display().to_string();
    let unreadable = |reason| InputError::Words {
        file: file(),
        reason,
    };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    let most = MAX_ELEMENTS as u64 * WORD_BYTES;
    if bytes > most {
        return Err(InputError::TooManyWords {
            file: file(),
            bytes,
            most,
        });
    }
    let data = std::fs::read(path).map_err(unreadable)?;
    let (words, rest) = data.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(InputError::PartOfAWord {
            file: file(),
            bytes: data.len() as u64,
        });
    }
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}
