//! Errors of reading a value, passed from the value up to the caller.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::Diagnostic;
use crate::node::Node;
use crate::source::Span;
use crate::suggest::name_hint;

/// A failed read, passed upwards. The innermost value that has a place supplies the place.
#[derive(Debug)]
pub(super) struct TypeError<'de> {
    pub(super) diagnostic: Box<Diagnostic>,
    /// Name of a missing field whose struct is not yet known.
    pub(super) missing: Option<&'static str>,
    /// The value whose contents were rejected, if that is the reason.
    pub(super) refused: Option<&'de Node>,
    /// The innermost part that can be left out so that the rest is readable.
    pub(super) part: Option<&'de Node>,
}

impl<'de> TypeError<'de> {
    pub(super) fn new(diagnostic: Diagnostic) -> Self {
        Self {
            diagnostic: Box::new(diagnostic),
            missing: None,
            refused: None,
            part: None,
        }
    }

    /// Sets the place of an error without one to `node`, the value whose contents were rejected.
    pub(super) fn at_node(mut self, node: &'de Node) -> Self {
        if self.diagnostic.place.is_none() {
            self.diagnostic.place = Some(node.head_span());
            self.refused = Some(node);
        }
        self
    }

    pub(super) fn at(mut self, place: impl FnOnce() -> Span) -> Self {
        self.diagnostic.place.get_or_insert_with(place);
        self
    }

    /// Marks the error as caused by this element, entry or field.
    pub(super) fn within(mut self, part: &'de Node) -> Self {
        self.part.get_or_insert(part);
        self
    }
}

impl fmt::Display for TypeError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl std::error::Error for TypeError<'_> {}

impl de::Error for TypeError<'_> {
    fn custom<T: fmt::Display>(message: T) -> Self {
        // A hint may follow the sentence on a line of its own.
        let message = message.to_string();
        Self::new(match message.split_once("\nhint: ") {
            Some((sentence, hint)) => Diagnostic::error(sentence).hint(hint),
            None => Diagnostic::error(message),
        })
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!(
            "expected {expected}, found {}",
            describe(&found)
        ))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::custom(format_args!(
            "expected {expected}, found {}",
            elements(found)
        ))
    }

    fn unknown_variant(found: &str, valid: &'static [&'static str]) -> Self {
        let hint = name_hint(found, "variants", valid.iter().copied());
        Self::new(Diagnostic::error(format!("unknown variant `{found}`")).hint(hint))
    }

    fn unknown_field(found: &str, valid: &'static [&'static str]) -> Self {
        let hint = name_hint(found, "fields", valid.iter().copied());
        Self::new(Diagnostic::error(format!("unknown field `{found}`")).hint(hint))
    }

    fn missing_field(field: &'static str) -> Self {
        let mut error = Self::new(Diagnostic::error(format!("missing field `{field}`")));
        error.missing = Some(field);
        error
    }
}

/// Describes the value that serde found, in the wording of [`Node::describe`].
fn describe(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("boolean `{value}`"),
        Unexpected::Unsigned(value) => format!("integer `{value}`"),
        Unexpected::Signed(value) => format!("integer `{value}`"),
        Unexpected::Float(value) => format!("number `{value}`"),
        Unexpected::Char(value) => format!("character {value:?}"),
        Unexpected::Str(value) => format!("string {value:?}"),
        Unexpected::Unit => "unit `()`".to_owned(),
        Unexpected::Option => "an option".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map or struct".to_owned(),
        Unexpected::Enum => "a name".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn elements(count: usize) -> String {
    if count == 1 {
        "1 element".to_owned()
    } else {
        format!("{count} elements")
    }
}
