//! Random geometric graphs: points of a rectangle, joined where they are near.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::random::Random;

/// Parameters of a random geometric graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeometricShape {
    /// Number of points, which are the vertices.
    pub vertices: u32,
    /// Number of neighbours that a point far from the border has on the mean.
    pub mean: f64,
    /// Ratio of the rectangle's sides, 1 to 1000000.
    #[serde(default = "square")]
    pub aspect: f64,
    /// Share of the edges with one end moved to a random vertex.
    #[serde(default)]
    pub rewire: f64,
    /// Random seed; the same seed gives the same graph.
    pub seed: u64,
}

/// Points in the order of their cells, row by row, and where each cell begins.
struct Points {
    columns: usize,
    rows: usize,
    places: Vec<(f64, f64)>,
    first: Vec<u32>,
}

/// Generates an undirected graph, with both arcs of each edge. Points are drawn uniformly from a
/// rectangle of area 1, numbered cell by cell, and joined if they are nearer than a radius. The
/// radius follows from `mean`, so points at the border have fewer neighbours.
///
/// # Errors
/// Returns an error if the graph exceeds the limits [`MAX_VERTICES`] and [`MAX_EDGES`], or a number
/// is out of its range.
pub fn geometric(shape: GeometricShape) -> Result<Csr, InputError> {
    let vertices = shape.vertices;
    InputError::in_range("Geometric", "vertices", vertices, ..=MAX_VERTICES)?;
    let most = f64::from(MAX_EDGES / 2 / vertices.max(1));
    InputError::in_range("Geometric", "mean", shape.mean, 0.0..=most)?;
    InputError::in_range("Geometric", "aspect", shape.aspect, 1.0..=1e6)?;
    InputError::in_range("Geometric", "rewire", shape.rewire, 0.0..=1.0)?;
    let radius = (shape.mean / (PI * f64::from(vertices.max(1)))).sqrt();
    let points = Points::draw(&shape, radius);
    let mut arcs = Vec::with_capacity((f64::from(vertices) * shape.mean) as usize);
    let mut random = Random::new(shape.seed, 1);
    points.each_edge(radius, &mut |from, to| {
        let is_moved = shape.rewire > 0.0 && random.unit() < shape.rewire;
        let to = if is_moved {
            random.other(from, vertices)
        } else {
            to
        };
        arcs.extend([(from, to), (to, from)]);
    });
    Ok(Csr::from_arcs(vertices, &arcs, None)?)
}

impl Points {
    fn draw(shape: &GeometricShape, radius: f64) -> Self {
        let number = shape.vertices as usize;
        let (width, height) = (shape.aspect.sqrt(), 1.0 / shape.aspect.sqrt());
        // No more cells than points, and none narrower than the radius.
        let side = radius.max((1.0 / f64::from(shape.vertices.max(1))).sqrt());
        let cells = |length: f64| ((length / side) as usize).max(1);
        let (columns, rows) = (cells(width), cells(height));
        let mut random = Random::new(shape.seed, 0);
        let drawn: Vec<(f64, f64)> = (0..number)
            .map(|_| (random.unit() * width, random.unit() * height))
            .collect();
        let cell = |&(x, y): &(f64, f64)| {
            let column = ((x / width * columns as f64) as usize).min(columns - 1);
            let row = ((y / height * rows as f64) as usize).min(rows - 1);
            row * columns + column
        };
        let mut first = vec![0_u32; columns * rows + 1];
        for point in &drawn {
            first[cell(point) + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut free = first.clone();
        let mut places = vec![(0.0, 0.0); number];
        for point in &drawn {
            let free = &mut free[cell(point)];
            places[*free as usize] = *point;
            *free += 1;
        }
        Self {
            columns,
            rows,
            places,
            first,
        }
    }

    fn cell(&self, column: usize, row: usize) -> std::ops::Range<u32> {
        let cell = row * self.columns + column;
        self.first[cell]..self.first[cell + 1]
    }

    /// Calls `edge` once for each pair of points nearer than the radius, which is no more than the
    /// side of a cell.
    fn each_edge(&self, radius: f64, edge: &mut impl FnMut(u32, u32)) {
        let place = |point: u32| self.places[point as usize];
        let mut join = |from: u32, to: u32| {
            let ((x, y), (u, v)) = (place(from), place(to));
            if (x - u) * (x - u) + (y - v) * (y - v) < radius * radius {
                edge(from, to);
            }
        };
        for row in 0..self.rows {
            for column in 0..self.columns {
                let here = self.cell(column, row);
                for from in here.clone() {
                    (from + 1..here.end).for_each(|to| join(from, to));
                    if column + 1 < self.columns {
                        self.cell(column + 1, row).for_each(|to| join(from, to));
                    }
                    if row + 1 < self.rows {
                        let last = (column + 1).min(self.columns - 1);
                        for column in column.saturating_sub(1)..=last {
                            self.cell(column, row + 1).for_each(|to| join(from, to));
                        }
                    }
                }
            }
        }
    }
}

fn square() -> f64 {
    1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::acceptance::{depth, shape};

    const PLAIN: GeometricShape = GeometricShape {
        vertices: 1 << 15,
        mean: 14.48,
        aspect: 1.0,
        rewire: 0.0,
        seed: 1,
    };

    /// The vertex nearest to (0.3, 0.3), from which the depth of the graph thesis was computed.
    fn source(of: &GeometricShape) -> u32 {
        let radius = (of.mean / (PI * f64::from(of.vertices))).sqrt();
        let points = Points::draw(of, radius);
        let distance = |&(x, y): &(f64, f64)| (x - 0.3) * (x - 0.3) + (y - 0.3) * (y - 0.3);
        let places = (0..).zip(&points.places);
        let nearest = places.min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
        nearest.unwrap().0
    }

    #[test]
    fn degrees_and_depth_are_those_of_the_thesis() {
        for seed in 1..4 {
            for (vertices, depths) in [(1 << 15, 96..=106), (1 << 16, 136..=150)] {
                let of = GeometricShape {
                    vertices,
                    seed,
                    ..PLAIN
                };
                let graph = geometric(of).unwrap();
                let mean = f64::from(graph.arcs()) / f64::from(vertices);
                assert!((0.975 * 14.48..14.48).contains(&mean), "{mean}");
                let largest = shape(&graph).largest;
                assert!((26..=42).contains(&largest), "{largest}");
                let depth = depth(&graph, source(&of));
                assert!(depths.contains(&depth), "{vertices} vertices: {depth}");
            }
        }
    }

    /// Compares with a test of all pairs of points.
    #[test]
    fn no_near_pair_is_missed() {
        for (vertices, mean, aspect) in [(300, 9.0, 1.0), (200, 4.0, 40.0), (60, 50.0, 3.0)] {
            let of = GeometricShape {
                vertices,
                mean,
                aspect,
                rewire: 0.0,
                seed: 9,
            };
            let radius = (mean / (PI * f64::from(vertices))).sqrt();
            let points = Points::draw(&of, radius);
            let graph = geometric(of).unwrap();
            for from in 0..vertices {
                let (x, y) = points.places[from as usize];
                let near = (0..vertices).filter(|&to| {
                    let (u, v) = points.places[to as usize];
                    to != from && (x - u) * (x - u) + (y - v) * (y - v) < radius * radius
                });
                let near: Vec<u32> = near.collect();
                assert_eq!(graph.neighbours(from), near, "{aspect}");
            }
        }
    }

    #[test]
    fn edges_that_are_rewired_make_the_graph_shallow() {
        let far = geometric(PLAIN).unwrap();
        let near = GeometricShape {
            rewire: 0.1,
            ..PLAIN
        };
        let near = geometric(near).unwrap();
        assert_eq!(far.arcs(), near.arcs());
        assert!(depth(&far, 0) > 10 * depth(&near, 0));
        let long = GeometricShape {
            aspect: 64.0,
            ..PLAIN
        };
        assert!(depth(&geometric(long).unwrap(), 0) > 3 * depth(&far, 0));
    }

    #[test]
    fn senseless_shapes_are_refused() {
        let error = |of| geometric(of).unwrap_err().to_string();
        let mean = f64::NAN;
        assert_eq!(
            error(GeometricShape { mean, ..PLAIN }),
            "Geometric generator: `mean` is NaN, expected 0 to 4096"
        );
        let aspect = 0.5;
        assert_eq!(
            error(GeometricShape { aspect, ..PLAIN }),
            "Geometric generator: `aspect` is 0.5, expected 1 to 1000000"
        );
        for vertices in [0, 1, 2] {
            let few = GeometricShape {
                vertices,
                rewire: 1.0,
                ..PLAIN
            };
            assert_eq!(geometric(few).unwrap().vertices(), vertices);
        }
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        let vertices = 1000;
        let graph = geometric(GeometricShape { vertices, ..PLAIN }).unwrap();
        assert_eq!(graph.hash(), 8_889_262_199_367_114_195);
    }
}
