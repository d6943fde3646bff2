//! Cumulative statistics of one instance as a row of words, which frequent snapshots copy.
//!
//! A row has no names. In addition to its words it keeps the hash of everything that determines
//! their meaning: names, sorts, indices and prefixes, in the order reported. Rows of the same hash
//! have the same shape, so the names of one row apply to all.

use serde::{Deserialize, Serialize};

use super::{Histogram, Series, Value};

/// Minimum capacity of a distribution or a series in amounts; the capacity doubles.
const ROOM: usize = 16;

/// Structure of a cumulative statistic, which determines its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Layout {
    /// One word: the count of events.
    Counter,
    /// Two words: the part and the whole.
    Ratio,
    /// Count, sum, and capacity for this many buckets.
    Histogram(u32),
    /// One word per sum, with capacity for this many sums.
    Series(u32),
}

impl Layout {
    /// Returns the sort of a value; `None` if it does not grow.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Counter(_) => Self::Counter,
            Value::Ratio { .. } => Self::Ratio,
            Value::Histogram(histogram) => Self::Histogram(room(histogram.buckets()) as u32),
            Value::Series(series) => Self::Series(room(series.sums()) as u32),
            Value::Number(_) | Value::Gauge(_) => return None,
        })
    }

    pub(crate) fn words(self) -> usize {
        match self {
            Self::Counter => 1,
            Self::Ratio => 2,
            Self::Histogram(room) => 2 + room as usize,
            Self::Series(room) => room as usize,
        }
    }

    /// True if both are the same except for their capacity.
    pub(crate) fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

fn room(amounts: &[u64]) -> usize {
    amounts.len().next_power_of_two().max(ROOM)
}

/// Subject of one step of the hash.
#[derive(Clone, Copy)]
enum About {
    Counter = 1,
    Ratio,
    Histogram,
    Series,
    Table,
    Index,
    Prefix,
    PrefixEnd,
}

/// Words of the cumulative statistics of one instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    words: Vec<u64>,
    shape: u64,
}

impl Row {
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.shape = 0;
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns a hash that is equal if everything that determines the meaning of the words is
    /// equal.
    pub(crate) fn shape(&self) -> u64 {
        self.shape
    }

    #[inline]
    pub(crate) fn counter(&mut self, name: &'static str, count: u64) {
        self.name(name, About::Counter);
        self.words.push(count);
    }

    /// Adds counters whose names come from a static table of the program.
    pub(crate) fn counters<T>(&mut self, table: &'static [T], counts: &[u64]) {
        let place = table.as_ptr().addr() as u64;
        self.mix(place ^ ((table.len() as u64) << 48), About::Table);
        self.words.extend_from_slice(counts);
    }

    #[inline]
    pub(crate) fn ratio(&mut self, name: &'static str, part: u64, whole: u64) {
        self.name(name, About::Ratio);
        self.words.push(part);
        self.words.push(whole);
    }

    pub(crate) fn histogram(&mut self, name: &'static str, histogram: &Histogram) {
        self.name(name, About::Histogram);
        let words = [histogram.count(), histogram.sum()];
        self.words.extend_from_slice(&words);
        self.amounts(histogram.buckets());
    }

    pub(crate) fn series(&mut self, name: &'static str, series: &Series) {
        self.name(name, About::Series);
        self.amounts(series.sums());
    }

    /// Sets the index of the statistics reported next.
    #[inline]
    pub(crate) fn index(&mut self, index: usize) {
        self.mix(index as u64, About::Index);
    }

    /// Prefixes the names of the following statistics until [`Row::end_prefix`].
    pub(crate) fn prefix(&mut self, prefix: &str) {
        self.mix(prefix.len() as u64, About::Prefix);
        let (words, rest) = prefix.as_bytes().as_chunks();
        for word in words {
            self.mix(u64::from_le_bytes(*word), About::Prefix);
        }
        let rest = rest
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.mix(rest, About::Prefix);
    }

    pub(crate) fn end_prefix(&mut self) {
        self.mix(0, About::PrefixEnd);
    }

    /// Adds the words of a collected value whose name the caller knows.
    pub(crate) fn push(&mut self, value: &Value) {
        match value {
            Value::Counter(count) => self.counter("", *count),
            Value::Ratio { part, whole } => self.ratio("", *part, *whole),
            Value::Histogram(histogram) => self.histogram("", histogram),
            Value::Series(series) => self.series("", series),
            Value::Number(_) | Value::Gauge(_) => {}
        }
    }

    fn amounts(&mut self, amounts: &[u64]) {
        let room = room(amounts);
        self.mix(room as u64, About::Series);
        self.words.extend_from_slice(amounts);
        self.words
            .resize(self.words.len() + room - amounts.len(), 0);
    }

    /// Hashes a name by its address, which is stable for the duration of the program.
    #[inline]
    fn name(&mut self, name: &'static str, about: About) {
        let place = name.as_ptr().addr() as u64;
        self.mix(place ^ ((name.len() as u64) << 48), about);
    }

    #[inline]
    fn mix(&mut self, what: u64, about: About) {
        /// Odd number without a pattern: 2^64 divided by the golden ratio.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let what = what ^ ((about as u64) << 60);
        self.shape = (self.shape.rotate_left(29) ^ what).wrapping_mul(FACTOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(fill: impl FnOnce(&mut Row)) -> u64 {
        let mut row = Row::default();
        fill(&mut row);
        row.shape()
    }

    #[test]
    fn rows_of_other_values_have_the_same_shape() {
        let mut histogram = Histogram::default();
        let empty = shape(|row| row.histogram("latency", &Histogram::default()));
        for value in 0..1000 {
            histogram.record(value);
        }
        assert_eq!(shape(|row| row.histogram("latency", &histogram)), empty);
        assert_eq!(
            shape(|row| row.counter("hits", 1)),
            shape(|row| row.counter("hits", 2))
        );
    }

    #[test]
    fn whatever_names_a_statistic_changes_the_shape() {
        let mut wide = Histogram::default();
        wide.record(1 << 20);
        let shapes = [
            shape(|_| {}),
            shape(|row| row.counter("hits", 1)),
            shape(|row| row.counter("misses", 1)),
            shape(|row| row.counter("hit", 1)),
            shape(|row| row.counters(&["hits"], &[1])),
            shape(|row| row.ratio("hits", 1, 1)),
            shape(|row| row.histogram("hits", &Histogram::default())),
            shape(|row| row.histogram("hits", &wide)),
            shape(|row| row.series("hits", &Series::new(1))),
            shape(|row| {
                row.index(0);
                row.counter("hits", 1);
            }),
            shape(|row| {
                row.index(1);
                row.counter("hits", 1);
            }),
            shape(|row| {
                row.prefix("read");
                row.counter("hits", 1);
                row.end_prefix();
            }),
            shape(|row| {
                row.prefix("read");
                row.end_prefix();
                row.counter("hits", 1);
            }),
            shape(|row| {
                row.prefix("write");
                row.counter("hits", 1);
                row.end_prefix();
            }),
        ];
        for (i, one) in shapes.iter().enumerate() {
            assert!(!shapes[..i].contains(one), "{i}");
        }
    }

    #[test]
    fn a_value_has_as_many_words_as_its_sort_says() {
        let mut histogram = Histogram::default();
        histogram.record(1 << 40);
        let mut series = Series::new(10);
        series.add(10 * 17, 1);
        let values = [
            Value::Counter(1),
            Value::Ratio { part: 1, whole: 2 },
            Value::Histogram(histogram),
            Value::Series(series),
        ];
        for value in values {
            let mut row = Row::default();
            row.push(&value);
            let sort = Layout::of(&value).unwrap();
            assert_eq!(row.words().len(), sort.words(), "{value:?}");
        }
    }
}
