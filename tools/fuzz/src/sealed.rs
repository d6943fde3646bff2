//! Mutations inside compressed or checksummed files, which are sealed again afterwards.

use std::io::{self, Read as _};

use fastrand::Rng;
use flate2::read::MultiGzDecoder;

use crate::checkpoints::forge;
use crate::folder::packed;
use crate::mutate::{Words, flip, mutated};

/// Mutates a gzip file: its contents, its bytes, or its ratio, with far more contents than bytes.
pub(crate) fn gzip(bytes: &[u8], words: &Words<'_>, rng: &mut Rng) -> io::Result<Vec<u8>> {
    match rng.u8(..16) {
        0 => {
            // Nothing but one line, or one byte, many times.
            let line = if rng.bool() { &b"0 1\n"[..] } else { &b"9"[..] };
            packed(&line.repeat(rng.usize(1 << 16..1 << 24)))
        }
        1..=4 => {
            let mut bytes = bytes.to_vec();
            flip(&mut bytes, rng);
            Ok(bytes)
        }
        _ => {
            let mut plain = Vec::new();
            MultiGzDecoder::new(bytes).read_to_end(&mut plain)?;
            packed(&mutated(&plain, words, rng))
        }
    }
}

/// Mutates a zstd file: its contents, its bytes, or its ratio, with far more contents than bytes.
pub(crate) fn zstd(bytes: &[u8], words: &Words<'_>, rng: &mut Rng) -> io::Result<Vec<u8>> {
    match rng.u8(..32) {
        0 => {
            let line = if rng.bool() { &b"#\n"[..] } else { &b"9"[..] };
            zstd::encode_all(&line.repeat(rng.usize(1 << 12..1 << 20))[..], 1)
        }
        1..=7 => {
            let mut bytes = bytes.to_vec();
            flip(&mut bytes, rng);
            Ok(bytes)
        }
        _ => zstd::encode_all(&mutated(&zstd::decode_all(bytes)?, words, rng)[..], 1),
    }
}

/// Size of a chunk file's trailer in bytes: position and length of the index, its digest, magic.
const TRAILER: usize = 56;

/// Mutates a chunk file: numbers of its index, with a valid digest, or its bytes.
pub(crate) fn chunked(bytes: &[u8], rng: &mut Rng) -> io::Result<Vec<u8>> {
    if rng.u8(..4) == 0 {
        let mut bytes = bytes.to_vec();
        flip(&mut bytes, rng);
        return Ok(bytes);
    }
    let (body, trailer) = bytes.split_at(bytes.len() - TRAILER);
    let offset = u64::from_le_bytes(trailer[..8].try_into().expect("eight bytes")) as usize;
    let (chunks, index) = body.split_at(offset);
    let mut plain = Vec::new();
    zstd::Decoder::new(index)?.read_to_end(&mut plain)?;
    for _ in 0..rng.usize(1..=3) {
        forge(&mut plain, rng);
    }
    let index = zstd::encode_all(&plain[..], 1)?;
    let mut forged = chunks.to_vec();
    forged.extend(&index);
    forged.extend((offset as u64).to_le_bytes());
    forged.extend((index.len() as u64).to_le_bytes());
    forged.extend(blake3::hash(&index).as_bytes());
    forged.extend(&trailer[48..]);
    Ok(forged)
}
