//! What the numbered things of a run are called.

use std::collections::BTreeMap;

/// Names of things that components know by their numbers, by kind of thing. A component says
/// `kernel` 3; only who knows the program knows what that kernel is called.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<&'static str, Vec<String>>);

impl Names {
    /// Things of this kind, such as `kernel`, are called `names`, from number 0 on.
    #[must_use]
    pub fn with(mut self, kind: &'static str, names: impl IntoIterator<Item = String>) -> Self {
        self.0.insert(kind, names.into_iter().collect());
        self
    }

    /// The name of thing `number` of this kind, if it has one.
    pub(crate) fn of(&self, kind: &str, number: u64) -> Option<&str> {
        let names = self.0.get(kind)?;
        names.get(usize::try_from(number).ok()?).map(String::as_str)
    }
}
