//! `warpweave describe`.

use std::fmt::Write as _;
use std::process::ExitCode;

use warpweave_framework::Registry;

use crate::outcome::{CommandResult, to_stdout};

pub(crate) fn describe(registry: &Registry, name: &str) -> CommandResult {
    let Some(kind) = registry.get(name) else {
        return Err(registry.unknown(name).into());
    };
    let mut text = format!(
        "{}: {}\n\nfields\n",
        kind.name,
        kind.summary.trim_end_matches('.')
    );
    for field in kind.fields() {
        let need = if field.required { "" } else { ", optional" };
        let _ = writeln!(text, "  {} ({}{need})", field.name, in_words(&field.kind));
        if !field.doc.is_empty() {
            let _ = writeln!(text, "      {}", field.doc);
        }
    }
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The kind of a field in the words of description files.
fn in_words(kind: &str) -> String {
    kind.split(" | ")
        .filter(|choice| *choice != "None")
        .map(|choice| match choice {
            "object" => "( .. )",
            "uint" | "uint8" | "uint16" | "uint32" | "uint64" | "int32" | "int64" => "integer",
            "float" | "double" => "number",
            other => other,
        })
        .collect::<Vec<_>>()
        .join(" | ")
}
