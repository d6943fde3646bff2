//! Affine analysis of kernels written as PTX text.

mod accesses;
mod costs;
mod harness;
mod random;
mod vectors;
mod windows;
