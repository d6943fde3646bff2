//! Registry of references and properties by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use warpweave_params::{Diagnostic, Diagnostics, Node, Placed, from_node, name_hint};

use super::{Judgement, Property, Question, Reference, Shape};

/// References and properties that descriptions may refer to.
#[derive(Clone, Debug, Default)]
pub struct References {
    kinds: BTreeMap<&'static str, fn(&Node) -> Result<Answer, Diagnostics>>,
    properties: BTreeMap<&'static str, fn(&Node) -> Result<Claim, Diagnostics>>,
}

/// Property of any kind, with its parameters.
#[derive(Clone)]
pub struct Claim {
    name: &'static str,
    property: Arc<dyn AnyProperty>,
}

/// Type-erased property, for dynamic dispatch.
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
    /// Returns the property's name in description files and reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Checks the parameters. See [`Property::shape`].
    ///
    /// # Errors
    /// Returns the error in the parameters, with its position.
    pub fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.property.shape_of(question)
    }

    /// Checks the property on a buffer. See [`Property::judge`].
    ///
    /// # Errors
    /// Returns an error if an input has changed since the parameters were checked.
    pub fn judge(&self, question: &Question<'_>, found: &[u32]) -> Result<Judgement, Diagnostic> {
        self.property.judge_of(question, found)
    }
}

/// Reference of any kind, with its parameters.
#[derive(Clone)]
pub struct Answer {
    name: &'static str,
    reference: Arc<dyn AnyReference>,
}

/// Type-erased reference, for dynamic dispatch.
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
    /// Returns the reference's name in description files and reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Checks the parameters. See [`Reference::shape`].
    ///
    /// # Errors
    /// Returns the error in the parameters, with its position.
    pub fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.reference.shape_of(question)
    }

    /// Computes the expected result. See [`Reference::words`].
    ///
    /// # Errors
    /// Returns an error if an input has changed since the parameters were checked.
    pub fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        self.reference.words_of(question)
    }
}

impl References {
    /// Creates a registry without references or properties.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reference under its name.
    ///
    /// # Panics
    /// Panics if another one of this name was added before. This is a programming error, not a user
    /// error.
    pub fn register<R: Reference>(&mut self) {
        let read = |node: &Node| from_node::<R>(node).map(Answer::from);
        let before = self.kinds.insert(R::NAME, read);
        assert!(
            before.is_none(),
            "the reference `{}` is registered twice",
            R::NAME
        );
    }

    /// Adds a property under its name.
    ///
    /// # Panics
    /// Panics if another one of this name was added before. This is a programming error, not a user
    /// error.
    pub fn register_property<P: Property>(&mut self) {
        let read = |node: &Node| from_node::<P>(node).map(Claim::from);
        let before = self.properties.insert(P::NAME, read);
        assert!(
            before.is_none(),
            "the property `{}` is registered twice",
            P::NAME
        );
    }

    /// Iterates over the names of the references in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.kinds.keys().copied()
    }

    /// Iterates over the names of the properties in alphabetical order.
    pub fn property_names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.properties.keys().copied()
    }

    /// Parses a reference written as `Name(parameters)`.
    ///
    /// # Errors
    /// Returns an error for an unknown name, with the nearest existing one. Parameters that are
    /// unknown, missing or of the wrong type are errors, too. Each has its position.
    pub fn read(&self, node: &Node) -> Result<Placed<Answer>, Diagnostics> {
        read(node, "reference", &self.kinds)
    }

    /// Parses a property written as `Name(parameters)`.
    ///
    /// # Errors
    /// Same as [`References::read`].
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
