//! What checkers have in common: they are asked at the end of a run what is still missing.

use std::sync::Arc;

/// A checker on a system. While the system runs a violation ends the run with
/// [`crate::Outcome::Failed`]; what can be judged at the end only is judged by [`Check::finish`].
pub trait Check: Send + Sync {
    /// Messages it has seen: a checker that saw none has proved nothing.
    fn seen(&self) -> u64;

    /// What is missing after a run that ended by itself.
    ///
    /// # Errors
    /// A message that names the place and what is missing.
    fn finish(&self) -> Result<(), String>;
}

/// The checkers of a system.
#[derive(Clone, Default)]
pub struct Checks(Vec<Arc<dyn Check>>);

impl Checks {
    /// No checkers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn add(&mut self, check: Arc<dyn Check>) {
        self.0.push(check);
    }

    /// Number of checkers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Messages seen by all of them.
    pub fn seen(&self) -> u64 {
        self.0.iter().map(|check| check.seen()).sum()
    }

    /// Everything that is missing after a run that ended by itself.
    ///
    /// # Errors
    /// One line per checker that is not satisfied.
    pub fn finish(&self) -> Result<(), String> {
        let problems: Vec<_> = self.0.iter().filter_map(|c| c.finish().err()).collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("\n"))
        }
    }
}
