//! `warpweave analyze sharing`: what work-groups of a launch share, by line and by word.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Value, json};
use warpweave_accesses::{AccessLog, Kind};
use warpweave_files::{Budget, Ledger, OverBudget};
use warpweave_params::{Diagnostic, printable_lines};
use warpweave_reuse::sharing::{
    ClusterOrder, Effect, LaunchSharing, Reuses, SharingClass, SharingCounts, Touch, TouchOrder,
    cluster_score, sharing_of,
};
use warpweave_systems::report::CsvTable;

use crate::accesses::{is_log, refused};
use crate::affine::recorded;
use crate::outcome::{CommandResult, Failure, to_stdout};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Scenario, program trace (`trace record`), or access log (`run --accesses`).
    file: PathBuf,
    /// Size of a line in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 128, value_parser = line_bytes)]
    line_bytes: u32,
    /// Score divisions of each launch into so many clusters, of rows and of columns.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    clusters: Option<u32>,
    /// Override a value of a scenario, `path=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Output format: text page, table or JSON.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Human-readable page with a line for each kernel.
    Text,
    /// Table with one row for each kernel.
    Csv,
    /// JSON object with all counts of kernels.
    Json,
}

fn line_bytes(text: &str) -> Result<u32, String> {
    let bytes = text.parse::<u32>().ok();
    let bytes = bytes.filter(|bytes| bytes.is_power_of_two() && (4..=4096).contains(bytes));
    bytes.ok_or_else(|| "a power of two from 4 to 4096".to_owned())
}

/// Launches of kernels with one name.
#[derive(Default)]
struct Kernel {
    name: String,
    launches: u64,
    counts: SharingCounts,
    /// Scores of clusters of rows and of columns.
    scores: Option<[u64; 2]>,
}

impl Kernel {
    fn add(&mut self, counts: &SharingCounts, scores: Option<[u64; 2]>) {
        self.launches += 1;
        self.counts.add(counts);
        if let Some(scores) = scores {
            let sums = self.scores.get_or_insert_default();
            for (sum, score) in sums.iter_mut().zip(scores) {
                *sum += score;
            }
        }
    }
}

/// Kernels of a program, in the order of their first launches.
struct Found {
    program: String,
    kernels: Vec<Kernel>,
    /// True if touches have an order in time.
    in_time: bool,
}

impl Found {
    fn kernel(&mut self, name: &str) -> &mut Kernel {
        let known = self.kernels.iter().position(|kernel| kernel.name == name);
        let number = known.unwrap_or_else(|| {
            self.kernels.push(Kernel {
                name: name.to_owned(),
                ..Kernel::default()
            });
            self.kernels.len() - 1
        });
        &mut self.kernels[number]
    }

    /// Returns the sum over all kernels.
    fn all(&self) -> Kernel {
        let mut all = Kernel {
            name: "all".to_owned(),
            ..Kernel::default()
        };
        for kernel in &self.kernels {
            all.add(&kernel.counts, kernel.scores);
        }
        all.launches = self.kernels.iter().map(|kernel| kernel.launches).sum();
        all
    }
}

pub(crate) fn sharing(arguments: &Arguments, budget: &Budget) -> CommandResult {
    let found = if is_log(&arguments.file)? {
        of_log(arguments, budget)?
    } else {
        of_program(arguments, budget)?
    };
    let text = match arguments.format {
        Form::Text => printable_lines(&page(&found, arguments)).into_owned(),
        Form::Csv => table(&found),
        Form::Json => {
            let kernels: Vec<Value> = found.kernels.iter().map(object).collect();
            let whole = json!({
                "program": found.program, "line_bytes": arguments.line_bytes,
                "in_time": found.in_time, "kernels": kernels, "all": object(&found.all()),
            });
            let text = serde_json::to_string_pretty(&whole);
            text.expect("objects have text keys only") + "\n"
        }
    };
    to_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn over_budget(error: OverBudget) -> Failure {
    Diagnostic::from(error).into()
}

fn of_program(arguments: &Arguments, budget: &Budget) -> Result<Found, Failure> {
    let program = recorded(&arguments.file, &arguments.sets, budget)?;
    let mut found = Found {
        program: program.name.clone(),
        kernels: Vec::new(),
        in_time: false,
    };
    let line_bytes = arguments.line_bytes;
    for launch in &program.kernels {
        let counts = sharing_of(launch, line_bytes, budget).map_err(over_budget)?;
        let score = |order, clusters| cluster_score(launch, order, clusters, line_bytes, budget);
        let scores = arguments.clusters.map(|clusters| {
            let rows = score(ClusterOrder::Rows, clusters)?;
            Ok([rows, score(ClusterOrder::Columns, clusters)?])
        });
        let scores = scores.transpose().map_err(over_budget)?;
        found.kernel(&launch.code.name).add(&counts, scores);
    }
    Ok(found)
}

fn of_log(arguments: &Arguments, budget: &Budget) -> Result<Found, Failure> {
    for (given, flag) in [
        (!arguments.sets.is_empty(), "--set"),
        (arguments.clusters.is_some(), "--clusters"),
    ] {
        if given {
            let message = format!("{flag} is not for access logs: use a scenario or a trace");
            return Err(Failure::InputText(message));
        }
    }
    let ledger = Ledger::new(budget);
    let mut log = AccessLog::open(&arguments.file, &ledger).map_err(refused)?;
    let head = log.head().clone();
    let mut launches: BTreeMap<u32, LaunchSharing> = BTreeMap::new();
    let mut words = Vec::new();
    for record in log.records_from(0) {
        let record = record.map_err(refused)?;
        let effect = match record.kind {
            Kind::Read => Effect::Read,
            Kind::Write | Kind::Atomic => Effect::Write,
            Kind::Prefetch | Kind::CopyBack => continue,
        };
        words.clear();
        let lanes = (0..u32::BITS).filter(|bit| record.words >> bit & 1 != 0);
        words.extend(lanes.map(|bit| record.line / 4 + u64::from(bit)));
        let launch = match launches.entry(record.kernel) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let order = TouchOrder::Mixed;
                let launch = LaunchSharing::new(arguments.line_bytes, order, budget);
                entry.insert(launch.map_err(over_budget)?)
            }
        };
        let touch = Touch {
            work_group: record.work_group,
            effect,
            words: &words,
            bytes_asked: 4 * words.len() as u64,
        };
        launch.touch(&touch).map_err(over_budget)?;
    }
    let mut found = Found {
        program: head.program,
        kernels: Vec::new(),
        in_time: true,
    };
    for (number, launch) in launches {
        let name = head.kernels.get(number as usize);
        let name = name.map_or("", String::as_str);
        found.kernel(name).add(&launch.counts(), None);
    }
    Ok(found)
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}"))
}

fn class(counts: &SharingCounts) -> &'static str {
    SharingClass::of(counts).map_or("-", SharingClass::letter)
}

fn page(found: &Found, arguments: &Arguments) -> String {
    let all = found.all();
    let mut text = format!(
        "{}: {} launches, {} accesses; lines of {} bytes, words of 4\n\n",
        found.program, all.launches, all.counts.accesses, arguments.line_bytes
    );
    let _ = write!(
        text,
        "{:<32}{:>9}{:>11}{:>9}{:>9}{:>11}{:>11}{:>7}",
        "kernel", "launches", "reuses", "by line", "by word", "coalesced", "contested", "class"
    );
    if found.in_time {
        let _ = write!(text, "{:>11}{:>11}", "last, line", "last, word");
    }
    if arguments.clusters.is_some() {
        let _ = write!(text, "{:>13}{:>13}", "rows", "columns");
    }
    text.push('\n');
    let sum = (found.kernels.len() > 1).then_some(&all);
    for kernel in found.kernels.iter().chain(sum) {
        let counts = &kernel.counts;
        let _ = write!(
            text,
            "{:<32}{:>9}{:>11}{:>9}{:>9}{:>11}{:>11}{:>7}",
            kernel.name,
            kernel.launches,
            counts.lines.inter + counts.lines.intra,
            share(counts.lines.inter_share()),
            share(counts.words.inter_share()),
            share(counts.coalescing()),
            counts.contested_lines,
            class(counts)
        );
        if found.in_time {
            let (line, word) = (counts.lines.last_share(), counts.words.last_share());
            let _ = write!(text, "{:>11}{:>11}", share(line), share(word));
        }
        if let Some([rows, columns]) = kernel.scores {
            let _ = write!(text, "{rows:>13}{columns:>13}");
        }
        text.push('\n');
    }
    text
}

/// Formats a row for each kernel, with all counts.
fn table(found: &Found) -> String {
    let mut table = CsvTable::new(&[
        "kernel",
        "launches",
        "accesses",
        "line_touches",
        "line_inter",
        "line_intra",
        "line_last_by_other",
        "inter_share_line",
        "word_touches",
        "word_inter",
        "word_intra",
        "word_last_by_other",
        "inter_share_word",
        "coalescing",
        "contested_lines",
        "class",
        "score_rows",
        "score_columns",
    ]);
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for kernel in &found.kernels {
        let counts = &kernel.counts;
        let reuses = |reuses: &Reuses| {
            let last = found.in_time.then(|| reuses.last_by_other.to_string());
            [
                reuses.touches.to_string(),
                reuses.inter.to_string(),
                reuses.intra.to_string(),
                last.unwrap_or_default(),
                number(reuses.inter_share()),
            ]
        };
        let mut row = vec![
            kernel.name.clone(),
            kernel.launches.to_string(),
            counts.accesses.to_string(),
        ];
        row.extend(reuses(&counts.lines));
        row.extend(reuses(&counts.words));
        row.extend([
            number(counts.coalescing()),
            counts.contested_lines.to_string(),
            class(counts).to_owned(),
        ]);
        let scores = kernel.scores.map(|scores| scores.map(|s| s.to_string()));
        row.extend(scores.unwrap_or_default());
        let row: Vec<&str> = row.iter().map(String::as_str).collect();
        table.row(row);
    }
    table.take()
}

/// Returns all counts of a kernel as JSON.
fn object(kernel: &Kernel) -> Value {
    let counts = &kernel.counts;
    let reuses = |reuses: &Reuses| {
        json!({
            "touches": reuses.touches, "inter": reuses.inter, "intra": reuses.intra,
            "last_by_other": reuses.last_by_other, "inter_share": reuses.inter_share(),
            "last_share": reuses.last_share(),
        })
    };
    json!({
        "kernel": kernel.name, "launches": kernel.launches, "accesses": counts.accesses,
        "line": reuses(&counts.lines), "word": reuses(&counts.words),
        "coalescing": counts.coalescing(), "contested_lines": counts.contested_lines,
        "class": SharingClass::of(counts).map(SharingClass::letter),
        "score": kernel.scores.map(|[rows, columns]| json!({ "rows": rows, "columns": columns })),
    })
}
