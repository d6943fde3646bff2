//! Reader and writer for arrays in the `NumPy` format ("NEP 1, a simple file format for NumPy
//! arrays").
//!
//! Six bytes of magic and two of version are followed by the length of a header, two bytes in
//! version 1 and four later. The header is a Python dictionary with `descr`, `fortran_order` and
//! `shape`.

use super::{FileArray, FileInfo};
use crate::element::{ElementType, words_of_bytes};
use crate::error::InputError;

const MAGIC: &[u8] = b"\x93NUMPY";

pub(super) fn read(asked: &FileInfo<'_>, data: &[u8]) -> Result<FileArray, InputError> {
    let wrong = |problem: String, hint: &str| InputError::of_array(asked.file, problem, hint);
    let no_array = || {
        let hint = "use a file written by `numpy.save`, or name another format with `format`";
        wrong("is not a NumPy array".to_owned(), hint)
    };
    let after_magic = data.strip_prefix(MAGIC).ok_or_else(no_array)?;
    let (length_bytes, body) = match after_magic {
        [1, _, rest @ ..] => (2, rest),
        [2 | 3, _, rest @ ..] => (4, rest),
        _ => return Err(no_array()),
    };
    let (length, body) = body.split_at_checked(length_bytes).ok_or_else(no_array)?;
    let mut header_bytes = [0; 4];
    header_bytes[..length_bytes].copy_from_slice(length);
    let header_bytes = u32::from_le_bytes(header_bytes) as usize;
    let (header, values) = body.split_at_checked(header_bytes).ok_or_else(no_array)?;
    let header = std::str::from_utf8(header).map_err(|_| no_array())?;

    let descr = value(header, "descr")
        .and_then(quoted)
        .ok_or_else(no_array)?;
    let element = asked.element;
    if !holds(element, descr) {
        let found = if asked.may_quote {
            descr
        } else {
            "another one"
        };
        let problem = format!(
            "has elements of the NumPy type `{found}`, expected `{}`",
            name(element)
        );
        return Err(wrong(
            problem,
            "set `element` to the type of the file, or save it with `.astype(…)`",
        ));
    }
    let shape = value(header, "shape")
        .and_then(shape)
        .ok_or_else(no_array)?;
    let by_columns = value(header, "fortran_order").is_some_and(|text| text.starts_with("True"));
    if by_columns && shape.iter().filter(|extent| **extent > 1).count() > 1 {
        let hint = "save `numpy.ascontiguousarray(…)`";
        return Err(wrong("is in column-major order".to_owned(), hint));
    }
    let product = shape
        .iter()
        .try_fold(1_u64, |product, extent| product.checked_mul(*extent));
    let expected = product.and_then(|length| length.checked_mul(element.bytes() as u64));
    if expected != Some(values.len() as u64) {
        let found = values.len();
        let problem = match expected {
            Some(bytes) => format!("has {found} bytes of elements, expected {bytes} for its shape"),
            None => format!("has {found} bytes of elements, fewer than its shape requires"),
        };
        return Err(wrong(problem, "the file is truncated or damaged"));
    }
    Ok(FileArray {
        words: words_of_bytes(values),
        length: values.len() / element.bytes(),
    })
}

/// Returns the `NumPy` name of an element type.
pub(crate) fn name(element: ElementType) -> &'static str {
    match element {
        ElementType::U8 => "|u1",
        ElementType::S8 => "|i1",
        ElementType::U16 => "<u2",
        ElementType::S16 => "<i2",
        ElementType::U32 => "<u4",
        ElementType::S32 => "<i4",
        ElementType::U64 => "<u8",
        ElementType::S64 => "<i8",
        ElementType::F16 => "<f2",
        // It has none; extensions write it as bytes.
        ElementType::BF16 => "|V2",
        ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
    }
}

/// True if `descr` describes elements of this type. Any byte order is accepted for single bytes.
fn holds(element: ElementType, descr: &str) -> bool {
    let plain = name(element);
    let same_kind = descr.get(1..) == plain.get(1..);
    let is_logical = element == ElementType::U8 && descr == "|b1";
    is_logical
        || descr == plain
        || same_kind
            && (element.bytes() == 1 || element == ElementType::BF16)
            && descr.starts_with(['|', '<', '='])
}

/// Returns the text after a key of the dictionary.
fn value<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let found = ["'", "\""].iter().find_map(|quote| {
        let key = format!("{quote}{key}{quote}");
        header.split_once(&key).map(|(_, after)| after)
    })?;
    Some(found.trim_start().strip_prefix(':')?.trim_start())
}

/// Returns the contents of a text in quotes.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split(quote).next()
}

/// Returns the numbers in parentheses, such as a shape.
fn shape(text: &str) -> Option<Vec<u64>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let extents = inside
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty());
    extents.map(|extent| extent.parse().ok()).collect()
}
