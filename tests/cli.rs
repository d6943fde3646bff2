//! What the program prints, writes and returns.
