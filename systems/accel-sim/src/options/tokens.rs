//! Tokenizer for option files: words separated by blanks, quoted if they contain blanks, with
//! comments from `#`.

use std::sync::Arc;

use warpweave_params::{Diagnostic, Source};

use super::fragment::Fragment;

/// Splits a text into words. Quotes are not part of a word; a quoted word may span several lines.
pub(super) fn words(source: &Arc<Source>) -> Result<Vec<Fragment>, Diagnostic> {
    let text = source.text();
    let bytes = text.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => at += length(&bytes[at..], |byte| byte != b'\n'),
            b'"' => {
                let inner = at + 1;
                let quoted = length(&bytes[inner..], |byte| byte != b'"');
                let end = inner + quoted;
                if end == bytes.len() {
                    return Err(Diagnostic::error("unterminated quote").at(&source.span(at, inner)));
                }
                words.push(Fragment::placed(source.span(inner, end)));
                at = end + 1;
            }
            _ if byte.is_ascii_whitespace() => at += 1,
            _ => {
                let ends = |byte: u8| !byte.is_ascii_whitespace() && byte != b'"' && byte != b'#';
                let end = at + length(&bytes[at..], ends);
                words.push(Fragment::placed(source.span(at, end)));
                at = end;
            }
        }
    }
    Ok(words)
}

/// Number of bytes before the first for which `goes_on` is false.
fn length(bytes: &[u8], goes_on: impl Fn(u8) -> bool) -> usize {
    let end = bytes.iter().position(|byte| !goes_on(*byte));
    end.unwrap_or(bytes.len())
}
