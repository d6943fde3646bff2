//! Description files, with errors reported at their position.

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use warpweave_framework::SpecError;
use warpweave_params::{Diagnostics, Files, Node, Source, from_named, from_node, parse};

use crate::StandaloneError;

/// Parsed description that keeps the positions of its parts.
#[derive(Clone, Debug)]
pub struct Description(Arc<Node>);

impl Description {
    /// Reads and parses a description file.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or is not a description.
    pub(crate) fn read(path: &Path) -> Result<Self, StandaloneError> {
        let source = Files::default().description(path, &[]);
        Self::of(&source.map_err(Diagnostics::from)?)
    }

    /// Parses a description from text.
    ///
    /// # Errors
    /// Returns an error if it is not a description.
    pub(crate) fn of(source: &Arc<Source>) -> Result<Self, StandaloneError> {
        Ok(Self(Arc::new(parse(source)?)))
    }

    /// Deserializes the description into a value of type `T`.
    ///
    /// # Errors
    /// Returns an error for any part that does not fit the type.
    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<T, StandaloneError> {
        Ok(from_node(&self.0)?)
    }

    /// Deserializes the description if it has this name.
    ///
    /// # Errors
    /// Returns an error for another name, or any part that does not fit the type.
    pub(crate) fn named<T: DeserializeOwned>(&self, name: &str) -> Result<T, StandaloneError> {
        Ok(from_named(&self.0, name)?)
    }

    /// Adds the position to an error of a field. `outer` is the path of the description part that
    /// was checked.
    pub(crate) fn refused(&self, outer: &str, mut error: SpecError) -> StandaloneError {
        let parts = [outer, &error.field];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        error.field = parts.collect::<Vec<_>>().join(".");
        error.located(&self.0).into()
    }
}
