//! Grid management unit.
