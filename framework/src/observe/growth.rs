//! What a statistic grew by between two looks at it.
//!
//! What counts from the start of a run grows: counters, the parts and wholes of ratios, distributions,
//! series. The growth between one look and the next, added up over all looks, is the statistic at the
//! end. Extremes, codes and gauges do not grow: they have no part that belongs to a part of the run.

use crate::observe::statistics::{Reported, Statistic, Value};

impl Statistic {
    /// What it grew by since the start of the run: `None` for what does not grow.
    pub fn growth(&self) -> Option<Value> {
        self.grows.then(|| self.value.since(None)).flatten()
    }
}

impl Statistic {
    /// The same statistic with another value.
    pub fn with(&self, value: Value) -> Self {
        Self {
            name: self.name.clone(),
            value,
            ..*self
        }
    }
}

impl Reported<'_> {
    /// What it grew by since it was `before`; with none, since the start of the run. `None` for what
    /// does not grow. The smallest and largest values of a distribution that is a difference are not
    /// known.
    pub fn since(self, before: Option<&Value>) -> Option<Value> {
        Some(match (self, before) {
            (Self::Number(_) | Self::Gauge(_), _) => return None,
            (Self::Counter(now), Some(Value::Counter(then))) => {
                Value::Counter(now.wrapping_sub(*then))
            }
            (Self::Ratio { part, whole }, Some(Value::Ratio { part: p, whole: w })) => {
                Value::Ratio {
                    part: part.wrapping_sub(*p),
                    whole: whole.wrapping_sub(*w),
                }
            }
            (Self::Histogram(now), Some(Value::Histogram(then))) => {
                Value::Histogram(now.since(then))
            }
            (Self::Series(now), Some(Value::Series(then))) => Value::Series(now.since(then)),
            (now, _) => now.to_value(),
        })
    }
}

impl Value {
    /// As [`Reported::since`].
    pub fn since(&self, before: Option<&Self>) -> Option<Self> {
        self.reported().since(before)
    }

    /// Adds growth of the same statistic.
    pub fn grow(&mut self, by: &Self) {
        match (self, by) {
            (Self::Counter(sum), Self::Counter(by)) => *sum = sum.wrapping_add(*by),
            (Self::Ratio { part, whole }, Self::Ratio { part: p, whole: w }) => {
                *part = part.wrapping_add(*p);
                *whole = whole.wrapping_add(*w);
            }
            (Self::Histogram(sum), Self::Histogram(by)) => sum.merge(by),
            (Self::Series(sum), Self::Series(by)) => sum.merge(by),
            _ => {}
        }
    }

    /// Whether it is growth by nothing.
    pub fn is_nothing(&self) -> bool {
        match self {
            Self::Counter(count) => *count == 0,
            Self::Ratio { part, whole } => (*part, *whole) == (0, 0),
            Self::Histogram(histogram) => histogram.count() == 0,
            Self::Series(series) => series.sums().iter().all(|sum| *sum == 0),
            Self::Number(_) | Self::Gauge(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::observe::statistics::{Histogram, Series};

    /// A value after each of a number of steps, of every sort that grows.
    fn histories() -> impl Strategy<Value = Vec<Vec<Value>>> {
        prop::collection::vec((0..100u64, 0..100u64), 1..20).prop_map(|steps| {
            let (mut count, mut ratio) = (0, (0, 0));
            let (mut histogram, mut series) = (Histogram::default(), Series::new(7));
            let mut histories = vec![Vec::new(); 4];
            for (step, (a, b)) in steps.into_iter().enumerate() {
                count += a;
                ratio = (ratio.0 + a, ratio.1 + b);
                if b > 50 {
                    histogram.record(a);
                }
                series.add(step as u64, a);
                let (part, whole) = ratio;
                histories[0].push(Value::Counter(count));
                histories[1].push(Value::Ratio { part, whole });
                histories[2].push(Value::Histogram(histogram.clone()));
                histories[3].push(Value::Series(series.clone()));
            }
            histories
        })
    }

    /// What adds up: distributions but for their extremes.
    fn amounts(value: &Value) -> Vec<u64> {
        match value {
            Value::Histogram(h) => [&[h.count(), h.sum()], h.buckets()].concat(),
            Value::Counter(n) | Value::Number(n) => vec![*n],
            Value::Ratio { part, whole } => vec![*part, *whole],
            Value::Series(series) => series.sums().to_vec(),
            Value::Gauge(_) => Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn growth_between_looks_adds_up_to_the_whole(histories in histories()) {
            for history in histories {
                let mut sum: Option<Value> = None;
                let mut before = None;
                for now in &history {
                    let by = now.since(before).unwrap();
                    match &mut sum {
                        Some(sum) => sum.grow(&by),
                        None => sum = Some(by),
                    }
                    before = Some(now);
                }
                prop_assert_eq!(amounts(&sum.unwrap()), amounts(before.unwrap()));
            }
        }

        #[test]
        fn nothing_grew_between_equal_looks(histories in histories()) {
            for value in histories.iter().flatten() {
                prop_assert!(value.since(Some(value)).unwrap().is_nothing());
            }
        }
    }

    #[test]
    fn what_does_not_count_up_does_not_grow() {
        assert_eq!(Value::Number(3).since(Some(&Value::Number(1))), None);
        assert_eq!(Value::Gauge(0.5).since(None), None);
    }

    #[test]
    fn a_difference_of_distributions_knows_no_extremes() {
        let mut early = Histogram::default();
        early.record(5);
        let mut late = early.clone();
        late.record(9);
        late.record(0);
        let by = late.since(&early);
        assert_eq!((by.count(), by.sum()), (2, 9));
        assert_eq!((by.min(), by.max()), (None, None));
        assert_eq!(by.buckets(), [1, 0, 0, 0, 1]);
    }
}
