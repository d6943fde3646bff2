//! The front end: what wavefronts execute next, and which of them issue.

pub(crate) mod fetch;
pub(crate) mod issue_variant;
pub(crate) mod open_policies;
pub(crate) mod scoreboard;
pub(crate) mod structural_hazards;
pub(crate) mod wavefront;
