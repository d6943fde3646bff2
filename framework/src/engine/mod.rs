pub(crate) mod division;
pub(crate) mod elaboration;
pub(crate) mod options;
pub(crate) mod parallel;
pub(crate) mod partition;
pub(crate) mod simulation;
