//! Occupancy of a compute unit.
