//! Growth by place, named by the statistics that grew.

use warpweave_framework::{Amounts, InstanceStatistics, Places, Value};

/// The statistics of a machine, found by place.
pub(super) struct Within<'t> {
    template: &'t [InstanceStatistics],
    /// Instance and statistic of each place; `None` where it is gone.
    order: Vec<Option<(usize, usize)>>,
}

impl<'t> Within<'t> {
    /// The statistics of `template` by the places they have in `places`.
    pub(super) fn new(template: &'t [InstanceStatistics], places: &Places) -> Self {
        let order = places.within(template);
        Self { template, order }
    }

    /// What changed, in the order of the template.
    pub(super) fn changed(&self, changed: &[(u32, Value)]) -> Vec<InstanceStatistics> {
        let mut found: Vec<_> = changed
            .iter()
            .filter_map(|(place, by)| Some((self.order[*place as usize]?, by)))
            .collect();
        found.sort_by_key(|(at, _)| *at);
        let mut instances: Vec<InstanceStatistics> = Vec::new();
        let mut newest = None;
        for ((instance, statistic), by) in found {
            let template = &self.template[instance];
            if newest.replace(instance) != Some(instance) {
                instances.push(InstanceStatistics {
                    path: template.path.clone(),
                    kind: template.kind.clone(),
                    values: Vec::new(),
                });
            }
            if let Some(last) = instances.last_mut() {
                last.values
                    .push(template.values[statistic].with(by.clone()));
            }
        }
        instances
    }

    /// Everything that grows, with `amounts` for values: nothing where there is none.
    pub(super) fn all(&self, amounts: &Amounts) -> Vec<InstanceStatistics> {
        let mut by: Vec<Vec<(usize, Option<&Value>)>> = vec![Vec::new(); self.template.len()];
        for (place, at) in self.order.iter().enumerate() {
            if let Some((instance, statistic)) = *at {
                by[instance].push((statistic, amounts.get(place).and_then(Option::as_ref)));
            }
        }
        let mut instances = Vec::with_capacity(self.template.len());
        for (instance, mut by) in self.template.iter().zip(by) {
            by.sort_by_key(|(statistic, _)| *statistic);
            let mut values = Vec::with_capacity(by.len());
            for (statistic, by) in by {
                let statistic = &instance.values[statistic];
                let none = || statistic.growth()?.since(Some(&statistic.value));
                if let Some(value) = by.cloned().or_else(none) {
                    values.push(statistic.with(value));
                }
            }
            if !values.is_empty() {
                instances.push(InstanceStatistics {
                    path: instance.path.clone(),
                    kind: instance.kind.clone(),
                    values,
                });
            }
        }
        instances
    }
}

/// Adds growth to a sum.
pub(super) fn add(sum: &mut Amounts, growth: &Amounts) {
    sum.resize(sum.len().max(growth.len()), None);
    for (sum, by) in sum.iter_mut().zip(growth) {
        match (sum, by) {
            (Some(sum), Some(by)) => sum.grow(by),
            (sum @ None, by) => sum.clone_from(by),
            (Some(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::take;

    use warpweave_framework::{Growth, Look, Seen, Span, Statistics, Tick};

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
        let mut before = [Seen::default(), Seen::default()];
        let mut sums = Amounts::new();
        let mut look = |statistics: &[InstanceStatistics]| {
            let growth = [Growth::Changes(Vec::new()), Growth::Sums(take(&mut sums))];
            let spans = before.iter_mut().map(take).zip(growth);
            let spans = spans.map(|(seen, growth)| Span::new(seen, growth));
            let mut look = Look::new(take(&mut places), spans.collect());
            look.take_collected(statistics);
            let (seen, spans) = look.end();
            places = seen;
            let mut changes = Vec::new();
            for (before, span) in before.iter_mut().zip(spans) {
                *before = span.seen;
                match span.growth {
                    Growth::Changes(changed) => changes = changed,
                    Growth::Sums(grown) => sums = grown,
                }
            }
            changes
        };
        let first = [instance("a", &[("x", 1)]), instance("b", &[("y", 2)])];
        assert_eq!(look(&first).len(), 2);
        let statistics = [
            instance("a", &[("w", 7), ("x", 3)]),
            instance("b", &[("y", 2)]),
        ];
        let changed = look(&statistics);
        let within = Within::new(&statistics, &places);
        let all = within.all(&sums);
        assert_eq!(all[0].counter("w"), Some(7));
        assert_eq!(all[0].counter("x"), Some(3));
        assert_eq!(all[1].counter("y"), Some(2));
        let changed = within.changed(&changed);
        assert_eq!(changed.len(), 1);
        let names: Vec<_> = changed[0].values.iter().map(|s| &*s.name).collect();
        assert_eq!(names, ["w", "x"]);
    }
}
