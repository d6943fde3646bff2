//! Expected results, computed on the host, that the kernels must produce.
//!
//! ```text
//!  BfsLevels(graph: "g", source: 0) --References--> Answer --shape, words--> what a buffer must hold
//!                                                     |
//!                            Question: buffers and graphs of the program, by name
//! ```
//!
//! A reference is one file with its parameters as written in a description ([`Reference`]) and the
//! algorithm. `registry.rs` finds it by name. `question.rs` is its interface to the program under
//! test. A new reference is a file here, or a type of another crate, and a line that registers it
//! in [`standard_references`] or with [`References::register`]. If many results are correct, a
//! [`Property`] (`property.rs`) states a condition that all of them meet.
//!
//! The algorithms are written for simplicity and differ from those of the kernels if possible (a
//! queue for breadth-first search, a heap for shortest paths). Single-precision results are exact
//! if the order of the operations is part of the kernel's contract. Fused multiply-add is never
//! used.

mod alignment;
mod alignment_scores;
mod attraction;
mod back_propagation;
mod bfs;
mod block_compression;
mod blur;
mod centroids;
mod colouring;
mod connectivity;
mod convolution;
mod convolution_3d;
mod dct;
mod demosaic;
mod denoising;
mod fdtd;
mod given;
mod gram;
mod histogram;
mod hotspot;
mod join;
mod laplace;
mod lud;
mod mandelbrot;
mod matrix;
mod meeting;
mod mesh;
mod neighbour;
mod neural_network;
mod option_estimates;
mod option_prices;
mod picture_differences;
mod priority;
mod property;
mod question;
mod rank_update;
mod regional_maxima;
mod registry;
mod shared_tiles;
mod sorted;
mod spanning_forest;
mod sparse;
mod srad;
mod sssp;
mod stencil;
mod suffix_matches;
mod sum;
#[cfg(test)]
mod tests;
mod transpose;
mod tree_search;
mod vector;

use std::fmt;

use serde::de::DeserializeOwned;
use warpweave_params::Diagnostic;

use crate::element::ElementType;

pub use alignment::{Alignments, alignment};
pub use alignment_scores::{AlignmentScores, alignment_scores};
pub use attraction::{Accelerations, accelerations};
pub use back_propagation::{AdjustedWeights, LayerForward, adjusted_weights, layer_forward};
pub use bfs::{BfsLevels, bfs_levels};
pub use block_compression::{CompressedBlocks, compressed_block};
pub use blur::{BinomialBlur, binomial_blur};
pub use centroids::{NearestCentroids, nearest_centroids};
pub use colouring::{IndependentSetColours, independent_set_colours};
pub use connectivity::{components, is_connected, reachable};
pub use convolution::{Convolution2d, convolution_2d};
pub use convolution_3d::{Convolution3d, convolution_3d};
pub use dct::{DctQuantised, DctRestored, dct_inverse, dct_quantised};
pub use demosaic::{Colour, Demosaiced, demosaiced};
pub use denoising::{Denoised, denoised};
pub use fdtd::{Fdtd3d, fdtd_3d};
pub use given::{Column, Computed, Constant, File, Values};
pub use gram::{GramProduct, gram_product};
pub use histogram::{HISTOGRAM_BINS, Histogram, histogram};
pub use hotspot::{Chip, Hotspot, hotspot};
pub use join::{JoinMatches, join_matches};
pub use laplace::{Laplace3d, laplace_3d};
pub use lud::{LuDecomposition, lu_decomposition};
pub use mandelbrot::{Mandelbrot, Picture, mandelbrot};
pub use matrix::{
    MatrixMultiply, MatrixProduct, matrix_multiply, matrix_multiply_f64, matrix_product,
};
pub use meeting::{MeetingRound, meeting_round};
pub use mesh::{Mesh, RefinedMesh, refined_mesh};
pub use neighbour::{NeighbourSums, neighbour_sums};
pub use neural_network::{NeuralNetwork, neural_network};
pub use option_estimates::{OptionEstimates, option_estimates};
pub use option_prices::{OptionPrices, OptionRight, option_price};
pub use picture_differences::{PictureDifferences, picture_differences};
pub use priority::{
    PriorityColours, PriorityIndependentSet, priority_colours, priority_independent_set,
};
pub use property::{
    Ascending, Judgement, MaximalIndependentSet, Permutation, ProperColouring, Property,
};
pub use question::{FindComputed, Inputs, Layout, Question, unusable_weights};
pub use rank_update::{RankUpdate, rank_2k_update, rank_k_update};
pub use regional_maxima::{RegionalMaxima, regional_maxima};
pub use registry::{Answer, Claim, References};
pub use shared_tiles::{SharedTileSums, shared_tile_sums};
pub use sorted::Sorted;
pub use spanning_forest::{SpanningForest, spanning_forest};
pub use sparse::{SparseTimesDense, SparseTimesVector, sparse_times_dense};
pub use srad::{Srad, srad};
pub use sssp::{ShortestPaths, sssp_distances};
pub use stencil::{Stencil2d, StencilWeights, stencil_2d};
pub use suffix_matches::{SuffixMatches, suffix_matches};
pub use sum::{SumF32, SumF32ByBlocks, SumU32, sum_f32_by_blocks, sum_f64, sum_u32};
pub use transpose::{Transposed, transposed};
pub use tree_search::{TreeSearch, tree_search};
pub use vector::{VectorAdd, vector_add};

/// Level or distance of a vertex that cannot be reached.
pub const UNREACHED: u32 = u32::MAX;

/// Expected result that a description can refer to. Its fields are the parameters in the
/// description. A buffer name in them refers to the contents before the program runs, except in
/// [`Computed`].
pub trait Reference: DeserializeOwned + fmt::Debug + Send + Sync + 'static {
    /// Name in description files and reports, such as `BfsLevels`.
    const NAME: &'static str;

    /// Checks the parameters. Returns the element type and length of the result.
    ///
    /// # Errors
    /// Returns the error in the parameters, with its position.
    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic>;

    /// Computes the result as the words of its memory ([`ElementType::pack`]). Called only if
    /// [`Reference::shape`] succeeded.
    ///
    /// # Errors
    /// Returns an error if an input has changed since the check.
    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic>;
}

/// Element type and length of a result, if the reference determines them. Otherwise those of the
/// buffer under test apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Element type, if the reference determines it.
    pub element: Option<ElementType>,
    /// Number of elements, if the reference determines it.
    pub length: Option<usize>,
}

impl Shape {
    /// Creates the shape of an array of `length` unsigned 32-bit integers.
    pub fn u32s(length: usize) -> Self {
        Self {
            element: Some(ElementType::U32),
            length: Some(length),
        }
    }

    /// Creates the shape of an array of `length` single-precision numbers.
    pub fn f32s(length: usize) -> Self {
        Self {
            element: Some(ElementType::F32),
            length: Some(length),
        }
    }
}

/// Returns all references and properties of this crate, by the names that descriptions use.
pub fn standard_references() -> References {
    let mut references = References::new();
    references.register::<Accelerations>();
    references.register::<AdjustedWeights>();
    references.register::<AlignmentScores>();
    references.register::<Alignments>();
    references.register::<BfsLevels>();
    references.register::<Column>();
    references.register::<CompressedBlocks>();
    references.register::<Computed>();
    references.register::<Constant>();
    references.register::<BinomialBlur>();
    references.register::<Convolution2d>();
    references.register::<Convolution3d>();
    references.register::<DctQuantised>();
    references.register::<DctRestored>();
    references.register::<Demosaiced>();
    references.register::<Denoised>();
    references.register::<Fdtd3d>();
    references.register::<File>();
    references.register::<GramProduct>();
    references.register::<Histogram>();
    references.register::<NearestCentroids>();
    references.register::<OptionEstimates>();
    references.register::<OptionPrices>();
    references.register::<PictureDifferences>();
    references.register::<RankUpdate>();
    references.register::<Sorted>();
    references.register::<Hotspot>();
    references.register::<IndependentSetColours>();
    references.register::<JoinMatches>();
    references.register::<Laplace3d>();
    references.register::<LayerForward>();
    references.register::<LuDecomposition>();
    references.register::<Mandelbrot>();
    references.register::<MatrixMultiply>();
    references.register::<MatrixProduct>();
    references.register::<MeetingRound>();
    references.register::<NeighbourSums>();
    references.register::<NeuralNetwork>();
    references.register::<PriorityColours>();
    references.register::<PriorityIndependentSet>();
    references.register::<RefinedMesh>();
    references.register::<RegionalMaxima>();
    references.register::<ShortestPaths>();
    references.register::<SparseTimesDense>();
    references.register::<SparseTimesVector>();
    references.register::<SpanningForest>();
    references.register::<Srad>();
    references.register::<Stencil2d>();
    references.register::<SuffixMatches>();
    references.register::<SumF32>();
    references.register::<SumF32ByBlocks>();
    references.register::<SharedTileSums>();
    references.register::<SumU32>();
    references.register::<Transposed>();
    references.register::<TreeSearch>();
    references.register::<Values>();
    references.register::<VectorAdd>();
    references.register_property::<Ascending>();
    references.register_property::<MaximalIndependentSet>();
    references.register_property::<Permutation>();
    references.register_property::<ProperColouring>();
    references
}

/// Returns the bit patterns of single-precision numbers.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
