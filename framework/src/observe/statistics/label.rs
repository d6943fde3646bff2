//! What a statistic is, apart from its value.

use super::{Combination, Role};

/// What a statistic is, whatever its value.
#[derive(Clone, Debug)]
pub struct Label {
    /// Name within the instance, stable across versions.
    pub name: Box<str>,
    /// Unit of the value, such as `requests`, `cycles`, `bytes`; empty for a pure number.
    pub unit: &'static str,
    /// What it says, in one sentence.
    pub meaning: &'static str,
    /// What it stands for in the system, if anything.
    pub role: Option<Role>,
    /// How it is combined with that of other instances.
    pub combination: Combination,
    /// Whether it counts up from the start of the run, so that a part of it belongs to each part of the
    /// run.
    pub grows: bool,
    /// What the name was put together from: how long its prefix is, the text of the program, the index.
    pub(super) written: (usize, &'static str, Option<usize>),
}

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        let all = |label: &Self| {
            let Self {
                unit,
                meaning,
                role,
                combination,
                grows,
                ..
            } = *label;
            (unit, meaning, role, combination, grows)
        };
        self.name == other.name && all(self) == all(other)
    }
}
