//! Random draws of the perturbations for each repetition.

use warpweave_params::Node;
use warpweave_random::CounterRng;

/// Returns the index, out of `count`, of the value for pair `pair`. It depends only on the seed,
/// the path and the pair. The first `count` pairs take each value once.
pub(crate) fn drawn(seed: u64, path: &str, pair: u32, count: usize) -> usize {
    let round = pair as usize / count;
    let mut order: Vec<usize> = (0..count).collect();
    let dice = CounterRng::new(seed, path);
    for last in (1..count).rev() {
        let roll = dice.below((round * count + last) as u64, last as u64 + 1);
        order.swap(last, roll as usize);
    }
    order[pair as usize % count]
}

/// Returns the value drawn for pair `pair`.
pub(crate) fn value<'v>(seed: u64, path: &str, pair: u32, values: &'v [Node]) -> Option<&'v Node> {
    (!values.is_empty()).then(|| &values[drawn(seed, path, pair, values.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pairs_as_values_take_each_once() {
        for count in 1..12 {
            for round in 0..3 {
                let pairs = round * count..(round + 1) * count;
                let mut taken: Vec<_> = pairs
                    .map(|pair| drawn(7, "cluster[*].cu[*].start_latency", pair, count as usize))
                    .collect();
                taken.sort_unstable();
                assert_eq!(taken, (0..count as usize).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn seeds_and_paths_draw_apart() {
        let of = |seed, path| {
            (0..20)
                .map(|pair| drawn(seed, path, pair, 10))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(1, "a"), of(1, "a"));
        assert_ne!(of(1, "a"), of(2, "a"));
        assert_ne!(of(1, "a"), of(1, "b"));
    }
}
