//! Collector of a report: statistics with labels, shared by components that report the same ones.

use std::sync::Arc;

use super::{Combination, Label, Role, Statistic, Value};

/// Collects statistics together with their labels.
pub(super) struct List<'a> {
    statistics: &'a mut Vec<Statistic>,
    /// Statistics of another component, whose labels this one shares where they are equal.
    like: &'a [Statistic],
    /// Role and index of the statistic reported next.
    pub(super) role: Option<Role>,
    pub(super) index: Option<usize>,
    /// True if no statistic being reported grows.
    pub(super) settled: bool,
    /// Prefix of the names of reported statistics.
    pub(super) prefix: String,
}

impl<'a> List<'a> {
    /// Creates a list for a component that probably reports the same statistics as `like`.
    pub(super) fn named_like(like: &'a [Statistic], statistics: &'a mut Vec<Statistic>) -> Self {
        Self {
            statistics,
            like,
            role: None,
            index: None,
            settled: false,
            prefix: String::new(),
        }
    }

    /// Adds a statistic with the role and the index given before.
    #[inline(never)]
    pub(super) fn push(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        combination: Combination,
        value: Value,
    ) {
        let (role, index) = (self.role.take(), self.index.take());
        let grows = !self.settled && !matches!(value, Value::Number(_) | Value::Gauge(_));
        let new = Meant {
            name,
            index,
            unit,
            meaning,
            role,
            combination,
            grows,
        };
        let known = self.like.get(self.statistics.len());
        let label = match known {
            Some(Statistic { label, .. }) if self.is_labelled(label, new) => Arc::clone(label),
            _ => self.new_label(new),
        };
        debug_assert!(
            self.statistics.iter().all(|s| s.name != label.name),
            "statistic `{}` reported twice",
            label.name
        );
        self.statistics.push(Statistic { label, value });
    }

    /// True if `known` is the label of this statistic.
    #[inline]
    fn is_labelled(&self, known: &Label, new: Meant) -> bool {
        let (prefix, text, index) = known.written;
        prefix == self.prefix.len()
            && is_same(text, new.name)
            && index == new.index
            && is_same(known.unit, new.unit)
            && is_same(known.meaning, new.meaning)
            && known.grows == new.grows
            && known.combination == new.combination
            && known.role == new.role
            && (prefix == 0 || known.name[..prefix] == *self.prefix)
    }

    #[cold]
    fn new_label(&self, new: Meant) -> Arc<Label> {
        let Meant {
            name,
            index,
            unit,
            meaning,
            role,
            combination,
            grows,
        } = new;
        let number = index.map_or(String::new(), |index| format!("[{index}]"));
        Arc::new(Label {
            name: [&*self.prefix, name, &number].concat().into(),
            unit,
            meaning,
            role,
            combination,
            grows,
            written: (self.prefix.len(), name, index),
        })
    }
}

/// Name and meaning of a statistic that is reported.
#[derive(Clone, Copy)]
struct Meant {
    name: &'static str,
    index: Option<usize>,
    unit: &'static str,
    meaning: &'static str,
    role: Option<Role>,
    combination: Combination,
    grows: bool,
}

/// True if two texts are equal; usually they have the same address.
#[inline]
fn is_same(one: &'static str, other: &'static str) -> bool {
    std::ptr::eq(one, other) || one == other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::statistics::Statistics;
    use crate::time::Tick;

    #[test]
    fn labels_are_the_same_whether_another_component_reported_them_before_or_not() {
        fn report(statistics: &mut Statistics<'_>, parts: usize, more: bool) {
            for part in 0..parts {
                statistics.at(part).counter("flits", "flits", "", 1);
            }
            if more {
                statistics.counter("flits", "flits", "", 1);
            }
            statistics.under("part", |part| {
                part.counter("hits", "hits", "", 1);
                part.at(12).counter("hits", "hits", "", 1);
            });
        }
        let reported = |like: &[Statistic], parts, more| {
            let mut list = Vec::new();
            let mut statistics = Statistics::named_like(like, 1, Tick(1), &mut list);
            report(&mut statistics, parts, more);
            list
        };
        let like = reported(&[], 2, true);
        for (parts, more, shared) in [(2, true, 5), (1, true, 1), (3, false, 4), (0, false, 0)] {
            let list = reported(&like, parts, more);
            assert_eq!(list, reported(&[], parts, more));
            let pairs = list.iter().zip(&like);
            let same = pairs.filter(|(one, other)| Arc::ptr_eq(&one.label, &other.label));
            assert_eq!(same.count(), shared);
        }
    }
}
