//! Statistics of a report, summed over instances that differ only in their indices.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use warpweave_systems::any_index;
use warpweave_systems::report::{RecordedStatistic, RecordedValue};

/// Names of statistics that are kept, next to issue slots.
const KEPT: [&str; 20] = [
    "achieved_occupancy",
    "activates",
    "bytes",
    "cycles_with_wavefronts",
    "instructions_atomic",
    "load_latency",
    "local_accesses",
    "local_conflict_cycles",
    "prefetch_requests",
    "read_hits",
    "read_requests",
    "read_sector_hits",
    "read_sectors",
    "reads",
    "requests_per_access",
    "texture_loads",
    "wavefronts_mean",
    "write_sectors",
    "writes",
    "constant_loads",
];

/// Prefix of the statistics that count issue slots by outcome.
pub(crate) const SLOTS: &str = "slots_";

/// Sum of a statistic over instances.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    /// Sum of counters; 0 for other types.
    pub(crate) value: u64,
    /// Sums of numerators, or of the values of histograms.
    pub(crate) part: u64,
    /// Sums of denominators, or of the counts of histograms.
    pub(crate) whole: u64,
    pub(crate) instances: u64,
}

/// Statistics of a launch or run by pattern of instances and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sums(BTreeMap<String, BTreeMap<String, Sum>>);

impl Sums {
    /// Returns the statistic of the instances of a pattern.
    pub(crate) fn get(&self, pattern: &str, name: &str) -> Option<&Sum> {
        self.0.get(pattern)?.get(name)
    }

    /// Returns the patterns of all instances, in order.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.keys().map(String::as_str)
    }

    /// Returns the issue slots of the instances of a pattern by outcome.
    pub(crate) fn slots<'s>(&'s self, pattern: &str) -> impl Iterator<Item = (&'s str, u64)> {
        let statistics = self.0.get(pattern).into_iter().flatten();
        statistics.filter_map(|(name, sum)| Some((name.strip_prefix(SLOTS)?, sum.value)))
    }

    fn add(&mut self, path: &str, statistics: BTreeMap<String, RecordedStatistic>) {
        let of = self.0.entry(any_index(path)).or_default();
        for (name, statistic) in statistics {
            if !KEPT.contains(&name.as_str()) && !name.starts_with(SLOTS) {
                continue;
            }
            let sum = of.entry(name).or_default();
            sum.instances += 1;
            if let RecordedValue::Integer(value) = statistic.value {
                sum.value = sum.value.saturating_add(value);
            }
            if let Some((part, whole)) = statistic.part_and_whole() {
                sum.part = sum.part.saturating_add(part);
                sum.whole = sum.whole.saturating_add(whole);
            }
        }
    }
}

impl<'de> Deserialize<'de> for Sums {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Instances;
        impl<'de> Visitor<'de> for Instances {
            type Value = Sums;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("statistics by instance")
            }

            // One instance at a time: reports of large machines hold thousands of them.
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Sums, M::Error> {
                let mut sums = Sums::default();
                while let Some(path) = map.next_key::<String>()? {
                    sums.add(&path, map.next_value()?);
                }
                Ok(sums)
            }
        }
        deserializer.deserialize_map(Instances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_summed_by_pattern_while_they_are_read() {
        let sums: Sums = serde_json::from_value(serde_json::json!({
            "cu[0]": {
                "slots_issued": {"value": 2, "unit": "slots", "combination": "sum"},
                "load_latency": {"value": 5.0, "count": 2, "sum": 10, "min": 5, "max": 5,
                    "power_of_two_buckets": [], "unit": "cycles", "combination": "weighted mean"},
                "other": {"value": 1, "unit": "", "combination": "sum"},
            },
            "cu[1]": {
                "slots_issued": {"value": 3, "unit": "slots", "combination": "sum"},
                "load_latency": {"value": null, "count": 0, "sum": 0, "min": null, "max": null,
                    "power_of_two_buckets": [], "unit": "cycles", "combination": "weighted mean"},
            },
        }))
        .unwrap();
        assert_eq!(sums.patterns().collect::<Vec<_>>(), ["cu[*]"]);
        assert_eq!(sums.slots("cu[*]").collect::<Vec<_>>(), [("issued", 5)]);
        let latency = sums.get("cu[*]", "load_latency").unwrap();
        assert_eq!((latency.part, latency.whole, latency.instances), (10, 2, 2));
        assert_eq!(sums.get("cu[*]", "other"), None);
    }
}
