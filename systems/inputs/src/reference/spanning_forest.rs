//! Minimum spanning forests by Kruskal's algorithm.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::connectivity::root;
use super::{Question, Reference, Shape};
use crate::Name;
use crate::csr::Csr;

/// Weight of a minimum spanning forest modulo 2^32, and its number of trees.
#[derive(Debug, Deserialize)]
pub struct SpanningForest {
    /// Name of the graph. Without weights every edge has weight 1.
    pub graph: Name,
}

impl Reference for SpanningForest {
    const NAME: &'static str = "SpanningForest";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.check_weights(&self.graph)?;
        Ok(Shape::u32s(2))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (weight, trees) = spanning_forest(question.graph(&self.graph)?);
        Ok(vec![weight as u32, trees])
    }
}

/// Computes the weight of a minimum spanning forest, and its number of trees. A vertex without arcs
/// is a tree. A graph without weights has weight 1 everywhere.
pub fn spanning_forest(graph: &Csr) -> (u64, u32) {
    let mut edges: Vec<(u32, u32, u32)> = (0..graph.vertices())
        .flat_map(|from| {
            graph
                .arcs_of(from)
                .map(move |(to, weight)| (weight, from, to))
        })
        .collect();
    edges.sort_unstable();
    let mut parent: Vec<u32> = (0..graph.vertices()).collect();
    let (mut sum, mut trees) = (0, graph.vertices());
    for (weight, from, to) in edges {
        let (one, other) = (root(&mut parent, from), root(&mut parent, to));
        if one != other {
            parent[one as usize] = other;
            sum += u64::from(weight);
            trees -= 1;
        }
    }
    (sum, trees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{grid, uniform, uniform_weights};
    use crate::reference::components;

    #[test]
    fn a_triangle_of_equal_weights_has_two_edges() {
        let arcs = [(0, 1), (1, 2), (0, 2)];
        let graph = Csr::from_arcs(5, &arcs, Some(&[1, 1, 1])).unwrap();
        assert_eq!(spanning_forest(&graph), (2, 3));
    }

    #[test]
    fn the_heaviest_edge_of_a_cycle_is_left_out() {
        let arcs = [(0, 1), (1, 2), (2, 3), (3, 0)];
        let graph = Csr::from_arcs(4, &arcs, Some(&[4, 9, 2, 3])).unwrap();
        assert_eq!(spanning_forest(&graph), (9, 1));
    }

    #[test]
    fn every_component_is_a_tree_and_equal_weights_count_edges() {
        let graph = uniform(200, 180, 3).unwrap();
        let found = components(&graph);
        let trees = (0..)
            .zip(&found)
            .filter(|(v, component)| v == *component)
            .count() as u32;
        assert_eq!(spanning_forest(&graph), (u64::from(200 - trees), trees));
    }

    /// Grows one tree from vertex 0 by the lightest arc that leaves it (Prim).
    #[test]
    fn agrees_with_growing_a_tree() {
        let graph = uniform_weights(grid(12, 9).unwrap(), 1, 50, 4).unwrap();
        let mut inside = [false; 108];
        inside[0] = true;
        let mut sum = 0;
        for _ in 1..108 {
            let inner = (0..108).filter(|&v| inside[v as usize]);
            let leaving = inner.flat_map(|v| graph.arcs_of(v));
            let leaving = leaving.filter(|&(to, _)| !inside[to as usize]);
            let (to, weight) = leaving.min_by_key(|&(_, weight)| weight).unwrap();
            inside[to as usize] = true;
            sum += u64::from(weight);
        }
        assert_eq!(spanning_forest(&graph), (sum, 1));
    }
}
