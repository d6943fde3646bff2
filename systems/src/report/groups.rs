//! Statistics of instances that differ in their indices only, added up.

use warpweave_framework::{Histogram, InstanceStatistics, Value};

use crate::elaboration::address::any_index;

/// Instances of one kind whose paths are equal but for their indices.
pub(super) struct Group {
    /// Path with `[*]` for every index.
    pub(super) pattern: String,
    pub(super) kind: String,
    pub(super) instances: usize,
    /// Sums over the instances, in the order the component reports them.
    pub(super) totals: Vec<Total>,
}

/// One statistic added up over a group.
pub(super) struct Total {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) value: Sum,
}

pub(super) enum Sum {
    Counter(u64),
    /// Sum of the instances' measurements.
    Gauge(f64),
    Ratio {
        part: u64,
        whole: u64,
    },
    Histogram(Histogram),
}

impl Sum {
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Counter(n) => Self::Counter(*n),
            Value::Gauge(x) => Self::Gauge(*x),
            Value::Ratio { part, whole } => Self::Ratio {
                part: *part,
                whole: *whole,
            },
            Value::Histogram(h) => Self::Histogram(h.clone()),
            Value::Series(_) => return None,
        })
    }

    fn add(&mut self, value: &Value) {
        match (self, value) {
            (Self::Counter(sum), Value::Counter(n)) => *sum += n,
            (Self::Gauge(sum), Value::Gauge(x)) => *sum += x,
            (Self::Ratio { part, whole }, Value::Ratio { part: p, whole: w }) => {
                *part += p;
                *whole += w;
            }
            (Self::Histogram(sum), Value::Histogram(h)) => sum.merge(h),
            // A kind reports a name always as the same sort of value.
            _ => {}
        }
    }
}

/// Groups in the order in which their first instance was added.
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
            match group.totals.iter_mut().find(|t| t.name == statistic.name) {
                Some(total) => total.value.add(&statistic.value),
                None => group
                    .totals
                    .extend(Sum::of(&statistic.value).map(|value| Total {
                        name: statistic.name.clone(),
                        unit: statistic.unit,
                        value,
                    })),
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use warpweave_framework::Statistic;

    use super::*;

    fn instance(path: &str, hits: u64) -> InstanceStatistics {
        let value = |name: &str, value| Statistic {
            name: name.into(),
            unit: "",
            meaning: "",
            role: None,
            value,
        };
        InstanceStatistics {
            path: path.into(),
            kind: "Cache".into(),
            values: vec![
                value("hits", Value::Counter(hits)),
                value(
                    "rate",
                    Value::Ratio {
                        part: hits,
                        whole: 10,
                    },
                ),
            ],
        }
    }

    #[test]
    fn instances_that_differ_in_indices_are_added_up() {
        let groups = group(&[
            instance("cluster[0].l1[1]", 3),
            instance("l2[0]", 7),
            instance("cluster[1].l1[0]", 4),
        ]);
        assert_eq!(groups.len(), 2);
        assert_eq!(
            (groups[0].pattern.as_str(), groups[0].instances),
            ("cluster[*].l1[*]", 2)
        );
        assert!(matches!(groups[0].totals[0].value, Sum::Counter(7)));
        assert!(matches!(
            groups[0].totals[1].value,
            Sum::Ratio { part: 7, whole: 20 }
        ));
    }
}
