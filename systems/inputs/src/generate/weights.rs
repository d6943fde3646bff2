//! Uniform random weights for a graph, replacing existing ones.

use crate::csr::Csr;
use crate::error::InputError;
use crate::random::Random;

/// Sets weights drawn uniformly from `low..high`.
///
/// The weight of an arc is a function of the seed and the unordered pair of its ends. Both arcs of
/// an undirected edge therefore have the same weight, and an arc keeps its weight when others are
/// added.
///
/// # Errors
/// Returns an error if `low` is not below `high`.
pub fn uniform_weights(graph: Csr, low: u32, high: u32, seed: u64) -> Result<Csr, InputError> {
    if low >= high {
        return Err(InputError::Description {
            generator: "Uniform weight",
            field: "low",
            problem: format!("{low}, expected below `high`, which is {high} and excluded"),
        });
    }
    let span = u64::from(high - low);
    let mut weights = Vec::with_capacity(graph.columns().len());
    for from in 0..graph.vertices() {
        for &to in graph.neighbours(from) {
            let pair = u64::from(from.min(to)) << 32 | u64::from(from.max(to));
            let draw = Random::keyed(seed, pair).below(span);
            weights.push(low + draw as u32);
        }
    }
    Ok(graph.with_weights(weights)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{grid, uniform};

    #[test]
    fn both_arcs_of_an_edge_weigh_the_same() {
        let graph = uniform_weights(grid(8, 8).unwrap(), 1, 1000, 1).unwrap();
        for v in 0..graph.vertices() {
            for (to, weight) in graph.arcs_of(v) {
                assert!(graph.arcs_of(to).any(|back| back == (v, weight)));
            }
        }
    }

    #[test]
    fn weights_fill_the_range_evenly() {
        let graph = uniform_weights(uniform(200, 10_000, 1).unwrap(), 3, 7, 1).unwrap();
        let weights = graph.weights().unwrap();
        for value in 3..7 {
            let count = weights.iter().filter(|&&w| w == value).count();
            assert!((2_250..2_750).contains(&count), "{value}: {count}");
        }
        assert!(weights.iter().all(|w| (3..7).contains(w)));
    }

    #[test]
    fn an_empty_range_is_refused() {
        let text = uniform_weights(grid(2, 2).unwrap(), 5, 5, 1)
            .unwrap_err()
            .to_string();
        assert_eq!(
            text,
            "Uniform weight generator: `low` is 5, expected below `high`, \
             which is 5 and excluded"
        );
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        let graph = uniform_weights(grid(16, 9).unwrap(), 1, 100, 1).unwrap();
        assert_eq!(graph.hash(), 0x3877_eccc_32e8_551f);
    }
}
