//! Right answers, computed on the host: what the kernels must leave behind.
//!
//! ```text
//!  BfsLevels(graph: "g", source: 0) --References--> Answer --shape, words--> what a buffer must hold
//!                                                     |
//!                            Question: buffers and graphs of the program, by name
//! ```
//!
//! A reference is one file: its parameters as a description writes them ([`Reference`]) and the
//! algorithm. `registry.rs` finds it by name, `question.rs` is what it may ask of the program whose
//! results it judges. A new one is a file here, or a type of another crate, and a line that
//! registers it: in [`standard_references`], or with [`References::register`]. Where many answers are right,
//! a [`Property`] (`property.rs`) says what holds of each of them.
//!
//! The algorithms are written for plainness and are others than those of the kernels where there is
//! a choice (a queue for breadth-first search, a heap for shortest paths). Single-precision results
//! are exact where the order of the operations is part of the kernel's contract; fused multiply-add
//! is never used.

mod alignment;
mod back_propagation;
mod bfs;
mod blur;
mod colouring;
mod connectivity;
mod convolution;
mod dct;
mod fdtd;
mod given;
mod histogram;
mod hotspot;
mod join;
mod lud;
mod mandelbrot;
mod matrix;
mod mesh;
mod neural_network;
mod property;
mod question;
mod registry;
mod sorted;
mod sparse;
mod srad;
mod sssp;
mod stencil;
mod sum;
#[cfg(test)]
mod tests;
mod tree_search;
mod vector;

use std::fmt;

use serde::de::DeserializeOwned;
use warpweave_params::Diagnostic;

use crate::element::ElementType;

pub use alignment::{Alignments, alignment};
pub use back_propagation::{AdjustedWeights, LayerForward, adjusted_weights, layer_forward};
pub use bfs::{BfsLevels, bfs_levels};
pub use blur::{BinomialBlur, binomial_blur};
pub use colouring::{IndependentSetColours, independent_set_colours};
pub use connectivity::{components, is_connected, reachable};
pub use convolution::{Convolution2d, convolution_2d};
pub use dct::{DctQuantised, DctRestored, dct_inverse, dct_quantised};
pub use fdtd::{Fdtd3d, fdtd_3d};
pub use given::{Column, Constant, File, Values};
pub use histogram::{HISTOGRAM_BINS, Histogram, histogram};
pub use hotspot::{Chip, Hotspot, hotspot};
pub use join::{JoinMatches, join_matches};
pub use lud::{LuDecomposition, lu_decomposition};
pub use mandelbrot::{Mandelbrot, Picture, mandelbrot};
pub use matrix::{MatrixMultiply, matrix_multiply, matrix_multiply_f64};
pub use mesh::{Mesh, RefinedMesh, refined_mesh};
pub use neural_network::{NeuralNetwork, neural_network};
pub use property::{
    Ascending, Judgement, MaximalIndependentSet, Permutation, ProperColouring, Property,
};
pub use question::{Inputs, Layout, Question};
pub use registry::{Answer, Claim, References};
pub use sorted::Sorted;
pub use sparse::{SparseTimesDense, sparse_times_dense};
pub use srad::{Srad, srad};
pub use sssp::{ShortestPaths, sssp_distances};
pub use stencil::{Stencil2d, StencilWeights, stencil_2d};
pub use sum::{SumF32, SumF32ByBlocks, SumU32, sum_f32_by_blocks, sum_f64, sum_u32};
pub use tree_search::{TreeSearch, tree_search};
pub use vector::{VectorAdd, vector_add};

/// Level or distance of a vertex that no path reaches.
pub const UNREACHED: u32 = u32::MAX;

/// A right answer that a description can name. Its fields are the parameters there; buffers named
/// in them stand for their contents before the program runs.
pub trait Reference: DeserializeOwned + fmt::Debug + Send + Sync + 'static {
    /// Name in description files and reports, such as `BfsLevels`.
    const NAME: &'static str;

    /// Checks the parameters; tells what the answer looks like.
    ///
    /// # Errors
    /// What is wrong with the parameters, with its place.
    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic>;

    /// The answer as the words of a memory that holds it ([`ElementType::pack`]). Asked only when [`Reference::shape`] has found nothing wrong.
    ///
    /// # Errors
    /// An input that has changed since.
    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic>;
}

/// What an answer looks like, as far as the reference decides it; the rest is as in the buffer under
/// test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Type of the elements.
    pub element: Option<ElementType>,
    /// Number of elements.
    pub length: Option<usize>,
}

impl Shape {
    /// So many integers.
    pub fn u32s(length: usize) -> Self {
        Self {
            element: Some(ElementType::U32),
            length: Some(length),
        }
    }

    /// So many numbers in single precision.
    pub fn f32s(length: usize) -> Self {
        Self {
            element: Some(ElementType::F32),
            length: Some(length),
        }
    }
}

/// Every reference and every property of this crate, by the name that descriptions use.
pub fn standard_references() -> References {
    let mut references = References::new();
    references.register::<AdjustedWeights>();
    references.register::<Alignments>();
    references.register::<BfsLevels>();
    references.register::<Column>();
    references.register::<Constant>();
    references.register::<BinomialBlur>();
    references.register::<Convolution2d>();
    references.register::<DctQuantised>();
    references.register::<DctRestored>();
    references.register::<Fdtd3d>();
    references.register::<File>();
    references.register::<Histogram>();
    references.register::<Sorted>();
    references.register::<Hotspot>();
    references.register::<IndependentSetColours>();
    references.register::<JoinMatches>();
    references.register::<LayerForward>();
    references.register::<LuDecomposition>();
    references.register::<Mandelbrot>();
    references.register::<MatrixMultiply>();
    references.register::<NeuralNetwork>();
    references.register::<RefinedMesh>();
    references.register::<ShortestPaths>();
    references.register::<SparseTimesDense>();
    references.register::<Srad>();
    references.register::<Stencil2d>();
    references.register::<SumF32>();
    references.register::<SumF32ByBlocks>();
    references.register::<SumU32>();
    references.register::<TreeSearch>();
    references.register::<Values>();
    references.register::<VectorAdd>();
    references.register_property::<Ascending>();
    references.register_property::<MaximalIndependentSet>();
    references.register_property::<Permutation>();
    references.register_property::<ProperColouring>();
    references
}

/// Bit patterns of numbers in single precision.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
