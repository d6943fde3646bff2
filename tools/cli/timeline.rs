//! `warpweave timeline`: shows the longest waits in a recorded run, with their reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use warpweave_params::printable_lines;
use warpweave_systems::any_index;
use warpweave_systems::report::CsvTable;
use warpweave_waves::{Sum, TimelineError, Waited};

use crate::outcome::{CommandResult, Failure, to_stdout};

/// Number of picoseconds in a microsecond.
const MICROSECOND: f64 = 1e6;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Timeline written by `run --record FILE.pftrace`.
    file: PathBuf,
    /// Number of rows in each table of the page.
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,
    /// Output format on standard output; a table has all rows.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Human-readable page with the longest waits.
    Text,
    /// Table with the columns component, part, reason, waits, time, instances, worst instance.
    Csv,
}

/// Waits summed over all instances that differ in their index only.
#[derive(Default)]
struct Folded {
    sum: Sum,
    instances: BTreeSet<String>,
    /// Longest total wait of one instance, with its name.
    worst: (u64, String),
}

/// Component, part within it, and reason, followed by the waits.
type Row = ((String, Option<String>, String), Folded);

pub(crate) fn timeline(arguments: &Arguments) -> CommandResult {
    let name = arguments.file.display();
    let file = File::open(&arguments.file);
    let file = file.map_err(|error| Failure::InputText(format!("{name}: {error}")))?;
    let waited = Waited::read(BufReader::new(file)).map_err(|error| {
        let hint = match error {
            TimelineError::Damaged { .. } => {
                "\nhint: only timelines completed by `warpweave run --record FILE.pftrace` can be read"
            }
            TimelineError::Unreadable(_) => "",
        };
        Failure::InputText(format!("{name}: {error}{hint}"))
    })?;
    let rows = folded(&waited);
    let text = match arguments.format {
        Form::Text => page(&waited, &rows, arguments.top),
        Form::Csv => table(&rows),
    };
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Sums the waits of instances that differ only in their index, largest first.
fn folded(waited: &Waited) -> Vec<Row> {
    let mut rows: BTreeMap<(String, Option<String>, String), Folded> = BTreeMap::new();
    for (waiting, sum) in &waited.waits {
        let pattern = any_index(&waiting.component);
        let key = (pattern, waiting.thing.clone(), waiting.reason.clone());
        let row = rows.entry(key).or_default();
        row.sum.waits += sum.waits;
        row.sum.time = row.sum.time.saturating_add(sum.time);
        row.sum.longest = row.sum.longest.max(sum.longest);
        row.instances.insert(waiting.component.clone());
        if sum.time > row.worst.0 {
            row.worst = (sum.time, waiting.component.clone());
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.sum.time));
    rows
}

fn page(waited: &Waited, rows: &[Row], top: usize) -> String {
    let mut out = String::new();
    let us = |time: u64| time as f64 / MICROSECOND;
    let (from, until) = waited.span.unwrap_or_default();
    let _ = writeln!(out, "from {:.3} to {:.3} us", us(from), us(until));
    // All components between host and units see a kernel; the first of them sees it longest.
    let host = waited.kernels.iter().min_by_key(|kernel| kernel.from);
    let kernels = waited.kernels.iter();
    let mut kernels: Vec<_> = kernels
        .filter(|kernel| host.is_some_and(|host| host.component == kernel.component))
        .collect();
    if !kernels.is_empty() {
        kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.until - kernel.from));
        let left = kernels.len().saturating_sub(top);
        let _ = writeln!(
            out,
            "\n{:<40}{:>12}{:>12}{:>12}",
            "kernels", "from us", "to us", "us"
        );
        for kernel in kernels.iter().take(top) {
            let _ = writeln!(
                out,
                "  {:<38}{:>12.3}{:>12.3}{:>12.3}",
                kernel.name,
                us(kernel.from),
                us(kernel.until),
                us(kernel.until - kernel.from)
            );
        }
        if left > 0 {
            let _ = writeln!(out, "  and {left} shorter");
        }
    }
    for (title, things) in [
        ("waits of components", false),
        ("waits of items within components", true),
    ] {
        let of_table: Vec<&Row> = rows
            .iter()
            .filter(|((_, thing, _), _)| thing.is_some() == things)
            .collect();
        if of_table.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "\n{title:<64}{:>12}{:>8}{:>10}{:>12}  worst instance",
            "us", "share", "waits", "longest us"
        );
        for ((component, thing, reason), row) in of_table.iter().take(top) {
            let who = match thing {
                Some(thing) => format!("{component} {thing}: {reason}"),
                None => format!("{component}: {reason}"),
            };
            // Of the time of all instances; of things there may be many at a time.
            let whole = (until - from) as f64 * row.instances.len() as f64;
            let share = if things || whole == 0.0 {
                String::new()
            } else {
                format!("{:.1}%", 100.0 * row.sum.time as f64 / whole)
            };
            let _ = writeln!(
                out,
                "  {who:<62}{:>12.3}{share:>8}{:>10}{:>12.3}  {} {:.3} us",
                us(row.sum.time),
                row.sum.waits,
                us(row.sum.longest),
                row.worst.1,
                us(row.worst.0)
            );
        }
        if of_table.len() > top {
            let _ = writeln!(out, "  and {} smaller", of_table.len() - top);
        }
    }
    printable_lines(&out).into_owned()
}

fn table(rows: &[Row]) -> String {
    let mut table = CsvTable::new(&[
        "component",
        "thing",
        "reason",
        "waits",
        "time_ps",
        "longest_ps",
        "instances",
        "worst_instance",
        "worst_ps",
    ]);
    for ((component, thing, reason), row) in rows {
        table.row([
            component,
            thing.as_deref().unwrap_or_default(),
            reason,
            &row.sum.waits.to_string(),
            &row.sum.time.to_string(),
            &row.sum.longest.to_string(),
            &row.instances.len().to_string(),
            &row.worst.1,
            &row.worst.0.to_string(),
        ]);
    }
    table.take()
}
