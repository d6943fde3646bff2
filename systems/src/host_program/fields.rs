//! Reads named fields and choices off the tree of a description file.

use warpweave_params::{Diagnostic, Diagnostics, Field, Kind, Node, name_hint};

use super::description::{Name, Number, Placed, Value};

/// The fields of one struct, refused when unknown.
pub(super) struct Fields<'n> {
    node: &'n Node,
    owner: &'static str,
}

impl<'n> Fields<'n> {
    /// Looks at a struct with these fields.
    pub(super) fn of(
        node: &'n Node,
        owner: &'static str,
        valid: &[&str],
    ) -> Result<Self, Diagnostics> {
        if !matches!(node.kind, Kind::Struct(_)) {
            let shape = valid
                .first()
                .map_or_else(String::new, |field| format!("{field}: .."));
            let hint = format!("write `{owner}({shape})` with fields: {}", valid.join(", "));
            return Err(expected(node, &format!("{owner} with named fields"))
                .hint(hint)
                .into());
        }
        let unknown = |field: &&Field| !valid.contains(&field.name.text.as_str());
        let problems: Diagnostics = node
            .fields()
            .iter()
            .filter(unknown)
            .map(|Field { name, .. }| {
                let what = format!("fields of {owner}");
                Diagnostic::error(format!("unknown field `{}` in {owner}", name.text))
                    .at(&name.span)
                    .hint(name_hint(&name.text, &what, valid.iter().copied()))
            })
            .collect();
        problems.into_result(Self { node, owner })
    }

    pub(super) fn optional(&self, name: &str) -> Option<&'n Node> {
        self.node.field(name)
    }

    pub(super) fn required(&self, name: &str) -> Result<&'n Node, Diagnostic> {
        self.node.field(name).ok_or_else(|| {
            Diagnostic::error(format!("missing field `{name}` in {}", self.owner))
                .at(&self.node.head_span())
                .hint(format!("add `{name}: ..`"))
        })
    }

    pub(super) fn name(&self, field: &str) -> Result<Name, Diagnostic> {
        text(self.required(field)?)
    }

    pub(super) fn value(&self, field: &str) -> Result<Value, Diagnostic> {
        value(self.required(field)?)
    }

    pub(super) fn value_or(&self, field: &str, default: u32) -> Result<Value, Diagnostic> {
        self.optional(field)
            .map_or_else(|| Ok(default.into()), value)
    }

    pub(super) fn items(&self, field: &str) -> Result<&'n [Node], Diagnostic> {
        let node = self.required(field)?;
        match &node.kind {
            Kind::List(items) => Ok(items),
            _ => Err(expected(node, "a list `[..]`")),
        }
    }
}

/// "expected ..., found ..." at a node.
pub(super) fn expected(node: &Node, what: &str) -> Diagnostic {
    Diagnostic::error(format!("expected {what}, found {}", node.describe())).at(&node.head_span())
}

/// The name of `Name`, `Name(..)`, one of `valid`.
pub(super) fn variant<'n>(
    node: &'n Node,
    what: &str,
    valid: &[&'static str],
) -> Result<&'n str, Diagnostic> {
    let Some(name) = node.name() else {
        let hint = format!("{what}s: {}", valid.join(", "));
        return Err(expected(node, &format!("a {what}")).hint(hint));
    };
    if valid.contains(&name.text.as_str()) {
        return Ok(&name.text);
    }
    Err(Diagnostic::error(format!("unknown {what} `{}`", name.text))
        .at(&name.span)
        .hint(name_hint(
            &name.text,
            &format!("{what}s"),
            valid.iter().copied(),
        )))
}

/// The elements of `Name(a, b)`.
pub(super) fn positional<const N: usize>(node: &Node) -> Result<&[Node; N], Diagnostic> {
    if let (Kind::Tuple(_), Ok(items)) = (&node.kind, node.items().try_into()) {
        return Ok(items);
    }
    let name = node.name().map_or("", |name| &name.text);
    let count = if N == 1 {
        "1 value".to_owned()
    } else {
        format!("{N} values")
    };
    let message = format!("`{name}` takes {count} in parentheses");
    Err(Diagnostic::error(message).at(&node.head_span()))
}

/// A string.
pub(super) fn text(node: &Node) -> Result<Name, Diagnostic> {
    match node.as_str() {
        Some(text) => Ok(Placed::at(text.to_owned(), &node.span)),
        None => Err(expected(node, "a string")),
    }
}

/// A number or an expression.
pub(super) fn value(node: &Node) -> Result<Value, Diagnostic> {
    match &node.kind {
        Kind::Int(number) => Ok(Value::int(*number, &node.span)),
        Kind::Float(number) => Ok(Placed::at(Number::Float(*number), &node.span)),
        Kind::Text(text) if text.starts_with('=') => Ok(Placed::at(
            Number::Expression(text[1..].to_owned()),
            &node.span,
        )),
        Kind::Text(text) => {
            Err(expected(node, "a number or an expression").hint(format!("write \"={text}\"")))
        }
        _ => Err(expected(node, "a number or an expression such as \"=n\"")),
    }
}

/// Entries of a map with string keys.
pub(super) fn entries(node: &Node) -> Result<Vec<(Name, &Node)>, Diagnostics> {
    if !matches!(node.kind, Kind::Map(_)) {
        return Err(expected(node, "a map `{ \"name\": .. }`").into());
    }
    let mut problems = Diagnostics::new();
    let mut list = Vec::new();
    for (key, value) in node.entries() {
        if let Some(name) = problems.take(text(key)) {
            list.push((name, value));
        }
    }
    problems.into_result(list)
}
