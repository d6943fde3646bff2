//! Description files, whose mistakes are shown where they stand.

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use warpweave_framework::SpecError;
use warpweave_params::{Diagnostics, Node, Source, from_named, from_node, parse};

use crate::StandaloneError;

/// A description as it was written.
#[derive(Clone, Debug)]
pub struct Description(Arc<Node>);

impl Description {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or is no description.
    pub(crate) fn read(path: &Path) -> Result<Self, StandaloneError> {
        Self::of(&Source::read(path).map_err(Diagnostics::from)?)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// When it is no description.
    pub(crate) fn of(source: &Arc<Source>) -> Result<Self, StandaloneError> {
        Ok(Self(Arc::new(parse(source)?)))
    }

    /// What it describes.
    ///
    /// # Errors
    /// Whatever is not of that form.
    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<T, StandaloneError> {
        Ok(from_node(&self.0)?)
    }

    /// What it describes, if it has this name.
    ///
    /// # Errors
    /// Another name, or whatever is not of that form.
    pub(crate) fn named<T: DeserializeOwned>(&self, name: &str) -> Result<T, StandaloneError> {
        Ok(from_named(&self.0, name)?)
    }

    /// A refused field at its place; `outer` is the field of the description that was refused.
    pub(crate) fn refused(&self, outer: &str, mut error: SpecError) -> StandaloneError {
        let parts = [outer, &error.field];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        error.field = parts.collect::<Vec<_>>().join(".");
        error.located(&self.0).into()
    }
}
