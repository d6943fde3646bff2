pub(crate) mod barrier;
pub(crate) mod coordinator;
pub(crate) mod threads;
