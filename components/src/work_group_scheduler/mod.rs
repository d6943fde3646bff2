//! Work-group scheduler.
