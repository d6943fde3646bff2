//! Bloom filters over line addresses.
