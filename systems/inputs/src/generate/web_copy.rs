//! Web-like graphs: sites of pages that copy each other's links.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::csr::{Csr, MAX_EDGES, MAX_VERTICES};
use crate::error::InputError;
use crate::generate::power_law::PowerLaw;
use crate::generate::symmetric;
use crate::random::Random;

/// Largest number of links of a page besides the one to the first page of its site.
const LINKS_MAX: u32 = 500;

/// Least number of pages of a site, and the exponent of their law.
const SITE: (u32, f64) = (60, 1.9);

/// Least number of sites, which bounds the size of one.
const SITES_MIN: u32 = 50;

/// Parameters of a web-like graph: its size and laws of its links.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebShape {
    /// Number of pages, which are the vertices.
    pub vertices: u32,
    /// Exponent of the power law of the number of links of a page.
    #[serde(default = "exponent")]
    pub exponent: f64,
    /// Share of the links that are copied from an earlier page of the site.
    #[serde(default = "copied")]
    pub copy: f64,
    /// Share of the other links that lead to the first page of an earlier site.
    #[serde(default = "leaving")]
    pub out: f64,
    /// Random seed; the same seed gives the same graph.
    pub seed: u64,
}

/// Generates an undirected graph, with both arcs of each edge once. Sites are ranges of vertices,
/// with sizes by a power law. Every page links to the first page of its site. Further links follow
/// a power law in number. They are copied from an earlier page of the site, or lead to one of its
/// pages or to a site before. First pages link to the sites before. These are near, so the graph is
/// deep. `charge` is asked before the memory for a number of links is taken.
///
/// # Errors
/// Returns an error for more vertices than [`MAX_VERTICES`], or more links than [`MAX_EDGES`]. Also
/// fails for a number out of its range, or if the memory is refused.
pub fn web_copy(
    shape: WebShape,
    charge: impl FnOnce(u64) -> Result<(), InputError>,
) -> Result<Csr, InputError> {
    let vertices = shape.vertices;
    InputError::in_range("WebCopy", "vertices", vertices, ..=MAX_VERTICES)?;
    InputError::in_range("WebCopy", "exponent", shape.exponent, 1.0..=10.0)?;
    InputError::in_range("WebCopy", "copy", shape.copy, 0.0..=1.0)?;
    InputError::in_range("WebCopy", "out", shape.out, 0.0..=1.0)?;
    let mut random = Random::new(shape.seed, 0);
    let sites = sites(vertices, &mut random);
    let back = (vertices / 4096).max(1) as usize;
    let law = PowerLaw::new(1, LINKS_MAX, shape.exponent);
    let numbers: Vec<u32> = (0..vertices).map(|_| law.draw(&mut random)).collect();
    let number = numbers
        .iter()
        .map(|&links| u64::from(links) + 1)
        .sum::<u64>();
    if number > u64::from(MAX_EDGES) {
        return Err(InputError::Description {
            generator: "WebCopy",
            field: "vertices",
            problem: format!(
                "{vertices}, with which there are {number} links, expected at most {MAX_EDGES}"
            ),
        });
    }
    charge(number)?;
    let mut arcs: Vec<(u32, u32)> = Vec::with_capacity(number as usize);
    // Links of each page of the current site, as a range of the arcs.
    let mut links: Vec<Range<usize>> = Vec::new();
    for (site, pages) in sites.iter().enumerate() {
        links.clear();
        let before = &sites[site.saturating_sub(back)..site];
        for page in pages.clone() {
            let from = arcs.len();
            for _ in 0..numbers[page as usize] {
                let is_first = page == pages.start;
                let copied = !is_first && random.unit() < shape.copy;
                let to = if copied {
                    let earlier = links[random.below(links.len() as u64) as usize].clone();
                    let nth = random.below(earlier.len().max(1) as u64) as usize;
                    arcs[earlier].get(nth).map(|link| link.1)
                } else if is_first || random.unit() < shape.out {
                    let nth = random.below(before.len().max(1) as u64) as usize;
                    before.get(nth).map(|other| other.start)
                } else {
                    let pages_of_site = u64::from(pages.end - pages.start);
                    Some(pages.start + random.below(pages_of_site) as u32)
                };
                arcs.extend(to.filter(|&to| to != page).map(|to| (page, to)));
            }
            if page != pages.start {
                arcs.push((page, pages.start));
            }
            links.push(from..arcs.len());
        }
    }
    symmetric(&Csr::from_arcs(vertices, &arcs, None)?)
}

/// Divides the vertices into sites, which are ranges of them.
fn sites(vertices: u32, random: &mut Random) -> Vec<Range<u32>> {
    let (least, exponent) = SITE;
    let sizes = PowerLaw::new(least, (vertices / SITES_MIN).max(least), exponent);
    let mut sites = Vec::new();
    let mut start = 0;
    while start < vertices {
        let end = start.saturating_add(sizes.draw(random)).min(vertices);
        sites.push(start..end);
        start = end;
    }
    sites
}

fn exponent() -> f64 {
    1.54
}

fn copied() -> f64 {
    0.55
}

fn leaving() -> f64 {
    0.05
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::acceptance::{depth, median_degree, shape};

    const WEB: WebShape = WebShape {
        vertices: 1 << 16,
        exponent: 1.54,
        copy: 0.55,
        out: 0.05,
        seed: 1,
    };

    fn drawn(shape: WebShape) -> Csr {
        web_copy(shape, |_| Ok(())).unwrap()
    }

    #[test]
    fn degrees_and_depth_are_those_of_a_web() {
        for seed in 1..4 {
            for vertices in [1 << 15, 1 << 16] {
                let graph = drawn(WebShape {
                    vertices,
                    seed,
                    ..WEB
                });
                let mean = f64::from(graph.arcs()) / f64::from(vertices);
                assert!((0.85 * 19.7..1.15 * 19.7).contains(&mean), "mean {mean}");
                let median = median_degree(&graph);
                assert!(median <= 12, "median {median}");
                let largest = shape(&graph).largest;
                assert!(largest >= vertices / 100, "largest {largest}");
                let arcs = (0..vertices).flat_map(|from| {
                    let neighbours = graph.neighbours(from).iter();
                    neighbours.filter(move |to| from.abs_diff(**to) <= 1000)
                });
                assert!(arcs.count() > graph.arcs() as usize / 2);
                let depth = depth(&graph, 0);
                assert!((15..=40).contains(&depth), "{vertices}: depth {depth}");
            }
        }
    }

    #[test]
    fn all_pages_can_be_reached() {
        assert!(crate::reference::is_connected(&drawn(WEB)));
    }

    #[test]
    fn senseless_shapes_are_refused() {
        let error = |of| web_copy(of, |_| Ok(())).unwrap_err().to_string();
        let copy = 1.5;
        assert_eq!(
            error(WebShape { copy, ..WEB }),
            "WebCopy generator: `copy` is 1.5, expected 0 to 1"
        );
        let exponent = f64::NAN;
        assert_eq!(
            error(WebShape { exponent, ..WEB }),
            "WebCopy generator: `exponent` is NaN, expected 1 to 10"
        );
        let vertices = 1 << 22;
        let exponent = 1.0;
        let many = WebShape {
            vertices,
            exponent,
            ..WEB
        };
        assert!(error(many).contains("links, expected at most 268435456"));
        for vertices in [0, 1, 2, 61] {
            let few = WebShape { vertices, ..WEB };
            assert_eq!(drawn(few).vertices(), vertices);
        }
    }

    #[test]
    fn hash_is_pinned_for_seed_1() {
        let vertices = 2000;
        let graph = drawn(WebShape { vertices, ..WEB });
        assert_eq!(graph.hash(), 18_256_104_492_872_170_375);
    }
}
