//! Dynamic part of a kernel: one record and the addresses its lanes access.

use serde::{Deserialize, Serialize};

use crate::Space;

pub const LANES: usize = 32;

/// One wavefront instruction that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub pc: u32,
    /// Active lanes after predication. May be 0 for an instruction that issued without active
    /// lanes.
    pub mask: u32,
    /// Space of the access; [`Space::None`] for a record without addresses.
    pub space: Space,
    /// True if the next record is part of the same instruction. A generic access whose lanes fall
    /// in several spaces has one record per space.
    pub continues: bool,
}

/// Layout of a record's lane addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// The record has no lane addresses.
    #[default]
    None,
    /// All active lanes access this address.
    Uniform(u64),
    /// Lane addresses increase by a constant step.
    Stride {
        /// Address of lane 0, even if it is not active.
        base: u64,
        /// Byte distance from one lane to the next.
        step: i64,
    },
    /// Lane addresses are listed individually in [`Lanes::list`].
    List,
    /// Lanes form rows of `2^row_bits`. Addresses grow by `step` within a row and by `pitch` from
    /// row to row.
    Rows {
        /// Address of lane 0, even if it is not active.
        base: u64,
        /// Byte distance between neighbouring lanes of a row.
        step: i64,
        /// Byte distance from one row to the next.
        pitch: i64,
        /// log2 of the number of lanes per row, 1 to 4.
        row_bits: u8,
    },
}

/// Lane addresses of the record that a cursor returned last.
///
/// Reuse one instance for every call of [`Cursor::next`](crate::Cursor::next): the list is written
/// only for records that need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lanes {
    /// Layout that determines how addresses are computed.
    pub shape: Shape,
    /// Addresses of the active lanes when `shape` is [`Shape::List`]; other entries are stale.
    pub list: [u64; LANES],
}

impl Lanes {
    /// Returns the address of a lane that is active in the record.
    ///
    /// # Panics
    /// Panics if the record has no addresses, or `lane` is not below 32.
    #[inline]
    pub fn address(&self, lane: u32) -> u64 {
        assert!(lane < LANES as u32, "lane {lane} of a wavefront of {LANES}");
        match self.shape {
            Shape::None => panic!("lane {lane} has no address: the record has no addresses"),
            Shape::Uniform(address) => address,
            Shape::Stride { base, step } => strided(base, step, lane),
            Shape::List => self.list[lane as usize],
            Shape::Rows {
                base,
                step,
                pitch,
                row_bits,
            } => {
                let start = strided(base, pitch, lane >> row_bits);
                strided(start, step, lane & ((1 << row_bits) - 1))
            }
        }
    }

    /// Iterates over lane number and address of each lane in `mask` (the record's), ascending.
    /// Empty if the record has no addresses.
    #[inline]
    pub fn iter(&self, mask: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        let mut left = if self.shape == Shape::None { 0 } else { mask };
        std::iter::from_fn(move || {
            let lane = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (lane < LANES as u32).then(|| (lane, self.address(lane)))
        })
    }
}

/// Computes the address of `lane` in a strided access, with wrapping arithmetic as on the machine.
#[inline]
pub(crate) fn strided(base: u64, step: i64, lane: u32) -> u64 {
    base.wrapping_add((step as u64).wrapping_mul(u64::from(lane)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_gives_each_active_lane_its_address() {
        let mut lanes = Lanes {
            shape: Shape::Uniform(7),
            ..Lanes::default()
        };
        assert_eq!(lanes.iter(0b101).collect::<Vec<_>>(), [(0, 7), (2, 7)]);
        lanes.shape = Shape::Stride {
            base: 100,
            step: -4,
        };
        assert_eq!(
            lanes.iter(0x8000_0002).collect::<Vec<_>>(),
            [(1, 96), (31, u64::MAX - 23)]
        );
        lanes.shape = Shape::Rows {
            base: 100,
            step: 4,
            pitch: -64,
            row_bits: 3,
        };
        assert_eq!(
            lanes.iter(0b1_0000_0011).collect::<Vec<_>>(),
            [(0, 100), (1, 104), (8, 36)]
        );
        lanes.shape = Shape::List;
        lanes.list[31] = 9;
        assert_eq!(lanes.iter(1 << 31).collect::<Vec<_>>(), [(31, 9)]);
        lanes.shape = Shape::None;
        assert_eq!(lanes.iter(u32::MAX).count(), 0);
    }

    #[test]
    #[should_panic(expected = "the record has no addresses")]
    fn asking_for_an_address_that_is_not_there_is_a_model_error() {
        Lanes::default().address(3);
    }
}
