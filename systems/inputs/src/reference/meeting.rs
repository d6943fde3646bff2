//! Meeting of two searches of a graph.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, UNREACHED, bfs_levels};
use crate::csr::Csr;
use crate::{Name, Value};

/// Round in which two breadth-first searches first have a vertex in common; 0 if they never do.
#[derive(Debug, Deserialize)]
pub struct MeetingRound {
    /// Name of the graph to search.
    pub graph: Name,
    /// Vertex at which one search begins.
    pub source: Value,
    /// Vertex at which the other search begins.
    pub target: Value,
}

impl Reference for MeetingRound {
    const NAME: &'static str = "MeetingRound";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.search(&self.graph, &self.source)?;
        question.search(&self.graph, &self.target)?;
        Ok(Shape::u32s(1))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (graph, source) = question.search(&self.graph, &self.source)?;
        let (_, target) = question.search(&self.graph, &self.target)?;
        Ok(vec![meeting_round(graph, source, target).unwrap_or(0)])
    }
}

/// Computes the first round after which searches from `source` and `target` have both reached one
/// vertex, or `None` if they never do. Each search goes one level further in a round.
///
/// # Panics
/// Panics if a vertex does not exist; see [`Csr::check_vertex`].
pub fn meeting_round(graph: &Csr, source: u32, target: u32) -> Option<u32> {
    let levels = bfs_levels(graph, source)
        .into_iter()
        .zip(bfs_levels(graph, target));
    let rounds = levels.map(|(from_source, from_target)| from_source.max(from_target));
    rounds.min().filter(|&round| round != UNREACHED)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::generate::{grid, symmetric, twice, uniform};

    #[test]
    fn searches_meet_in_the_middle_of_a_path() {
        let path = grid(9, 1).unwrap();
        for (target, round) in [(0, 0), (1, 1), (2, 1), (3, 2), (8, 4)] {
            assert_eq!(meeting_round(&path, 0, target), Some(round));
        }
    }

    #[test]
    fn halves_without_arcs_between_them_never_meet() {
        let graph = twice(&grid(3, 3).unwrap()).unwrap();
        assert_eq!(meeting_round(&graph, 0, 9), None);
        assert_eq!(meeting_round(&graph, 9, 17), Some(2));
    }

    #[test]
    fn arcs_are_one_way() {
        let graph = Csr::from_arcs(4, &[(0, 2), (2, 3), (1, 3)], None).unwrap();
        assert_eq!(meeting_round(&graph, 0, 1), Some(2));
        assert_eq!(meeting_round(&graph, 2, 0), Some(1));
        let apart = Csr::from_arcs(4, &[(2, 0), (2, 1)], None).unwrap();
        assert_eq!(meeting_round(&apart, 0, 1), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// On arcs that go both ways, each search takes half of the shortest path.
        #[test]
        fn half_of_the_path_is_left_to_each(vertices in 2_u32..50, seed: u64, source: u32, target: u32) {
            let graph = symmetric(&uniform(vertices, vertices / 2, seed).unwrap()).unwrap();
            let (source, target) = (source % vertices, target % vertices);
            let path = bfs_levels(&graph, source)[target as usize];
            let round = (path != UNREACHED).then(|| path.div_ceil(2));
            prop_assert_eq!(meeting_round(&graph, source, target), round);
        }
    }
}
