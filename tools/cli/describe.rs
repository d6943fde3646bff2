//! `warpweave describe`.

use std::fmt::Write as _;
use std::process::ExitCode;

use warpweave_framework::{FieldDoc, Registry};

use crate::outcome::{CommandResult, to_stdout};
use crate::policies;

pub(crate) fn describe(registry: &Registry, name: &str) -> CommandResult {
    let Some(kind) = registry.get(name) else {
        let policy = policies::find(registry, name).map_err(|problem| {
            // What is no policy either was probably meant to be a kind.
            if name.contains('/') || problem.message.starts_with("several") {
                problem
            } else {
                registry.unknown(name)
            }
        })?;
        to_stdout(&policies::describe(policy))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut text = format!(
        "{}: {}\n\nfields\n",
        kind.name,
        kind.summary.trim_end_matches('.')
    );
    text.push_str(&fields_in_words(&kind.fields()));
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The fields of a specification, each with its kind and meaning.
pub(crate) fn fields_in_words(fields: &[FieldDoc]) -> String {
    let mut text = String::new();
    for field in fields {
        let need = if field.required { "" } else { ", optional" };
        let _ = writeln!(text, "  {} ({}{need})", field.name, in_words(&field.kind));
        if !field.doc.is_empty() {
            let _ = writeln!(text, "      {}", field.doc);
        }
    }
    text
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
