//! Shapes of generated graphs, for tests that compare them with published ones.

use crate::csr::Csr;
use crate::reference::{UNREACHED, bfs_levels};

/// Degrees of a graph, and the result of a search from vertex 0.
pub(super) struct Shape {
    /// Least number of arcs that leave a vertex.
    pub(super) least: u32,
    /// Largest number of arcs that leave a vertex.
    pub(super) largest: u32,
    /// Share of the vertices that the search reaches.
    pub(super) reached: f64,
    /// Last level of the search, 0 if it reaches nothing else.
    pub(super) deepest: u32,
}

/// Measures a graph, which has vertices.
pub(super) fn shape(graph: &Csr) -> Shape {
    let degrees = (0..graph.vertices()).map(|vertex| graph.degree(vertex));
    let mut levels = bfs_levels(graph, 0);
    levels.retain(|&level| level != UNREACHED);
    Shape {
        least: degrees.clone().min().unwrap(),
        largest: degrees.max().unwrap(),
        reached: levels.len() as f64 / f64::from(graph.vertices()),
        deepest: levels.into_iter().max().unwrap(),
    }
}

/// Returns the last level of a search from a vertex.
pub(super) fn depth(graph: &Csr, source: u32) -> u32 {
    let mut levels = bfs_levels(graph, source);
    levels.retain(|&level| level != UNREACHED);
    levels.into_iter().max().unwrap()
}

/// Returns the degree that half of the vertices do not exceed.
pub(super) fn median_degree(graph: &Csr) -> u32 {
    let degrees = (0..graph.vertices()).map(|vertex| graph.degree(vertex));
    let mut degrees: Vec<u32> = degrees.collect();
    degrees.sort_unstable();
    degrees[degrees.len() / 2]
}
