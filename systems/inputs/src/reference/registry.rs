//! References by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use warpweave_params::{Diagnostic, Diagnostics, Node, Placed, from_node, name_hint};

use super::{Question, Reference, Shape};

/// The references that descriptions may name.
#[derive(Clone, Debug, Default)]
pub struct References {
    kinds: BTreeMap<&'static str, fn(&Node) -> Result<Answer, Diagnostics>>,
}

/// A reference of any kind, with its parameters.
#[derive(Clone)]
pub struct Answer {
    name: &'static str,
    reference: Arc<dyn AnyReference>,
}

/// A reference whose kind is forgotten.
trait AnyReference: fmt::Debug + Send + Sync {
    fn shape_of(&self, question: &Question<'_>) -> Result<Shape, Diagnostic>;
    fn words_of(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic>;
}

impl<R: Reference> AnyReference for R {
    fn shape_of(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.shape(question)
    }

    fn words_of(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        self.words(question)
    }
}

impl<R: Reference> From<R> for Answer {
    fn from(reference: R) -> Self {
        Self {
            name: R::NAME,
            reference: Arc::new(reference),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reference.fmt(f)
    }
}

impl Answer {
    /// Name of the reference in description files and reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// See [`Reference::shape`].
    ///
    /// # Errors
    /// What is wrong with the parameters, with its place.
    pub fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.reference.shape_of(question)
    }

    /// See [`Reference::words`].
    ///
    /// # Errors
    /// An input that has changed since the parameters were checked.
    pub fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        self.reference.words_of(question)
    }
}

impl References {
    /// No references.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reference.
    ///
    /// # Panics
    /// When another one of this name was added before: a mistake of the program, not of its user.
    pub fn register<R: Reference>(&mut self) {
        let read = |node: &Node| from_node::<R>(node).map(Answer::from);
        let before = self.kinds.insert(R::NAME, read);
        assert!(
            before.is_none(),
            "the reference `{}` is registered twice",
            R::NAME
        );
    }

    /// The names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.kinds.keys().copied()
    }

    /// Reads `Name(parameters)`.
    ///
    /// # Errors
    /// A name that is none, with the nearest that is; parameters that are unknown, missing or of
    /// the wrong type. Each with its place.
    pub fn read(&self, node: &Node) -> Result<Placed<Answer>, Diagnostics> {
        let Some(name) = node.name() else {
            let message = format!("expected a reference, found {}", node.describe());
            let names = self.names().collect::<Vec<_>>().join(", ");
            return Err(Diagnostic::error(message)
                .at(&node.head_span())
                .hint(format!("references: {names}"))
                .into());
        };
        let Some(read) = self.kinds.get(name.text.as_str()) else {
            return Err(
                Diagnostic::error(format!("unknown reference `{}`", name.text))
                    .at(&name.span)
                    .hint(name_hint(&name.text, "references", self.names()))
                    .into(),
            );
        };
        Ok(Placed::at(read(node)?, &name.span))
    }
}
