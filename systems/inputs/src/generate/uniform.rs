//! Uniform random directed graphs, the Erdos-Renyi model G(n, m).

use warpweave_params::out_of_range;

use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::random::Random;

/// Draws a graph uniformly from all directed graphs with this many vertices and arcs, without loops
/// and parallel arcs.
///
/// # Errors
/// Returns an error for more vertices than [`MAX_VERTICES`], or more arcs than [`MAX_EDGES`] or
/// than such a graph can have.
pub fn uniform(vertices: u32, edges: u32, seed: u64) -> Result<Csr, InputError> {
    InputError::in_range("Uniform", "vertices", vertices, ..=MAX_VERTICES)?;
    let possible = u64::from(vertices) * u64::from(vertices.saturating_sub(1));
    let most = possible.min(u64::from(MAX_EDGES));
    if let Some(words) = out_of_range(&u64::from(edges), &(..=most)) {
        return Err(InputError::Description {
            generator: "Uniform",
            field: "edges",
            problem: format!("{words} ({vertices} vertices, no self-loops, no parallel arcs)"),
        });
    }

    // Arc number i leaves vertex i / (n - 1) for one of the n - 1 others.
    let mut random = Random::new(seed, 0);
    let numbers = if u64::from(edges) * 2 <= possible {
        draw_distinct(u64::from(edges), possible, &mut random)
    } else {
        // A dense graph is drawn by what it lacks, else the last free arcs take for ever to hit.
        let absent = draw_distinct(possible - u64::from(edges), possible, &mut random);
        complement(&absent, possible)
    };
    let arcs: Vec<(u32, u32)> = numbers
        .into_iter()
        .map(|number| {
            let others = u64::from(vertices) - 1;
            let (from, nth) = ((number / others) as u32, (number % others) as u32);
            (from, if nth < from { nth } else { nth + 1 })
        })
        .collect();
    Ok(Csr::from_arcs(vertices, &arcs, None)?)
}

/// Draws `count` distinct numbers below `bound`, sorted. Every set is equally likely. `count` must
/// not be much above half of `bound`.
fn draw_distinct(count: u64, bound: u64, random: &mut Random) -> Vec<u64> {
    let mut drawn: Vec<u64> = Vec::with_capacity(count as usize);
    while (drawn.len() as u64) < count {
        // Exactly the missing number of draws: the same as drawing one at a time until there are
        // enough, hence no bias.
        for _ in drawn.len() as u64..count {
            drawn.push(random.below(bound));
        }
        drawn.sort_unstable();
        drawn.dedup();
    }
    drawn
}

/// Returns the numbers below `bound` that are not in the sorted list.
fn complement(sorted: &[u64], bound: u64) -> Vec<u64> {
    let mut absent = sorted.iter().copied().peekable();
    (0..bound)
        .filter(|number| absent.next_if_eq(number).is_none())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn complete_graph_has_every_arc_once() {
        let graph = uniform(5, 20, 1).unwrap();
        for v in 0..5 {
            let others: Vec<u32> = (0..5).filter(|&other| other != v).collect();
            assert_eq!(graph.neighbours(v), others);
        }
    }

    #[test]
    fn impossible_counts_are_refused() {
        let text = uniform(3, 7, 1).unwrap_err().to_string();
        assert_eq!(
            text,
            "Uniform generator: `edges` is 7, expected at most 6 (3 vertices, no self-loops, no parallel arcs)"
        );
        assert!(uniform(0, 1, 1).is_err());
        assert!(uniform(u32::MAX, 1, 1).is_err());
        assert!(uniform(MAX_VERTICES, u32::MAX, 1).is_err());
        assert_eq!(uniform(0, 0, 1).unwrap().vertices(), 0);
        assert_eq!(uniform(1, 0, 1).unwrap().vertices(), 1);
    }

    /// Over many seeds, each of the 6 arcs of 3 vertices is in a 2-arc graph one time in three.
    #[test]
    fn every_arc_is_equally_likely() {
        let mut counts = [[0_u32; 3]; 3];
        for seed in 0..3_000 {
            let graph = uniform(3, 2, seed).unwrap();
            for v in 0..3 {
                for &to in graph.neighbours(v) {
                    counts[v as usize][to as usize] += 1;
                }
            }
        }
        for v in 0..3 {
            for to in 0..3 {
                let expected = if v == to { 0..1 } else { 900..1_100 };
                assert!(expected.contains(&counts[v][to]), "{counts:?}");
            }
        }
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        assert_eq!(
            uniform(1000, 6000, 1).unwrap().hash(),
            0xf048_3d3a_5e92_9220
        );
        assert_eq!(uniform(40, 1400, 1).unwrap().hash(), 0x703e_30e0_c576_5341);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn simple_with_exactly_the_arcs_asked_for(
            (vertices, edges) in (2_u32..40).prop_flat_map(|n| (Just(n), 0..=n * (n - 1))),
            seed: u64,
        ) {
            let graph = uniform(vertices, edges, seed).unwrap();
            prop_assert_eq!((graph.vertices(), graph.arcs()), (vertices, edges));
            for v in 0..vertices {
                prop_assert!(!graph.neighbours(v).contains(&v));
                prop_assert!(graph.neighbours(v).windows(2).all(|pair| pair[0] < pair[1]));
            }
            prop_assert_eq!(graph, uniform(vertices, edges, seed).unwrap());
        }
    }
}
