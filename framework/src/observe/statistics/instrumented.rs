//! Values that report statistics: components, their parts, and the counts inside.

use super::{Histogram, Role, Series, Statistics, TimeWeighted};

/// A value with statistics of its own.
///
/// `#[derive(Statistics)]` implements it from the declaration of a struct.
pub trait Instrumented {
    /// Reports the statistics. Time-varying values are evaluated in closed form at
    /// [`Statistics::cycle`], so that a sleeping component reports the same as an awake one.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

impl<I: Instrumented + ?Sized> Instrumented for Box<I> {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        (**self).statistics(statistics);
    }
}

/// Reports the statistics of the value if there is one.
impl<I: Instrumented> Instrumented for Option<I> {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        if let Some(value) = self {
            value.statistics(statistics);
        }
    }
}

/// Name, unit, meaning and role of a statistic.
pub struct Measurement {
    /// Name within the component.
    pub name: &'static str,
    /// Plural noun or symbol.
    pub unit: &'static str,
    /// One sentence for the reader of a report.
    pub meaning: &'static str,
    /// Role of the statistic outside the component, if it has one.
    pub role: Option<Role>,
}

/// A value whose type decides how it is reported.
pub trait Measured {
    /// Reports the value under this label.
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement);
}

impl Measured for u64 {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        give_role(statistics, label).counter(label.name, label.unit, label.meaning, *self);
    }
}

impl Measured for TimeWeighted {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        give_role(statistics, label).level(label.name, label.unit, label.meaning, self);
    }
}

impl Measured for Histogram {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        give_role(statistics, label).histogram(label.name, label.unit, label.meaning, self);
    }
}

impl Measured for Series {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        give_role(statistics, label).series(label.name, label.unit, label.meaning, self);
    }
}

impl<M: Measured> Measured for [M] {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        for (index, value) in self.iter().enumerate() {
            value.report(statistics.at(index), label);
        }
    }
}

impl<M: Measured> Measured for Vec<M> {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        self.as_slice().report(statistics, label);
    }
}

impl<M: Measured, const N: usize> Measured for [M; N] {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        self.as_slice().report(statistics, label);
    }
}

impl<M: Measured> Measured for Box<[M]> {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        (**self).report(statistics, label);
    }
}

impl<M: Measured> Measured for Option<M> {
    fn report(&self, statistics: &mut Statistics<'_>, label: &Measurement) {
        if let Some(value) = self {
            value.report(statistics, label);
        }
    }
}

fn give_role<'s, 'a>(
    statistics: &'s mut Statistics<'a>,
    label: &Measurement,
) -> &'s mut Statistics<'a> {
    match label.role {
        Some(role) => statistics.role(role),
        None => statistics,
    }
}
