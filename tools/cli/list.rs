//! `warpweave list`: lists component kinds, policies, statistics or description files.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use warpweave_files::{Budget, Ledger};
use warpweave_framework::Registry;
use warpweave_params::{Files, Node, parse, printable};

use crate::outcome::{CommandResult, Failure, to_stdout};
use crate::{policies, stats};

/// Kind of things that can be listed.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Listing {
    /// Component kinds that descriptions can use.
    Components,
    /// Policies of every role, grouped by role.
    Policies,
    /// System files in the folder, with summaries.
    Systems,
    /// Workload files in the folder, with summaries.
    Workloads,
    /// Statistics of every component kind: unit, how instances combine, meaning.
    Stats,
}

pub(crate) fn list(
    registry: &Registry,
    what: Listing,
    folder: &Path,
    budget: &Budget,
) -> CommandResult {
    let text = match what {
        Listing::Components => components(registry),
        Listing::Policies => policies::list(registry),
        Listing::Systems => files(&folder.join("systems"), "System", budget)?,
        Listing::Workloads => files(&folder.join("workloads"), "Workload", budget)?,
        Listing::Stats => stats::list(registry),
    };
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn components(registry: &Registry) -> String {
    let mut text = String::new();
    for kind in registry.kinds() {
        let _ = writeln!(
            text,
            "{:<20} {}",
            kind.name,
            kind.summary.trim_end_matches('.')
        );
    }
    text
}

/// Lists the description files of one sort in a folder, with their summaries.
fn files(folder: &Path, sort: &str, budget: &Budget) -> Result<String, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| {
        Failure::InputText(format!(
            "cannot read {}: {error}\nhint: name the folder of description files with --folder",
            folder.display()
        ))
    })?;
    let mut paths: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    let mut text = String::new();
    for path in paths
        .iter()
        .filter(|p| p.extension().is_some_and(|e| e == "ron"))
    {
        let files = Files::default().charged_to(&Ledger::new(budget));
        let node = parse(&files.description(path, &[])?)?;
        if node.name().is_some_and(|n| n.text == sort) {
            let summary = node
                .field("summary")
                .and_then(Node::as_str)
                .unwrap_or_default();
            let path = path.display().to_string();
            let _ = writeln!(text, "{:<44} {}", printable(&path), printable(summary));
        }
    }
    Ok(text)
}
