//! Checked parts of buffers.

use std::ops::Range;

use warpweave_inputs::{Name, Value};
use warpweave_params::{Diagnostic, Env};

use crate::host_program::inputs::Buffer;

/// Returns the first `bytes` bytes of the words.
pub(super) fn bytes_of(words: &[u32], bytes: u64) -> Vec<u8> {
    let mut all: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    all.truncate(bytes as usize);
    all
}

/// Returns the checked byte range of some elements of a buffer.
pub(in crate::host_program) fn checked_part(
    buffer: &Buffer,
    first: &Value,
    length: &Value,
    env: &Env,
) -> Result<Range<u64>, Diagnostic> {
    let (name, all) = (&buffer.name.value, buffer.length as i128);
    let what = format!("the first element of a part of buffer `{name}` of {all} elements");
    let first = first.integer(env, &what, 0..=all)?;
    let what = format!("the length of a part of buffer `{name}` from element {first} on");
    let length = length.integer(env, &what, 0..=all - first)?;
    let bytes = buffer.elements.bytes() as u64;
    Ok(first as u64 * bytes..(first + length) as u64 * bytes)
}

/// Returns the checked index of an element of a buffer or field with `length` elements.
pub(in crate::host_program) fn checked_index(
    name: &Name,
    length: usize,
    index: &Value,
    env: &Env,
) -> Result<usize, Diagnostic> {
    let name = &name.value;
    let what = format!("the index into buffer `{name}` of {length} elements");
    Ok(index.integer(env, &what, 0..=length as i128 - 1)? as usize)
}
