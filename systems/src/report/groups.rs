//! Groups of instances that differ only in their indices, with combined statistics.

use std::collections::BTreeMap;

use warpweave_framework::{Combination, InstanceStatistics, Statistic, Value};

use crate::address::any_index;

/// Instances of one kind whose paths are equal except for their indices.
pub(super) struct Group {
    /// Path with `[*]` in place of every index.
    pub(super) pattern: String,
    pub(super) kind: String,
    pub(super) instances: usize,
    /// Combined statistics of the instances, in the component's report order.
    pub(super) totals: Vec<Total>,
}

/// One statistic, combined over a group.
pub(super) struct Total {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) combination: Combination,
    pub(super) combined: Combined,
}

/// Combined values of a statistic from several instances.
#[derive(Debug, PartialEq)]
pub(super) enum Combined {
    /// Values could be combined into one value.
    One(Value),
    /// Values are not combinable: maps each number to the count of instances that report it.
    Apart(BTreeMap<u64, usize>),
}

impl Combined {
    /// Starts with the first instance's statistic; `None` for kinds that a page has no room for.
    fn of(statistic: &Statistic) -> Option<Self> {
        match (&statistic.value, statistic.combination) {
            (Value::Series(_), _) => None,
            (Value::Number(n), Combination::None) => Some(Self::Apart(BTreeMap::from([(*n, 1)]))),
            (value, _) => Some(Self::One(value.clone())),
        }
    }

    /// Adds the value of another instance.
    fn join(&mut self, value: &Value, combination: Combination) {
        match (self, value) {
            (Self::Apart(numbers), Value::Number(n)) => *numbers.entry(*n).or_default() += 1,
            (Self::One(one), value) => join(one, value, combination),
            // A kind reports a name always as the same sort of value.
            (Self::Apart(_), _) => {}
        }
    }
}

/// Adds a value of the same statistic, as its combination says.
pub(super) fn join(one: &mut Value, other: &Value, combination: Combination) {
    match (one, other) {
        (Value::Counter(sum), Value::Counter(n)) => *sum += n,
        (Value::Number(one), Value::Number(n)) => {
            *one = match combination {
                Combination::Minimum => (*one).min(*n),
                _ => (*one).max(*n),
            }
        }
        (Value::Gauge(one), Value::Gauge(x)) => {
            *one = match combination {
                Combination::Sum => *one + x,
                Combination::Maximum => one.max(*x),
                Combination::Minimum => one.min(*x),
                // There is no value for all of them.
                Combination::None | Combination::WeightedMean { .. } => f64::NAN,
            }
        }
        (Value::Ratio { part, whole }, Value::Ratio { part: p, whole: w }) => {
            *part += p;
            *whole += w;
        }
        (Value::Histogram(one), Value::Histogram(other)) => one.merge(other),
        // A kind reports a name always as the same sort of value.
        _ => {}
    }
}

/// Returns the groups in the order of their first instance.
pub(super) fn group(statistics: &[InstanceStatistics]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for instance in statistics {
        let pattern = any_index(&instance.path);
        let at = groups
            .iter()
            .position(|g| g.pattern == pattern && g.kind == instance.kind)
            .unwrap_or_else(|| {
                groups.push(Group {
                    pattern,
                    kind: instance.kind.clone(),
                    instances: 0,
                    totals: Vec::new(),
                });
                groups.len() - 1
            });
        let group = &mut groups[at];
        group.instances += 1;
        for statistic in &instance.values {
            let combination = statistic.combination;
            match group.totals.iter_mut().find(|t| *t.name == *statistic.name) {
                Some(total) => total.combined.join(&statistic.value, combination),
                None => group
                    .totals
                    .extend(Combined::of(statistic).map(|combined| Total {
                        name: statistic.name.to_string(),
                        unit: statistic.unit,
                        combination,
                        combined,
                    })),
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use warpweave_framework::{Statistics, Tick, TimeWeighted};

    use super::*;

    fn instance(path: &str, report: impl FnOnce(&mut Statistics<'_>)) -> InstanceStatistics {
        let mut values = Vec::new();
        report(&mut Statistics::new(10, Tick(10), &mut values));
        InstanceStatistics {
            path: path.into(),
            kind: "Cache".into(),
            values,
        }
    }

    fn cache(path: &str, hits: u64, lookups: u64, depth: u64) -> InstanceStatistics {
        let mut level = TimeWeighted::default();
        level.set(5, depth);
        instance(path, |s| {
            s.counter("hits", "", "", hits);
            s.ratio("rate", "reads", "", hits, lookups);
            s.maximum("depth_max", "", "", depth);
            s.minimum("depth_min", "", "", depth);
            s.code("prediction", "", "", depth / 4);
            s.gauge("peak", "", "", Combination::Maximum, depth as f64);
            s.gauge("own", "", "", Combination::None, depth as f64);
            s.level("depth", "", "", &level);
        })
    }

    #[test]
    fn instances_that_differ_in_indices_are_combined_as_each_statistic_says() {
        let groups = group(&[
            cache("cluster[0].l1[1]", 3, 10, 4),
            cache("l2[0]", 7, 10, 1),
            cache("cluster[1].l1[0]", 5, 30, 6),
            cache("cluster[1].l1[1]", 0, 0, 2),
        ]);
        assert_eq!(groups.len(), 2);
        assert_eq!(
            (groups[0].pattern.as_str(), groups[0].instances),
            ("cluster[*].l1[*]", 3)
        );
        let of = |name: &str| {
            let total = groups[0].totals.iter().find(|t| t.name == name);
            &total.expect("it is reported").combined
        };
        let one = |value| &*Box::leak(Box::new(Combined::One(value)));
        assert_eq!(of("hits"), one(Value::Counter(8)));
        let rate = Value::Ratio { part: 8, whole: 40 };
        assert_eq!(of("rate"), one(rate));
        assert_eq!(of("depth_max"), one(Value::Number(6)));
        assert_eq!(of("depth_min"), one(Value::Number(2)));
        assert_eq!(of("prediction"), &Combined::Apart([(0, 1), (1, 2)].into()));
        assert_eq!(of("peak"), one(Value::Gauge(6.0)));
        assert!(matches!(of("own"), Combined::One(Value::Gauge(x)) if x.is_nan()));
        let depth = Value::Ratio {
            part: 5 * 12,
            whole: 30,
        };
        assert_eq!(of("depth"), one(depth));
    }
}
