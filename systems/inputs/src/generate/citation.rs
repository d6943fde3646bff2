//! Citation-like graphs by a copying model (Kumar et al., "Stochastic models for the web graph",
//! FOCS 2000). Papers cite earlier ones, often those that another paper cites.

use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::random::Random;

/// Generates an undirected graph, with both arcs of each edge. Each vertex in turn cites
/// `references` earlier ones. Half of them are drawn from all earlier vertices, the others from the
/// references of one of those. Loops and repeated citations are dropped, so the final number is
/// smaller.
///
/// # Errors
/// Returns an error if the graph exceeds the limits [`MAX_VERTICES`] and [`MAX_EDGES`].
pub fn citation(vertices: u32, references: u32, seed: u64) -> Result<Csr, InputError> {
    InputError::in_range("Citation", "vertices", vertices, ..=MAX_VERTICES)?;
    let most = MAX_EDGES / 2 / vertices.max(1);
    InputError::in_range("Citation", "references", references, ..=most)?;
    let mut random = Random::new(seed, 0);
    let mut cited: Vec<Vec<u32>> = Vec::with_capacity(vertices as usize);
    for vertex in 0..vertices {
        let mut own = Vec::new();
        for _ in 0..references.min(vertex) {
            let earlier = random.below(vertex.into()) as usize;
            let copies = random.word() & 1 == 1 && !cited[earlier].is_empty();
            own.push(if copies {
                let list = &cited[earlier];
                list[random.below(list.len() as u64) as usize]
            } else {
                earlier as u32
            });
        }
        own.sort_unstable();
        own.dedup();
        cited.push(own);
    }
    let edges = (0..vertices).zip(&cited);
    let edges = edges.flat_map(|(from, list)| list.iter().map(move |to| (from, *to)));
    let arcs: Vec<(u32, u32)> = edges.flat_map(|(a, b)| [(a, b), (b, a)]).collect();
    Ok(Csr::from_arcs(vertices, &arcs, None)?)
}

/// Adds the reverse of every arc to a graph. Duplicate arcs and all weights are dropped.
///
/// # Errors
/// Returns an error if there are more arcs than a graph can have.
pub fn symmetric(graph: &Csr) -> Result<Csr, InputError> {
    let arcs = (0..graph.vertices()).flat_map(|from| {
        let neighbours = graph.neighbours(from).iter();
        neighbours.flat_map(move |&to| [(from, to), (to, from)])
    });
    let mut arcs: Vec<(u32, u32)> = arcs.collect();
    arcs.sort_unstable();
    arcs.dedup();
    Ok(Csr::from_arcs(graph.vertices(), &arcs, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::acceptance::shape;
    use crate::generate::{grid, uniform};

    #[test]
    fn the_graph_of_a_seed_never_changes() {
        let graph = citation(1000, 4, 1).unwrap();
        assert_eq!((graph.vertices(), graph.arcs()), (1000, 7824));
        assert_eq!(graph.hash(), 4_885_698_149_243_542_992);
    }

    #[test]
    fn arcs_go_both_ways_and_old_papers_are_cited_most() {
        let graph = citation(2000, 4, 7).unwrap();
        for from in 0..graph.vertices() {
            for &to in graph.neighbours(from) {
                assert!(graph.neighbours(to).contains(&from) && to != from);
            }
        }
        let degrees =
            |range: std::ops::Range<u32>| -> u32 { range.map(|vertex| graph.degree(vertex)).sum() };
        assert!(degrees(0..200) > 3 * degrees(1800..2000));
        assert_eq!(citation(1, 4, 1).unwrap().arcs(), 0);
    }

    /// Random graph of the study of strategies, whose mean degree is that of its full size.
    #[test]
    fn a_uniform_graph_made_symmetric_has_the_degrees_and_the_depth_of_the_thesis() {
        for seed in 1..4 {
            for vertices in [1 << 15, 1 << 16] {
                let edges = u64::from(vertices) * 1144 / 100;
                let graph = symmetric(&uniform(vertices, edges as u32, seed).unwrap()).unwrap();
                let mean = f64::from(graph.arcs()) / f64::from(vertices);
                assert!((mean / 22.88 - 1.0).abs() < 0.005, "{mean}");
                let degrees = (0..vertices).map(|vertex| graph.degree(vertex));
                let above = degrees.filter(|&degree| degree > 10).count() as f64;
                assert!(above > 0.99 * f64::from(vertices), "{above}");
                let found = shape(&graph);
                assert!((5..=6).contains(&found.deepest), "{}", found.deepest);
                assert!(found.reached == 1.0 && found.largest <= 55);
            }
        }
    }

    #[test]
    fn a_symmetric_graph_has_every_arc_once_either_way() {
        let graph = uniform(40, 90, 3).unwrap();
        let both = symmetric(&graph).unwrap();
        for from in 0..40 {
            for to in 0..40 {
                let is_there = |a: u32, b: u32| graph.neighbours(a).contains(&b);
                let count = both.neighbours(from).iter().filter(|v| **v == to).count();
                assert_eq!(count == 1, is_there(from, to) || is_there(to, from));
            }
        }
        let grid = grid(4, 3).unwrap();
        assert_eq!(symmetric(&grid).unwrap().arcs(), grid.arcs());
    }
}
