//! R-MAT: recursive matrix graphs with heavy-tailed degrees (Chakrabarti, Zhan and Faloutsos, SDM
//! 2004).

use warpweave_params::out_of_range;

use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::random::Random;

/// Parameters of an R-MAT graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RmatShape {
    /// log2 of the number of vertices.
    pub scale: u32,
    /// Number of arcs drawn per vertex.
    pub edge_factor: u32,
    /// Probability of the quadrant "low to low".
    pub a: f64,
    /// Probability of the quadrant "low to high".
    pub b: f64,
    /// Probability of the quadrant "high to low"; "high to high" has the remainder.
    pub c: f64,
}

/// Generates a directed R-MAT graph with `2^scale` vertices. `edge_factor * 2^scale` arcs are
/// drawn. Loops and repeated arcs are then dropped, so the final number is smaller. Vertices are
/// not renumbered: the hubs have low numbers (and numbers with few one bits).
///
/// # Errors
/// Returns an error if probabilities are negative, not numbers or sum to more than 1. Also fails
/// for a graph above the limits [`MAX_VERTICES`] and [`MAX_EDGES`].
pub fn rmat(shape: RmatShape, seed: u64) -> Result<Csr, InputError> {
    let (vertices, draws) = check(&shape)?;
    // Compared as integers, so that no rounding of a running sum can differ between machines.
    let bound = |sum: f64| (sum * 4_294_967_296.0) as u64;
    let to_a = bound(shape.a);
    let to_b = bound(shape.a + shape.b);
    let to_c = bound(shape.a + shape.b + shape.c);

    let mut random = Random::new(seed, 0);
    let mut arcs = Vec::with_capacity(draws as usize);
    for _ in 0..draws {
        let (mut from, mut to) = (0_u32, 0_u32);
        for _ in 0..shape.scale {
            let word = u64::from(random.word());
            let (down, right) = match word {
                word if word < to_a => (0, 0),
                word if word < to_b => (0, 1),
                word if word < to_c => (1, 0),
                _ => (1, 1),
            };
            from = from << 1 | down;
            to = to << 1 | right;
        }
        if from != to {
            arcs.push((from, to));
        }
    }
    arcs.sort_unstable();
    arcs.dedup();
    Ok(Csr::from_arcs(vertices, &arcs, None)?)
}

/// Checks a shape and returns the numbers of vertices and arcs to draw.
fn check(shape: &RmatShape) -> Result<(u32, u32), InputError> {
    InputError::in_range("Rmat", "scale", shape.scale, ..=MAX_VERTICES.ilog2())?;
    let vertices = 1_u32 << shape.scale;
    if let Some(words) = out_of_range(&shape.edge_factor, &(..=MAX_EDGES / vertices)) {
        return Err(InputError::Description {
            generator: "Rmat",
            field: "edge_factor",
            problem: format!("{words} with scale {}", shape.scale),
        });
    }
    for (field, value) in [("a", shape.a), ("b", shape.b), ("c", shape.c)] {
        InputError::in_range("Rmat", field, value, 0.0..=1.0)?;
    }
    let sum = shape.a + shape.b + shape.c;
    // Decimal fractions that sum to 1 on paper may exceed it by a rounding error.
    if sum > 1.0 + 1e-9 {
        InputError::in_range("Rmat", "a` + `b` + `c", sum, ..=1.0)?;
    }
    Ok((vertices, vertices * shape.edge_factor))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::generate::acceptance::{Shape, shape};

    const GRAPH500: RmatShape = RmatShape {
        scale: 10,
        edge_factor: 8,
        a: 0.57,
        b: 0.19,
        c: 0.19,
    };

    const THESIS: RmatShape = RmatShape {
        scale: 20,
        edge_factor: 8,
        a: 0.5,
        b: 0.1,
        c: 0.1,
    };

    impl RmatShape {
        fn of_scale(self, scale: u32) -> Self {
            Self { scale, ..self }
        }
    }

    #[test]
    fn degrees_are_heavy_tailed() {
        let graph = rmat(GRAPH500, 1).unwrap();
        assert_eq!(graph.vertices(), 1024);
        assert!((5_500..8_192).contains(&graph.arcs()), "{}", graph.arcs());
        let largest = (0..1024).map(|v| graph.degree(v)).max().unwrap();
        assert!(largest > 15 * graph.arcs() / 1024, "{largest}");
    }

    /// With a = 1 every arc is the loop at vertex 0. With b = 1 every arc is 0 -> n - 1.
    #[test]
    fn quadrants_are_rows_and_columns() {
        let all = |a, b, c| {
            rmat(
                RmatShape {
                    scale: 3,
                    edge_factor: 4,
                    a,
                    b,
                    c,
                },
                1,
            )
            .unwrap()
        };
        assert_eq!(all(1.0, 0.0, 0.0).arcs(), 0);
        assert_eq!(
            all(0.0, 1.0, 0.0),
            Csr::from_arcs(8, &[(0, 7)], None).unwrap()
        );
        assert_eq!(
            all(0.0, 0.0, 1.0),
            Csr::from_arcs(8, &[(7, 0)], None).unwrap()
        );
        assert_eq!(all(0.0, 0.0, 0.0).arcs(), 0);
    }

    /// Graph of the graph thesis at scales below its own, from three seeds.
    #[test]
    fn the_law_of_the_thesis_gives_its_counts_and_the_degree_of_its_first_vertex() {
        for seed in 1..4 {
            let scales = [(15, 248_855, 97, 8..=12), (17, 1_015_706, 148, 9..=13)];
            for (scale, arcs, first, levels) in scales {
                let graph = rmat(THESIS.of_scale(scale), seed).unwrap();
                let draws = f64::from(8 << scale);
                let beyond = f64::from(graph.arcs()) - f64::from(arcs);
                let tolerance = 4.0 * (draws - f64::from(arcs)).sqrt();
                assert!(beyond.abs() <= tolerance, "scale {scale}: {beyond}");
                let degree = graph.degree(0);
                assert!(degree.abs_diff(first) <= 40, "scale {scale}: {degree}");
                let Shape {
                    reached, deepest, ..
                } = shape(&graph);
                assert!((0.93..0.97).contains(&reached), "scale {scale}: {reached}");
                assert!(levels.contains(&deepest), "scale {scale}: {deepest}");
            }
        }
    }

    #[test]
    fn senseless_shapes_are_refused() {
        let error = |shape| rmat(shape, 1).unwrap_err().to_string();
        assert_eq!(
            error(RmatShape {
                scale: 40,
                ..GRAPH500
            }),
            "Rmat generator: `scale` is 40, expected at most 26"
        );
        assert_eq!(
            error(RmatShape {
                scale: 20,
                edge_factor: 1000,
                ..GRAPH500
            }),
            "Rmat generator: `edge_factor` is 1000, expected at most 256 with scale 20"
        );
        assert_eq!(
            error(RmatShape {
                a: f64::NAN,
                ..GRAPH500
            }),
            "Rmat generator: `a` is NaN, expected 0 to 1"
        );
        assert_eq!(
            error(RmatShape {
                a: 0.75,
                b: 0.25,
                c: 0.25,
                ..GRAPH500
            }),
            "Rmat generator: `a` + `b` + `c` is 1.25, expected at most 1"
        );
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        assert_eq!(rmat(GRAPH500, 1).unwrap().hash(), 0xfc31_06f3_adb7_06a5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn simple_within_the_arcs_drawn(
            scale in 0_u32..8,
            edge_factor in 0_u32..8,
            seed: u64,
            (a, b, c) in (0.0..0.5, 0.0..0.25, 0.0..0.25),
        ) {
            let shape = RmatShape { scale, edge_factor, a, b, c };
            let graph = rmat(shape, seed).unwrap();
            prop_assert_eq!(graph.vertices(), 1 << scale);
            prop_assert!(graph.arcs() <= edge_factor << scale);
            for v in 0..graph.vertices() {
                prop_assert!(!graph.neighbours(v).contains(&v));
                prop_assert!(graph.neighbours(v).windows(2).all(|pair| pair[0] < pair[1]));
            }
            prop_assert_eq!(graph, rmat(shape, seed).unwrap());
        }
    }
}
