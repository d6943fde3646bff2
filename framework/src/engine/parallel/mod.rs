pub(crate) mod barrier;
pub(crate) mod coordinator;
pub(crate) mod cut;
pub(crate) mod tally;
pub(crate) mod threads;
