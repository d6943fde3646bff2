//! A map from levels of the memory hierarchy to values.

use serde::{Deserialize, Serialize};

use crate::memory::Level;

/// Holds one value for each level that has supplied a response.
#[derive(Serialize, Deserialize)]
pub(crate) struct ByLevel<T>(Vec<(Level, T)>);

impl<T: Default> Default for ByLevel<T> {
    /// Creates entries for the levels that any system may have, so that all units report the same
    /// statistics. Other levels are added with their first response.
    fn default() -> Self {
        let known = [Level::L1, Level::COALESCED, Level::L2, Level::DRAM];
        Self(known.map(|level| (level, T::default())).into())
    }
}

impl<T: Default> ByLevel<T> {
    #[inline]
    pub(crate) fn of(&mut self, level: Level) -> &mut T {
        let at = self.0.iter().position(|(known, _)| *known == level);
        let at = at.unwrap_or_else(|| {
            self.0.push((level, T::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Level, &T)> {
        self.0.iter().map(|(level, value)| (*level, value))
    }
}
