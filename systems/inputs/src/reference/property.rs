//! Properties of results: conditions that every correct result meets if there are many.

use std::cmp::Ordering;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use warpweave_params::Diagnostic;

use super::{Question, Shape};
use crate::Name;
use crate::element::ElementType;

/// Condition on a buffer that a description can require without stating its contents. Its fields
/// are the parameters in the description.
pub trait Property: DeserializeOwned + fmt::Debug + Send + Sync + 'static {
    /// Name in description files and reports, such as `ProperColouring`.
    const NAME: &'static str;

    /// Checks the parameters. Returns the element type and length that the buffer must have.
    ///
    /// # Errors
    /// Returns the error in the parameters, with its position.
    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic>;

    /// Checks the property on `found`, the words of the buffer under test, and returns a judgement
    /// with a message. Called only if [`Property::shape`] succeeded.
    ///
    /// # Errors
    /// Returns an error if an input has changed since the check.
    fn judge(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic>;
}

/// Message about a buffer that has a property, or about the first violation in one that does not.
pub type Judgement = Result<String, String>;

/// Every vertex has a different colour from those it has arcs to. Loops are ignored.
#[derive(Debug, Deserialize)]
pub struct ProperColouring {
    /// Name of the graph. The buffer holds a colour for each vertex.
    pub graph: Name,
}

/// The vertices with a nonzero element have no arcs among each other. Every other vertex has an arc
/// to or from one of them.
#[derive(Debug, Deserialize)]
pub struct MaximalIndependentSet {
    /// Name of the graph. The buffer holds an element for each vertex.
    pub graph: Name,
}

/// The elements are a permutation of those in this buffer before the program runs.
#[derive(Debug, Deserialize)]
pub struct Permutation(pub Name);

/// No element is less than the previous one, and none is NaN.
#[derive(Debug, Deserialize)]
pub struct Ascending;

fn one_for_each_vertex(question: &Question<'_>, graph: &Name) -> Result<Shape, Diagnostic> {
    Ok(Shape {
        element: None,
        length: Some(question.graph(graph)?.vertices() as usize),
    })
}

impl Property for ProperColouring {
    const NAME: &'static str = "ProperColouring";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        one_for_each_vertex(question, &self.graph)
    }

    fn judge(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic> {
        let (graph, element) = (question.graph(&self.graph)?, question.tested().element);
        let colour = |vertex: u32| element.pattern(found, vertex as usize);
        let mut colours: Vec<u64> = (0..graph.vertices()).map(colour).collect();
        for vertex in 0..graph.vertices() {
            let alike = |other: &&u32| **other != vertex && colour(**other) == colour(vertex);
            if let Some(other) = graph.neighbours(vertex).iter().find(alike) {
                let colour = element.text(colour(vertex));
                return Ok(Err(format!(
                    "vertices {vertex} and {other} are adjacent and both have colour {colour}"
                )));
            }
        }
        colours.sort_unstable();
        colours.dedup();
        Ok(Ok(format!(
            "{} colours, no two adjacent vertices with the same one",
            colours.len()
        )))
    }
}

impl Property for MaximalIndependentSet {
    const NAME: &'static str = "MaximalIndependentSet";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        one_for_each_vertex(question, &self.graph)
    }

    fn judge(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic> {
        let (graph, element) = (question.graph(&self.graph)?, question.tested().element);
        let is_in = |vertex: u32| element.pattern(found, vertex as usize) != 0;
        let mut has_neighbour = vec![false; graph.vertices() as usize];
        for vertex in 0..graph.vertices() {
            for &other in graph
                .neighbours(vertex)
                .iter()
                .filter(|other| **other != vertex)
            {
                if is_in(vertex) && is_in(other) {
                    return Ok(Err(format!(
                        "vertices {vertex} and {other} are adjacent and both in the set"
                    )));
                }
                has_neighbour[other as usize] |= is_in(vertex);
                has_neighbour[vertex as usize] |= is_in(other);
            }
        }
        let left_out = |vertex: &u32| !is_in(*vertex) && !has_neighbour[*vertex as usize];
        if let Some(vertex) = (0..graph.vertices()).find(left_out) {
            return Ok(Err(format!("vertex {vertex} could be added to the set")));
        }
        let members = (0..graph.vertices())
            .filter(|vertex| is_in(*vertex))
            .count();
        Ok(Ok(format!(
            "{members} members, no two adjacent, no vertex missing"
        )))
    }
}

impl Property for Permutation {
    const NAME: &'static str = "Permutation";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape {
            element: None,
            length: Some(question.length(&self.0, question.tested().element)?),
        })
    }

    fn judge(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic> {
        let tested = question.tested();
        let given = question.contents(&self.0)?;
        let sorted = |words: &[u32]| {
            let pattern = |at| tested.element.pattern(words, at);
            let mut patterns: Vec<u64> = (0..tested.length).map(pattern).collect();
            patterns.sort_unstable();
            patterns
        };
        let (given, found) = (sorted(&given), sorted(found));
        let differing = given
            .iter()
            .zip(&found)
            .find(|(given, found)| given != found);
        Ok(match differing {
            None => Ok(format!(
                "{} elements, each occurring equally often",
                tested.length
            )),
            Some((given, found)) => {
                let (missing, pattern) = (given < found, given.min(found));
                let value = tested.element.text(*pattern);
                let how = if missing { "fewer" } else { "more" };
                Err(format!(
                    "{value} occurs {how} times than in `{}`",
                    self.0.value
                ))
            }
        })
    }
}

impl Property for Ascending {
    const NAME: &'static str = "Ascending";

    fn shape(&self, _: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape {
            element: None,
            length: None,
        })
    }

    fn judge(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic> {
        let tested = question.tested();
        let element: ElementType = tested.element;
        let pattern = |at| element.pattern(found, at);
        let is_wrong = |at: &usize| {
            let order = element.compare(pattern(at - 1), pattern(*at));
            !matches!(order, Some(Ordering::Less | Ordering::Equal))
        };
        Ok(match (1..tested.length).find(is_wrong) {
            None => Ok(format!("{} elements in ascending order", tested.length)),
            Some(at) => {
                let (before, after) = (element.text(pattern(at - 1)), element.text(pattern(at)));
                Err(format!("[{}] is {before}, [{at}] is {after}", at - 1))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpweave_params::{Env, Files};

    use super::super::{Inputs, Layout};
    use super::*;
    use crate::element::ElementType::{F32, S8, U32};
    use crate::generate::{grid, symmetric, uniform};
    use crate::reference::independent_set_colours;
    use crate::{Csr, Matrix};

    /// Host with one graph and one buffer.
    struct Host {
        graph: Csr,
        given: Vec<u32>,
        env: Env,
        files: Files,
    }

    impl Inputs for Host {
        fn layout(&self, _: &Name) -> Result<Layout, Diagnostic> {
            Ok(layout(U32, self.given.len()))
        }

        fn contents(&self, _: &Name) -> Result<Vec<u32>, Diagnostic> {
            Ok(self.given.clone())
        }

        fn graph(&self, _: &Name) -> Result<&Csr, Diagnostic> {
            Ok(&self.graph)
        }

        fn matrix(&self, name: &Name) -> Result<&Matrix, Diagnostic> {
            Err(name.error("there are no matrices"))
        }

        fn env(&self) -> &Env {
            &self.env
        }

        fn reading(&self) -> &Files {
            &self.files
        }
    }

    fn layout(element: ElementType, length: usize) -> Layout {
        Layout { element, length }
    }

    fn host(graph: Csr, given: &[u32]) -> Host {
        Host {
            graph,
            given: given.to_vec(),
            env: Env::new(),
            files: Files::default(),
        }
    }

    fn judge<P: Property>(
        property: &P,
        host: &Host,
        element: ElementType,
        patterns: &[u64],
    ) -> Judgement {
        let question = Question::new(P::NAME, host, layout(element, patterns.len()));
        let words = element.pack(patterns.iter().copied());
        property.judge(&question, &words).unwrap()
    }

    #[test]
    fn neighbours_of_one_colour_are_named() {
        let path = host(
            Csr::from_arcs(3, &[(0, 1), (1, 2), (2, 2)], None).unwrap(),
            &[],
        );
        let proper = ProperColouring { graph: "g".into() };
        let said = judge(&proper, &path, S8, &[0, 0xff, 0]);
        assert_eq!(
            said,
            Ok("2 colours, no two adjacent vertices with the same one".to_owned())
        );
        let said = judge(&proper, &path, S8, &[0, 0xff, 0xff]);
        let expected = "vertices 1 and 2 are adjacent and both have colour -1";
        assert_eq!(said, Err(expected.to_owned()));
    }

    #[test]
    fn a_set_is_independent_and_maximal_along_arcs_of_both_directions() {
        let path = host(Csr::from_arcs(3, &[(0, 1), (1, 2)], None).unwrap(), &[]);
        let maximal = MaximalIndependentSet { graph: "g".into() };
        assert!(judge(&maximal, &path, U32, &[1, 0, 7]).is_ok());
        assert!(judge(&maximal, &path, U32, &[0, 1, 0]).is_ok());
        let said = judge(&maximal, &path, U32, &[1, 0, 0]);
        assert_eq!(said, Err("vertex 2 could be added to the set".to_owned()));
        let said = judge(&maximal, &path, U32, &[0, 1, 1]);
        assert_eq!(
            said,
            Err("vertices 1 and 2 are adjacent and both in the set".to_owned())
        );
    }

    #[test]
    fn order_is_that_of_the_type() {
        let host = host(grid(1, 1).unwrap(), &[]);
        assert!(judge(&Ascending, &host, S8, &[0x80, 0xff, 0, 0, 1]).is_ok());
        assert!(judge(&Ascending, &host, F32, &[0xbf80_0000, 0, 0x3f80_0000]).is_ok());
        let said = judge(&Ascending, &host, U32, &[1, 3, 2]);
        assert_eq!(said, Err("[1] is 3, [2] is 2".to_owned()));
        assert!(judge(&Ascending, &host, F32, &[0, 0x7fc0_0000]).is_err());
        assert!(judge(&Ascending, &host, U32, &[]).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Colours by independent sets are proper. Taking every vertex without a neighbour in the
        /// set so far gives a maximal independent set.
        #[test]
        fn what_is_made_to_have_a_property_has_it(vertices in 2_u32..40, seed: u32) {
            let graph = symmetric(&uniform(vertices, vertices.min(vertices * (vertices - 1)), seed.into()).unwrap()).unwrap();
            let colours = independent_set_colours(&graph, seed);
            let all: Vec<u64> = colours.iter().map(|colour| u64::from(*colour)).collect();
            let mut set = vec![0_u64; vertices as usize];
            for vertex in 0..vertices {
                let neighbours = graph.neighbours(vertex);
                let is_free = neighbours.iter().all(|other| set[*other as usize] == 0);
                set[vertex as usize] = u64::from(is_free);
            }
            let host = host(graph, &[]);
            let proper = ProperColouring { graph: "g".into() };
            prop_assert!(judge(&proper, &host, U32, &all).is_ok());
            let maximal = MaximalIndependentSet { graph: "g".into() };
            prop_assert!(judge(&maximal, &host, U32, &set).is_ok());
        }

        #[test]
        fn permutations_have_every_element_as_often(
            values in prop::collection::vec(0_u32..9, 1..20), at: prop::sample::Index, by in 1_u32..9,
        ) {
            let host = host(grid(1, 1).unwrap(), &values);
            let mut turned: Vec<u64> = values.iter().rev().map(|value| u64::from(*value)).collect();
            prop_assert!(judge(&Permutation("a".into()), &host, U32, &turned).is_ok());
            turned[at.index(values.len())] += u64::from(by);
            prop_assert!(judge(&Permutation("a".into()), &host, U32, &turned).is_err());
        }
    }
}
