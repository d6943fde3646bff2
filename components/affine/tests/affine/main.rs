//! Affine analysis of kernels written as PTX text.

mod harness;
mod random;
mod vectors;
mod windows;
