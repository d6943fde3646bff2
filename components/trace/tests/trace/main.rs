//! What a program trace promises to those who write and read it.

mod model;
mod streams;
