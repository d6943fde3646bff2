//! Printer from [`Node`] to RON text. Keeps names and order; parsing the text again gives an equal
//! tree.

use std::fmt::Write as _;

use crate::node::{Kind, Name, Node, Struct, Tuple};

/// Longest value, in characters, that is written on one line.
const LINE_MAX: usize = 72;

/// Returns the tree as an indented RON file that ends with a line break.
pub fn to_ron(node: &Node) -> String {
    let mut text = String::new();
    pretty(&mut text, node, 0);
    text.push('\n');
    text
}

/// Returns the tree as RON text on one line.
pub fn to_ron_line(node: &Node) -> String {
    let mut text = String::new();
    line(&mut text, node);
    text
}

fn pretty(out: &mut String, node: &Node, depth: usize) {
    let short = to_ron_line(node);
    if short.chars().count() + 4 * depth <= LINE_MAX {
        out.push_str(&short);
        return;
    }
    match &node.kind {
        Kind::Option(Some(inner)) => {
            out.push_str("Some(");
            pretty(out, inner, depth);
            out.push(')');
        }
        Kind::List(items) => {
            block(out, depth, ('[', ']'), items, |out, item| {
                pretty(out, item, depth + 1);
            });
        }
        Kind::Tuple(Tuple { name, items }) => {
            head(out, name.as_ref());
            block(out, depth, ('(', ')'), items, |out, item| {
                pretty(out, item, depth + 1);
            });
        }
        Kind::Map(entries) => block(out, depth, ('{', '}'), entries, |out, (key, value)| {
            line(out, key);
            out.push_str(": ");
            pretty(out, value, depth + 1);
        }),
        Kind::Struct(Struct { name, fields }) => {
            head(out, name.as_ref());
            block(out, depth, ('(', ')'), fields, |out, field| {
                word(out, &field.name.text);
                out.push_str(": ");
                pretty(out, &field.value, depth + 1);
            });
        }
        _ => out.push_str(&short),
    }
}

fn block<T>(
    out: &mut String,
    depth: usize,
    (open, close): (char, char),
    items: &[T],
    mut each: impl FnMut(&mut String, &T),
) {
    out.push(open);
    for item in items {
        newline(out, depth + 1);
        each(out, item);
        out.push(',');
    }
    newline(out, depth);
    out.push(close);
}

fn newline(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("    ", depth));
}

fn line(out: &mut String, node: &Node) {
    match &node.kind {
        Kind::Unit => out.push_str("()"),
        Kind::Bool(value) => put(out, value),
        Kind::Int(value) => put(out, value),
        Kind::Float(value) => float(out, *value),
        Kind::Char(value) => character(out, *value),
        Kind::Text(value) => string(out, value),
        Kind::Option(None) => out.push_str("None"),
        Kind::Option(Some(inner)) => {
            out.push_str("Some(");
            line(out, inner);
            out.push(')');
        }
        Kind::Name(name) => word(out, &name.text),
        Kind::List(items) => comma_separated(out, ('[', ']'), items, line),
        Kind::Tuple(Tuple { name, items }) => {
            head(out, name.as_ref());
            comma_separated(out, ('(', ')'), items, line);
        }
        Kind::Map(entries) => comma_separated(out, ('{', '}'), entries, |out, (key, value)| {
            line(out, key);
            out.push_str(": ");
            line(out, value);
        }),
        Kind::Struct(Struct { name, fields }) => {
            head(out, name.as_ref());
            comma_separated(out, ('(', ')'), fields, |out, field| {
                word(out, &field.name.text);
                out.push_str(": ");
                line(out, &field.value);
            });
        }
    }
}

fn comma_separated<T>(
    out: &mut String,
    (open, close): (char, char),
    items: &[T],
    mut each: impl FnMut(&mut String, &T),
) {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        each(out, item);
    }
    out.push(close);
}

fn head(out: &mut String, name: Option<&Name>) {
    if let Some(name) = name {
        word(out, &name.text);
    }
}

/// Writes a name; one that is not a plain identifier is written in RON's raw form.
fn word(out: &mut String, name: &str) {
    let plain = |(index, c): (usize, char)| {
        c == '_' || c.is_alphabetic() || index > 0 && c.is_alphanumeric()
    };
    let reserved = matches!(
        name,
        "true"
            | "false"
            | "None"
            | "Some"
            | "inf"
            | "inff32"
            | "inff64"
            | "NaN"
            | "NaNf32"
            | "NaNf64"
    );
    if reserved || !name.chars().enumerate().all(plain) {
        out.push_str("r#");
    }
    out.push_str(name);
}

fn float(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("NaN");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else {
        // Debug form always carries a point or an exponent, so it reads back as a float.
        write!(out, "{value:?}").expect("writing to a string succeeds");
    }
}

fn character(out: &mut String, value: char) {
    match value {
        '\'' | '\\' => out.extend(['\'', '\\', value, '\'']),
        _ if value.is_control() => {
            write!(out, "'\\u{{{:x}}}'", u32::from(value)).expect("writing to a string succeeds");
        }
        _ => out.extend(['\'', value, '\'']),
    }
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c.is_control() => {
                write!(out, "\\u{{{:x}}}", u32::from(c)).expect("writing to a string succeeds");
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

fn put(out: &mut String, value: &impl std::fmt::Display) {
    write!(out, "{value}").expect("writing to a string succeeds");
}
