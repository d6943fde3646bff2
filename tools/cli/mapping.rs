//! `warpweave analyze mapping`: mappings of work-groups to compute units that fetch few lines, as
//! predicted from the code.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Value, json};
use warpweave_affine::{Cause, LaunchHead, LineSets, analyse};
use warpweave_files::{Budget, Ledger, OutputFolder};
use warpweave_params::{Diagnostic, printable_lines};
use warpweave_systems::mappings::{Score, Search, search};
use warpweave_systems::report::CsvTable;

use crate::affine::{Group, of_program, recorded};
use crate::arguments::power_of_two;
use crate::outcome::{CommandResult, Failure, to_stdout};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Scenario, or program trace from `trace record`, whose launches are mapped.
    file: PathBuf,
    /// Number of compute units of the machine.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    units: u32,
    /// Work-groups that a unit runs at once; its cache is taken to hold the lines of as many.
    #[arg(long, value_name = "N", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    resident: u32,
    /// Number of mappings to show and to write for each launch.
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    best: u32,
    /// Write the best mappings to this new folder: `1.ron`, `2.ron`, …, for `work_groups` of a
    /// scenario.
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,
    /// Search only for launches of this kernel.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Size of a cache line in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 128, value_parser = power_of_two)]
    line_bytes: u64,
    /// Override a value of a scenario, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Output format: text page, table or JSON.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Human-readable page with a row for each mapping.
    Text,
    /// Table with one row for each mapping.
    Csv,
    /// JSON object with all results of all launches.
    Json,
}

/// Result for launches of equal code, shape and arguments.
struct Found {
    group: Group,
    result: Result<(LineSets, Search), Cause>,
}

pub(crate) fn mapping(arguments: &Arguments, budget: &Budget) -> CommandResult {
    if let Some(folder) = arguments.tables.as_ref().filter(|folder| folder.exists()) {
        let folder = folder.display();
        return Err(Failure::InputText(format!(
            "{folder} already exists\nhint: name another folder with --tables DIR"
        )));
    }
    let program = recorded(&arguments.file, &arguments.sets, budget)?;
    let groups = of_program(&program, arguments.kernel.as_deref(), &arguments.file)?;
    let ledger = Ledger::new(budget);
    let name = arguments.file.display().to_string();
    let charged = ledger.charge(&name, LineSets::BYTES_MAX);
    charged.map_err(|error| Failure::from(Diagnostic::from(error)))?;
    let found = groups.into_iter().map(|group| {
        let head = group.head(&program.allocations);
        let result = searched(&head, arguments);
        Found { group, result }
    });
    let found: Vec<Found> = found.collect();
    let text = match arguments.format {
        Form::Text => printable_lines(&page(arguments, &found)).into_owned(),
        Form::Csv => table(&found),
        Form::Json => {
            let launches: Vec<Value> = found.iter().map(object).collect();
            let whole = json!({
                "program": program.name,
                "units": arguments.units,
                "resident": arguments.resident,
                "line_bytes": arguments.line_bytes,
                "launches": launches,
            });
            let text = serde_json::to_string_pretty(&whole);
            text.expect("objects have text keys only") + "\n"
        }
    };
    if let Some(folder) = &arguments.tables {
        let folder = OutputFolder::create(folder)?;
        for rank in 0..arguments.best as usize {
            let Some(text) = ranked(&found, rank) else {
                break;
            };
            folder.file(&format!("{}.ron", rank + 1), text.as_bytes())?;
        }
        folder.finish()?;
    }
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn searched(head: &LaunchHead<'_>, arguments: &Arguments) -> Result<(LineSets, Search), Cause> {
    let sets = analyse(head).line_sets(head, arguments.line_bytes as u32)?;
    // Nothing is predicted without a load of known addresses.
    if let Some(cause) = sets.causes.first().filter(|_| sets.count == 0) {
        return Err(cause.clone());
    }
    let (units, resident) = (arguments.units, arguments.resident);
    let best = arguments.best as usize;
    let found = search(&sets, head.grid, units, resident, best).ok_or(Cause::TooLarge)?;
    Ok((sets, found))
}

/// Returns what is not exact about the prediction.
fn caveats(sets: &LineSets) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    if !sets.is_exact && sets.causes.is_empty() {
        all.push("upper bounds: some loads may not happen".to_owned());
    }
    all.extend(sets.causes.iter().map(|cause| format!("left out: {cause}")));
    all
}

/// Rows of a launch: the mappings in order, then work-groups in turn.
fn rows(found: &Search) -> impl Iterator<Item = (String, &Score)> {
    let best = found.best.iter();
    let best = best.map(|scored| (scored.mapping.to_string(), &scored.score));
    best.chain([("without mapping".to_owned(), &found.in_turn)])
}

fn page(arguments: &Arguments, found: &[Found]) -> String {
    let mut text = String::new();
    for of in found {
        let _ = writeln!(
            text,
            "{}, {} work-groups on {} units, {} at once",
            of.group.title(),
            of.group
                .grid
                .iter()
                .map(|&extent| u64::from(extent))
                .product::<u64>(),
            arguments.units,
            arguments.resident
        );
        let (sets, search) = match &of.result {
            Ok(found) => found,
            Err(cause) => {
                let _ = writeln!(text, "  not searched: {cause}");
                continue;
            }
        };
        let _ = writeln!(
            text,
            "  {:<28} {:>13}  {:>11}  {:>8}",
            "mapping", "lines fetched", "of unmapped", "loads"
        );
        for (name, score) in rows(search) {
            let share = 100.0 * score.fetched as f64 / search.in_turn.fetched.max(1) as f64;
            let loads = format!("{} to {}", score.longest - score.apart, score.longest);
            let _ = writeln!(
                text,
                "  {name:<28} {:>13}  {share:>9.1} %  {loads:>8}",
                score.fetched
            );
        }
        let _ = writeln!(
            text,
            "  {} mappings compared; {} different lines are loaded",
            search.candidates, sets.count
        );
        for caveat in caveats(sets) {
            let _ = writeln!(text, "  {caveat}");
        }
    }
    text
}

fn table(found: &[Found]) -> String {
    let mut table = CsvTable::new(&[
        "launch",
        "kernel",
        "rank",
        "mapping",
        "lines_fetched",
        "lines",
        "load_least",
        "load_most",
        "is_exact",
        "cause",
    ]);
    for of in found {
        let launch = of.group.launches.first().map(ToString::to_string);
        let first = [launch.unwrap_or_default(), of.group.code.name.clone()];
        match &of.result {
            Err(cause) => {
                let empty = [const { String::new() }; 6];
                let rest = ["false".to_owned(), cause.to_string()];
                table.row([&first[..], &empty, &rest].concat());
            }
            Ok((sets, search)) => {
                for (rank, (name, score)) in rows(search).enumerate() {
                    let is_mapping = rank < search.best.len();
                    let rest = [
                        if is_mapping {
                            (rank + 1).to_string()
                        } else {
                            String::new()
                        },
                        name,
                        score.fetched.to_string(),
                        sets.count.to_string(),
                        (score.longest - score.apart).to_string(),
                        score.longest.to_string(),
                        sets.is_exact.to_string(),
                        caveats(sets).join("; "),
                    ];
                    table.row([&first[..], &rest].concat());
                }
            }
        }
    }
    table.take()
}

fn object(of: &Found) -> Value {
    let score = |(name, score): (String, &Score)| {
        json!({
            "mapping": name,
            "lines_fetched": score.fetched,
            "loads": [score.longest - score.apart, score.longest],
        })
    };
    let head = json!({ "kernel": of.group.code.name, "launches": of.group.launches });
    let rest = match &of.result {
        Err(cause) => json!({ "cause": cause.to_string() }),
        Ok((sets, search)) => json!({
            "lines": sets.count,
            "is_exact": sets.is_exact,
            "caveats": caveats(sets),
            "candidates": search.candidates,
            "mappings": rows(search).map(score).collect::<Vec<Value>>(),
        }),
    };
    let (mut all, rest) = (head, rest);
    if let (Some(all), Some(rest)) = (all.as_object_mut(), rest.as_object()) {
        all.extend(rest.clone());
    }
    all
}

/// Writes the table with the mappings of one rank, or the last ones of launches with fewer. `None`
/// if no launch has so many.
fn ranked(found: &[Found], rank: usize) -> Option<String> {
    let known = found
        .iter()
        .filter_map(|of| Some((&of.group, &of.result.as_ref().ok()?.1)));
    let known: Vec<(&Group, &Search)> = known.collect();
    if !known.iter().any(|(_, search)| rank < search.best.len()) {
        return None;
    }
    let mut text = String::from("WorkGroups(\n    tables: [\n");
    for (group, search) in known {
        let Some(scored) = search.best.get(rank).or(search.best.last()) else {
            continue;
        };
        let _ = writeln!(text, "        // {}: {}.", group.code.name, scored.mapping);
        let _ = writeln!(text, "        (");
        let _ = writeln!(text, "            launches: {:?},", group.launches);
        let _ = writeln!(text, "            units: [");
        for order in &scored.orders {
            let _ = writeln!(text, "                {order:?},");
        }
        text.push_str("            ],\n        ),\n");
    }
    text.push_str("    ],\n)\n");
    Some(text)
}
