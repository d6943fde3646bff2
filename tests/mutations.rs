//! No text makes the program panic.
