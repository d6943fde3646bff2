//! The front end: instruction streams of the wavefronts, their scoreboards, and instruction fetch.

pub(crate) mod fetch;
mod scoreboard;
pub(crate) mod source;
pub(crate) mod wavefront;
pub(crate) mod wavefront_table;
