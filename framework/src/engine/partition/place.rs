//! Where an instance is evaluated.

use crate::evaluation::Target;

/// The partition of an instance, and where in it the instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) partition: u32,
    pub(crate) target: Target,
}
