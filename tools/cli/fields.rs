//! Field lists of component kinds and policies, in the terms of description files.

use std::fmt::Write as _;

use warpweave_framework::FieldDoc;

/// Indents each line by two blanks.
pub(crate) fn indented(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let _ = writeln!(lines, "  {line}");
    }
    lines
}

/// Lists the fields of a specification, each with its kind, unit, default and meaning.
pub(crate) fn fields_in_words(fields: &[FieldDoc]) -> String {
    let mut text = String::new();
    for field in fields {
        let need = match (&field.default, field.required) {
            (_, true) => String::new(),
            (Some(default), false) => format!(", default {default}"),
            (None, false) => ", optional".to_owned(),
        };
        let unit = unit(&field.name).map_or_else(String::new, |unit| format!(", {unit}"));
        let kind = in_words(&field.kind);
        let _ = writeln!(text, "  {} ({kind}{unit}{need})", field.name);
        if !field.doc.is_empty() {
            let _ = writeln!(text, "      {}", field.doc);
        }
    }
    text
}

/// Returns the unit given by the suffix of a field's name.
fn unit(name: &str) -> Option<&'static str> {
    let units = ["cycles", "bytes", "bits", "words", "percent"];
    let last = name.rsplit(['.', '_']).next();
    units.into_iter().find(|unit| last == Some(unit))
}

/// Translates the kind of a field to the terms of description files.
fn in_words(kind: &str) -> String {
    kind.split(" | ")
        .filter(|choice| *choice != "None")
        .map(|choice| choice.strip_suffix(" or null").unwrap_or(choice))
        .map(|choice| match choice {
            "object" => "( .. )",
            "uint" | "uint8" | "uint16" | "uint32" | "uint64" | "int32" | "int64" => "integer",
            "float" | "double" => "number",
            other => other,
        })
        .collect::<Vec<_>>()
        .join(" | ")
}

/// Replaces indices, so that `up[3].request` becomes `up[i].request`.
pub(crate) fn any_index(name: &str) -> String {
    let mut pieces = name.split('[');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.split_once(']').map_or("", |(_, rest)| rest);
        let _ = write!(text, "[i]{rest}");
    }
    text
}
