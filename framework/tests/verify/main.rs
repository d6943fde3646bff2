//! Tests of the verification kit: it passes correct devices, and finds and shrinks every seeded
//! bug.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod broken;
mod devices;
mod faults;
mod kit;
