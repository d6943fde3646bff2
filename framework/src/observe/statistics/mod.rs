//! Statistics: plain numbers in components, named and explained when they are collected.
//!
//! A component counts in ordinary fields, which costs an addition, and reports them through
//! [`Statistics`] with a name, a unit and a meaning. Time-weighted quantities (occupancy, states)
//! are kept as a value and its start ([`TimeWeighted`]), and evaluated at the time of the report.
//! So a sleeping component reports the same numbers as one that stayed awake.
//!
//! Every statistic defines how its values of several instances are combined ([`Combination`]).
//! Counts are added up, ratios and means are weighted; any other combination is stated in the
//! report.
//!
//! System-wide totals are computed by [`Role`], not by kinds of components or names of statistics.
//! A component states which of its statistics have a role.

mod histogram;
mod instance;
mod instrumented;
mod label;
mod list;
pub(crate) mod packed;
mod role;
mod series;
mod time_weighted;

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::histogram::Histogram;
pub use self::instance::InstanceStatistics;
pub use self::instrumented::{Instrumented, Measured, Measurement};
pub use self::label::Label;
use self::list::List;
use self::packed::Row;
pub use self::role::{Combination, Role};
pub use self::series::Series;
pub use self::time_weighted::TimeWeighted;
use crate::time::{Cycle, Tick};

/// One collected statistic, with the fields of its [`Label`] and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Description of the statistic, shared by its copies.
    pub label: Arc<Label>,
    /// Value of the statistic when it was collected.
    pub value: Value,
}

impl Deref for Statistic {
    type Target = Label;

    fn deref(&self) -> &Label {
        &self.label
    }
}

/// Value of a statistic, by kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// Number of events or amount counted from the start of the run.
    Counter(u64),
    /// Integer that does not accumulate: an extreme, or a code.
    Number(u64),
    /// Measurement at the time of the report.
    Gauge(f64),
    /// Part of a whole, or a total and the weight of its mean. Both are kept so that instances can
    /// be added up.
    Ratio {
        /// The part, or the total of a mean.
        part: u64,
        /// The whole, or the weight; if 0, there is no value.
        whole: u64,
    },
    /// Distribution of the values of a quantity.
    Histogram(Histogram),
    /// Sums of amounts per interval of cycles.
    Series(Series),
}

/// Collects the statistics of one component.
///
/// Names are static texts of the program. Repeated statistics have a prefix ([`Statistics::under`])
/// or an index ([`Statistics::at`]).
pub struct Statistics<'a> {
    cycle: Cycle,
    now: Tick,
    to: Collector<'a>,
}

enum Collector<'a> {
    List(List<'a>),
    /// Only the values of cumulative statistics, without names, for frequent snapshots.
    Row(&'a mut Row),
}

impl<'a> Statistics<'a> {
    /// Creates a collector for a component whose clock is at `cycle`.
    pub fn new(cycle: Cycle, now: Tick, list: &'a mut Vec<Statistic>) -> Self {
        Self::named_like(&[], cycle, now, list)
    }

    /// Creates a collector like [`Statistics::new`], for a component that probably reports the same
    /// statistics as `like`.
    pub(crate) fn named_like(
        like: &'a [Statistic],
        cycle: Cycle,
        now: Tick,
        list: &'a mut Vec<Statistic>,
    ) -> Self {
        Self {
            cycle,
            now,
            to: Collector::List(List::named_like(like, list)),
        }
    }

    /// Creates a collector of cumulative statistics as words.
    pub(super) fn in_row(cycle: Cycle, now: Tick, row: &'a mut Row) -> Self {
        Self {
            cycle,
            now,
            to: Collector::Row(row),
        }
    }

    /// Reports the statistics of `report`, each as `prefix_name`, for a part that a component has
    /// several of.
    pub fn under(&mut self, prefix: &str, report: impl FnOnce(&mut Self)) {
        let length = match &mut self.to {
            Collector::List(list) => {
                let length = list.prefix.len();
                list.prefix.push_str(prefix);
                list.prefix.push('_');
                length
            }
            Collector::Row(row) => {
                row.prefix(prefix);
                0
            }
        };
        report(self);
        match &mut self.to {
            Collector::List(list) => list.prefix.truncate(length),
            Collector::Row(row) => row.end_prefix(),
        }
    }

    /// Returns the cycle of the component's clock up to which persistent quantities count
    /// (exclusive).
    #[inline]
    pub fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Returns the time of the report.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// Sets the role of the statistic reported next: `statistics.role(ROLE).counter(..)`.
    #[inline]
    pub fn role(&mut self, role: Role) -> &mut Self {
        if let Collector::List(list) = &mut self.to {
            list.role = Some(role);
        }
        self
    }

    /// Sets the index of the statistic reported next: `statistics.at(3).counter("flits", ..)`
    /// reports `flits[3]`.
    #[inline]
    pub fn at(&mut self, index: usize) -> &mut Self {
        match &mut self.to {
            Collector::List(list) => list.index = Some(index),
            Collector::Row(row) => row.index(index),
        }
        self
    }

    /// Reports a count. Counts of several instances are added up.
    #[inline]
    pub fn counter(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        value: u64,
    ) {
        match &mut self.to {
            Collector::Row(row) => row.counter(name, value),
            Collector::List(list) => {
                list.push(name, unit, meaning, Combination::Sum, Value::Counter(value));
            }
        }
    }

    /// Reports several counts, one for each row of `table`: name, unit and meaning. Frequent
    /// snapshots are cheaper than with separate calls of [`Statistics::counter`]. A role set before
    /// applies to all.
    ///
    /// # Panics
    /// Panics if the numbers of counts and rows differ.
    #[inline]
    pub fn counters(
        &mut self,
        table: &'static [(&'static str, &'static str, &'static str)],
        counts: &[u64],
    ) {
        assert_eq!(table.len(), counts.len(), "expected one count per name");
        match &mut self.to {
            Collector::Row(row) => row.counters(table, counts),
            Collector::List(list) => {
                let role = list.role.take();
                for ((name, unit, meaning), count) in table.iter().zip(counts) {
                    list.role = role;
                    let value = Value::Counter(*count);
                    list.push(name, unit, meaning, Combination::Sum, value);
                }
            }
        }
    }

    /// Reports the maximum of a quantity, such as the most requests at a time.
    #[inline]
    pub fn maximum(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        value: u64,
    ) {
        if let Collector::List(list) = &mut self.to {
            let combination = Combination::Maximum;
            list.push(name, unit, meaning, combination, Value::Number(value));
        }
    }

    /// Reports the minimum of a quantity, such as the cycle of the first request.
    #[inline]
    pub fn minimum(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        value: u64,
    ) {
        if let Collector::List(list) = &mut self.to {
            let combination = Combination::Minimum;
            list.push(name, unit, meaning, combination, Value::Number(value));
        }
    }

    /// Reports a number that encodes a state or choice; `meaning` explains the codes. Codes of
    /// several instances are not combined.
    #[inline]
    pub fn code(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        value: u64,
    ) {
        if let Collector::List(list) = &mut self.to {
            list.push(name, unit, meaning, Combination::None, Value::Number(value));
        }
    }

    /// Reports a measurement of any other kind.
    ///
    /// # Panics
    /// Panics with [`Combination::WeightedMean`]: [`Statistics::mean`] takes the weight.
    pub fn gauge(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        combination: Combination,
        value: f64,
    ) {
        assert!(
            combination.weight().is_none(),
            "report the mean `{name}` with its weight, using `Statistics::mean`"
        );
        if let Collector::List(list) = &mut self.to {
            list.push(name, unit, meaning, combination, Value::Gauge(value));
        }
    }

    /// Reports a part of a whole; `of` is the unit of the whole, such as `reads`.
    #[inline]
    pub fn ratio(
        &mut self,
        name: &'static str,
        of: &'static str,
        meaning: &'static str,
        part: u64,
        whole: u64,
    ) {
        self.mean(name, "", of, meaning, (part, whole));
    }

    /// Reports a mean as the total and its weight; `by` is the unit of the weight, such as
    /// `cycles`.
    #[inline]
    pub fn mean(
        &mut self,
        name: &'static str,
        unit: &'static str,
        by: &'static str,
        meaning: &'static str,
        (part, whole): (u64, u64),
    ) {
        match &mut self.to {
            Collector::Row(row) => row.ratio(name, part, whole),
            Collector::List(list) => {
                let combination = Combination::WeightedMean { by };
                let value = Value::Ratio { part, whole };
                list.push(name, unit, meaning, combination, value);
            }
        }
    }

    /// Reports the mean of a quantity over all cycles.
    #[inline]
    pub fn level(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        level: &TimeWeighted,
    ) {
        let mean = (level.integral(self.cycle), self.cycle);
        self.mean(name, unit, "cycles", meaning, mean);
    }

    /// Reports a distribution. Distributions of several instances are merged, so that the mean is
    /// weighted by values.
    #[inline]
    pub fn histogram(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        histogram: &Histogram,
    ) {
        match &mut self.to {
            Collector::Row(row) => row.histogram(name, histogram),
            Collector::List(list) => {
                let combination = Combination::WeightedMean { by: "values" };
                let value = Value::Histogram(histogram.clone());
                list.push(name, unit, meaning, combination, value);
            }
        }
    }

    /// Reports a distribution at the time of the report, such as totals over units. Its values
    /// change over time instead of accumulating.
    pub fn distribution(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        histogram: &Histogram,
    ) {
        self.settled(|statistics| statistics.histogram(name, unit, meaning, histogram));
    }

    /// Reports the statistics of `report` at the time of the report, none of which grow. `report`
    /// is not called if only cumulative statistics are needed, so it may be slow.
    pub fn settled(&mut self, report: impl FnOnce(&mut Self)) {
        let Collector::List(list) = &mut self.to else {
            return;
        };
        let before = std::mem::replace(&mut list.settled, true);
        report(self);
        if let Collector::List(list) = &mut self.to {
            list.settled = before;
        }
    }

    /// Reports amounts per interval. Instances are added up interval by interval.
    pub fn series(
        &mut self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        series: &Series,
    ) {
        match &mut self.to {
            Collector::Row(row) => row.series(name, series),
            Collector::List(list) => {
                let value = Value::Series(series.clone());
                list.push(name, unit, meaning, Combination::Sum, value);
            }
        }
    }
}

fn without_trailing_zeros(amounts: &mut Vec<u64>) {
    let last = amounts.iter().rposition(|amount| *amount > 0);
    amounts.truncate(last.map_or(0, |last| last + 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_played_by_what_is_reported_next() {
        const ISSUED: Role = Role::new("issued");
        let mut values = Vec::new();
        let mut statistics = Statistics::new(0, Tick(0), &mut values);
        statistics.role(ISSUED).counter("added", "", "", 2);
        statistics.counter("idle", "", "", 5);
        statistics.role(ISSUED).counter("multiplied", "", "", 3);
        let instance = InstanceStatistics {
            path: "unit".to_owned(),
            kind: "Adder".to_owned(),
            values,
        };
        let issued: Vec<_> = instance.playing(Role::new("issued")).collect();
        assert_eq!(issued, [&Value::Counter(2), &Value::Counter(3)]);
    }

    #[test]
    fn every_sort_of_statistic_says_how_it_combines() {
        let mut values = Vec::new();
        let mut level = TimeWeighted::default();
        level.set(2, 3);
        let mut s = Statistics::new(10, Tick(10), &mut values);
        s.counter("reads", "requests", "", 2);
        s.maximum("depth_max", "requests", "", 3);
        s.minimum("first", "cycle", "", 3);
        s.code("choice", "policy", "", 3);
        s.gauge("power", "W", "", Combination::Sum, 0.5);
        s.ratio("hit_rate", "reads", "", 1, 2);
        s.level("depth", "requests", "", &level);
        s.histogram("latency", "cycles", "", &Histogram::default());
        s.series("traffic", "bytes", "", &Series::new(10));
        let said: Vec<_> = values.iter().map(|s| s.combination.to_string()).collect();
        assert_eq!(
            said,
            [
                "sum",
                "maximum",
                "minimum",
                "none",
                "sum",
                "mean by reads",
                "mean by cycles",
                "mean by values",
                "sum"
            ]
        );
        let mean = Value::Ratio {
            part: 3 * 8,
            whole: 10,
        };
        assert_eq!(values[6].value, mean);
    }

    #[test]
    #[should_panic(expected = "report the mean `rate` with its weight")]
    fn a_mean_without_its_weight_is_refused() {
        let mut values = Vec::new();
        let by = Combination::WeightedMean { by: "reads" };
        Statistics::new(1, Tick(1), &mut values).gauge("rate", "", "", by, 0.5);
    }
}
