//! Figures of a machine, in the order in which they are measured.

mod bandwidth;
mod latency;
mod rates;

use crate::bench::{Bench, Pair, ProbeError};

/// Measured quantity of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of the quantity, such as `load latency`.
    pub quantity: &'static str,
    /// Condition of the measurement, such as a footprint.
    pub at: String,
    /// Measured value; `None` if the machine cannot run the program.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: &'static str,
    /// Levels that supplied the data with their shares, or the reason for a missing value.
    pub note: String,
}

/// Measures a machine. Footprints grow to `largest_bytes`, or until main memory supplies all data.
/// Each figure is passed to `see` when it is known.
///
/// # Errors
/// Returns an error if the machine cannot be built. A program that the machine cannot run gives a
/// figure without a value.
pub fn probe(
    bench: &Bench<'_>,
    largest_bytes: u64,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    rates::launches(bench, see)?;
    rates::arithmetic(bench, see)?;
    latency::local_memory(bench, see)?;
    latency::loads(bench, largest_bytes, see)?;
    latency::memory(bench, see)?;
    latency::atomics(bench, see)?;
    bandwidth::reads(bench, largest_bytes, see)?;
    bandwidth::memory(bench, see)
}

/// Condition and unit of a figure.
#[derive(Clone, Copy)]
struct Of<'a> {
    quantity: &'static str,
    at: &'a str,
    unit: &'static str,
}

impl Of<'_> {
    /// Returns the figure computed from a pair of runs.
    ///
    /// # Errors
    /// Returns the errors of [`probe`].
    fn figure(
        self,
        pair: Result<Pair, ProbeError>,
        value: impl FnOnce(&Pair) -> f64,
    ) -> Result<Figure, ProbeError> {
        let (value, note) = match pair {
            Ok(pair) => (Some(value(&pair)), levels(&pair)),
            Err(ProbeError::Run(reason)) => (None, reason),
            Err(error) => return Err(error),
        };
        Ok(Figure {
            quantity: self.quantity,
            at: self.at.to_owned(),
            value: value.filter(|value| value.is_finite()),
            unit: self.unit,
            note,
        })
    }
}

/// Formats the levels that supplied the data, those of at least one percent.
fn levels(pair: &Pair) -> String {
    let levels = pair.levels().into_iter();
    let shown = levels.filter(|(_, share)| *share >= 1.0);
    let shown: Vec<_> = shown
        .map(|(level, share)| format!("{level} {share:.0} %"))
        .collect();
    shown.join(", ")
}

/// Formats a number of bytes that is a power of two.
fn bytes(bytes: u64) -> String {
    match bytes {
        0x10_0000.. => format!("{} MiB", bytes >> 20),
        0x400.. => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// Returns the footprints to measure: powers of two from 1 KiB to `largest`.
fn footprints(largest: u64) -> impl Iterator<Item = u64> {
    (10..40)
        .map(|bit| 1 << bit)
        .take_while(move |bytes| *bytes <= largest)
}

/// True if main memory supplied nearly all data.
fn is_main_memory(pair: &Pair) -> bool {
    let levels = pair.levels();
    levels
        .first()
        .is_some_and(|(level, share)| level == "Dram" && *share > 99.0)
}
