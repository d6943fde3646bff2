//! Random undirected graphs in which each vertex draws some partners.

use warpweave_params::out_of_range;

use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::random::Random;

/// Generates an undirected graph, with both arcs of each edge. Each vertex draws a number of
/// partners uniformly from `low..=high`, and each partner uniformly from the other vertices.
/// Repeated edges are kept, so every vertex has at least `low` arcs.
///
/// # Errors
/// Returns an error if `low` exceeds `high`, or the graph may exceed the limits [`MAX_VERTICES`]
/// and [`MAX_EDGES`]. Also fails if a single vertex would need partners.
pub fn partners(vertices: u32, low: u32, high: u32, seed: u64) -> Result<Csr, InputError> {
    InputError::in_range("Partners", "vertices", vertices, ..=MAX_VERTICES)?;
    let most = match vertices {
        1 => 0,
        _ => MAX_EDGES / 2 / vertices.max(1),
    };
    if let Some(words) = out_of_range(&high, &(..=most)) {
        return Err(InputError::Description {
            generator: "Partners",
            field: "high",
            problem: format!("{words} with {vertices} vertices"),
        });
    }
    if low > high {
        return Err(InputError::Description {
            generator: "Partners",
            field: "low",
            problem: format!("{low}, expected at most `high`, which is {high}"),
        });
    }
    let mut random = Random::new(seed, 0);
    let mut arcs = Vec::with_capacity(vertices as usize * (low + high) as usize);
    for vertex in 0..vertices {
        let draws = u64::from(low) + random.below(u64::from(high - low) + 1);
        for _ in 0..draws {
            let partner = random.other(vertex, vertices);
            arcs.extend([(vertex, partner), (partner, vertex)]);
        }
    }
    Ok(Csr::from_arcs(vertices, &arcs, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::acceptance::{Shape, shape};

    /// Random graph of the graph thesis at sizes below its own, from three seeds.
    #[test]
    fn two_to_four_partners_give_the_counts_and_the_depth_of_the_thesis() {
        for seed in 1..4 {
            for (vertices, deepest) in [(1 << 15, 7..=9), (1 << 17, 8..=10)] {
                let graph = partners(vertices, 2, 4, seed).unwrap();
                let Shape {
                    least,
                    reached,
                    deepest: found,
                    ..
                } = shape(&graph);
                let beyond = f64::from(graph.arcs()) - 6.0 * f64::from(vertices);
                let tolerance = 4.0 * 1.63 * f64::from(vertices).sqrt();
                assert!(beyond.abs() <= tolerance, "{vertices} vertices: {beyond}");
                assert!(least >= 2 && reached == 1.0, "{least}, {reached}");
                assert!(deepest.contains(&found), "{vertices} vertices: {found}");
            }
        }
    }

    #[test]
    fn every_edge_goes_both_ways_as_often_as_it_was_drawn() {
        let graph = partners(40, 3, 6, 5).unwrap();
        let times = |from: u32, to: u32| {
            let neighbours = graph.neighbours(from).iter();
            neighbours.filter(|&&other| other == to).count()
        };
        for from in 0..40 {
            assert_eq!(times(from, from), 0);
            assert!(graph.degree(from) >= 3);
            for to in 0..40 {
                assert_eq!(times(from, to), times(to, from));
            }
        }
        assert!((0..40).any(|from| (0..40).any(|to| times(from, to) > 1)));
    }

    #[test]
    fn impossible_counts_are_refused() {
        let error = |vertices, low, high| partners(vertices, low, high, 1).unwrap_err().to_string();
        assert_eq!(
            error(10, 4, 2),
            "Partners generator: `low` is 4, expected at most `high`, which is 2"
        );
        assert_eq!(
            error(1 << 20, 2, 200),
            "Partners generator: `high` is 200, expected at most 128 with 1048576 vertices"
        );
        assert_eq!(
            error(1, 0, 1),
            "Partners generator: `high` is 1, expected at most 0 with 1 vertices"
        );
        assert!(partners(u32::MAX, 0, 0, 1).is_err());
        assert_eq!(partners(0, 2, 4, 1).unwrap().vertices(), 0);
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        assert_eq!(
            partners(1000, 2, 4, 1).unwrap().hash(),
            17_948_372_446_766_789_299
        );
    }
}
