//! Speed of the kernel and of whole systems.

fn main() {}
