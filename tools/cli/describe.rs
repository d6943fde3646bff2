//! `warpweave describe`.

use std::fmt::Write as _;
use std::process::ExitCode;

use warpweave_systems::standard_registry;

use crate::outcome::{CommandResult, to_stdout};

pub(crate) fn describe(name: &str) -> CommandResult {
    let registry = standard_registry();
    let Some(kind) = registry.get(name) else {
        return Err(registry.unknown(name).into());
    };
    let mut text = format!("{}: {}\n\nfields\n", kind.name, kind.summary);
    for field in kind.fields() {
        let need = if field.required { "" } else { ", optional" };
        let _ = writeln!(text, "  {} ({}{need})", field.name, field.kind);
        if !field.doc.is_empty() {
            let _ = writeln!(text, "      {}", field.doc);
        }
    }
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}
