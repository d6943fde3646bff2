//! Graphs of papers that share authors: unions of cliques.

use serde::{Deserialize, Serialize};

use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::generate::symmetric;
use crate::random::Random;

/// Largest number of authors that a paper can have.
const AUTHORS_MAX: usize = 8;

/// Parameters of a graph of papers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CliquesShape {
    /// Number of papers before those outside the largest component are dropped.
    pub papers: u32,
    /// Probability that a paper has one more author, up to 8.
    #[serde(default = "more")]
    pub more: f64,
    /// Probability that an author has no paper yet.
    #[serde(default = "fresh")]
    pub fresh: f64,
    /// Number of papers before, one of which the other authors come from. They are new if it does
    /// not exist.
    #[serde(default = "window")]
    pub window: u32,
    /// Random seed; the same seed gives the same graph.
    pub seed: u64,
}

/// Generates an undirected graph, with both arcs of each edge once. Papers that share an author are
/// joined; those of the largest component are the vertices, in order. `charge` is asked before the
/// memory for a number of arcs is taken, as it is not known before the authors are drawn.
///
/// # Errors
/// Returns an error for more papers than [`MAX_VERTICES`], more arcs than [`MAX_EDGES`], a number
/// out of its range, or memory that is refused.
pub fn cliques(
    shape: CliquesShape,
    charge: impl FnOnce(u64) -> Result<(), InputError>,
) -> Result<Csr, InputError> {
    InputError::in_range("Cliques", "papers", shape.papers, ..=MAX_VERTICES)?;
    InputError::in_range("Cliques", "more", shape.more, 0.0..=1.0)?;
    InputError::in_range("Cliques", "fresh", shape.fresh, 0.0..=1.0)?;
    InputError::in_range("Cliques", "window", shape.window, 1..)?;
    let mut random = Random::new(shape.seed, 0);
    let papers_of = papers_of_authors(&shape, &mut random);
    let square = |papers: &Vec<u32>| papers.len() as u64 * (papers.len() as u64 - 1);
    let number: u64 = papers_of.iter().map(square).sum();
    if number > u64::from(MAX_EDGES) {
        return Err(InputError::Description {
            generator: "Cliques",
            field: "papers",
            problem: format!(
                "{}, with which there are {number} arcs, expected at most {MAX_EDGES}",
                shape.papers
            ),
        });
    }
    charge(number)?;
    let mut arcs = Vec::with_capacity(number as usize);
    for papers in &papers_of {
        for (nth, one) in papers.iter().enumerate() {
            arcs.extend(papers[nth + 1..].iter().map(|other| (*one, *other)));
        }
    }
    let graph = symmetric(&Csr::from_arcs(shape.papers, &arcs, None)?)?;
    largest_component(&graph)
}

/// Draws the authors of the papers in order, and returns the papers of each.
fn papers_of_authors(shape: &CliquesShape, random: &mut Random) -> Vec<Vec<u32>> {
    let mut papers_of: Vec<Vec<u32>> = Vec::new();
    let mut authors_of: Vec<Vec<u32>> = Vec::with_capacity(shape.papers as usize);
    for paper in 0..shape.papers {
        let mut authors: Vec<u32> = Vec::new();
        loop {
            let back = random.below(shape.window.into()) as usize;
            let author = if back >= authors_of.len() || random.unit() < shape.fresh {
                papers_of.push(Vec::new());
                papers_of.len() as u32 - 1
            } else {
                let earlier = &authors_of[authors_of.len() - 1 - back];
                earlier[random.below(earlier.len() as u64) as usize]
            };
            if !authors.contains(&author) {
                authors.push(author);
                papers_of[author as usize].push(paper);
            }
            if authors.len() == AUTHORS_MAX || random.unit() >= shape.more {
                break;
            }
        }
        authors_of.push(authors);
    }
    papers_of
}

/// Returns the largest component, the first of several, with its vertices in order. The arcs must
/// go both ways.
fn largest_component(graph: &Csr) -> Result<Csr, InputError> {
    let vertices = graph.vertices() as usize;
    // Component of each vertex, named by its first vertex.
    let mut component = vec![u32::MAX; vertices];
    let (mut largest, mut size) = (0, 0);
    let mut waiting = Vec::new();
    for first in 0..graph.vertices() {
        if component[first as usize] != u32::MAX {
            continue;
        }
        component[first as usize] = first;
        waiting.push(first);
        let mut members = 0;
        while let Some(here) = waiting.pop() {
            members += 1;
            for &there in graph.neighbours(here) {
                if component[there as usize] == u32::MAX {
                    component[there as usize] = first;
                    waiting.push(there);
                }
            }
        }
        if members > size {
            (largest, size) = (first, members);
        }
    }
    let mut numbers = vec![0; vertices];
    let members = (0..graph.vertices()).filter(|&vertex| component[vertex as usize] == largest);
    for (number, member) in (0..).zip(members.clone()) {
        numbers[member as usize] = number;
    }
    let mut arcs = Vec::new();
    for from in members {
        let neighbours = graph.neighbours(from).iter();
        let number = |vertex: u32| numbers[vertex as usize];
        arcs.extend(neighbours.map(|&to| (number(from), number(to))));
    }
    Ok(Csr::from_arcs(size, &arcs, None)?)
}

fn more() -> f64 {
    0.62
}

fn fresh() -> f64 {
    0.24
}

fn window() -> u32 {
    1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::acceptance::{depth, shape};
    use crate::generate::complete;

    const PAPERS: CliquesShape = CliquesShape {
        papers: 1 << 16,
        more: 0.62,
        fresh: 0.24,
        window: 1000,
        seed: 1,
    };

    fn drawn(shape: CliquesShape) -> Csr {
        cliques(shape, |_| Ok(())).unwrap()
    }

    /// Share of the pairs of neighbours that are joined, on the mean of some vertices.
    fn clustering(graph: &Csr) -> f64 {
        let mut shares = Vec::new();
        for vertex in (0..graph.vertices()).step_by(97) {
            let neighbours = graph.neighbours(vertex);
            let pairs = neighbours.len() * neighbours.len().saturating_sub(1);
            let joined = |&one: &u32| {
                let others = neighbours.iter();
                let others = others.filter(|to| graph.neighbours(one).binary_search(to).is_ok());
                others.count()
            };
            if pairs > 0 {
                shares.push(neighbours.iter().map(joined).sum::<usize>() as f64 / pairs as f64);
            }
        }
        shares.iter().sum::<f64>() / shares.len() as f64
    }

    #[test]
    fn degrees_clustering_and_depth_are_those_of_co_papers() {
        for seed in 1..4 {
            for papers in [1 << 15, 1 << 16] {
                let graph = drawn(CliquesShape {
                    papers,
                    seed,
                    ..PAPERS
                });
                assert!(graph.vertices() > papers / 10 * 9);
                let mean = f64::from(graph.arcs()) / f64::from(graph.vertices());
                assert!((0.85 * 56.0..1.15 * 56.0).contains(&mean), "mean {mean}");
                let largest = shape(&graph).largest;
                assert!(largest <= 3_500, "largest {largest}");
                let clustering = clustering(&graph);
                assert!(clustering > 0.5, "clustering {clustering}");
                let depth = depth(&graph, 0);
                assert!((8..=25).contains(&depth), "depth {depth}");
            }
        }
    }

    #[test]
    fn papers_of_one_author_are_all_joined() {
        let one = CliquesShape {
            papers: 30,
            more: 0.0,
            fresh: 0.0,
            window: 1,
            seed: 1,
        };
        assert_eq!(drawn(one), complete(30).unwrap());
        let alone = CliquesShape { fresh: 1.0, ..one };
        assert_eq!(drawn(alone).vertices(), 1);
        assert_eq!(drawn(CliquesShape { papers: 0, ..one }).vertices(), 0);
    }

    #[test]
    fn senseless_shapes_are_refused() {
        let error = |of| cliques(of, |_| Ok(())).unwrap_err().to_string();
        let window = 0;
        assert_eq!(
            error(CliquesShape { window, ..PAPERS }),
            "Cliques generator: `window` is 0, expected at least 1"
        );
        let text = error(CliquesShape {
            more: 0.0,
            fresh: 0.0,
            window: 1,
            ..PAPERS
        });
        assert!(text.contains("expected at most 268435456"), "{text}");
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        let papers = 2000;
        assert_eq!(
            drawn(CliquesShape { papers, ..PAPERS }).hash(),
            5_198_436_633_690_537_447
        );
    }
}
