//! Host reference algorithms: what the kernels must compute.
//!
//! Written for plainness and by other algorithms than the kernels where there is a choice (a queue
//! for breadth-first search, a heap for shortest paths). Single-precision results are exact where
//! the order of the operations is part of the kernel's contract; fused multiply-add is never used.

mod bfs;
mod connectivity;
mod histogram;
mod matrix;
mod sssp;
mod stencil;
mod sum;
mod vector;

pub use bfs::bfs_levels;
pub use connectivity::{components, is_connected, reachable};
pub use histogram::{HISTOGRAM_BINS, histogram};
pub use matrix::{matrix_multiply, matrix_multiply_f64};
pub use sssp::sssp_distances;
pub use stencil::{StencilWeights, stencil_2d};
pub use sum::{sum_f32_by_blocks, sum_f64, sum_u32};
pub use vector::vector_add;

/// Level or distance of a vertex that no path reaches.
pub const UNREACHED: u32 = u32::MAX;
