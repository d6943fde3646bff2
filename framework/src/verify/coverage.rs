//! Functional coverage: the relevant situations that a test has reached.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Message, Tap, Transit};
use crate::engine::{Simulation, TapError};
use crate::evaluation::Context;

/// Named bins with hit counts. Clones share their counts.
///
/// ```
/// # use warpweave_framework::verify::Coverage;
/// let coverage = Coverage::new("requests", ["read", "write", "atomic"]);
/// coverage.hit("read");
/// coverage.hit("write");
/// assert_eq!(coverage.missing(), ["atomic"]);
/// assert_eq!(coverage.to_string(), "requests: 2 of 3 bins\n  read 1\n  write 1\n  atomic 0\n");
/// ```
#[derive(Clone, Debug)]
pub struct Coverage {
    name: String,
    bins: Arc<Mutex<Vec<(String, u64)>>>,
}

impl Coverage {
    /// Creates a coverage of the bins that a test is meant to hit.
    pub fn new<S: Into<String>>(name: &str, bins: impl IntoIterator<Item = S>) -> Self {
        let bins = bins.into_iter().map(|bin| (bin.into(), 0)).collect();
        Self {
            name: name.to_owned(),
            bins: Arc::new(Mutex::new(bins)),
        }
    }

    /// Creates a bin for every pair of a bin of `rows` and one of `columns`, named `row/column`.
    pub fn cross(name: &str, rows: &[&str], columns: &[&str]) -> Self {
        let pairs = rows
            .iter()
            .flat_map(|row| columns.iter().map(move |column| format!("{row}/{column}")));
        Self::new(name, pairs)
    }

    /// Counts one hit of a bin.
    ///
    /// # Panics
    /// Panics if there is no such bin, because a misspelt bin would never be hit.
    pub fn hit(&self, bin: &str) {
        let mut bins = self.bins.lock();
        let found = bins.iter_mut().find(|(name, _)| name == bin);
        match found {
            Some((_, count)) => *count += 1,
            None => panic!("`{}` has no bin `{bin}`", self.name),
        }
    }

    /// Counts every message that passes the port at `address` in the bin that `classify` returns.
    ///
    /// # Errors
    /// Returns an error if the port cannot be tapped.
    pub fn watch<T: Message>(
        &self,
        simulation: &mut Simulation,
        address: &str,
        classify: fn(&T) -> Option<&'static str>,
    ) -> Result<(), TapError> {
        let coverage = self.clone();
        simulation.tap::<T>(address, Classify { coverage, classify })
    }

    /// Returns the number of hits of `bin`.
    pub fn count(&self, bin: &str) -> Option<u64> {
        let bins = self.bins.lock();
        bins.iter()
            .find(|(name, _)| name == bin)
            .map(|(_, count)| *count)
    }

    /// Returns the bins that were never hit.
    pub fn missing(&self) -> Vec<String> {
        let bins = self.bins.lock();
        let empty = bins.iter().filter(|(_, count)| *count == 0);
        empty.map(|(name, _)| name.clone()).collect()
    }

    /// Panics unless every bin was hit.
    ///
    /// # Panics
    /// Panics if a bin was not hit, with the whole report.
    pub fn assert_complete(&self) {
        let missing = self.missing();
        assert!(
            missing.is_empty(),
            "never hit: {}\n{self}",
            missing.join(", ")
        );
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bins = self.bins.lock();
        let hit = bins.iter().filter(|(_, count)| *count > 0).count();
        writeln!(f, "{}: {hit} of {} bins", self.name, bins.len())?;
        bins.iter()
            .try_for_each(|(name, count)| writeln!(f, "  {name} {count}"))
    }
}

struct Classify<T> {
    coverage: Coverage,
    classify: fn(&T) -> Option<&'static str>,
}

impl<T> Classify<T> {
    fn pass(&self, message: &T) {
        if let Some(bin) = (self.classify)(message) {
            self.coverage.hit(bin);
        }
    }
}

impl<T> Tap<T> for Classify<T> {
    fn send(&mut self, _: &mut Context<'_>, transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        self.pass(&transit.message);
        wire.push(transit);
    }

    fn take(&mut self, _: &mut Context<'_>, message: &mut T) {
        self.pass(message);
    }
}
