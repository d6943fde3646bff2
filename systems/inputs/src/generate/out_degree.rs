//! Random directed graphs in which every vertex has the same number of arcs.

use warpweave_params::out_of_range;

use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::random::Random;

/// Generates a directed graph with exactly `degree` arcs from every vertex. Each target is drawn
/// uniformly from the other vertices. Repeated arcs are kept, so no vertex has fewer.
///
/// # Errors
/// Returns an error if the graph exceeds the limits [`MAX_VERTICES`] and [`MAX_EDGES`], or a single
/// vertex would need arcs.
pub fn out_degree(vertices: u32, degree: u32, seed: u64) -> Result<Csr, InputError> {
    InputError::in_range("OutDegree", "vertices", vertices, ..=MAX_VERTICES)?;
    let most = match vertices {
        1 => 0,
        _ => MAX_EDGES / vertices.max(1),
    };
    if let Some(words) = out_of_range(&degree, &(..=most)) {
        return Err(InputError::Description {
            generator: "OutDegree",
            field: "degree",
            problem: format!("{words} with {vertices} vertices"),
        });
    }
    let mut random = Random::new(seed, 0);
    let mut arcs = Vec::with_capacity(vertices as usize * degree as usize);
    for from in 0..vertices {
        for _ in 0..degree {
            arcs.push((from, random.other(from, vertices)));
        }
    }
    Ok(Csr::from_arcs(vertices, &arcs, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::acceptance::{Shape, shape};

    /// Degree-4 graph of the graph thesis at sizes below its own, from three seeds.
    #[test]
    fn every_vertex_has_four_arcs_and_the_depth_of_the_thesis() {
        for seed in 1..4 {
            for (vertices, deepest) in [(1 << 15, 11..=14), (1 << 17, 13..=15)] {
                let graph = out_degree(vertices, 4, seed).unwrap();
                let Shape {
                    least,
                    largest,
                    reached,
                    deepest: found,
                } = shape(&graph);
                assert_eq!((graph.arcs(), least, largest), (4 * vertices, 4, 4));
                assert!((0.97..0.99).contains(&reached), "{reached}");
                assert!(deepest.contains(&found), "{vertices} vertices: {found}");
            }
        }
    }

    #[test]
    fn loops_are_never_drawn_and_every_other_vertex_is() {
        let graph = out_degree(5, 400, 1).unwrap();
        for vertex in 0..5 {
            let to = |other: u32| {
                let neighbours = graph.neighbours(vertex).iter();
                neighbours.filter(|&&to| to == other).count()
            };
            for other in 0..5 {
                let expected = if other == vertex { 0..1 } else { 60..140 };
                assert!(expected.contains(&to(other)), "{vertex} to {other}");
            }
        }
    }

    #[test]
    fn impossible_counts_are_refused() {
        let error = |vertices, degree| out_degree(vertices, degree, 1).unwrap_err().to_string();
        assert_eq!(
            error(1 << 20, 1000),
            "OutDegree generator: `degree` is 1000, expected at most 256 with 1048576 vertices"
        );
        assert_eq!(
            error(1, 1),
            "OutDegree generator: `degree` is 1, expected at most 0 with 1 vertices"
        );
        assert_eq!(
            error(u32::MAX, 0),
            "OutDegree generator: `vertices` is 4294967295, expected at most 67108864"
        );
        assert_eq!(out_degree(0, 4, 1).unwrap().vertices(), 0);
        assert_eq!(out_degree(1, 0, 1).unwrap().arcs(), 0);
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        assert_eq!(
            out_degree(1000, 4, 1).unwrap().hash(),
            15_305_548_347_416_218_911
        );
    }
}
