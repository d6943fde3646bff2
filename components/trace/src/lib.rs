//! Program traces: what a GPU program did, independent of timing.
