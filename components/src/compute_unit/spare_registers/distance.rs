//! Distance of prefetches: by the iterations left, and by the registers to spare (PRE-M7).

use crate::compute_unit::spec::PrefetchDistance;

/// Iterations that the lanes of a loop have left, each counted to 15 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IterationsLeft {
    pub(super) sum: u32,
    pub(super) lanes: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegisterNeeds {
    pub(super) per_iteration: u32,
    pub(super) for_addresses: u32,
}

impl IterationsLeft {
    /// Counter of a lane saturates here.
    pub(super) const MOST: u32 = 15;
}

impl RegisterNeeds {
    pub(super) fn at(self, distance: u32) -> u32 {
        if distance == 0 {
            0
        } else {
            distance * self.per_iteration + self.for_addresses
        }
    }
}

impl PrefetchDistance {
    /// Returns the distance for a loop whose lanes have these iterations left, with as many
    /// registers to spare; 0 if nothing can be prefetched.
    pub(super) fn choose(&self, left: IterationsLeft, needs: RegisterNeeds, spare: u32) -> u32 {
        let wanted = match self {
            Self::Fixed(distance) => *distance,
            Self::Dynamic { low, mid, .. } if left.sum < mid * left.lanes => *low,
            Self::Dynamic { med, high_at, .. } if left.sum < high_at * left.lanes => *med,
            Self::Dynamic { high, .. } => *high,
        };
        let fits = |distance: &u32| needs.at(*distance) <= spare;
        (0..=wanted).rev().find(fits).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DYNAMIC: PrefetchDistance = PrefetchDistance::Dynamic {
        low: 1,
        med: 2,
        high: 3,
        mid: 4,
        high_at: 6,
    };

    fn chosen(tenths: u32, per_iteration: u32, for_addresses: u32, spare: u32) -> u32 {
        let left = IterationsLeft {
            sum: tenths,
            lanes: 10,
        };
        let needs = RegisterNeeds {
            per_iteration,
            for_addresses,
        };
        DYNAMIC.choose(left, needs, spare)
    }

    #[test]
    fn the_mean_of_iterations_left_chooses_among_three() {
        for (tenths, distance) in [(0, 1), (39, 1), (40, 2), (59, 2), (60, 3), (150, 3)] {
            assert_eq!(chosen(tenths, 1, 0, 20), distance, "mean {tenths} / 10");
        }
    }

    #[test]
    fn the_registers_to_spare_limit_the_distance() {
        assert_eq!(chosen(60, 1, 0, 3), 3, "one head");
        assert_eq!(chosen(60, 2, 0, 3), 1, "two heads");
        assert_eq!(chosen(60, 2, 0, 10), 3, "two heads");
        assert_eq!(chosen(60, 2, 0, 5), 2, "one pair");
        assert_eq!(
            chosen(60, 2, 2, 5),
            1,
            "one pair with registers for addresses"
        );
        assert_eq!(chosen(60, 2, 0, 1), 0, "one pair");
        let fixed = PrefetchDistance::Fixed(3);
        let needs = RegisterNeeds {
            per_iteration: 2,
            for_addresses: 0,
        };
        assert_eq!(fixed.choose(IterationsLeft::default(), needs, 5), 2);
    }
}
