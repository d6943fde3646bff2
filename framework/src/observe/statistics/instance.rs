//! The statistics of one instance, as they are collected.

use super::{Role, Statistic, Value};

/// The statistics of one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceStatistics {
    /// Hierarchical path.
    pub path: String,
    /// Kind of component, as the builder was told.
    pub kind: String,
    /// Its statistics, in the order the component reports them.
    pub values: Vec<Statistic>,
}

impl InstanceStatistics {
    /// The statistic of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values
            .iter()
            .find(|s| &*s.name == name)
            .map(|s| &s.value)
    }

    /// The values of the statistics that play a role, in the order reported.
    pub fn playing(&self, role: Role) -> impl Iterator<Item = &Value> {
        let playing = self.values.iter().filter(move |s| s.role == Some(role));
        playing.map(|s| &s.value)
    }

    /// The counter of this name, or the whole number of another sort.
    pub fn counter(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Counter(value) | Value::Number(value)) => Some(*value),
            _ => None,
        }
    }
}
