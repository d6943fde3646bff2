//! Location of an instance within the partitions.

use crate::evaluation::Target;

/// Partition of an instance, and its position within the partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) partition: u32,
    pub(crate) target: Target,
}
