//! Facts that a component tells those it is wired to.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a component knows of itself that the component at the other end of a wire may rely on, such
/// as how many work-groups a compute unit holds. At most one fact per type.
///
/// A fact is told once, at elaboration, so it depends on the specification alone.
#[derive(Clone, Default)]
pub struct Facts {
    by_type: BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl Facts {
    /// No facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// States a fact; an earlier one of this type gives way.
    pub fn publish<T: Any + Send + Sync>(&mut self, fact: T) {
        self.by_type.insert(TypeId::of::<T>(), Arc::new(fact));
    }

    /// The fact of this type, if one is stated.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.by_type.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.by_type.is_empty()
    }
}

/// What is wrong with a component once its wires are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Field of the specification at fault, as a path within it; empty for the whole.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Unfit {
    /// A problem with one field, or with the whole where `field` is empty.
    pub fn at(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}
