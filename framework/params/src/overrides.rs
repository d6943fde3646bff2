//! Overrides, which replace one value of a description by path, as `--set l1.ways=16` does.
//!
//! A path consists of names and indices: `l1.ways`, `timing.tCL`, `wires[2].latency`. Names match
//! struct fields and text keys of maps. A key that is not a plain name is quoted:
//! `parts."cu[i]".schedulers`. `Some(..)` is looked through. The text of an override is a source of
//! its own, so messages point into it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::node::{Field, Kind, Name, Node, Struct, Tuple};
use crate::parse::parse_from;
use crate::source::{Source, Span};
use crate::suggest::name_hint;
use crate::{Diagnostic, Diagnostics};

/// Behavior when the last name of a path is a field that the description left at its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingField {
    /// Adds the field. If the struct has no such field, reading it later reports the error at the
    /// override.
    Insert,
    /// Returns an error that names the nearest field that is written.
    Refuse,
}

/// Replacement of one value, given by its path.
#[derive(Clone, Debug)]
pub struct Override {
    path: Vec<Step>,
    path_span: Span,
    value: Node,
}

/// One step of a path, with its place.
#[derive(Clone, Debug)]
struct Step {
    key: Key,
    span: Span,
}

/// Field, map key or index that a step selects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Name(String),
    Index(usize),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Override {
    /// Parses `path=value`; messages put `origin`, such as `--set`, before it.
    ///
    /// # Errors
    /// Returns an error if the path or value cannot be read, or if there is no `=`.
    pub fn parse(text: &str, origin: &str) -> Result<Self, Diagnostics> {
        let source = Source::new(format!("{origin} {text}"), text);
        let Some(equals) = unquoted_equals(text) else {
            let place = source.span(0, text.len());
            return Err(
                Diagnostic::error("expected `=` between path and value of an override")
                    .at(&place)
                    .hint("write path=value, such as l1.ways=16")
                    .into(),
            );
        };
        let path_span = source.span(0, equals);
        let path = parse_path(&source, equals)?;
        let value = parse_from(&source, equals + 1)?;
        Ok(Self {
            path,
            path_span,
            value,
        })
    }

    /// Creates an override from a path and the text of a value.
    ///
    /// # Errors
    /// Returns an error if the path or value cannot be read.
    pub fn new(path: &str, value_text: &str, origin: &str) -> Result<Self, Diagnostics> {
        Self::parse(&format!("{path}={value_text}"), origin)
    }

    /// Creates an override whose path and value are in a description file; `place` is the place of
    /// the path.
    ///
    /// # Errors
    /// Returns an error if the path cannot be read.
    pub fn of_value(path: &str, place: &Span, value: Node) -> Result<Self, Diagnostics> {
        let source = Source::new("path", path);
        let mut steps = parse_path(&source, path.len()).map_err(|_| {
            Diagnostic::error(format!("`{path}` is not a path of field names and indices"))
                .at(place)
                .hint("paths look like `timing.tras` or `wires[2].latency`")
        })?;
        for step in &mut steps {
            step.span = place.clone();
        }
        Ok(Self {
            path: steps,
            path_span: place.clone(),
            value,
        })
    }

    /// Returns the path without blanks and quotes, for comparison and display.
    pub fn path(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            if matches!(step.key, Key::Name(_)) && !text.is_empty() {
                text.push('.');
            }
            text.push_str(&step.key.to_string());
        }
        text
    }

    /// Returns the place where the path is written.
    pub fn path_span(&self) -> &Span {
        &self.path_span
    }

    /// Returns the new value that the override sets.
    pub fn value(&self) -> &Node {
        &self.value
    }

    /// Replaces the value at the path within `root`.
    ///
    /// # Errors
    /// Returns an error if a step of the path does not exist; `root` is then unchanged.
    pub fn apply(&self, root: &mut Node, absent: MissingField) -> Result<(), Diagnostic> {
        let mut node = root;
        for (index, step) in self.path.iter().enumerate() {
            let last = index + 1 == self.path.len();
            let insert = last && absent == MissingField::Insert;
            node = match find(node, step, insert)? {
                Found::Value(node) => node,
                Found::MissingField(fields) => {
                    let name = Name {
                        text: step.key.to_string(),
                        span: step.span.clone(),
                    };
                    fields.push(Field {
                        name,
                        value: self.value.clone(),
                    });
                    return Ok(());
                }
            };
        }
        *node = self.value.clone();
        Ok(())
    }
}

/// Reports every path that is overridden more than once in the same place.
pub fn repeated_paths(overrides: &[Override]) -> Diagnostics {
    let mut first: BTreeMap<Vec<&Key>, &Span> = BTreeMap::new();
    let mut problems = Diagnostics::new();
    for replacement in overrides {
        let keys = replacement.path.iter().map(|step| &step.key).collect();
        if let Some(earlier) = first.get(&keys) {
            let message = format!("`{}` is set twice", replacement.path());
            problems.push(
                Diagnostic::error(message)
                    .at(&replacement.path_span)
                    .related("first set here", earlier)
                    .hint("remove one of the two"),
            );
        } else {
            first.insert(keys, &replacement.path_span);
        }
    }
    problems
}

enum Found<'n> {
    Value(&'n mut Node),
    /// The struct does not contain the field yet.
    MissingField(&'n mut Vec<Field>),
}

/// Follows one step of a path.
fn find<'n>(node: &'n mut Node, step: &Step, insert: bool) -> Result<Found<'n>, Diagnostic> {
    // A name that stands for its defaults, such as `Ccws`: reading it later refuses a field that it
    // does not have, at the override.
    if let (Kind::Name(name), Key::Name(_), true) = (&node.kind, &step.key, insert) {
        node.kind = Kind::Struct(Struct {
            name: Some(name.clone()),
            fields: Vec::new(),
        });
    }
    let described = node.describe();
    let owner = node
        .name()
        .map_or_else(|| "this struct".to_owned(), |name| name.text.clone());
    let refuse = |message: String| Diagnostic::error(message).at(&step.span);
    match (&mut node.kind, &step.key) {
        (Kind::Option(Some(inner)), _) => find(inner, step, insert),
        (Kind::List(items) | Kind::Tuple(Tuple { items, .. }), Key::Index(index)) => {
            let count = items.len();
            items.get_mut(*index).map(Found::Value).ok_or_else(|| {
                refuse(format!("index {index} is out of range"))
                    .hint(format!("there are {count} elements, numbered from 0"))
            })
        }
        (Kind::Struct(Struct { fields, .. }), Key::Name(name)) => {
            match fields.iter().position(|field| field.name.text == *name) {
                Some(at) => Ok(Found::Value(&mut fields[at].value)),
                None if insert => Ok(Found::MissingField(fields)),
                None => {
                    let names = fields.iter().map(|field| field.name.text.as_str());
                    let hint = name_hint(name, &format!("fields of {owner}"), names);
                    Err(refuse(format!("unknown field `{name}` in {owner}")).hint(hint))
                }
            }
        }
        (Kind::Map(entries), Key::Name(name)) => {
            let at = entries
                .iter()
                .position(|(key, _)| key.as_str() == Some(name));
            if let Some(at) = at {
                return Ok(Found::Value(&mut entries[at].1));
            }
            let names = entries.iter().filter_map(|(key, _)| key.as_str());
            Err(refuse(format!("unknown key `{name}`")).hint(name_hint(name, "keys", names)))
        }
        // `scheduler.window` while the scheduler is `Lrr`: the path goes through another variant.
        (Kind::Name(name), Key::Name(field)) => Err(refuse(format!(
            "`{field}` cannot be set: the value here is `{}`, which has no fields",
            name.text
        ))
        .related("set here", &name.span)
        .hint("to change the variant, replace the whole value")),
        (_, Key::Name(name)) => Err(refuse(format!("{described} has no field `{name}`"))),
        (_, Key::Index(_)) => Err(refuse(format!("{described} has no elements"))),
    }
}

/// Returns the byte offset of the first `=` outside quotes.
fn unquoted_equals(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b'=' && !quoted
    })
}

/// Parses the path in the first `end` bytes of a source.
fn parse_path(source: &Arc<Source>, end: usize) -> Result<Vec<Step>, Diagnostic> {
    let text = &source.text()[..end];
    let refuse = |message: &str, from: usize, to: usize| {
        Err(Diagnostic::error(message)
            .at(&source.span(from, to))
            .hint("a path consists of names and indices, such as l1.ways or wires[2].latency"))
    };
    let mut at = text.len() - text.trim_start().len();
    let end = text.trim_end().len();
    let mut steps: Vec<Step> = Vec::new();
    while at < end || steps.is_empty() {
        let rest = text.get(at..end).unwrap_or_default();
        let (key, width) = if let Some(inner) = rest.strip_prefix('[') {
            let Some(close) = inner.find(']') else {
                return refuse("missing `]` in the path", at, end);
            };
            let Ok(index) = inner[..close].trim().parse() else {
                return refuse("an index must be a whole number", at + 1, at + 1 + close);
            };
            (Key::Index(index), close + 2)
        } else {
            let dot = usize::from(!steps.is_empty());
            if dot == 1 && !rest.starts_with('.') {
                return refuse("expected `.` or `[` in the path", at, at + 1);
            }
            let rest = &rest[dot..];
            if let Some(inner) = rest.strip_prefix('"') {
                let Some(close) = inner.find('"') else {
                    return refuse("missing quote in the path", at + dot, end);
                };
                (Key::Name(inner[..close].to_owned()), dot + close + 2)
            } else {
                let width = rest.find(['.', '[', '"']).unwrap_or(rest.len());
                if rest[..width].trim().is_empty() {
                    return refuse("missing name in the path", at, at + dot + width);
                }
                (Key::Name(rest[..width].trim().to_owned()), dot + width)
            }
        };
        let name_at = at + usize::from(text[at..].starts_with('.'));
        steps.push(Step {
            key,
            span: source.span(name_at, at + width),
        });
        at += width;
    }
    Ok(steps)
}
