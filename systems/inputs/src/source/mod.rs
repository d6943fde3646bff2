//! Descriptions of graphs and matrices in workload files.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpweave_params::Files;

use crate::csr::Csr;
use crate::error::InputError;
use crate::generate::{
    CliquesShape, GeometricShape, RmatShape, StreetsShape, WebShape, citation, cliques, complete,
    geometric, grid, out_degree, partners, rewired, rmat, streets, symmetric, twice, uniform,
    uniform_weights, web_copy,
};
use crate::matrix::Matrix;
use crate::read::{EntryValues, GraphFormat, read_graph, read_matrix};

/// Memory per arc while a graph is generated, in bytes: its number, its ends and its place in the
/// graph.
const DRAWN_ARC_BYTES: u64 = 24;

/// Memory per vertex while a graph is generated, in bytes.
const DRAWN_VERTEX_BYTES: u64 = 8;

/// Source of a graph: a file, or a generator with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum GraphSource {
    /// Graph read from a file, plain or gzip-compressed.
    File {
        /// Path of the file. A relative path starts at the folder of the description.
        path: PathBuf,
        /// Format of the file's decompressed contents.
        format: GraphFormat,
    },
    /// Uniform random directed graph without loops and parallel arcs, see [`uniform`].
    Uniform {
        /// Number of vertices in the graph.
        vertices: u32,
        /// Number of arcs in the graph.
        edges: u32,
        /// Random seed; the same seed gives the same graph.
        seed: u64,
    },
    /// Heavy-tailed directed graph, see [`rmat`]. The probabilities default to those of Graph500.
    Rmat {
        /// log2 of the number of vertices.
        scale: u32,
        /// Arcs drawn per vertex, before loops and repeated arcs are dropped.
        edge_factor: u32,
        /// Probability of the quadrant "low to low".
        #[serde(default = "graph500_a")]
        a: f64,
        /// Probability of the quadrant "low to high".
        #[serde(default = "graph500_b")]
        b: f64,
        /// Probability of the quadrant "high to low".
        #[serde(default = "graph500_b")]
        c: f64,
        /// Random seed; the same seed gives the same graph.
        seed: u64,
    },
    /// Undirected rectangular grid, see [`grid`].
    Grid {
        /// Number of cells in the x direction.
        width: u32,
        /// Number of cells in the y direction.
        height: u32,
    },
    /// Complete graph, with an arc from every vertex to every other.
    Complete {
        /// Number of vertices in the graph.
        vertices: u32,
    },
    /// Citation graph by a copying model, in which papers cite earlier ones. Arcs go both ways.
    Citation {
        /// Number of vertices in the graph.
        vertices: u32,
        /// Number of citations drawn for each vertex.
        references: u32,
        /// Random seed; the same seed gives the same graph.
        seed: u64,
    },
    /// Directed graph in which every vertex has the same number of arcs, see [`out_degree`].
    OutDegree {
        /// Number of vertices in the graph.
        vertices: u32,
        /// Number of arcs that leave each vertex.
        degree: u32,
        /// Random seed; the same seed gives the same graph.
        seed: u64,
    },
    /// Undirected graph in which each vertex draws some partners, see [`partners`].
    Partners {
        /// Number of vertices in the graph.
        vertices: u32,
        /// Least number of partners that a vertex draws.
        low: u32,
        /// Largest number of partners that a vertex draws, inclusive.
        high: u32,
        /// Random seed; the same seed gives the same graph.
        seed: u64,
    },
    /// Points of a rectangle, joined where they are near, see [`geometric`].
    Geometric(GeometricShape),
    /// Crossings and streets of several vertices, see [`streets`].
    Streets(StreetsShape),
    /// Web-like graph of sites whose pages copy links, see [`web_copy`].
    WebCopy(WebShape),
    /// Graph of papers that share authors, see [`cliques`].
    Cliques(CliquesShape),
    /// Another graph with the reverse of every arc added, without weights.
    Symmetric(Box<GraphSource>),
    /// Two copies of another graph without arcs between them and without weights, see [`twice`].
    Twice(Box<GraphSource>),
    /// Another graph with its edges dealt out again at the same degrees, see [`rewired`].
    Rewired {
        /// Source of the degrees, an undirected graph.
        source: Box<GraphSource>,
        /// Random seed; the same seed and source give the same graph.
        seed: u64,
    },
    /// Graph of another source with its weights replaced.
    #[serde(rename = "Graph")]
    Weighted {
        /// Source of the vertices and arcs.
        source: Box<GraphSource>,
        /// Weights that the graph is given.
        #[serde(default)]
        weights: EdgeWeights,
    },
}

/// Weights to give to a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum EdgeWeights {
    /// Weights stored in the file, if it has any. Generated graphs have none.
    #[default]
    AsStored,
    /// No weights, even if the file has some.
    Without,
    /// Weights drawn uniformly from `low..high`, equal for both arcs of an edge, see
    /// [`uniform_weights`].
    Uniform {
        /// Lower bound of the weights, inclusive.
        low: u32,
        /// Upper bound of the weights, exclusive.
        high: u32,
        /// Random seed; the same seed and graph give the same weights.
        seed: u64,
    },
}

impl GraphSource {
    /// Returns the path of the file it is read from, if any.
    pub fn file(&self) -> Option<&Path> {
        match self {
            GraphSource::File { path, .. } => Some(path),
            GraphSource::Weighted { source, .. }
            | GraphSource::Rewired { source, .. }
            | GraphSource::Symmetric(source)
            | GraphSource::Twice(source) => source.file(),
            _ => None,
        }
    }

    /// Reads or generates the graph.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or is damaged, or the description is invalid. Also
    /// fails if the graph exceeds the memory budget.
    pub fn build(&self, files: &Files) -> Result<Csr, InputError> {
        let budget = files.ledger().budget();
        let _drawing = match self.drawing_bytes() {
            // Beyond every limit that the generator states better.
            u64::MAX => None,
            bytes => Some(budget.charge("a graph", bytes)?),
        };
        let graph = self.build_weighted(files, EdgeWeights::AsStored)?;
        files.ledger().charge("a graph", graph.bytes())?;
        Ok(graph)
    }

    /// Returns the memory that a generator needs, in bytes. Files return 0, because their size is
    /// not known yet.
    fn drawing_bytes(&self) -> u64 {
        let (vertices, arcs) = match *self {
            GraphSource::File { .. } => (0, 0),
            GraphSource::Uniform {
                vertices, edges, ..
            } => (u64::from(vertices), u64::from(edges)),
            GraphSource::Rmat {
                scale, edge_factor, ..
            } => {
                let vertices = 1_u64.checked_shl(scale).unwrap_or(u64::MAX);
                (vertices, vertices.saturating_mul(edge_factor.into()))
            }
            GraphSource::Grid { width, height } => {
                let cells = u64::from(width).saturating_mul(height.into());
                (cells, cells.saturating_mul(4))
            }
            GraphSource::Complete { vertices } => {
                let arcs = u64::from(vertices).saturating_mul(vertices.into());
                (vertices.into(), arcs)
            }
            GraphSource::Citation {
                vertices,
                references,
                ..
            } => {
                let arcs = u64::from(vertices) * u64::from(references);
                (vertices.into(), arcs.saturating_mul(2))
            }
            GraphSource::OutDegree {
                vertices, degree, ..
            } => {
                let arcs = u64::from(vertices) * u64::from(degree);
                (vertices.into(), arcs)
            }
            GraphSource::Partners { vertices, high, .. } => {
                let arcs = u64::from(vertices) * u64::from(high);
                (vertices.into(), arcs.saturating_mul(2))
            }
            GraphSource::Geometric(shape) => {
                // Points take more memory than other vertices, and edges vary in number.
                let arcs = f64::from(shape.vertices) * (shape.mean + 1.0);
                (3 * u64::from(shape.vertices), arcs as u64)
            }
            GraphSource::Streets(shape) => {
                let vertices = shape.vertices();
                (vertices, vertices.saturating_mul(2))
            }
            // Both ask for the memory of their arcs when these are counted.
            GraphSource::WebCopy(shape) => (3 * u64::from(shape.vertices), 0),
            GraphSource::Cliques(shape) => {
                let papers = u64::from(shape.papers);
                (papers, 8 * papers)
            }
            GraphSource::Symmetric(ref source) => {
                return source.drawing_bytes().saturating_mul(3);
            }
            // The arrays of what is made of them are charged when one is there.
            GraphSource::Twice(ref source)
            | GraphSource::Rewired { ref source, .. }
            | GraphSource::Weighted { ref source, .. } => {
                return source.drawing_bytes();
            }
        };
        let ends = arcs.saturating_mul(DRAWN_ARC_BYTES);
        ends.saturating_add(vertices.saturating_mul(DRAWN_VERTEX_BYTES))
    }

    fn build_weighted(&self, files: &Files, weights: EdgeWeights) -> Result<Csr, InputError> {
        let graph = match *self {
            GraphSource::File { ref path, format } => {
                let values = match weights {
                    EdgeWeights::AsStored => EntryValues::Weights,
                    EdgeWeights::Without | EdgeWeights::Uniform { .. } => EntryValues::Ignored,
                };
                read_graph(path, files, format, values)?
            }
            GraphSource::Uniform {
                vertices,
                edges,
                seed,
            } => uniform(vertices, edges, seed)?,
            GraphSource::Rmat {
                scale,
                edge_factor,
                a,
                b,
                c,
                seed,
            } => rmat(
                RmatShape {
                    scale,
                    edge_factor,
                    a,
                    b,
                    c,
                },
                seed,
            )?,
            GraphSource::Grid { width, height } => grid(width, height)?,
            GraphSource::Complete { vertices } => complete(vertices)?,
            GraphSource::Citation {
                vertices,
                references,
                seed,
            } => citation(vertices, references, seed)?,
            GraphSource::OutDegree {
                vertices,
                degree,
                seed,
            } => out_degree(vertices, degree, seed)?,
            GraphSource::Partners {
                vertices,
                low,
                high,
                seed,
            } => partners(vertices, low, high, seed)?,
            GraphSource::Geometric(shape) => geometric(shape)?,
            GraphSource::Streets(shape) => streets(shape)?,
            GraphSource::WebCopy(shape) => counted(files, |charge| web_copy(shape, charge))?,
            GraphSource::Cliques(shape) => counted(files, |charge| cliques(shape, charge))?,
            GraphSource::Symmetric(ref source) => {
                symmetric(&source.build_weighted(files, EdgeWeights::Without)?)?
            }
            GraphSource::Twice(ref source) => {
                let one = source.build_weighted(files, EdgeWeights::Without)?;
                let budget = files.ledger().budget();
                let _both = budget.charge("a graph", one.bytes().saturating_mul(2))?;
                twice(&one)?
            }
            GraphSource::Rewired { ref source, seed } => {
                let one = source.build_weighted(files, EdgeWeights::Without)?;
                let drawn = u64::from(one.arcs()).saturating_mul(DRAWN_ARC_BYTES);
                let budget = files.ledger().budget();
                let _both = budget.charge("a graph", one.bytes().saturating_add(drawn))?;
                rewired(&one, seed)?
            }
            GraphSource::Weighted {
                ref source,
                weights: own,
            } => {
                let weights = match weights {
                    EdgeWeights::AsStored => own,
                    others => others,
                };
                return source.build_weighted(files, weights);
            }
        };
        match weights {
            EdgeWeights::AsStored | EdgeWeights::Without => Ok(graph),
            EdgeWeights::Uniform { low, high, seed } => uniform_weights(graph, low, high, seed),
        }
    }
}

/// Draws a graph whose arcs are not known in number before some of it is drawn. Their memory is
/// charged then.
fn counted(
    files: &Files,
    draw: impl FnOnce(&mut dyn FnMut(u64) -> Result<(), InputError>) -> Result<Csr, InputError>,
) -> Result<Csr, InputError> {
    let mut held = None;
    draw(&mut |arcs| {
        // Turned round as well, and both sorted.
        let bytes = arcs.saturating_mul(3 * DRAWN_ARC_BYTES);
        held = Some(files.ledger().budget().charge("a graph", bytes)?);
        Ok(())
    })
}

/// Source of a matrix: a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum MatrixSource {
    /// Matrix Market file, plain or gzip-compressed.
    File {
        /// Path of the file. A relative path starts at the folder of the description.
        path: PathBuf,
    },
}

impl MatrixSource {
    /// Returns the path of the file it is read from.
    pub fn file(&self) -> &Path {
        let Self::File { path } = self;
        path
    }

    /// Reads the matrix.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is damaged, or the matrix exceeds the memory
    /// budget.
    pub fn build(&self, files: &Files) -> Result<Matrix, InputError> {
        let matrix = read_matrix(self.file(), files)?;
        files.ledger().charge("a matrix", matrix.bytes())?;
        Ok(matrix)
    }
}

fn graph500_a() -> f64 {
    0.57
}

fn graph500_b() -> f64 {
    0.19
}
