//! Address arithmetic over all lanes, compiled for the host's vector extensions.

use warpweave_trace::Places;

use crate::ops::{Lanes32, Lanes64, for_this_machine};

/// Functions that compute addresses from base and offset.
#[derive(Clone, Copy)]
pub(super) struct Addressing {
    pub(super) wide: fn(&Lanes64, u64, &mut Lanes64),
    pub(super) narrow: fn(&Lanes32, u32, &mut Lanes64),
}

impl Addressing {
    pub(super) fn new() -> Self {
        Self {
            wide: for_this_machine!(
                fn(base: &[u64; 32], offset: u64, addresses: &mut [u64; 32]) -> () {
                    for lane in 0..32 {
                        addresses[lane] = base[lane].wrapping_add(offset);
                    }
                }
            ),
            narrow: for_this_machine!(
                fn(base: &[u32; 32], offset: u32, addresses: &mut [u64; 32]) -> () {
                    for lane in 0..32 {
                        addresses[lane] = u64::from(base[lane].wrapping_add(offset));
                    }
                }
            ),
        }
    }
}

/// Functions that convert base and offset to indices of elements of `1 << bits` bytes.
#[derive(Clone, Copy)]
pub(super) struct Numbering {
    /// Returns the OR of the sums; the indices are valid if it fits in 32 bits.
    pub(super) wide: fn(&Lanes64, u64, u32, &mut Places) -> u64,
    /// Returns the OR of the bases and sums.
    pub(super) narrow: fn(&Lanes32, u32, u32, &mut Places) -> u32,
}

impl Numbering {
    pub(super) fn new() -> Self {
        Self {
            wide: for_this_machine!(
                fn(base: &[u64; 32], offset: u64, bits: u32, numbers: &mut Places) -> u64 {
                    let mut all = 0;
                    for lane in 0..32 {
                        let sum = base[lane].wrapping_add(offset);
                        all |= sum;
                        numbers[lane] = sum as u32 >> (bits & 3);
                    }
                    numbers[32] = numbers[31];
                    all
                }
            ),
            narrow: for_this_machine!(
                fn(base: &[u32; 32], offset: u32, bits: u32, numbers: &mut Places) -> u32 {
                    let mut all = 0;
                    for lane in 0..32 {
                        let sum = base[lane].wrapping_add(offset);
                        all |= base[lane] | sum;
                        numbers[lane] = sum >> (bits & 3);
                    }
                    numbers[32] = numbers[31];
                    all
                }
            ),
        }
    }
}
