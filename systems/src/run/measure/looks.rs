//! Looks at all statistics of a machine, and what grew from one to the next.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Growing, InstanceStatistics, Reported, Value};

/// The statistics that were seen so far: each keeps its place, whichever others come or go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Places {
    /// Paths of instances.
    paths: Vec<String>,
    /// Instance and name by place.
    names: Vec<(u32, String)>,
}

/// Values by the places of their statistics; `None` where there is none, or none that grows.
pub(super) type Amounts = Vec<Option<Value>>;

impl Places {
    /// The number of an instance, which is the expected one unless some came or went.
    fn find_path(&self, expected: usize, path: &str) -> Option<usize> {
        if self.paths.get(expected).is_some_and(|p| p == path) {
            return Some(expected);
        }
        self.paths.iter().position(|p| p == path)
    }

    #[inline]
    fn is_at(&self, place: usize, instance: usize, name: &str) -> bool {
        let there = self.names.get(place);
        there.is_some_and(|(i, n)| *i as usize == instance && n == name)
    }

    /// The place of a statistic, which is the expected one unless some came or went.
    fn find(&self, expected: usize, instance: usize, name: &str) -> Option<usize> {
        if self.is_at(expected, instance, name) {
            return Some(expected);
        }
        (0..self.names.len()).find(|place| self.is_at(*place, instance, name))
    }

    /// Where the statistics of `template` that grow have their places.
    pub(super) fn within<'t>(&self, template: &'t [InstanceStatistics]) -> Within<'t> {
        let mut order = vec![None; self.names.len()];
        let (mut next_path, mut next) = (0, 0);
        for (at, instance) in template.iter().enumerate() {
            let Some(path) = self.find_path(next_path, &instance.path) else {
                continue;
            };
            next_path = path + 1;
            let growing = instance.values.iter().enumerate().filter(|(_, s)| s.grows);
            for (statistic, known) in growing {
                if let Some(place) = self.find(next, path, &known.name) {
                    order[place] = Some((at, statistic));
                    next = place + 1;
                }
            }
        }
        Within { template, order }
    }
}

/// The statistics of a machine, found by place.
pub(super) struct Within<'t> {
    template: &'t [InstanceStatistics],
    /// Instance and statistic of each place; `None` where it is gone.
    order: Vec<Option<(usize, usize)>>,
}

impl Within<'_> {
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

/// A look at the statistics of a machine that grow, one by one.
pub(super) struct Look<'m> {
    places: &'m mut Places,
    /// Number of the instance that reports, if one does.
    instance: Option<usize>,
    /// Place of the next statistic, unless some came or went.
    expected: usize,
    /// Nothing was seen before this look, so every statistic is new.
    first: bool,
    /// For each span that ends: what the look at its start found, and where growth since then goes.
    spans: Vec<Span<'m>>,
}

/// What the look at the start of a span found, and where growth since then goes.
pub(super) type Span<'m> = (&'m mut Amounts, &'m mut dyn FnMut(u32, Value));

impl<'m> Look<'m> {
    pub(super) fn new(places: &'m mut Places, mut spans: Vec<Span<'m>>) -> Self {
        for (before, _) in &mut spans {
            before.resize(places.names.len(), None);
        }
        Self {
            first: places.names.is_empty(),
            places,
            instance: None,
            expected: 0,
            spans,
        }
    }

    /// The place of a statistic that does not have the expected one.
    #[cold]
    fn place(&mut self, instance: usize, name: &str) -> usize {
        let known = if self.first {
            None
        } else {
            self.places.find(self.expected, instance, name)
        };
        known.unwrap_or_else(|| {
            self.places.names.push((instance as u32, name.to_owned()));
            for (before, _) in &mut self.spans {
                before.resize(self.places.names.len(), None);
            }
            self.places.names.len() - 1
        })
    }
}

impl Growing for Look<'_> {
    fn of(&mut self, path: &str) {
        let next = self.instance.map_or(0, |last| last + 1);
        let known = self.places.find_path(next, path);
        self.instance = Some(known.unwrap_or_else(|| {
            self.places.paths.push(path.to_owned());
            self.places.paths.len() - 1
        }));
    }

    fn take(&mut self, name: &str, now: Reported<'_>) {
        let instance = self.instance.unwrap_or_default();
        let place = if self.places.is_at(self.expected, instance, name) {
            self.expected
        } else {
            self.place(instance, name)
        };
        self.expected = place + 1;
        for (before, grew) in &mut self.spans {
            let before = &mut before[place];
            // Most did not change.
            if before.as_ref().is_some_and(|before| now == *before) {
                continue;
            }
            if let Some(by) = now.since(before.as_ref())
                && !by.is_nothing()
            {
                grew(place as u32, by);
            }
            *before = Some(now.to_value());
        }
    }
}

/// Adds growth to what there is at a place.
pub(super) fn grow(sums: &mut Amounts, place: u32, by: Value) {
    let place = place as usize;
    if place >= sums.len() {
        sums.resize(place + 1, None);
    }
    match &mut sums[place] {
        Some(sum) => sum.grow(&by),
        sum => *sum = Some(by),
    }
}

/// Adds growth to a sum.
pub(super) fn add(sum: &mut Amounts, growth: &Amounts) {
    for (place, by) in growth.iter().enumerate() {
        if let Some(by) = by {
            grow(sum, place as u32, by.clone());
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
        let mut before = Amounts::new();
        let mut look = |statistics: &[InstanceStatistics]| {
            let mut changed = Vec::new();
            let mut grew = |place, by| changed.push((place, by));
            let mut look = Look::new(&mut places, vec![(&mut before, &mut grew)]);
            for instance in statistics {
                look.of(&instance.path);
                for statistic in &instance.values {
                    look.take(&statistic.name, statistic.value.reported());
                }
            }
            changed
        };
        look(&[instance("a", &[("x", 1)]), instance("b", &[("y", 2)])]);
        let statistics = [
            instance("a", &[("w", 7), ("x", 3)]),
            instance("b", &[("y", 2)]),
        ];
        let changed = look(&statistics);
        let mut grown = Amounts::new();
        for (place, by) in changed.clone() {
            grow(&mut grown, place, by);
        }
        let within = places.within(&statistics);
        let all = within.all(&grown);
        assert_eq!(all[0].counter("w"), Some(7));
        assert_eq!(all[0].counter("x"), Some(2));
        assert_eq!(all[1].counter("y"), Some(0));
        let changed = within.changed(&changed);
        assert_eq!(changed.len(), 1);
        let names: Vec<_> = changed[0].values.iter().map(|s| &*s.name).collect();
        assert_eq!(names, ["w", "x"]);
    }
}
