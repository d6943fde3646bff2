//! Tests of the PTX front end, one module per promise.

#![allow(clippy::float_cmp)] // Results are compared bit by bit on purpose.

mod acceptance;
mod control;
mod float;
mod harness;
mod integer;
mod lanes;
mod launches;
mod memory;
mod messages;
