//! Inputs of GPU programs and the expected results of those programs.
//!
//! ```text
//!  Matrix Market (plain or gzip) ------------------> Matrix --> device arrays of sparse and dense forms
//!  Matrix Market, edge list (plain or gzip) --+
//!                                             +--> Csr ----+--> device arrays (row_offsets, columns, weights)
//!  uniform, R-MAT, geometric (seeded) -------------+            +--> reference::{bfs_levels, sssp_distances, ...}
//!  iota, constant, uniform arrays (seeded) ----------------+
//!  tables, NumPy arrays, pictures, sequences, raw ---------+
//! ```
//!
//! [`GraphSource`], [`ArrayGenerator`] and the kinds of [`reference::Reference`] are the
//! descriptions in a workload file. Their output depends only on the description, bit for bit, on
//! every machine and with every version of the random-number crate. Only the core output of the
//! PCG32 generator is used, distributions are our own, and tests pin the hash of every generator
//! for seed 1.
//!
//! # Example
//!
//! ```
//! use warpweave_params::Files;
//! use warpweave_inputs::{GraphSource, reference};
//!
//! let source = GraphSource::Grid { width: 3, height: 2 };
//! let graph = source.build(&Files::of("."))?;
//! assert_eq!(graph.vertices(), 6);
//! assert_eq!(reference::bfs_levels(&graph, 0), [0, 1, 2, 1, 2, 3]);
//! # Ok::<(), warpweave_inputs::InputError>(())
//! ```

#![cfg_attr(test, expect(clippy::float_cmp, reason = "references are exact"))]

mod arrays;
mod csr;
mod element;
mod error;
mod generate;
mod hash;
mod mark;
mod matrix;
mod random;
mod read;
pub mod reference;
mod results;
mod source;
mod write;

use warpweave_params::{Number, Placed};

pub use arrays::{ArrayGenerator, MAX_ELEMENTS};
pub use csr::{Csr, CsrError, MAX_EDGES, MAX_VERTICES};
pub use element::{ElementType, words_of_bytes};
pub use error::{InputError, Place};
pub use generate::{
    CliquesShape, GeometricShape, RmatShape, SearchTree, StreetsShape, SuffixTree, SuffixTreePart,
    WebShape, citation, cliques, complete, geometric, grid, out_degree, partners, rewired, rmat,
    streets, symmetric, twice, uniform, uniform_weights, web_copy,
};
pub use hash::{hash_f32s, hash_u32s};
pub use matrix::{CooArray, CscArray, CsrArray, DenseOrder, Matrix, MatrixArray, Repeated};
pub use random::Random;
pub use read::{
    ColumnChoice, EntryValues, FileArray, FileFormat, FileReading, GraphFormat, parse_graph,
    parse_matrix, read_array, read_graph, read_matrix,
};
pub use results::{ResultFormat, table};
pub use source::{EdgeWeights, GraphSource, MatrixSource};
pub use write::{write_edge_list, write_matrix_market};

/// Name of a buffer, graph, kernel or counter in a description.
pub type Name = Placed<String>;

/// Number in a description, or an integer expression. Expressions use parameters, properties of
/// graphs (`g_vertices`, `g_arcs`, `g_source`) and loop counters.
pub type Value = Placed<Number>;
