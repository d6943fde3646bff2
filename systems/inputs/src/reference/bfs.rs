//! Breadth-first search levels, computed with a queue.

use std::collections::VecDeque;

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, UNREACHED};
use crate::csr::Csr;
use crate::{Name, Value};

/// Breadth-first search levels, [`UNREACHED`] for unreachable vertices.
#[derive(Debug, Deserialize)]
pub struct BfsLevels {
    /// Name of the graph to search.
    pub graph: Name,
    /// Source vertex of the search, at level 0.
    pub source: Value,
}

impl Reference for BfsLevels {
    const NAME: &'static str = "BfsLevels";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let (graph, _) = question.search(&self.graph, &self.source)?;
        Ok(Shape::u32s(graph.vertices() as usize))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (graph, source) = question.search(&self.graph, &self.source)?;
        Ok(bfs_levels(graph, source))
    }
}

/// Computes the number of arcs on the shortest path from `source` to each vertex, or [`UNREACHED`]
/// if there is no path.
///
/// # Panics
/// Panics if the source does not exist; see [`Csr::check_vertex`].
pub fn bfs_levels(graph: &Csr, source: u32) -> Vec<u32> {
    let mut level = vec![UNREACHED; graph.vertices() as usize];
    level[source as usize] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(vertex) = queue.pop_front() {
        for &neighbour in graph.neighbours(vertex) {
            if level[neighbour as usize] == UNREACHED {
                level[neighbour as usize] = level[vertex as usize] + 1;
                queue.push_back(neighbour);
            }
        }
    }
    level
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::generate::{grid, uniform};

    #[test]
    fn levels_on_a_grid_are_city_block_distances() {
        let graph = grid(7, 5).unwrap();
        let levels = bfs_levels(&graph, 2 * 7 + 3);
        for y in 0..5_u32 {
            for x in 0..7_u32 {
                assert_eq!(levels[(y * 7 + x) as usize], x.abs_diff(3) + y.abs_diff(2));
            }
        }
    }

    #[test]
    fn arcs_are_one_way() {
        let graph = Csr::from_arcs(4, &[(0, 1), (1, 2), (3, 0)], None).unwrap();
        assert_eq!(bfs_levels(&graph, 0), [0, 1, 2, UNREACHED]);
    }

    /// Relaxes all arcs until there is no change.
    fn by_relaxation(graph: &Csr, source: u32) -> Vec<u32> {
        let mut level = vec![UNREACHED; graph.vertices() as usize];
        level[source as usize] = 0;
        loop {
            let before = level.clone();
            for from in 0..graph.vertices() {
                for &to in graph.neighbours(from) {
                    let through = level[from as usize].saturating_add(1);
                    level[to as usize] = level[to as usize].min(through);
                }
            }
            if level == before {
                return level;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn agrees_with_naive_relaxation(
            vertices in 2_u32..50, density in 0_u32..4, seed: u64, source: u32,
        ) {
            let edges = (vertices * density).min(vertices * (vertices - 1));
            let graph = uniform(vertices, edges, seed).unwrap();
            let source = source % vertices;
            prop_assert_eq!(bfs_levels(&graph, source), by_relaxation(&graph, source));
        }
    }
}
