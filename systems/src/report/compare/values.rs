//! Combination of each statistic over instances that differ only in their indices.

use std::collections::BTreeMap;

use warpweave_framework::Combination;

use super::ComparedStatistic;
use crate::address::any_index;
use crate::report::{Record, RecordedStatistic};

/// Intermediate state of combining the instances of one pattern.
struct Combined {
    unit: String,
    value: Option<f64>,
    /// Numerator and denominator of a mean.
    mean: Option<(u128, u128)>,
}

/// Combines the statistics of a run over instances, and over indices in names, by each statistic's
/// combination rule. Series are omitted, since they are not single values. Statistics that cannot
/// be combined are omitted if there are several instances.
pub(super) fn statistics_of(run: &Record) -> ComparedStatistic {
    let mut patterns: BTreeMap<String, BTreeMap<String, Combined>> = BTreeMap::new();
    for (path, statistics) in &run.stats {
        let pattern = patterns.entry(any_index(path)).or_default();
        for (name, statistic) in statistics {
            let name = any_index(name);
            match pattern.get_mut(&name) {
                Some(combined) => combined.join(statistic),
                None => {
                    pattern.insert(name, Combined::of(statistic));
                }
            }
        }
    }
    let mut counted = ComparedStatistic::new();
    for (pattern, statistics) in patterns {
        for (name, combined) in statistics {
            if let Some(value) = combined.value() {
                counted.push((pattern.clone(), name, combined.unit, value));
            }
        }
    }
    counted
}

impl Combined {
    fn of(statistic: &RecordedStatistic) -> Self {
        let mean = statistic.part_and_whole();
        Self {
            unit: statistic.unit.clone(),
            value: statistic.number(),
            mean: mean.map(|(part, whole)| (part.into(), whole.into())),
        }
    }

    fn join(&mut self, statistic: &RecordedStatistic) {
        let named = |combination: Combination| statistic.combination == combination.name();
        if let (Some((part, whole)), Some((p, w))) = (&mut self.mean, statistic.part_and_whole()) {
            *part += u128::from(p);
            *whole += u128::from(w);
            return;
        }
        self.mean = None;
        let both = self.value.zip(statistic.number());
        self.value = if named(Combination::Sum) {
            both.map(|(a, b)| a + b)
        } else if named(Combination::Maximum) {
            both.map(|(a, b)| a.max(b))
        } else if named(Combination::Minimum) {
            both.map(|(a, b)| a.min(b))
        } else {
            None
        };
    }

    fn value(&self) -> Option<f64> {
        match self.mean {
            Some((part, whole)) => (whole > 0).then(|| part as f64 / whole as f64),
            None => self.value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_combined_as_each_statistic_says() {
        let record = serde_json::json!({
            "schema_version": 2, "scenario": "s", "status": "done", "cycles": 1,
            "simulated_s": 0.0, "wavefront_instructions": 0, "thread_instructions": 0, "ipc": 0.0,
            "core_clock": "core",
            "stats": {
                "l1[0]": {
                    "hits": {"value": 2, "unit": "requests", "combination": "sum"},
                    "rate": {"value": 0.5, "part": 1, "whole": 2, "unit": "",
                             "combination": "weighted mean"},
                    "most": {"value": 3, "unit": "", "combination": "maximum"},
                    "least": {"value": 3, "unit": "", "combination": "minimum"},
                    "code": {"value": 3, "unit": "", "combination": "none"},
                },
                "l1[1]": {
                    "hits": {"value": 5, "unit": "requests", "combination": "sum"},
                    "rate": {"value": 0.0, "part": 0, "whole": 8, "unit": "",
                             "combination": "weighted mean"},
                    "most": {"value": 9, "unit": "", "combination": "maximum"},
                    "least": {"value": 1, "unit": "", "combination": "minimum"},
                    "code": {"value": 3, "unit": "", "combination": "none"},
                },
                "dram": {
                    "code": {"value": 7, "unit": "", "combination": "none"},
                    "none": {"value": null, "part": 0, "whole": 0, "unit": "",
                             "combination": "weighted mean"},
                    "traffic": {"value": [1, 2], "unit": "B", "combination": "sum",
                                "interval_cycles": 10},
                }
            }
        });
        let record = Record::from_json(&record.to_string()).unwrap();
        let all = statistics_of(&record);
        let all: Vec<_> = all
            .iter()
            .map(|(place, name, _, value)| (place.as_str(), name.as_str(), *value))
            .collect();
        assert_eq!(
            all,
            [
                ("dram", "code", 7.0),
                ("l1[*]", "hits", 7.0),
                ("l1[*]", "least", 1.0),
                ("l1[*]", "most", 9.0),
                ("l1[*]", "rate", 0.1),
            ]
        );
    }
}
