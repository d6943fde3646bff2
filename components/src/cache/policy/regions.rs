//! Memory regions: the allocations of a program, numbered, so that a policy can learn by region.
//!
//! Building block for policies. The runtime of the graph thesis fills such a table before a launch
//! (INC-M5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_random::CounterRng;
use warpweave_trace::{Allocation, Program};

/// Assignment of the lines of a program's allocations to regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Assigned {
    /// Each allocation is a region of its own.
    #[default]
    Allocated,
    /// Each line of an allocation belongs to a region drawn by a hash of its address and this seed.
    /// The number of regions stays the same. It is a control: nothing can be learned by region.
    DealtOut(u64),
}

/// Regions into which the memory of a program is divided.
#[derive(Clone, Debug)]
pub struct Regions {
    /// First and last byte and number of every allocation that has bytes, by address.
    ranges: Vec<(u64, u64, u32)>,
    /// Number of regions of the whole program.
    count: u32,
    /// Draws the region of a line, if lines are dealt out.
    dealt: Option<CounterRng>,
    line_shift: u32,
}

impl Regions {
    /// Creates the regions of a program, none without one. Lines of `line_bytes`, a power of two,
    /// are never divided when they are dealt out.
    pub fn new(program: Option<&Program>, assigned: Assigned, line_bytes: u32) -> Self {
        let allocations = program.map_or(&[][..], |program| &program.allocations);
        let range = |(number, it): (u32, &Allocation)| {
            let last = it.base.saturating_add(it.bytes.checked_sub(1)?);
            Some((it.base, last, number))
        };
        let mut ranges: Vec<_> = (0..).zip(allocations).filter_map(range).collect();
        ranges.sort_unstable();
        Self {
            ranges,
            count: allocations.len() as u32,
            dealt: match assigned {
                Assigned::Allocated => None,
                Assigned::DealtOut(seed) => Some(CounterRng::new(seed, "regions")),
            },
            line_shift: line_bytes.trailing_zeros(),
        }
    }

    /// Returns the number of regions of the program.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the region of an address: the number of its allocation in the order of the program.
    /// Returns `None` outside all allocations.
    pub fn of(&self, address: u64) -> Option<u32> {
        let after = self.ranges.partition_point(|range| range.0 <= address);
        let &(_, last, number) = self.ranges.get(after.checked_sub(1)?)?;
        if address > last {
            return None;
        }
        let Some(dealt) = &self.dealt else {
            return Some(number);
        };
        Some(dealt.below(address >> self.line_shift, u64::from(self.count)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(allocations: &[(u64, u64)]) -> Program {
        let allocation = |&(base, bytes): &(u64, u64)| Allocation {
            name: String::new(),
            base,
            bytes,
        };
        Program {
            allocations: allocations.iter().map(allocation).collect(),
            ..Program::default()
        }
    }

    #[test]
    fn inc_m5_allocations_are_numbered_in_the_order_of_the_program() {
        let program = program(&[(4096, 512), (0, 256), (1024, 1), (2048, 0)]);
        let regions = Regions::new(Some(&program), Assigned::Allocated, 128);
        assert_eq!(regions.count(), 4);
        let of = |address| regions.of(address);
        assert_eq!([of(4096), of(4607), of(4608)], [Some(0), Some(0), None]);
        assert_eq!([of(0), of(255), of(256)], [Some(1), Some(1), None]);
        assert_eq!([of(1023), of(1024), of(1025)], [None, Some(2), None]);
        assert_eq!([of(2048), of(u64::MAX)], [None, None]);
    }

    #[test]
    fn inc_m5_without_a_program_no_address_has_a_region() {
        let regions = Regions::new(None, Assigned::Allocated, 128);
        assert_eq!((regions.count(), regions.of(0)), (0, None));
        let dealt = Regions::new(None, Assigned::DealtOut(1), 128);
        assert_eq!(dealt.of(0), None);
    }

    #[test]
    fn an_allocation_up_to_the_last_address_is_a_region() {
        let program = program(&[(u64::MAX - 127, 128), (u64::MAX, u64::MAX)]);
        let regions = Regions::new(Some(&program), Assigned::Allocated, 128);
        assert_eq!(regions.of(u64::MAX - 127), Some(0));
        assert_eq!(regions.of(u64::MAX), Some(1));
    }

    #[test]
    fn lines_that_are_dealt_out_stay_whole_and_go_to_all_regions_alike() {
        let program = program(&[
            (0, 128 * 4000),
            (1 << 20, 128),
            (1 << 21, 128),
            (1 << 22, 128),
        ]);
        let dealt = |seed| Regions::new(Some(&program), Assigned::DealtOut(seed), 128);
        let regions = dealt(7);
        let mut lines = [0; 4];
        for line in 0..4000 {
            let region = regions.of(line * 128).expect("in an allocation");
            assert_eq!(regions.of(line * 128 + 127), Some(region));
            lines[region as usize] += 1;
        }
        assert!(
            lines.iter().all(|lines| (900..1100).contains(lines)),
            "{lines:?}"
        );
        assert_eq!(regions.of(128 * 4000), None);
        let differs = |line: u64| dealt(8).of(line * 128) != regions.of(line * 128);
        assert!((0..100).any(differs), "the seed decides");
    }
}
