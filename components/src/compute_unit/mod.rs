//! The compute unit.
