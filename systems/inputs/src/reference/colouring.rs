//! Graph colouring by independent sets (Jones and Plassmann, "A parallel graph coloring heuristic",
//! 1993).

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::priority::priority_colours;
use super::{Question, Reference, Shape};
use crate::csr::Csr;
use crate::{Name, Value};

/// Colour of each vertex, as computed by [`independent_set_colours`].
#[derive(Debug, Deserialize)]
pub struct IndependentSetColours {
    /// Name of the graph, whose arcs should go both ways.
    pub graph: Name,
    /// Seed of the random priorities of vertices.
    pub seed: Value,
}

impl Reference for IndependentSetColours {
    const NAME: &'static str = "IndependentSetColours";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.word(&self.seed, "the seed")?;
        Ok(Shape::u32s(question.graph(&self.graph)?.vertices() as usize))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let seed = question.word(&self.seed, "the seed")?;
        Ok(independent_set_colours(question.graph(&self.graph)?, seed))
    }
}

/// Computes the colour of each vertex. In each round, every uncoloured vertex without an uncoloured
/// neighbour of higher priority gets the number of the round. A vertex is therefore coloured one
/// round after the last of its neighbours of higher priority. Vertices are processed in the order
/// of their priorities. Priorities are MurmurHash3's mixed bits of vertex and seed, then the
/// vertex.
pub fn independent_set_colours(graph: &Csr, seed: u32) -> Vec<u32> {
    let priority = |vertex: u32| {
        let bits = vertex ^ seed;
        let bits = (bits ^ bits >> 16).wrapping_mul(0x85eb_ca6b);
        let bits = (bits ^ bits >> 13).wrapping_mul(0xc2b2_ae35);
        bits ^ bits >> 16
    };
    let priorities: Vec<u32> = (0..graph.vertices()).map(priority).collect();
    priority_colours(graph, &priorities)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{complete, grid, symmetric, uniform};

    #[test]
    fn neighbours_have_different_colours_and_each_colour_is_needed() {
        let graph = symmetric(&uniform(300, 2000, 5).unwrap()).unwrap();
        for graph in [graph, grid(9, 7).unwrap()] {
            let colours = independent_set_colours(&graph, 11);
            for vertex in 0..graph.vertices() {
                let colour = colours[vertex as usize];
                let others: Vec<u32> = graph
                    .neighbours(vertex)
                    .iter()
                    .map(|other| colours[*other as usize])
                    .collect();
                assert!(!others.contains(&colour));
                assert!(colour == 0 || others.contains(&(colour - 1)));
            }
        }
    }

    #[test]
    fn all_vertices_of_a_complete_graph_differ() {
        let mut colours = independent_set_colours(&complete(20).unwrap(), 1);
        colours.sort_unstable();
        assert!(colours.into_iter().eq(0..20));
    }
}
