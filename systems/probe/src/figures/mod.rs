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

/// Quantities that can be measured.
pub const QUANTITIES: [&str; 11] = [
    "launch",
    "dispatch",
    "barrier",
    "instruction latency",
    "instruction rate",
    "local memory latency",
    "load latency",
    "atomic latency",
    "read bandwidth",
    "read bandwidth past the first level",
    "write bandwidth",
];

/// Selection of the figures to measure.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// Largest footprint of loads in bytes.
    pub largest_bytes: u64,
    /// Quantities to measure, of [`QUANTITIES`]; all if there are none.
    pub only: &'a [String],
}

impl Selection<'_> {
    /// True if this quantity is to be measured.
    fn has(&self, quantity: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == quantity)
    }
}

/// Measures a machine. Footprints grow to the largest selected one, or until main memory supplies
/// all data. Each figure is passed to `see` when it is known.
///
/// # Errors
/// Returns an error if the machine cannot be built. A program that the machine cannot run gives a
/// figure without a value.
pub fn probe(
    bench: &Bench<'_>,
    selection: Selection<'_>,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    let largest_bytes = selection.largest_bytes;
    if selection.has("launch") {
        rates::launches(bench, see)?;
    }
    if selection.has("dispatch") {
        rates::dispatch(bench, see)?;
    }
    if selection.has("barrier") {
        rates::barriers(bench, see)?;
    }
    rates::arithmetic(bench, selection, see)?;
    if selection.has("local memory latency") {
        latency::local_memory(bench, see)?;
    }
    if selection.has("load latency") {
        latency::loads(bench, largest_bytes, see)?;
        latency::memory(bench, see)?;
    }
    if selection.has("atomic latency") {
        latency::atomics(bench, see)?;
    }
    if selection.has("read bandwidth") {
        bandwidth::reads(bench, largest_bytes, see)?;
    }
    if selection.has("read bandwidth past the first level") {
        bandwidth::reads_past(bench, largest_bytes, see)?;
    }
    if selection.has("write bandwidth") {
        bandwidth::writes(bench, largest_bytes, see)?;
    }
    bandwidth::memory(bench, selection, see)
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
