//! Properties of results: what holds of every right answer where there are many.

use std::cmp::Ordering;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use warpweave_params::Diagnostic;

use super::{Question, Shape};
use crate::Name;
use crate::element::ElementType;

/// What a description can ask of a buffer without knowing its contents. Its fields are the parameters there.
pub trait Property: DeserializeOwned + fmt::Debug + Send + Sync + 'static {
    /// Name in description files and reports, such as `ProperColouring`.
    const NAME: &'static str;

    /// Checks the parameters; tells what a buffer must look like.
    ///
    /// # Errors
    /// What is wrong with the parameters, with its place.
    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic>;

    /// Whether `found`, the words of the buffer under test, has the property; with it what to say of the buffer.
    /// Asked only when [`Property::shape`] has found nothing wrong.
    ///
    /// # Errors
    /// An input that has changed since.
    fn judge(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic>;
}

/// What is said of a buffer that has a property, or of one that has not: where it fails first.
pub type Judgement = Result<String, String>;

/// Every vertex has another colour than those to which it has arcs; loops count for nothing.
#[derive(Debug, Deserialize)]
pub struct ProperColouring {
    /// The graph; the buffer holds a colour for each vertex.
    pub graph: Name,
}

/// The vertices whose element is not zero have no arcs among each other, and every other vertex has an arc to
/// one of them or from one.
#[derive(Debug, Deserialize)]
pub struct MaximalIndependentSet {
    /// The graph; the buffer holds an element for each vertex.
    pub graph: Name,
}

/// The elements are those that a buffer holds before the program runs, each as often, in any order.
#[derive(Debug, Deserialize)]
pub struct Permutation(pub Name);

/// No element is less than the one before; none is NaN.
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
                    "vertices {vertex} and {other} are neighbours and both have colour {colour}"
                )));
            }
        }
        colours.sort_unstable();
        colours.dedup();
        Ok(Ok(format!("{} colours, none beside itself", colours.len())))
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
                        "vertices {vertex} and {other} are neighbours and both in the set"
                    )));
                }
                has_neighbour[other as usize] |= is_in(vertex);
                has_neighbour[vertex as usize] |= is_in(other);
            }
        }
        let left_out = |vertex: &u32| !is_in(*vertex) && !has_neighbour[*vertex as usize];
        if let Some(vertex) = (0..graph.vertices()).find(left_out) {
            return Ok(Err(format!("vertex {vertex} could be in the set too")));
        }
        let members = (0..graph.vertices())
            .filter(|vertex| is_in(*vertex))
            .count();
        Ok(Ok(format!(
            "{members} members, none beside another, none missing"
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
            None => Ok(format!("{} elements, each as often", tested.length)),
            Some((given, found)) => {
                let (missing, pattern) = (given < found, given.min(found));
                let value = tested.element.text(*pattern);
                let how = if missing { "fewer" } else { "more" };
                Err(format!(
                    "{value} is there {how} times than in `{}`",
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
