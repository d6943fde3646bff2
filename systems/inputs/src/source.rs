//! Descriptions of graphs and matrices in workload files.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpweave_params::Files;

use crate::csr::Csr;
use crate::error::InputError;
use crate::generate::{
    RmatShape, citation, complete, grid, out_degree, partners, rmat, symmetric, uniform,
    uniform_weights,
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
    /// Another graph with the reverse of every arc added, without weights.
    Symmetric(Box<GraphSource>),
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
            GraphSource::Weighted { source, .. } | GraphSource::Symmetric(source) => source.file(),
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
            GraphSource::Symmetric(ref source) => {
                return source.drawing_bytes().saturating_mul(3);
            }
            GraphSource::Weighted { ref source, .. } => return source.drawing_bytes(),
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
            GraphSource::Symmetric(ref source) => {
                symmetric(&source.build_weighted(files, EdgeWeights::Without)?)?
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

#[cfg(test)]
mod tests {
    use warpweave_files::{Budget, Ledger};

    use super::*;
    use crate::reference;

    fn committed(name: &str) -> GraphSource {
        let folder = "../../scenarios/data";
        GraphSource::File {
            path: [folder, name].iter().collect(),
            format: GraphFormat::MatrixMarket,
        }
    }

    fn build(source: &GraphSource, weights: EdgeWeights) -> Csr {
        let weighted = GraphSource::Weighted {
            source: Box::new(source.clone()),
            weights,
        };
        let files = Files::of(env!("CARGO_MANIFEST_DIR"));
        weighted.build(&files).unwrap()
    }

    /// Returns the default source, its degree, the number of vertices reached from it and the last
    /// level.
    fn search(graph: &Csr) -> (u32, u32, u32, u32) {
        let source = graph.default_source().unwrap();
        let levels = reference::bfs_levels(graph, source);
        let last = levels
            .into_iter()
            .filter(|&level| level != reference::UNREACHED)
            .max();
        (
            source,
            graph.degree(source),
            reference::reachable(graph, source),
            last.unwrap(),
        )
    }

    /// Compares with the counts in scenarios/data/README.md.
    #[test]
    fn road_network_reads_as_documented() {
        let graph = build(&committed("road-helsinki.mtx.gz"), EdgeWeights::AsStored);
        assert_eq!((graph.vertices(), graph.arcs()), (6768, 2 * 8060));
        assert_eq!(search(&graph), (217, 6, 6648, 107));
        // First entry of the file: vertices 2 and 1, 94 decimetres.
        assert!(graph.arcs_of(0).any(|arc| arc == (1, 94)));
        assert!(graph.arcs_of(1).any(|arc| arc == (0, 94)));
        assert_eq!(graph.hash(), 0x920d_c695_4b47_de98);
    }

    #[test]
    fn blog_network_reads_as_documented() {
        let graph = build(&committed("polblogs.mtx.gz"), EdgeWeights::AsStored);
        assert_eq!((graph.vertices(), graph.arcs()), (1490, 19022));
        assert_eq!(search(&graph), (854, 256, 958, 6));
        assert_eq!(graph.weights(), None);
        assert_eq!(graph.hash(), 0x629c_bea7_0fac_7770);
    }

    #[test]
    fn weights_are_kept_dropped_or_drawn() {
        let source = committed("road-helsinki.mtx.gz");
        let stored = build(&source, EdgeWeights::AsStored);
        let bare = build(&source, EdgeWeights::Without);
        let drawn = build(
            &source,
            EdgeWeights::Uniform {
                low: 1,
                high: 11,
                seed: 1,
            },
        );
        assert!(stored.weights().is_some() && bare.weights().is_none());
        assert!(drawn.weights().unwrap().iter().all(|w| (1..11).contains(w)));
        assert_eq!(stored.without_weights(), bare);
        assert_eq!(drawn.without_weights(), bare);
    }

    #[test]
    fn every_generator_builds_what_its_function_builds() {
        let uniform_source = GraphSource::Uniform {
            vertices: 50,
            edges: 200,
            seed: 3,
        };
        assert_eq!(
            build(&uniform_source, EdgeWeights::AsStored),
            uniform(50, 200, 3).unwrap()
        );
        let (a, b, c) = (0.5, 0.2, 0.1);
        let rmat_source = GraphSource::Rmat {
            scale: 6,
            edge_factor: 4,
            a,
            b,
            c,
            seed: 3,
        };
        let shape = RmatShape {
            scale: 6,
            edge_factor: 4,
            a,
            b,
            c,
        };
        assert_eq!(
            build(&rmat_source, EdgeWeights::AsStored),
            rmat(shape, 3).unwrap()
        );
        let four = GraphSource::OutDegree {
            vertices: 50,
            degree: 4,
            seed: 3,
        };
        assert_eq!(
            build(&four, EdgeWeights::AsStored),
            out_degree(50, 4, 3).unwrap()
        );
        let drawn = GraphSource::Partners {
            vertices: 50,
            low: 2,
            high: 4,
            seed: 3,
        };
        assert_eq!(
            build(&drawn, EdgeWeights::AsStored),
            partners(50, 2, 4, 3).unwrap()
        );
        let grid_source = GraphSource::Grid {
            width: 5,
            height: 4,
        };
        assert_eq!(
            build(&grid_source, EdgeWeights::AsStored),
            grid(5, 4).unwrap()
        );
    }

    #[test]
    fn descriptions_read_from_ron() {
        let source: GraphSource =
            ron::from_str("Rmat(scale: 10, edge_factor: 8, seed: 1)").unwrap();
        let expected = GraphSource::Rmat {
            scale: 10,
            edge_factor: 8,
            a: 0.57,
            b: 0.19,
            c: 0.19,
            seed: 1,
        };
        assert_eq!(source, expected);
        let file: GraphSource =
            ron::from_str(r#"File(path: "../data/g.mtx.gz", format: MatrixMarket)"#).unwrap();
        assert!(matches!(
            file,
            GraphSource::File {
                format: GraphFormat::MatrixMarket,
                ..
            }
        ));
        let weights: EdgeWeights = ron::from_str("Uniform(low: 1, high: 9, seed: 2)").unwrap();
        assert_eq!(
            weights,
            EdgeWeights::Uniform {
                low: 1,
                high: 9,
                seed: 2
            }
        );
        assert!(ron::from_str::<GraphSource>("Grid(width: 2, height: 2, depth: 2)").is_err());
        assert!(ron::from_str::<GraphSource>("Grid(width: 2)").is_err());
        let weighted: GraphSource =
            ron::from_str("Graph(source: Grid(width: 2, height: 2), weights: Without)").unwrap();
        let expected = GraphSource::Weighted {
            source: Box::new(GraphSource::Grid {
                width: 2,
                height: 2,
            }),
            weights: EdgeWeights::Without,
        };
        assert_eq!(weighted, expected);
        let array: crate::ArrayGenerator =
            ron::from_str("Uniform(seed: 1, low: 0, high: 256)").unwrap();
        let expected = crate::ArrayGenerator::Uniform {
            seed: 1,
            low: 0.0,
            high: 256.0,
        };
        assert_eq!(array, expected);
        let constant: crate::ArrayGenerator = ron::from_str("Constant(3)").unwrap();
        assert_eq!(constant, crate::ArrayGenerator::Constant(3.0));
    }

    #[test]
    fn a_graph_is_charged_before_it_is_drawn() {
        let of = |limit| Files::default().charged_to(&Ledger::new(&Budget::of(limit)));
        let rmat = GraphSource::Rmat {
            scale: 20,
            edge_factor: 8,
            a: 0.57,
            b: 0.19,
            c: 0.19,
            seed: 1,
        };
        let refused = rmat.build(&of(100 << 20)).expect_err("200 MiB");
        assert!(matches!(refused, InputError::OverBudget(_)), "{refused}");
        let partners = GraphSource::Partners {
            vertices: 1 << 20,
            low: 2,
            high: 4,
            seed: 1,
        };
        let refused = partners.build(&of(100 << 20)).expect_err("200 MiB");
        assert!(matches!(refused, InputError::OverBudget(_)), "{refused}");
        let absurd = GraphSource::OutDegree {
            vertices: u32::MAX,
            degree: u32::MAX,
            seed: 1,
        };
        assert!(absurd.build(&of(100 << 20)).is_err());
        let grid = GraphSource::Grid {
            width: 100,
            height: 100,
        };
        let files = of(2 << 20);
        let graph = grid.build(&files).expect("1 MiB");
        assert_eq!(files.ledger().bytes(), graph.bytes());
        let most = GraphSource::Rmat {
            scale: u32::MAX,
            edge_factor: u32::MAX,
            a: 0.0,
            b: 0.0,
            c: 0.0,
            seed: 1,
        };
        assert!(most.build(&Files::default()).is_err());
    }

    #[test]
    fn a_missing_file_is_named() {
        let source = GraphSource::File {
            path: "absent.mtx".into(),
            format: GraphFormat::EdgeList,
        };
        let text = source.build(&Files::of("here")).unwrap_err().to_string();
        assert!(text.starts_with("here/absent.mtx: cannot open: "), "{text}");
    }
}
