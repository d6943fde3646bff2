//! Tests of the PTX front end, with one module per guarantee.

// Reference functions follow the wording of their definitions; floats are compared bit by bit.
#![allow(clippy::type_complexity, clippy::manual_checked_ops)]
#![allow(clippy::float_cmp, clippy::double_comparisons)]
#![allow(clippy::format_collect)] // Texts of a few lines.

mod acceptance;
mod checker;
mod compiled;
mod conformance;
mod control;
mod device_launches;
mod device_streams;
mod float;
mod forms;
mod halves;
mod harness;
mod indirect;
mod integer;
mod lanes;
mod launches;
mod memory;
mod messages;
mod patterns;
mod placed;
mod random_programs;
mod refusals;
mod rounding;
mod texture;
