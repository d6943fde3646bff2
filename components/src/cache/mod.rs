//! The cache: one block for a first-level cache and for a slice of the second level.
