//! Description of a statistic, apart from its value.

use super::{Combination, Role};

/// Description of a statistic, independent of its value.
#[derive(Clone, Debug)]
pub struct Label {
    /// Name within the instance, stable across versions.
    pub name: Box<str>,
    /// Unit of the value, such as `requests`, `cycles`, `bytes`; empty for a pure number.
    pub unit: &'static str,
    /// Meaning of the statistic in one sentence.
    pub meaning: &'static str,
    /// Role of the statistic in the system, if it has one.
    pub role: Option<Role>,
    /// Method of combining it with the same statistic of other instances.
    pub combination: Combination,
    /// True if it counts up from the start of the run, so that its growth can be attributed to
    /// parts of the run.
    pub grows: bool,
    /// Components of the name: length of the prefix, static text of the program, index.
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
