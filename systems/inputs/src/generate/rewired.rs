//! Graphs whose edges are dealt out again, while every vertex keeps its degree.

use crate::csr::Csr;
use crate::error::InputError;
use crate::random::Random;

/// Deals the ends of all edges of an undirected graph out again at random, without weights. Every
/// vertex keeps its degree. Loops and parallel edges may arise, and a loop counts twice.
///
/// # Errors
/// Returns an error if an arc lacks its reverse.
pub fn rewired(graph: &Csr, seed: u64) -> Result<Csr, InputError> {
    if let Some((from, to)) = lacks_reverse(graph) {
        return Err(InputError::Description {
            generator: "Rewired",
            field: "source",
            problem: format!(
                "a graph without an arc from {to} back to {from}, expected arcs in both \
                 directions, as Symmetric(..) makes them"
            ),
        });
    }
    let mut ends: Vec<u32> = Vec::with_capacity(graph.columns().len());
    for vertex in 0..graph.vertices() {
        ends.extend(std::iter::repeat_n(vertex, graph.degree(vertex) as usize));
    }
    let mut random = Random::new(seed, 0);
    for last in (1..ends.len()).rev() {
        ends.swap(last, random.below(last as u64 + 1) as usize);
    }
    let pairs = ends.chunks_exact(2);
    let arcs: Vec<(u32, u32)> = pairs
        .flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])])
        .collect();
    Ok(Csr::from_arcs(graph.vertices(), &arcs, None)?)
}

/// Returns the first arc that is more frequent than its reverse, if any. Also finds an odd number
/// of loops, whose last one has no other end.
fn lacks_reverse(graph: &Csr) -> Option<(u32, u32)> {
    let times = |from: u32, to: u32| {
        let neighbours = graph.neighbours(from);
        let begin = neighbours.partition_point(|&other| other < to);
        neighbours[begin..].partition_point(|&other| other == to)
    };
    (0..graph.vertices()).find_map(|from| {
        let mut neighbours = graph.neighbours(from).iter();
        let to = neighbours.find(|&&to| {
            let there = times(from, to);
            if from == to {
                there % 2 == 1
            } else {
                there > times(to, from)
            }
        });
        to.map(|&to| (from, to))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::acceptance::{depth, shape};
    use crate::generate::{
        GeometricShape, StreetsShape, geometric, grid, out_degree, streets, uniform,
    };

    fn degrees(graph: &Csr) -> Vec<u32> {
        let vertices = 0..graph.vertices();
        vertices.map(|vertex| graph.degree(vertex)).collect()
    }

    #[test]
    fn every_vertex_keeps_its_degree_and_no_arc_its_place() {
        let far = geometric(GeometricShape {
            vertices: 1 << 13,
            mean: 14.48,
            aspect: 1.0,
            rewire: 0.0,
            seed: 1,
        });
        let far = far.unwrap();
        for seed in 1..4 {
            let near = rewired(&far, seed).unwrap();
            assert_eq!(degrees(&near), degrees(&far));
            assert!(lacks_reverse(&near).is_none());
            let kept = (0..far.vertices()).flat_map(|from| {
                let now = near.neighbours(from);
                let before = far.neighbours(from).iter();
                before.filter(move |to| now.contains(to))
            });
            assert!(kept.count() < far.columns().len() / 100);
        }
    }

    #[test]
    fn the_depth_of_streets_collapses() {
        let city = streets(StreetsShape {
            width: 71,
            height: 71,
            keep: 0.68,
            chain: (1, 6),
            stubs: 0.06,
            seed: 1,
        });
        let city = city.unwrap();
        let source = city.vertices() / 2;
        let mixed = rewired(&city, 1).unwrap();
        assert!(depth(&city, source) > 3 * depth(&mixed, source));
        assert!(shape(&mixed).largest == shape(&city).largest);
    }

    #[test]
    fn graphs_of_one_edge_or_none_remain() {
        let pair = grid(2, 1).unwrap();
        assert_eq!(degrees(&rewired(&pair, 3).unwrap()), [1, 1]);
        let none = uniform(5, 0, 1).unwrap();
        assert_eq!(rewired(&none, 1).unwrap(), none);
    }

    #[test]
    fn a_graph_with_arcs_one_way_is_refused() {
        let one_way = out_degree(3, 1, 1).unwrap();
        let text = rewired(&one_way, 1).unwrap_err().to_string();
        assert!(
            text.starts_with("Rewired generator: `source` is a graph without an arc from"),
            "{text}"
        );
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        let graph = rewired(&grid(40, 25).unwrap(), 1).unwrap();
        assert_eq!(graph.hash(), 16_673_115_744_172_277_605);
    }
}
