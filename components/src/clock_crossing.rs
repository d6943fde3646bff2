//! Crossing between two clock domains.
