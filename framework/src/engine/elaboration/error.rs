//! Errors found during elaboration of a system.

use std::fmt;

use thiserror::Error;

use crate::component::Origin;

/// One error in a system, found at elaboration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElaborationError {
    /// Describes the problem with instance paths and ports.
    pub message: String,
    /// Suggests a next step, if there is a useful one.
    pub hint: Option<String>,
    /// Place where the part at fault was described.
    pub origin: Option<Origin>,
    /// Field at fault of that part's specification, as a path within it; empty for the whole.
    pub field: String,
    /// Other places that conflict with this one.
    pub related: Vec<RelatedOrigin>,
}

impl ElaborationError {
    /// Creates an error that is fully described by its message.
    pub(super) fn new(message: String, hint: Option<String>, origin: Option<Origin>) -> Self {
        Self {
            message,
            hint,
            origin,
            field: String::new(),
            related: Vec::new(),
        }
    }
}

/// A place that conflicts with the one at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedOrigin {
    /// Describes the conflicting statement at that place.
    pub message: String,
    /// Place where the conflicting part was described.
    pub origin: Option<Origin>,
    /// Field of its specification, as a path within it; empty for the whole.
    pub field: String,
}

/// All errors in a system, found in one pass.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ElaborationErrors(pub Vec<ElaborationError>);

impl fmt::Display for ElaborationErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", error.message)?;
            if let Some(hint) = &error.hint {
                write!(f, "\n  hint: {hint}")?;
            }
        }
        Ok(())
    }
}
