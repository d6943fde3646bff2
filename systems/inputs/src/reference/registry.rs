//! References and properties by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use warpweave_params::{Diagnostic, Diagnostics, Node, Placed, from_node, name_hint};

use super::{Judgement, Property, Question, Reference, Shape};

/// The references that descriptions may name.
#[derive(Clone, Debug, Default)]
pub struct References {
    kinds: BTreeMap<&'static str, fn(&Node) -> Result<Answer, Diagnostics>>,
    properties: BTreeMap<&'static str, fn(&Node) -> Result<Claim, Diagnostics>>,
}

/// A property of any kind, with its parameters.
#[derive(Clone)]
pub struct Claim {
    name: &'static str,
    property: Arc<dyn AnyProperty>,
}

/// A property whose kind is forgotten.
trait AnyProperty: fmt::Debug + Send + Sync {
    fn shape_of(&self, question: &Question<'_>) -> Result<Shape, Diagnostic>;
    fn judge_of(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic>;
}

impl<P: Property> AnyProperty for P {
    fn shape_of(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.shape(question)
    }

    fn judge_of(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic> {
        self.judge(question, found)
    }
}

impl<P: Property> From<P> for Claim {
    fn from(property: P) -> Self {
        Self {
            name: P::NAME,
            property: Arc::new(property),
        }
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.property.fmt(f)
    }
}

impl Claim {
    /// Name of the property in description files and reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// See [`Property::shape`].
    ///
    /// # Errors
    /// What is wrong with the parameters, with its place.
    pub fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.property.shape_of(question)
    }

    /// See [`Property::judge`].
    ///
    /// # Errors
    /// An input that has changed since the parameters were checked.
    pub fn judge(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic> {
        self.property.judge_of(question, found)
    }
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

    /// Adds a property.
    ///
    /// # Panics
    /// When another one of this name was added before: a mistake of the program, not of its user.
    pub fn register_property<P: Property>(&mut self) {
        let read = |node: &Node| from_node::<P>(node).map(Claim::from);
        let before = self.properties.insert(P::NAME, read);
        assert!(
            before.is_none(),
            "the property `{}` is registered twice",
            P::NAME
        );
    }

    /// The names of the references in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.kinds.keys().copied()
    }

    /// The names of the properties in alphabetical order.
    pub fn property_names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.properties.keys().copied()
    }

    /// Reads `Name(parameters)`.
    ///
    /// # Errors
    /// A name that is none, with the nearest that is; parameters that are unknown, missing or of
    /// the wrong type. Each with its place.
    pub fn read(&self, node: &Node) -> Result<Placed<Answer>, Diagnostics> {
        read(node, "reference", &self.kinds)
    }

    /// Reads `Name(parameters)` of a property.
    ///
    /// # Errors
    /// As [`References::read`].
    pub fn read_property(&self, node: &Node) -> Result<Placed<Claim>, Diagnostics> {
        read(node, "property", &self.properties)
    }
}

fn read<T>(
    node: &Node,
    what: &str,
    kinds: &BTreeMap<&'static str, fn(&Node) -> Result<T, Diagnostics>>,
) -> Result<Placed<T>, Diagnostics> {
    let plural = match what {
        "property" => "properties",
        _ => "references",
    };
    let names = kinds.keys().copied();
    let Some(name) = node.name() else {
        let message = format!("expected a {what}, found {}", node.describe());
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(Diagnostic::error(message)
            .at(&node.head_span())
            .hint(format!("{plural}: {names}"))
            .into());
    };
    let Some(read) = kinds.get(name.text.as_str()) else {
        return Err(Diagnostic::error(format!("unknown {what} `{}`", name.text))
            .at(&name.span)
            .hint(name_hint(&name.text, plural, names))
            .into());
    };
    Ok(Placed::at(read(node)?, &name.span))
}
