//! Shortest paths from one vertex by Dijkstra's algorithm with a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, UNREACHED};
use crate::csr::Csr;
use crate::{Name, Value};

/// Lengths of shortest paths, [`UNREACHED`] for unreachable vertices.
#[derive(Debug, Deserialize)]
pub struct ShortestPaths {
    /// Name of the graph. Without weights every arc has length 1.
    pub graph: Name,
    /// Source vertex of the search, at distance 0.
    pub source: Value,
}

impl Reference for ShortestPaths {
    const NAME: &'static str = "ShortestPaths";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let (graph, _) = question.search(&self.graph, &self.source)?;
        question.check_weights(&self.graph)?;
        Ok(Shape::u32s(graph.vertices() as usize))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (graph, source) = question.search(&self.graph, &self.source)?;
        Ok(sssp_distances(graph, source))
    }
}

/// Computes the smallest sum of weights on a path from `source` to each vertex. Gives [`UNREACHED`]
/// if there is no path or every path sums to 2^32 - 1 or more. A graph without weights has weight 1
/// everywhere.
///
/// # Panics
/// Panics if the source does not exist; see [`Csr::check_vertex`].
pub fn sssp_distances(graph: &Csr, source: u32) -> Vec<u32> {
    let mut distance = vec![UNREACHED; graph.vertices() as usize];
    distance[source as usize] = 0;
    let mut heap = BinaryHeap::from([Reverse((0_u32, source))]);
    while let Some(Reverse((so_far, vertex))) = heap.pop() {
        if so_far > distance[vertex as usize] {
            continue; // A shorter path was found after this one was queued.
        }
        for (neighbour, weight) in graph.arcs_of(vertex) {
            let Some(candidate) = so_far.checked_add(weight) else {
                continue;
            };
            if candidate < distance[neighbour as usize] {
                distance[neighbour as usize] = candidate;
                heap.push(Reverse((candidate, neighbour)));
            }
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::generate::{uniform, uniform_weights};
    use crate::reference::bfs_levels;

    #[test]
    fn a_detour_may_be_shorter() {
        let arcs = [(0, 1), (0, 2), (2, 1), (1, 3)];
        let graph = Csr::from_arcs(5, &arcs, Some(&[10, 3, 4, 0])).unwrap();
        assert_eq!(sssp_distances(&graph, 0), [0, 7, 3, 7, UNREACHED]);
    }

    #[test]
    fn a_path_longer_than_32_bits_is_no_path() {
        let weights = [u32::MAX - 1, 1, 5];
        let graph = Csr::from_arcs(4, &[(0, 1), (1, 2), (2, 3)], Some(&weights)).unwrap();
        assert_eq!(
            sssp_distances(&graph, 0),
            [0, u32::MAX - 1, UNREACHED, UNREACHED]
        );
    }

    /// Computes distances by the Bellman-Ford algorithm in 64 bits.
    fn by_bellman_ford(graph: &Csr, source: u32) -> Vec<u32> {
        let mut distance = vec![u64::MAX; graph.vertices() as usize];
        distance[source as usize] = 0;
        for _ in 0..graph.vertices() {
            for from in 0..graph.vertices() {
                for (to, weight) in graph.arcs_of(from) {
                    let through = distance[from as usize].saturating_add(u64::from(weight));
                    distance[to as usize] = distance[to as usize].min(through);
                }
            }
        }
        distance
            .into_iter()
            .map(|d| u32::try_from(d).unwrap_or(UNREACHED))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn agrees_with_bellman_ford(
            vertices in 2_u32..40,
            density in 0_u32..5,
            high in prop_oneof![1_u32..50, Just(u32::MAX)],
            seed: u64,
        ) {
            let edges = (vertices * density).min(vertices * (vertices - 1));
            let graph = uniform(vertices, edges, seed).unwrap();
            let graph = uniform_weights(graph, 0, high, seed).unwrap();
            prop_assert_eq!(sssp_distances(&graph, 0), by_bellman_ford(&graph, 0));
            let bare = graph.without_weights();
            prop_assert_eq!(sssp_distances(&bare, 0), bfs_levels(&bare, 0));
        }
    }
}
