//! Display names for the numbered things of a run.

use std::collections::BTreeMap;

/// Display names by kind of thing and number. A component reports only `kernel` 3. The kernel's
/// name is known only from the program.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<&'static str, Vec<String>>);

impl Names {
    /// Sets the names of things of this kind, such as `kernel`, from number 0 on.
    #[must_use]
    pub fn with(mut self, kind: &'static str, names: impl IntoIterator<Item = String>) -> Self {
        self.0.insert(kind, names.into_iter().collect());
        self
    }

    /// Returns the name of thing `number` of this kind, if it has one.
    pub(crate) fn of(&self, kind: &str, number: u64) -> Option<&str> {
        let names = self.0.get(kind)?;
        names.get(usize::try_from(number).ok()?).map(String::as_str)
    }
}
