//! Growth of statistics within part of a run, given as statistics.
//!
//! Everything that counts from the start of a run grows: counters, the parts and wholes of ratios,
//! distributions, series. The sum of the growth between all successive snapshots is the final
//! statistic. Extremes, codes and gauges do not grow: they cannot be attributed to part of a run.

use std::ops::Range;
use std::sync::Arc;

use crate::observe::snapshots::{Changes, StatisticSnapshots};
use crate::observe::statistics::{Histogram, InstanceStatistics, Series, Statistic, Value};

/// Accumulated growth over any number of snapshots.
#[derive(Clone, Debug, Default)]
pub struct Amounts(Vec<u64>);

impl Amounts {
    /// Adds the changes from one snapshot to the next.
    pub fn add(&mut self, changes: &Changes) {
        for (word, by) in changes.iter() {
            if word >= self.0.len() {
                self.0.resize(word + 1, 0);
            }
            self.0[word] = self.0[word].wrapping_add(by);
        }
    }

    /// Adds the growth accumulated in `others`.
    pub fn add_all(&mut self, others: &Self) {
        self.0.resize(self.0.len().max(others.0.len()), 0);
        for (sum, by) in self.0.iter_mut().zip(&others.0) {
            *sum = sum.wrapping_add(*by);
        }
    }

    fn at(&self, word: usize) -> u64 {
        self.0.get(word).copied().unwrap_or(0)
    }
}

/// Position of statistics among the words of snapshots.
#[derive(Debug)]
pub struct StatisticDeltas<'t> {
    totals: &'t [InstanceStatistics],
    /// Words by instance and statistic. A statistic whose instance changed its shape has several
    /// ranges.
    places: Vec<Vec<Vec<Range<usize>>>>,
    /// Instance and statistic of each word, for statistics in `totals`.
    of_word: Vec<Option<(u32, u32)>>,
}

impl StatisticSnapshots {
    /// Finds the final statistics of a whole run for which snapshots recorded growth.
    pub fn grown<'t>(&self, totals: &'t [InstanceStatistics]) -> StatisticDeltas<'t> {
        let mut of_word = vec![None; self.seen.len()];
        let mut next = 0;
        let places = totals.iter().enumerate().map(|(i, total)| {
            let mut places = vec![Vec::new(); total.values.len()];
            let is_it = |at: &usize| self.instances[*at].path == total.path;
            let expected = (next < self.instances.len()).then_some(next);
            let found = expected.filter(is_it);
            let Some(found) = found.or_else(|| (0..self.instances.len()).find(is_it)) else {
                return places;
            };
            next = found + 1;
            for block in &self.instances[found].blocks {
                let mut expected = 0;
                for part in &self.shapes[block.shape as usize].parts {
                    let Some(s) = find(&total.values, expected, &part.name) else {
                        continue;
                    };
                    expected = s + 1;
                    let words = part.range(*block);
                    of_word[words.clone()].fill(Some((i as u32, s as u32)));
                    places[s].push(words);
                }
            }
            places
        });
        StatisticDeltas {
            totals,
            places: places.collect(),
            of_word,
        }
    }
}

/// Returns the index of the growing statistic with this name. It is at least `expected` unless
/// statistics were added or removed.
fn find(statistics: &[Statistic], expected: usize, name: &str) -> Option<usize> {
    let is_it = |at: &usize| statistics[*at].grows && *statistics[*at].name == *name;
    let rest = expected..statistics.len();
    rest.chain(0..expected).find(is_it)
}

impl StatisticDeltas<'_> {
    /// Returns everything that grows, with zero growth for unchanged statistics.
    pub fn all(&self, amounts: &Amounts) -> Vec<InstanceStatistics> {
        let of_instance = self.totals.iter().enumerate().map(|(i, total)| {
            let of = |s: usize| self.statistic(i, s, amounts);
            instance(total, (0..total.values.len()).filter_map(of).collect())
        });
        let mut instances: Vec<_> = of_instance.collect();
        instances.retain(|instance| !instance.values.is_empty());
        instances
    }

    /// Returns the statistics that grew over some snapshots, with their accumulated growth.
    pub fn changed<'c>(
        &self,
        changes: impl IntoIterator<Item = &'c Changes>,
    ) -> Vec<InstanceStatistics> {
        let mut amounts = Amounts::default();
        let mut found = Vec::new();
        for changes in changes {
            amounts.add(changes);
            found.extend(changes.iter().filter_map(|(word, _)| self.of_word[word]));
        }
        found.sort_unstable();
        found.dedup();
        let mut instances = Vec::new();
        for found in found.chunk_by(|(one, _), (other, _)| one == other) {
            let number = found[0].0 as usize;
            let grown = found
                .iter()
                .filter_map(|(_, s)| self.statistic(number, *s as usize, &amounts))
                .filter(|statistic| !is_nothing(&statistic.value));
            let grown = instance(&self.totals[number], grown.collect());
            if !grown.values.is_empty() {
                instances.push(grown);
            }
        }
        instances
    }

    /// Returns a statistic whose value is its growth; `None` if it does not grow.
    fn statistic(&self, instance: usize, s: usize, amounts: &Amounts) -> Option<Statistic> {
        let total = &self.totals[instance].values[s];
        let places = &self.places[instance][s];
        let word = |at: usize| {
            let words = places.iter().filter(|words| at < words.len());
            words.fold(0, |sum: u64, words| {
                sum.wrapping_add(amounts.at(words.start + at))
            })
        };
        let room = places.iter().map(Range::len).max().unwrap_or(0);
        let words = |from: usize| (from..room).map(word).collect::<Vec<u64>>();
        let value = match &total.value {
            _ if !total.grows => return None,
            Value::Number(_) | Value::Gauge(_) => return None,
            Value::Counter(_) => Value::Counter(word(0)),
            Value::Ratio { .. } => Value::Ratio {
                part: word(0),
                whole: word(1),
            },
            Value::Histogram(whole) => {
                Value::Histogram(Histogram::part(whole, word(0), word(1), words(2)))
            }
            Value::Series(whole) => Value::Series(Series::of(whole.interval(), words(0))),
        };
        Some(Statistic {
            label: Arc::clone(&total.label),
            value,
        })
    }
}

fn instance(total: &InstanceStatistics, values: Vec<Statistic>) -> InstanceStatistics {
    InstanceStatistics {
        path: total.path.clone(),
        kind: total.kind.clone(),
        values,
    }
}

/// True if the growth is zero.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Counter(count) => *count == 0,
        Value::Ratio { part, whole } => (*part, *whole) == (0, 0),
        Value::Histogram(histogram) => histogram.count() == 0,
        Value::Series(series) => series.sums().is_empty(),
        Value::Number(_) | Value::Gauge(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::observe::statistics::Statistics;
    use crate::time::Tick;

    /// Names, prefixes and indices used for statistics in the test.
    const NAMES: [&str; 4] = ["hits", "misses", "reads", "read"];
    const PREFIXES: [&str; 3] = ["l1", "l2", "l1_read"];

    /// Model of a statistic: its name and its count so far.
    #[derive(Clone, Debug)]
    struct Modelled {
        name: &'static str,
        prefix: Option<&'static str>,
        index: Option<usize>,
        value: Value,
    }

    impl Modelled {
        fn add(&mut self, by: u64, cycle: u64) {
            match &mut self.value {
                Value::Counter(count) => *count += by,
                Value::Ratio { part, whole } => {
                    *part += by;
                    *whole += 1;
                }
                Value::Histogram(histogram) => histogram.record(by << (by % 40)),
                // Nothing at its end would be part of no interval.
                Value::Series(series) => series.add(cycle, by + 1),
                Value::Number(_) | Value::Gauge(_) => {}
            }
        }

        fn report(&self, s: &mut Statistics<'_>) {
            match self.prefix {
                Some(prefix) => s.under(prefix, |s| self.report_here(s)),
                None => self.report_here(s),
            }
        }

        fn report_here(&self, s: &mut Statistics<'_>) {
            if let Some(index) = self.index {
                s.at(index);
            }
            match &self.value {
                Value::Counter(count) => s.counter(self.name, "", "", *count),
                Value::Ratio { part, whole } => s.ratio(self.name, "", "", *part, *whole),
                Value::Histogram(histogram) => s.histogram(self.name, "", "", histogram),
                Value::Series(series) => s.series(self.name, "", "", series),
                Value::Number(_) | Value::Gauge(_) => {}
            }
        }
    }

    /// Returns every possible statistic with a zero count.
    fn all_modelled() -> Vec<Modelled> {
        let mut all = Vec::new();
        for (n, name) in NAMES.into_iter().enumerate() {
            let prefixes = [
                None,
                Some(PREFIXES[0]),
                Some(PREFIXES[1]),
                Some(PREFIXES[2]),
            ];
            for (p, prefix) in prefixes.into_iter().enumerate() {
                for (i, index) in [None, Some(0), Some(17)].into_iter().enumerate() {
                    let value = match (n + p + i) % 4 {
                        0 => Value::Counter(0),
                        1 => Value::Ratio { part: 0, whole: 0 },
                        2 => Value::Histogram(Histogram::default()),
                        _ => Value::Series(Series::new(3)),
                    };
                    all.push(Modelled {
                        name,
                        prefix,
                        index,
                        value,
                    });
                }
            }
        }
        // `l1_read` would be the name of two.
        all.retain(|m| (m.name, m.prefix) != ("read", Some("l1")) || m.index.is_some());
        all
    }

    /// Returns the additive parts of a value: all but the extremes of distributions.
    fn amounts(value: &Value) -> Vec<u64> {
        let mut amounts = match value {
            Value::Histogram(h) => [&[h.count(), h.sum()], h.buckets()].concat(),
            Value::Counter(n) | Value::Number(n) => vec![*n],
            Value::Ratio { part, whole } => vec![*part, *whole],
            Value::Series(series) => series.sums().to_vec(),
            Value::Gauge(_) => Vec::new(),
        };
        let used = amounts.iter().rposition(|n| *n > 0).map_or(0, |at| at + 1);
        amounts.truncate(used);
        amounts
    }

    type ByName = BTreeMap<(String, String), Vec<u64>>;

    fn by_name(instances: &[InstanceStatistics]) -> ByName {
        let all = instances.iter().flat_map(|instance| {
            let name = |s: &Statistic| (instance.path.clone(), s.name.to_string());
            let values = instance
                .values
                .iter()
                .map(move |s| (name(s), amounts(&s.value)));
            values.filter(|(_, amounts)| !amounts.is_empty())
        });
        all.collect()
    }

    fn difference(now: &ByName, then: &ByName) -> ByName {
        let differences = now.iter().map(|(name, now)| {
            let mut now = now.clone();
            for (now, then) in now.iter_mut().zip(then.get(name).into_iter().flatten()) {
                *now -= then;
            }
            let used = now.iter().rposition(|n| *n > 0).map_or(0, |at| at + 1);
            now.truncate(used);
            (name.clone(), now)
        });
        differences.filter(|(_, now)| !now.is_empty()).collect()
    }

    /// Events before a snapshot: counted (instance, statistic, amount), and the visible instances
    /// and statistics.
    #[derive(Clone, Debug)]
    struct Step {
        counted: Vec<(usize, usize, u64)>,
        shown: [u64; 3],
        resumed: bool,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let counted = prop::collection::vec((0..3usize, 0..47usize, 0..100u64), 0..30);
        // Mostly all are shown.
        let shown = prop_oneof![3 => Just(u64::MAX), 1 => any::<u64>()];
        let step = (
            counted,
            prop::array::uniform3(shown),
            prop::bool::weighted(0.2),
        );
        let step = step.prop_map(|(counted, shown, resumed)| Step {
            counted,
            shown,
            resumed,
        });
        prop::collection::vec(step, 1..10)
    }

    fn path(instance: usize) -> String {
        format!("unit[{instance}]")
    }

    fn collect(modelled: &[Modelled], shown: u64, cycle: u64) -> Vec<Statistic> {
        let mut values = Vec::new();
        report(
            modelled,
            shown,
            &mut Statistics::new(cycle, Tick(cycle), &mut values),
        );
        values
    }

    const TABLE: [(&str, &str, &str); 2] = [("first", "", ""), ("second", "", "")];

    fn report(modelled: &[Modelled], shown: u64, s: &mut Statistics<'_>) {
        if shown >> 63 == 1 {
            // All that was counted by the first of each sort.
            let sums = [0, 1].map(|at| amounts(&modelled[at].value).iter().sum());
            s.counters(&TABLE, &sums);
        }
        for (at, modelled) in modelled.iter().enumerate() {
            if shown & (1 << at) != 0 {
                modelled.report(s);
            }
        }
    }

    proptest! {
        // Counts hidden in one snapshot appear in the next that shows them. Everything compared was
        // thus seen under the names that a list gives it.
        #[test]
        fn looks_find_what_lists_by_name_differ_by(steps in steps()) {
            let mut units = vec![all_modelled(); 3];
            let mut looks = StatisticSnapshots::default();
            let mut seen = ByName::new();
            let mut found = Vec::new();
            for (step_number, step) in steps.iter().enumerate() {
                let cycle = 10 * step_number as u64;
                for &(unit, statistic, by) in &step.counted {
                    let modelled = &mut units[unit];
                    let statistic = statistic % modelled.len();
                    modelled[statistic].add(by, cycle);
                }
                if step.resumed {
                    let bytes = postcard::to_stdvec(&looks).unwrap();
                    looks = postcard::from_bytes(&bytes).unwrap();
                }
                let mut look = looks.look();
                let mut lists = Vec::new();
                for (unit, (modelled, shown)) in units.iter().zip(step.shown).enumerate() {
                    look.at(&path(unit), cycle, Tick(cycle), |s| report(modelled, shown, s));
                    lists.push(InstanceStatistics {
                        path: path(unit),
                        kind: String::new(),
                        values: collect(modelled, shown, cycle),
                    });
                }
                let changes = look.end();
                let now = by_name(&lists);
                found.push((changes, difference(&now, &seen)));
                seen.extend(now);
            }
            let totals: Vec<_> = units.iter().enumerate().map(|(unit, modelled)| {
                InstanceStatistics {
                    path: path(unit),
                    kind: String::new(),
                    values: collect(modelled, u64::MAX, 100),
                }
            }).collect();
            let mut last = looks.look();
            for total in &totals {
                last.at_collected(total);
            }
            found.push((last.end(), difference(&by_name(&totals), &seen)));

            let grown = looks.grown(&totals);
            let mut sum = Amounts::default();
            for (changes, expected) in &found {
                prop_assert_eq!(&by_name(&grown.changed([changes])), expected);
                let mut alone = Amounts::default();
                alone.add(changes);
                prop_assert_eq!(&by_name(&grown.all(&alone)), expected);
                sum.add_all(&alone);
            }
            prop_assert_eq!(grown.all(&sum), totals);
        }
    }

    fn totals(values: Vec<Statistic>) -> [InstanceStatistics; 1] {
        [InstanceStatistics {
            path: "unit".to_owned(),
            kind: String::new(),
            values,
        }]
    }

    #[test]
    fn what_does_not_count_up_does_not_grow() {
        let mut values = Vec::new();
        let mut s = Statistics::new(0, Tick(0), &mut values);
        s.maximum("most", "", "", 3);
        s.code("choice", "", "", 2);
        let totals = totals(values);
        let mut looks = StatisticSnapshots::default();
        let mut look = looks.look();
        look.at_collected(&totals[0]);
        let changes = look.end();
        let grown = looks.grown(&totals);
        assert_eq!(grown.all(&Amounts::default()), []);
        assert_eq!(grown.changed([&changes]), []);
    }

    #[test]
    fn a_part_of_a_distribution_knows_extremes_if_it_is_all_of_it() {
        let mut histogram = Histogram::default();
        let mut looks = StatisticSnapshots::default();
        let mut look = |histogram: &Histogram| {
            let mut look = looks.look();
            let report = |s: &mut Statistics<'_>| s.histogram("latency", "", "", histogram);
            look.at("unit", 0, Tick(0), report);
            look.end()
        };
        histogram.record(5);
        let first = look(&histogram);
        histogram.record(9);
        histogram.record(0);
        let second = look(&histogram);
        let mut values = Vec::new();
        Statistics::new(0, Tick(0), &mut values).histogram("latency", "", "", &histogram);
        let totals = totals(values);
        let grown = looks.grown(&totals);
        let of = |changes: &[&Changes]| {
            let changed = grown.changed(changes.iter().copied());
            match changed[0].get("latency") {
                Some(Value::Histogram(histogram)) => histogram.clone(),
                other => panic!("{other:?}"),
            }
        };
        let by = of(&[&second]);
        assert_eq!((by.count(), by.sum()), (2, 9));
        assert_eq!((by.min(), by.max()), (None, None));
        assert_eq!(by.buckets(), [1, 0, 0, 0, 1]);
        assert_eq!(of(&[&first, &second]), histogram);
    }
}
