//! Tests of the program trace's guarantees to writers and readers.

#![allow(
    clippy::unwrap_used,
    reason = "this binary holds tests and nothing else"
)]
#![allow(clippy::print_stdout, reason = "measured sizes are worth seeing")]

mod ahead;
mod files;
mod model;
mod spilled;
mod streams;
mod text;
