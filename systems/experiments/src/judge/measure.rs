//! Measurement of a metric in one run: one value of the run, or one of each launch.

use std::collections::BTreeMap;

use warpweave_systems::report::Record;
use wildmatch::WildMatch;

use crate::file::{Mean, MetricFile, Over};
use crate::metric::Expression;

/// Values by the number of their launch. That of a whole run has the number 0.
pub(super) type Items = BTreeMap<u32, f64>;

/// Values of a metric in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) values: Items,
    /// Number of values that are undefined.
    pub(super) undefined: usize,
    /// Number of launches that execute too few instructions to be measured.
    pub(super) short: usize,
}

impl Measured {
    /// Measures a metric in one run.
    ///
    /// # Errors
    /// Returns an error for data that the run does not have.
    pub(super) fn of(
        metric: &MetricFile,
        expression: &Expression,
        record: &Record,
    ) -> Result<Self, String> {
        let mut measured = Self::default();
        let Some(Over::Launches { kernel, at_least }) = &metric.over else {
            measured.add(0, expression.evaluate(record)?);
            return Ok(measured);
        };
        let name = WildMatch::new(kernel);
        for launch in record.kernels.iter().filter(|of| name.matches(&of.name)) {
            if launch.wavefront_instructions < *at_least {
                measured.short += 1;
                continue;
            }
            measured.add(launch.number, expression.evaluate_launch(record, launch)?);
        }
        if measured.values.is_empty() && measured.undefined == 0 {
            return Err(match measured.short {
                0 => format!("no launch of a kernel named `{kernel}`"),
                short => format!(
                    "all {short} launches of `{kernel}` execute fewer than {at_least} wavefront instructions"
                ),
            });
        }
        Ok(measured)
    }

    fn add(&mut self, launch: u32, value: Option<f64>) {
        match value {
            Some(value) => drop(self.values.insert(launch, value)),
            None => self.undefined += 1,
        }
    }

    /// Returns one value of the run, in which launches are combined as the metric says.
    pub(super) fn whole(&self, metric: &MetricFile) -> Option<f64> {
        if metric.over.is_none() {
            return self.values.values().next().copied();
        }
        let values: Vec<f64> = self.values.values().copied().collect();
        mean(metric.mean.mean(), &values)
    }
}

/// Combines values into one; `None` if it does not exist.
pub(super) fn mean(mean: Mean, values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let all = values.iter().copied();
    let value = match mean {
        Mean::Arithmetic => values.iter().sum::<f64>() / count,
        Mean::Harmonic => count / values.iter().map(|value| 1.0 / value).sum::<f64>(),
        Mean::Geometric => (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp(),
        Mean::Least => all.reduce(f64::min)?,
        Mean::Most => all.reduce(f64::max)?,
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Mean, values: &[f64]) -> f64 {
        mean(kind, values).unwrap()
    }

    #[test]
    fn means_are_those_of_their_names() {
        assert!((of(Mean::Arithmetic, &[1.0, 2.0, 6.0]) - 3.0).abs() < 1e-12);
        assert!((of(Mean::Harmonic, &[1.0, 2.0, 4.0]) - 12.0 / 7.0).abs() < 1e-12);
        assert!((of(Mean::Geometric, &[1.0, 2.0, 4.0]) - 2.0).abs() < 1e-12);
        assert_eq!(mean(Mean::Least, &[2.0, 1.0, 4.0]), Some(1.0));
        assert_eq!(mean(Mean::Most, &[2.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(mean(Mean::Arithmetic, &[]), None);
        assert_eq!(mean(Mean::Least, &[]), None);
        assert_eq!(mean(Mean::Geometric, &[-1.0]), None);
        assert_eq!(mean(Mean::Harmonic, &[0.0, 1.0]), Some(0.0));
    }

    #[test]
    fn a_half_and_a_double_have_the_harmonic_mean_of_four_fifths() {
        assert!((of(Mean::Harmonic, &[2.0, 0.5]) - 0.8).abs() < 1e-12);
    }

    /// The seven published ratios of one algorithm.
    #[test]
    fn published_ratios_of_launches_pool_to_the_published_mean() {
        let ratios = [1.12, 1.01, 1.02, 1.04, 1.03, 1.20, 1.04];
        let pooled = of(Mean::Harmonic, &ratios);
        assert!((pooled - 1.062).abs() < 5e-4, "{pooled}");
    }
}
