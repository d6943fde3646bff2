//! Address interleaving over slices and channels.
//!
//! Consecutive granules of the address space go to consecutive slices, round robin; any number of
//! slices, powers of two or not. With `g` the granule and `n` the number of slices:
//! `slice = (address / g) mod n`, and what a slice sees of the address is
//! `local = (address / g) / n * g + address mod g`, so that a slice's own addresses are dense.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

/// How addresses are dealt to slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interleave {
    /// Bytes that stay together in one slice; a power of two, at least a line.
    pub granule_bytes: u32,
    /// Number of slices.
    pub slices: u32,
}

impl Interleave {
    /// Checks the numbers.
    ///
    /// # Errors
    /// A granule that is no power of two or below 32 bytes, or no slices.
    pub fn check(&self, field: &str) -> Result<(), SpecError> {
        SpecError::require(
            self.granule_bytes.is_power_of_two() && self.granule_bytes >= 32,
            &format!("{field}.granule_bytes"),
            || {
                format!(
                    "{} is not a power of two of at least 32",
                    self.granule_bytes
                )
            },
        )?;
        SpecError::in_range(&format!("{field}.slices"), self.slices, 1..)
    }

    /// The slice that owns `address`.
    #[inline]
    pub fn slice(&self, address: u64) -> u32 {
        ((address >> self.granule_bytes.trailing_zeros()) % u64::from(self.slices)) as u32
    }

    /// The address within its slice.
    #[inline]
    pub fn local(&self, address: u64) -> u64 {
        let shift = self.granule_bytes.trailing_zeros();
        let granule = (address >> shift) / u64::from(self.slices);
        granule << shift | address & u64::from(self.granule_bytes - 1)
    }

    /// The address that `slice` sees as `local`; inverse of [`Interleave::slice`] and
    /// [`Interleave::local`].
    #[inline]
    pub fn address(&self, slice: u32, local: u64) -> u64 {
        let shift = self.granule_bytes.trailing_zeros();
        let granule = (local >> shift) * u64::from(self.slices) + u64::from(slice);
        granule << shift | local & u64::from(self.granule_bytes - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn consecutive_granules_go_round_robin_over_any_number_of_slices() {
        let six = Interleave {
            granule_bytes: 256,
            slices: 6,
        };
        let slices: Vec<_> = (0..8).map(|g| six.slice(g * 256 + 5)).collect();
        assert_eq!(slices, [0, 1, 2, 3, 4, 5, 0, 1]);
        assert_eq!(six.local(6 * 256 + 5), 256 + 5);
    }

    proptest! {
        #[test]
        fn slice_and_local_address_name_each_byte_once(
            address in 0u64..1 << 48, shift in 5u32..13, slices in 1u32..64,
        ) {
            let interleave = Interleave { granule_bytes: 1 << shift, slices };
            let (slice, local) = (interleave.slice(address), interleave.local(address));
            prop_assert!(slice < slices);
            prop_assert_eq!(interleave.address(slice, local), address);
        }
    }
}
