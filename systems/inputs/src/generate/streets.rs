//! Street networks: a lattice of crossings with gaps, streets of several vertices and dead ends.

use serde::{Deserialize, Serialize};

use crate::csr::{Csr, MAX_VERTICES};
use crate::error::InputError;
use crate::random::Random;

/// Most vertices of a dead end.
const DEAD_END_MAX: u64 = 3;

/// Parameters of a street network: crossings, gaps, streets and dead ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreetsShape {
    /// Number of crossings in the x direction, before some are dropped.
    pub width: u32,
    /// Number of crossings in the y direction, before some are dropped.
    pub height: u32,
    /// Share of the streets between neighbouring crossings that exist.
    #[serde(default = "keep")]
    pub keep: f64,
    /// Least and largest number of vertices along a street, ends not included.
    #[serde(default = "chain")]
    pub chain: (u32, u32),
    /// Share of the vertices along streets from which a dead end leaves.
    #[serde(default = "stubs")]
    pub stubs: f64,
    /// Random seed; the same seed gives the same graph.
    pub seed: u64,
}

impl StreetsShape {
    /// Returns about the largest number of vertices that the network may have.
    pub(crate) fn vertices(&self) -> u64 {
        let crossings = u64::from(self.width).saturating_mul(self.height.into());
        let with_dead_end = 1.0 + DEAD_END_MAX as f64 * self.stubs;
        let street = (f64::from(self.chain.1) * with_dead_end) as u64;
        crossings.saturating_mul(street.saturating_mul(2).saturating_add(1))
    }
}

/// Generates an undirected graph, with both arcs of each edge. The largest component of the lattice
/// remains. Vertices are numbered along the rows of crossings, each followed by the streets that
/// leave it to the right and downwards.
///
/// # Errors
/// Returns an error if a number is out of its range, or there may be more than [`MAX_VERTICES`]
/// vertices.
pub fn streets(shape: StreetsShape) -> Result<Csr, InputError> {
    check(&shape)?;
    let (width, height) = (shape.width as usize, shape.height as usize);
    let crossings = width * height;
    let mut random = Random::new(shape.seed, 0);
    // Streets that exist, to the right and downwards of each crossing.
    let mut exists = Vec::with_capacity(crossings);
    for crossing in 0..crossings {
        let right = random.unit() < shape.keep && (crossing + 1) % width != 0;
        let down = random.unit() < shape.keep && crossing + width < crossings;
        exists.push([right, down]);
    }
    let remains = largest_component(&exists, width);
    let mut numbers = vec![0_u32; crossings];
    let mut edges: Vec<(u32, u32)> = Vec::new();
    // Ends of streets, and the crossings that they reach.
    let mut reached: Vec<(u32, usize)> = Vec::new();
    let mut vertices = 0;
    let mut number = || {
        vertices += 1;
        vertices - 1
    };
    let (low, high) = shape.chain;
    for crossing in (0..crossings).filter(|&crossing| remains[crossing]) {
        numbers[crossing] = number();
        for (exists, to) in exists[crossing].into_iter().zip([1, width]) {
            if !exists {
                continue;
            }
            let mut last = numbers[crossing];
            for _ in 0..u64::from(low) + random.below(u64::from(high - low) + 1) {
                let here = number();
                edges.push((last, here));
                last = here;
                if random.unit() < shape.stubs {
                    let mut end = here;
                    for _ in 0..=random.below(DEAD_END_MAX) {
                        let further = number();
                        edges.push((end, further));
                        end = further;
                    }
                }
            }
            reached.push((last, crossing + to));
        }
    }
    let ends = reached.into_iter();
    edges.extend(ends.map(|(last, crossing)| (last, numbers[crossing])));
    let arcs: Vec<(u32, u32)> = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    Ok(Csr::from_arcs(vertices, &arcs, None)?)
}

fn check(shape: &StreetsShape) -> Result<(), InputError> {
    InputError::in_range("Streets", "width", shape.width, 1..=MAX_VERTICES)?;
    InputError::in_range("Streets", "height", shape.height, 1..=MAX_VERTICES)?;
    InputError::in_range("Streets", "keep", shape.keep, 0.0..=1.0)?;
    InputError::in_range("Streets", "stubs", shape.stubs, 0.0..=1.0)?;
    let (low, high) = shape.chain;
    let problem = if low > high {
        Some(format!(
            "({low}, {high}), expected the smaller number first"
        ))
    } else if shape.vertices() > u64::from(MAX_VERTICES) {
        let most = shape.vertices();
        Some(format!(
            "({low}, {high}), with which there may be {most} vertices, expected at most \
             {MAX_VERTICES}"
        ))
    } else {
        None
    };
    match problem {
        Some(problem) => Err(InputError::Description {
            generator: "Streets",
            field: "chain",
            problem,
        }),
        None => Ok(()),
    }
}

/// True for the crossings of the largest component, the first of several.
fn largest_component(exists: &[[bool; 2]], width: usize) -> Vec<bool> {
    let mut component = vec![usize::MAX; exists.len()];
    let (mut largest, mut size) = (0, 0);
    let mut waiting = Vec::new();
    for first in 0..exists.len() {
        if component[first] != usize::MAX {
            continue;
        }
        component[first] = first;
        waiting.push(first);
        let mut members = 0;
        while let Some(here) = waiting.pop() {
            members += 1;
            let [right, down] = exists[here];
            let left = here % width != 0 && exists[here - 1][0];
            let up = here >= width && exists[here - width][1];
            let neighbours = [
                right.then_some(here + 1),
                down.then_some(here + width),
                left.then(|| here - 1),
                up.then(|| here - width),
            ];
            for there in neighbours.into_iter().flatten() {
                if component[there] == usize::MAX {
                    component[there] = first;
                    waiting.push(there);
                }
            }
        }
        if members > size {
            (largest, size) = (first, members);
        }
    }
    component.into_iter().map(|it| it == largest).collect()
}

fn keep() -> f64 {
    0.68
}

fn chain() -> (u32, u32) {
    (1, 6)
}

fn stubs() -> f64 {
    0.06
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::acceptance::{depth, shape};
    use crate::generate::grid;

    const CITY: StreetsShape = StreetsShape {
        width: 101,
        height: 101,
        keep: 0.68,
        chain: (1, 6),
        stubs: 0.06,
        seed: 1,
    };

    #[test]
    fn degrees_and_depth_are_those_of_a_country() {
        for seed in 1..4 {
            for side in [71, 101, 141] {
                let (width, height) = (side, side);
                let of = StreetsShape {
                    width,
                    height,
                    seed,
                    ..CITY
                };
                let graph = streets(of).unwrap();
                let vertices = f64::from(graph.vertices());
                let mean = f64::from(graph.arcs()) / vertices;
                assert!((2.05..2.2).contains(&mean), "{mean}");
                let share = |wanted: std::ops::RangeInclusive<u32>| {
                    let degrees = (0..graph.vertices()).map(|vertex| graph.degree(vertex));
                    degrees.filter(|degree| wanted.contains(degree)).count() as f64 / vertices
                };
                assert!(share(2..=2) >= 0.7 && share(1..=3) >= 0.95);
                assert!(shape(&graph).largest <= 8);
                let depth = f64::from(depth(&graph, graph.vertices() / 2));
                let expected = 2.3 * vertices.sqrt();
                assert!(
                    (expected / 2.0..expected * 2.0).contains(&depth),
                    "{depth} of {vertices}"
                );
            }
        }
    }

    #[test]
    fn the_network_is_one_component() {
        let graph = streets(CITY).unwrap();
        assert!(crate::reference::is_connected(&graph));
    }

    #[test]
    fn without_gaps_chains_and_dead_ends_it_is_a_grid() {
        let plain = StreetsShape {
            width: 7,
            height: 4,
            keep: 1.0,
            chain: (0, 0),
            stubs: 0.0,
            seed: 1,
        };
        assert_eq!(streets(plain).unwrap(), grid(7, 4).unwrap());
        let alone = StreetsShape { keep: 0.0, ..plain };
        assert_eq!(streets(alone).unwrap().vertices(), 1);
    }

    #[test]
    fn senseless_shapes_are_refused() {
        let error = |of| streets(of).unwrap_err().to_string();
        let width = 0;
        assert_eq!(
            error(StreetsShape { width, ..CITY }),
            "Streets generator: `width` is 0, expected 1 to 67108864"
        );
        let chain = (3, 2);
        assert_eq!(
            error(StreetsShape { chain, ..CITY }),
            "Streets generator: `chain` is (3, 2), expected the smaller number first"
        );
        let chain = (1, u32::MAX);
        let text = error(StreetsShape { chain, ..CITY });
        assert!(text.contains("expected at most 67108864"), "{text}");
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        assert_eq!(streets(CITY).unwrap().hash(), 4_859_339_589_926_603_652);
    }
}
