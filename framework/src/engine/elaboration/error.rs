//! What is wrong with a system.

use std::fmt;

use thiserror::Error;

use crate::component::Origin;

/// One thing wrong with a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElaborationError {
    /// What is wrong, naming instance paths and ports.
    pub message: String,
    /// What to do next, where something useful can be said.
    pub hint: Option<String>,
    /// Where the offending part was described.
    pub origin: Option<Origin>,
    /// Field of that part's specification at fault, as a path within it; empty for the whole.
    pub field: String,
    /// Other places that disagree.
    pub related: Vec<RelatedOrigin>,
}

impl ElaborationError {
    /// A mistake that says all in its message.
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

/// A place that disagrees with the one at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedOrigin {
    /// What is said there.
    pub message: String,
    /// Where the part was described.
    pub origin: Option<Origin>,
    /// Field of its specification, as a path within it; empty for the whole.
    pub field: String,
}

/// Everything wrong with a system, found in one pass.
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
