//! The execution pipes: when results come, and what of register file and local memory is busy.

pub(crate) mod bank_conflicts;
pub(crate) mod register_file;
pub(crate) mod wheel;
