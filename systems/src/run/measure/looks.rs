//! Looks at all statistics of a machine, and what grew from one to the next.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpweave_framework::{InstanceStatistics, Statistic, Value};

/// The statistics that were seen so far: each keeps its place, whichever others come or go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Places {
    /// Path and name by place.
    names: Vec<(String, String)>,
}

/// Values by the places of their statistics; `None` where there is none, or none that grows.
pub(super) type Amounts = Vec<Option<Value>>;

impl Places {
    /// The values of all statistics by their places.
    pub(super) fn look(&mut self, statistics: &[InstanceStatistics]) -> Amounts {
        let mut values: Amounts = vec![None; self.names.len()];
        let mut expected = 0;
        for instance in statistics {
            for statistic in &instance.values {
                let place = self.place(expected, &instance.path, &statistic.name);
                expected = place + 1;
                if place >= values.len() {
                    values.resize(place + 1, None);
                }
                values[place] = statistic.growth();
            }
        }
        values
    }

    /// The place of a statistic, which is the expected one unless some came or went.
    fn place(&mut self, expected: usize, path: &str, name: &str) -> usize {
        let is = |(p, n): &(String, String)| p == path && n == name;
        if self.names.get(expected).is_some_and(is) {
            return expected;
        }
        self.names.iter().position(is).unwrap_or_else(|| {
            self.names.push((path.to_owned(), name.to_owned()));
            self.names.len() - 1
        })
    }

    /// The statistics in the order of `template`, with `amounts` for values. What does not grow is
    /// left out, and with `changed` what did not change.
    pub(super) fn statistics(
        &self,
        amounts: &Amounts,
        template: &[InstanceStatistics],
        changed: bool,
    ) -> Vec<InstanceStatistics> {
        let places = self.names.iter().enumerate();
        let places: BTreeMap<(&str, &str), usize> = places
            .map(|(place, (path, name))| ((path.as_str(), name.as_str()), place))
            .collect();
        let with_amount = |path: &str, statistic: &Statistic| {
            let place = places.get(&(path, statistic.name.as_str()))?;
            let value = amounts.get(*place).cloned().flatten();
            // What came into being later grew by nothing.
            let value = value.or_else(|| statistic.growth()?.since(Some(&statistic.value)))?;
            (!changed || !value.is_nothing()).then(|| Statistic {
                value,
                ..statistic.clone()
            })
        };
        let instances = template.iter().map(|instance| InstanceStatistics {
            path: instance.path.clone(),
            kind: instance.kind.clone(),
            values: instance
                .values
                .iter()
                .filter_map(|statistic| with_amount(&instance.path, statistic))
                .collect(),
        });
        instances.filter(|i| !i.values.is_empty()).collect()
    }
}

/// What grew from one look to the next.
pub(super) fn growth(before: &Amounts, now: &Amounts) -> Amounts {
    let before = before.iter().map(Option::as_ref);
    let before = before.chain(std::iter::repeat(None));
    let pairs = now.iter().zip(before);
    pairs
        .map(|(now, before)| now.as_ref()?.since(before))
        .collect()
}

/// Adds growth to a sum.
pub(super) fn add(sum: &mut Amounts, growth: &Amounts) {
    if sum.len() < growth.len() {
        sum.resize(growth.len(), None);
    }
    for (sum, by) in sum.iter_mut().zip(growth) {
        match (&mut *sum, by) {
            (Some(sum), Some(by)) => sum.grow(by),
            (None, Some(_)) => sum.clone_from(by),
            (_, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use warpweave_framework::{Statistics, Tick};

    use super::*;

    fn instance(path: &str, counts: &[(&str, u64)]) -> InstanceStatistics {
        let mut values = Vec::new();
        let mut statistics = Statistics::new(0, Tick(0), &mut values);
        for (name, count) in counts {
            statistics.counter(name, "", "", *count);
        }
        InstanceStatistics {
            path: path.to_owned(),
            kind: String::new(),
            values,
        }
    }

    #[test]
    fn statistics_that_come_and_go_keep_their_places() {
        let mut places = Places::default();
        let first = places.look(&[instance("a", &[("x", 1)]), instance("b", &[("y", 2)])]);
        let statistics = [
            instance("a", &[("w", 7), ("x", 3)]),
            instance("b", &[("y", 2)]),
        ];
        let second = places.look(&statistics);
        let grown = growth(&first, &second);
        let all = places.statistics(&grown, &statistics, false);
        assert_eq!(all[0].counter("w"), Some(7));
        assert_eq!(all[0].counter("x"), Some(2));
        assert_eq!(all[1].counter("y"), Some(0));
        let changed = places.statistics(&grown, &statistics, true);
        assert_eq!(changed.len(), 1);
    }
}
