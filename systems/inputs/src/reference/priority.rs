//! Independent sets by the priorities of vertices.
//!
//! Colourings: Jones and Plassmann, "A parallel graph coloring heuristic", 1993. Maximal sets:
//! Luby, "A simple parallel algorithm for the maximal independent set problem", 1986.

use std::cmp::Reverse;

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::Name;
use crate::csr::Csr;
use crate::element::ElementType::U32;

/// Colour of each vertex, as computed by [`priority_colours`].
#[derive(Debug, Deserialize)]
pub struct PriorityColours {
    /// Name of the graph, whose arcs should go both ways.
    pub graph: Name,
    /// Name of the buffer with a priority for each vertex.
    pub priorities: Name,
}

/// Element 1 for each vertex of [`priority_independent_set`], and 0 for the others.
#[derive(Debug, Deserialize)]
pub struct PriorityIndependentSet {
    /// Name of the graph, whose arcs should go both ways.
    pub graph: Name,
    /// Name of the buffer with a priority for each vertex.
    pub priorities: Name,
}

fn shape(question: &Question<'_>, graph: &Name, priorities: &Name) -> Result<Shape, Diagnostic> {
    let vertices = question.graph(graph)?.vertices() as usize;
    question.expect_length(priorities, U32, vertices)?;
    Ok(Shape::u32s(vertices))
}

impl Reference for PriorityColours {
    const NAME: &'static str = "PriorityColours";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        shape(question, &self.graph, &self.priorities)
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let priorities = question.u32s(&self.priorities)?;
        Ok(priority_colours(question.graph(&self.graph)?, &priorities))
    }
}

impl Reference for PriorityIndependentSet {
    const NAME: &'static str = "PriorityIndependentSet";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        shape(question, &self.graph, &self.priorities)
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let priorities = question.u32s(&self.priorities)?;
        let graph = question.graph(&self.graph)?;
        let set = priority_independent_set(graph, &priorities);
        Ok(set.into_iter().map(u32::from).collect())
    }
}

/// Computes the colour of each vertex. In each round, every uncoloured vertex without an uncoloured
/// neighbour of higher priority gets the number of the round. A vertex is therefore coloured one
/// round after the last of its neighbours of higher priority. Of equal priorities, that of the
/// larger vertex is higher.
///
/// # Panics
/// Panics if there are fewer priorities than vertices.
pub fn priority_colours(graph: &Csr, priorities: &[u32]) -> Vec<u32> {
    let rank = |vertex: u32| (priorities[vertex as usize], vertex);
    let mut colours = vec![0; graph.vertices() as usize];
    for vertex in highest_first(graph, priorities) {
        let higher = graph.neighbours(vertex).iter();
        let higher = higher.filter(|other| rank(**other) > rank(vertex));
        let last = higher.map(|other| colours[*other as usize] + 1).max();
        colours[vertex as usize] = last.unwrap_or(0);
    }
    colours
}

/// Computes the vertices that join the set if they are asked by falling priority, and each joins
/// unless a neighbour has. Of equal priorities, that of the larger vertex is higher.
///
/// # Panics
/// Panics if there are fewer priorities than vertices.
pub fn priority_independent_set(graph: &Csr, priorities: &[u32]) -> Vec<bool> {
    let mut set = vec![false; graph.vertices() as usize];
    for vertex in highest_first(graph, priorities) {
        let others = graph.neighbours(vertex).iter();
        let mut others = others.filter(|other| **other != vertex);
        set[vertex as usize] = !others.any(|other| set[*other as usize]);
    }
    set
}

/// Returns the vertices by falling priority.
fn highest_first(graph: &Csr, priorities: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..graph.vertices()).collect();
    order.sort_unstable_by_key(|&vertex| Reverse((priorities[vertex as usize], vertex)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{complete, grid, symmetric, uniform};

    #[test]
    fn the_end_of_an_edge_with_the_higher_priority_is_first() {
        let edge = complete(2).unwrap();
        assert_eq!(priority_colours(&edge, &[5, 3]), [0, 1]);
        assert_eq!(priority_independent_set(&edge, &[5, 3]), [true, false]);
        assert_eq!(priority_colours(&edge, &[4, 4]), [1, 0]);
        assert_eq!(priority_independent_set(&edge, &[4, 4]), [false, true]);
    }

    #[test]
    fn the_first_colour_is_in_the_set_and_the_set_is_maximal() {
        let graph = symmetric(&uniform(300, 1000, 5).unwrap()).unwrap();
        for graph in [graph, grid(9, 7).unwrap()] {
            let priorities: Vec<u32> = (0..graph.vertices()).map(|v| v * 7919 % 101).collect();
            let colours = priority_colours(&graph, &priorities);
            let set = priority_independent_set(&graph, &priorities);
            for vertex in 0..graph.vertices() {
                let neighbours = graph.neighbours(vertex).iter();
                let joined = neighbours.filter(|other| set[**other as usize]).count();
                assert_eq!(set[vertex as usize], joined == 0);
                assert!(colours[vertex as usize] > 0 || set[vertex as usize]);
            }
        }
    }
}
