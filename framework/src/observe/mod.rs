pub(crate) mod contents;
pub(crate) mod probe;
pub(crate) mod reason;
pub(crate) mod sample;
pub(crate) mod statistics;
pub(crate) mod waits;
