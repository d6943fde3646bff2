//! Collected statistics of one component instance.

use super::{Role, Statistic, Value};

/// Collected statistics of one component instance.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceStatistics {
    /// Hierarchical path of the component instance.
    pub path: String,
    /// Kind of component, as given to the builder.
    pub kind: String,
    /// Statistics in the order the component reports them.
    pub values: Vec<Statistic>,
}

impl InstanceStatistics {
    /// Returns the value of the statistic with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values
            .iter()
            .find(|s| &*s.name == name)
            .map(|s| &s.value)
    }

    /// Iterates over the values of the statistics with a role, in the order reported.
    pub fn playing(&self, role: Role) -> impl Iterator<Item = &Value> {
        let playing = self.values.iter().filter(move |s| s.role == Some(role));
        playing.map(|s| &s.value)
    }

    /// Returns the counter with this name, or the integer of another kind of statistic.
    pub fn counter(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Counter(value) | Value::Number(value)) => Some(*value),
            _ => None,
        }
    }
}
