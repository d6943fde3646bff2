//! Work-group scheduler: tests.
