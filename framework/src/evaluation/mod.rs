pub(crate) mod context;
pub(crate) mod next;
pub(crate) mod schedule;
pub(crate) mod shared;
