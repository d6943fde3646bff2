pub(crate) mod context;
pub(crate) mod schedule;
