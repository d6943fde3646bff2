//! Kinds of components that description files can name.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeBounds;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use warpweave_files::Ledger;
use warpweave_params::{Diagnostics, Node, out_of_range};
use warpweave_random::{FNV_START, fnv1a};

use super::{Preset, Registry};
use crate::component::Component;

/// A component that can be built from a description.
pub trait Kind: Component + Sized + 'static {
    /// Name in description files, such as `Cache`.
    const NAME: &'static str;
    /// Description of the kind in one sentence, for lists.
    const SUMMARY: &'static str;
    /// Descriptions provided by the kind under a name.
    const PRESETS: &'static [Preset] = &[];
    /// Fields that a description may set. Their doc comments become the reference page.
    type Spec: Clone + DeserializeOwned + Serialize + JsonSchema + Send + Sync;

    /// Checks the specification as a whole and builds the component.
    ///
    /// # Errors
    /// Returns an error if a value is outside its range, or if values are inconsistent.
    fn build(spec: Self::Spec, environment: &Environment) -> Result<Self, SpecError>;

    /// Changes one field of a specification that was read. Returns false, and changes nothing, if
    /// the whole has to be read again. For fields that differ between the repetitions of a part,
    /// such as their numbers. The result must be the same as reading the changed description.
    fn vary(_spec: &mut Self::Spec, _field: &str, _value: &Node) -> bool {
        false
    }
}

/// Error of a specification that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SpecError {
    /// Field at fault, as a path within the specification such as `timing.tras`; empty for the
    /// whole.
    pub field: String,
    /// Describes the problem and the valid values, with the numbers.
    pub message: String,
    /// Problems that have their own places, as found by a policy inside the specification.
    pub(super) problems: Option<Box<Diagnostics>>,
    /// True if the only problem is the memory required.
    pub(super) over_budget: bool,
}

impl SpecError {
    /// Creates an error at one field.
    pub fn at(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
            problems: None,
            over_budget: false,
        }
    }

    /// Moves the error of a part of the specification to its place, the field that holds the part.
    #[must_use]
    pub fn inside(self, field: &str) -> Self {
        Self {
            field: format!("{field}.{}", self.field),
            ..self
        }
    }

    /// Creates an error of the specification part at `field` from problems that have places.
    pub(super) fn placed(field: &str, problems: Diagnostics) -> Self {
        let message = problems.iter().next().map(|first| first.message.clone());
        Self {
            field: field.to_owned(),
            message: message.unwrap_or_default(),
            problems: Some(Box::new(problems)),
            over_budget: false,
        }
    }

    /// Fails unless `condition` holds.
    ///
    /// # Errors
    /// Returns the described error if `condition` is false.
    pub fn require(
        condition: bool,
        field: &str,
        message: impl FnOnce() -> String,
    ) -> Result<(), Self> {
        if condition {
            Ok(())
        } else {
            Err(Self::at(field, message()))
        }
    }

    /// Fails unless `value` is within `range`.
    ///
    /// # Errors
    /// Returns an error with `value` at `field` and the expected range.
    #[inline]
    pub fn in_range<T: PartialOrd + Display>(
        field: &str,
        value: T,
        range: impl RangeBounds<T>,
    ) -> Result<(), Self> {
        match out_of_range(&value, &range) {
            Some(words) => Err(Self::at(field, words)),
            None => Ok(()),
        }
    }
}

/// Resources, besides its specification, that the builder of a component may use.
#[derive(Clone, Default)]
pub struct Environment {
    path: Arc<str>,
    seed: u64,
    registry: Option<Registry>,
    ledger: Ledger,
    resources: Arc<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Environment {
    /// Creates an environment without resources, for an instance at `path` of a run with `seed`.
    pub fn new(path: impl Into<Arc<str>>, seed: u64) -> Self {
        Self {
            path: path.into(),
            seed,
            registry: None,
            ledger: Ledger::default(),
            resources: Arc::default(),
        }
    }

    /// Returns the same environment for another instance.
    pub fn for_instance(&self, path: impl Into<Arc<str>>) -> Self {
        Self {
            path: path.into(),
            ..self.clone()
        }
    }

    /// Returns the same environment with the registry in which policy names are looked up.
    pub fn with_registry(&self, registry: &Registry) -> Self {
        Self {
            registry: Some(registry.clone()),
            ..self.clone()
        }
    }

    /// Returns the registry that builds from this environment, if there is one.
    pub fn registry(&self) -> Option<&Registry> {
        self.registry.as_ref()
    }

    /// Returns the same environment with the ledger charged for the memory of components.
    pub fn charged_to(&self, ledger: &Ledger) -> Self {
        Self {
            ledger: ledger.clone(),
            ..self.clone()
        }
    }

    /// Returns the ledger charged for the memory of components.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Charges `bytes` that the component will keep because of `field`. Call before allocating
    /// memory that grows with a number of the specification. A component of a few kilobytes need
    /// not call it.
    ///
    /// # Errors
    /// Returns an error if the memory budget would be exceeded.
    pub fn charge(&self, field: &str, bytes: u64) -> Result<(), SpecError> {
        let charged = self.ledger.charge(&self.path, bytes);
        charged.map_err(|mut error| {
            error.what = format!("`{}`", self.path);
            SpecError {
                over_budget: true,
                ..SpecError::at(field, error.to_string())
            }
        })
    }

    /// Adds an immutable value shared by components, such as the program to run. There is one value
    /// per type.
    pub fn provide<T: Any + Send + Sync>(&mut self, resource: Arc<T>) {
        Arc::make_mut(&mut self.resources).insert(TypeId::of::<T>(), resource);
    }

    /// Returns the shared value of this type, if one was provided.
    pub fn resource<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.resources
            .get(&TypeId::of::<T>())?
            .clone()
            .downcast()
            .ok()
    }

    /// Returns the path of the instance under construction.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns a seed for this instance, a function of the run's seed and the path only.
    pub fn seed(&self) -> u64 {
        fnv1a(self.seed ^ FNV_START, self.path.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_found_by_type() {
        let mut environment = Environment::new("gpu.l1", 1);
        environment.provide(Arc::new(7u32));
        assert_eq!(environment.resource::<u32>().as_deref(), Some(&7));
        assert_eq!(environment.resource::<u64>(), None);
    }

    #[test]
    fn what_is_beyond_the_budget_is_refused_at_its_field() {
        let budget = warpweave_files::Budget::of(100);
        let environment = Environment::new("l1", 1).charged_to(&Ledger::new(&budget));
        assert_eq!(environment.for_instance("l2").charge("ways", 60), Ok(()));
        let refused = environment.charge("ways", 60).expect_err("beyond");
        assert!(refused.over_budget && refused.field == "ways", "{refused}");
        assert!(
            refused
                .message
                .contains("`l1` needs 60 bytes, but 40 bytes of 100 bytes"),
            "{refused}"
        );
        drop(environment);
        assert_eq!(budget.charged(), 0);
    }

    #[test]
    fn seeds_differ_by_path_and_run() {
        let seed = |path: &str, run| Environment::new(path, run).seed();
        assert_ne!(seed("a", 1), seed("b", 1));
        assert_ne!(seed("a", 1), seed("a", 2));
        assert_eq!(seed("a", 1), seed("a", 1));
    }
}
