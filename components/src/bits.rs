//! Saving and restoring of bit sets. `fixedbitset` would allocate the length a file claims before
//! checking the bits that are present.

use fixedbitset::FixedBitSet;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use warpweave_framework::State;

/// Serialized form of a bit set.
#[derive(Deserialize)]
struct Saved {
    length: u64,
    data: Vec<u8>,
}

/// Deserializes a bit set and checks its length against the stored bits.
///
/// # Errors
/// Returns an error if the stated length does not match the stored bits.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FixedBitSet, D::Error> {
    let Saved { length, data } = Saved::deserialize(deserializer)?;
    let (words, rest) = data.as_chunks::<{ size_of::<usize>() }>();
    let bits = words.len() as u64 * u64::from(usize::BITS);
    if !rest.is_empty() || length > bits || bits - length >= u64::from(usize::BITS) {
        return Err(Error::custom(format!(
            "{length} bits in {} bytes",
            data.len()
        )));
    }
    let blocks = words.iter().map(|word| usize::from_le_bytes(*word));
    let last = blocks.clone().next_back();
    let used = length as u32 % usize::BITS;
    if used != 0 && last.is_some_and(|last| last >> used != 0) {
        return Err(Error::custom("bits set beyond the end of the set"));
    }
    Ok(FixedBitSet::with_capacity_and_blocks(
        length as usize,
        blocks,
    ))
}

/// Set in its saved form.
#[derive(Serialize, Deserialize)]
struct Set(#[serde(deserialize_with = "read")] FixedBitSet);

/// Saves or restores a bit set, for fields marked `#[state(with = …)]`.
pub(crate) fn visit(set: &mut FixedBitSet, name: &str, state: &mut State<'_>) {
    let restore = |set: &mut FixedBitSet, Set(found)| {
        *set = found;
        Ok(())
    };
    state.field_as(name, set, |set| Set(set.clone()), restore);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        #[serde(deserialize_with = "read")]
        set: FixedBitSet,
    }

    #[test]
    fn a_set_of_bits_is_read_back_and_one_longer_than_its_bits_refused() {
        for length in [0, 1, 64, 65, 200] {
            let mut set = FixedBitSet::with_capacity(length);
            set.extend((0..length).step_by(3));
            let holder = Holder { set };
            let bytes = postcard::to_stdvec(&holder).expect("plain data");
            assert_eq!(postcard::from_bytes::<Holder>(&bytes), Ok(holder));
        }
        for (length, data) in [
            (1_u64 << 60, vec![0_u8; 8]),
            (8, vec![0; 7]),
            (1, vec![2; 8]),
        ] {
            let bytes = postcard::to_stdvec(&(length, data)).expect("plain data");
            assert!(postcard::from_bytes::<Holder>(&bytes).is_err(), "{length}");
        }
    }
}
