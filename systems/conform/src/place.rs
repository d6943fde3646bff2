//! Places of a generated machine that a policy can fill.

/// Place in a machine, one for every policy role of Warpweave's own blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    WavefrontScheduler,
    Placement,
    KernelOrder,
    CachePolicy,
    Replacement,
    Prefetcher,
    RequestOrder,
    Arbiter,
}

/// Each place with its role and default policy, which is empty for a list.
const PLACES: [(Place, &str, &str); 8] = [
    (Place::WavefrontScheduler, "wavefront_scheduler", "Gto"),
    (
        Place::Placement,
        "work_group_placement",
        "TwoLevelRoundRobin",
    ),
    (Place::KernelOrder, "kernel_order", "Fcfs"),
    (Place::CachePolicy, "cache_policy", ""),
    (Place::Replacement, "replacement", "Lru"),
    (Place::Prefetcher, "prefetcher", ""),
    (Place::RequestOrder, "request_order", "FrFcfs"),
    (Place::Arbiter, "arbiter", "Islip(iterations: 1)"),
];

impl Place {
    /// Returns the place of a role, if generated machines have one.
    pub(super) fn of(role: &str) -> Option<Self> {
        let found = PLACES.iter().find(|(_, name, _)| *name == role);
        found.map(|(place, ..)| *place)
    }

    /// Returns the default policy of this place, empty for a list.
    pub(super) fn usual(self) -> &'static str {
        PLACES[self as usize].2
    }

    /// True if the place takes a list of any number of policies.
    pub(super) fn is_list(self) -> bool {
        self.usual().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_where_its_number_says() {
        for (number, (place, role, _)) in PLACES.iter().enumerate() {
            assert_eq!(*place as usize, number);
            assert_eq!(Place::of(role), Some(*place));
        }
    }
}
