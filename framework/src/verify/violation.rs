//! Common interface of checkers, which report missing messages at the end of a run.

use std::sync::Arc;

/// A checker attached to a system. A violation ends the run with [`crate::Outcome::Failed`].
/// Conditions that can be checked only at the end are checked by [`Check::finish`].
pub trait Check: Send + Sync {
    /// Returns the number of messages seen: a checker that saw none has proved nothing.
    fn seen(&self) -> u64;

    /// Checks for missing messages after a run that was not interrupted.
    ///
    /// # Errors
    /// Returns a message that names the place and the missing messages.
    fn finish(&self) -> Result<(), String>;
}

/// Collection of all checkers of a system.
#[derive(Clone, Default)]
pub struct Checks(Vec<Arc<dyn Check>>);

impl Checks {
    /// Creates a collection without any checkers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a checker to the collection.
    pub fn add(&mut self, check: Arc<dyn Check>) {
        self.0.push(check);
    }

    /// Returns the number of checkers in the collection.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if the collection has no checkers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of messages seen by all checkers.
    pub fn seen(&self) -> u64 {
        self.0.iter().map(|check| check.seen()).sum()
    }

    /// Checks for missing messages, with all checkers, after a run that was not interrupted.
    ///
    /// # Errors
    /// Returns one line per checker that is not satisfied.
    pub fn finish(&self) -> Result<(), String> {
        let problems: Vec<_> = self.0.iter().filter_map(|c| c.finish().err()).collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("\n"))
        }
    }
}
