//! Selection of components and the time window that a recording covers.

use thiserror::Error;
use warpweave_framework::{Simulation, Tick};
use wildmatch::WildMatch;

/// Instances, signals and time window to record.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Patterns of instance paths and signal names, `*` for any text and `?` for any character. An
    /// empty list selects all.
    pub paths: Vec<String>,
    /// First tick of the recorded time window.
    pub from: Tick,
    /// Last tick of the recorded time window, if limited.
    pub until: Option<Tick>,
}

/// Error for a pattern that matches no instance.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no instance matches `{pattern}`; instances include {some}")]
pub struct SelectionError {
    pub pattern: String,
    /// Examples of existing instances, for the message.
    pub some: String,
}

impl Selection {
    /// Checks that every pattern matches some instance.
    ///
    /// # Errors
    /// Returns the first pattern that matches no instance.
    pub fn check(&self, simulation: &Simulation) -> Result<(), SelectionError> {
        for pattern in &self.paths {
            let wanted = WildMatch::new(pattern);
            let signals = simulation.signals();
            let paths = simulation.instances().map(|(path, _)| path);
            let names = paths.chain(signals.iter().map(|line| line.name.as_str()));
            let names: Vec<_> = names.collect();
            if names.iter().any(|name| wanted.matches(name)) {
                continue;
            }
            let some = names.iter().take(4).map(|name| format!("`{name}`"));
            let mut some: Vec<_> = some.collect();
            if names.len() > some.len() {
                some.push("…".to_owned());
            }
            return Err(SelectionError {
                pattern: pattern.clone(),
                some: some.join(", "),
            });
        }
        Ok(())
    }

    /// Returns, for each instance, true if it is recorded.
    pub(crate) fn instances(&self, simulation: &Simulation) -> Vec<bool> {
        simulation
            .instances()
            .map(|(path, _)| self.names(path))
            .collect()
    }

    /// True if the instance or signal of this name is recorded.
    pub(crate) fn names(&self, path: &str) -> bool {
        let mut patterns = self.paths.iter();
        self.paths.is_empty() || patterns.any(|pattern| WildMatch::new(pattern).matches(path))
    }

    /// Returns, for each channel, true if it is recorded. Channels into or out of a recorded
    /// instance are.
    pub(crate) fn channels(&self, simulation: &Simulation) -> Vec<bool> {
        let instances = self.instances(simulation);
        (0..simulation.channel_count() as u32)
            .map(|c| {
                simulation
                    .channel_ends(c)
                    .iter()
                    .any(|(i, _)| instances[*i as usize])
            })
            .collect()
    }

    /// True if `tick` is within the time window.
    pub(crate) fn covers(&self, tick: Tick) -> bool {
        self.from <= tick && self.until.is_none_or(|until| tick <= until)
    }
}
