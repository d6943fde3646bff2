//! Reuse monitor of a compute unit.
