//! `warpweave analyze`: memory reuse, from a trace, an access log or the code of kernels.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use warpweave_accesses::{AccessLog, Kind};
use warpweave_files::{Budget, Ledger, OVER_BUDGET_HINT};
use warpweave_params::printable_lines;
use warpweave_reuse::{Analysis, BINS, Found, Options, Relation, Unit, trace};
use warpweave_systems::profile;
use warpweave_systems::report::CsvTable;
use warpweave_trace::TraceFile;

use crate::accesses::{is_log, refused};
use crate::arguments::power_of_two;
use crate::outcome::{CommandResult, Failure, to_stdout};
use crate::{affine, mapping, sharing};

/// Width of a full bar, in characters.
const BAR: usize = 20;

#[derive(Subcommand)]
pub(crate) enum AnalyzeCommand {
    /// Measure memory reuse: ratios, shares, distances and chains by launch relation.
    Reuse(ReuseArguments),
    /// Measure which lines and words the work-groups of a launch share, and class each kernel.
    Sharing(sharing::Arguments),
    /// Derive addresses of loads and stores from the code, and the reuse between work-groups.
    Affine(affine::Arguments),
    /// Search for mappings of work-groups to compute units that fetch few lines, by the code.
    Mapping(mapping::Arguments),
}

#[derive(clap::Args)]
pub(crate) struct ReuseArguments {
    /// Program trace (`trace record`) or access log (`run --accesses`).
    file: PathBuf,
    /// Count only reads, not writes or atomics.
    #[arg(long)]
    reads_only: bool,
    /// Line size in bytes, for a trace; a log has that of its machine.
    #[arg(long, value_name = "BYTES", default_value_t = 128, value_parser = power_of_two)]
    line_bytes: u64,
    /// End of global memory, for a log: first byte address whose accesses do not count.
    #[arg(long, value_name = "ADDRESS")]
    global_end: Option<u64>,
    /// Number of lines in a first-level cache.
    #[arg(long, value_name = "LINES", default_value_t = Options::default().l1_lines)]
    l1_lines: u64,
    /// Number of lines in the second-level cache.
    #[arg(long, value_name = "LINES", default_value_t = Options::default().l2_lines)]
    l2_lines: u64,
    /// Reuse ratio above which two kernels or work-groups are linked in a chain.
    #[arg(long, value_name = "RATIO", default_value_t = Options::default().chain_threshold)]
    chain_threshold: f64,
    /// Write the profile of a trace, for policies that know in advance which work-groups share
    /// lines.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Output format: text page or table.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Human-readable page with tables and bars.
    Text,
    /// Table with one row for each number.
    Csv,
}

pub(crate) fn analyze(command: &AnalyzeCommand, budget: &Budget) -> CommandResult {
    match command {
        AnalyzeCommand::Reuse(arguments) => reuse(arguments, budget),
        AnalyzeCommand::Sharing(arguments) => sharing::sharing(arguments, budget),
        AnalyzeCommand::Affine(arguments) => affine::affine(arguments, budget),
        AnalyzeCommand::Mapping(arguments) => mapping::mapping(arguments, budget),
    }
}

fn reuse(arguments: &ReuseArguments, budget: &Budget) -> CommandResult {
    let (program, order, found) = if is_log(&arguments.file)? {
        if arguments.profile.is_some() {
            let message = format!(
                "{}: an access log has no profile; use a trace",
                arguments.file.display()
            );
            return Err(Failure::InputText(message));
        }
        of_log(arguments, budget)?
    } else {
        of_trace(arguments, budget)?
    };
    match arguments.format {
        Form::Text => to_stdout(&printable_lines(&page(&program, order, &found)))?,
        Form::Csv => to_stdout(&table(&found))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &ReuseArguments) -> Options {
    Options {
        chain_threshold: arguments.chain_threshold,
        l1_lines: arguments.l1_lines,
        l2_lines: arguments.l2_lines,
    }
}

type Analysed = (String, &'static str, Found);

fn of_trace(arguments: &ReuseArguments, budget: &Budget) -> Result<Analysed, Failure> {
    let refused = |error: warpweave_trace::TraceError| {
        if let warpweave_trace::TraceError::OverBudget(error) = &error {
            return Failure::Machine(format!("{error}\nhint: {OVER_BUDGET_HINT}"));
        }
        Failure::InputText(error.to_string())
    };
    let ledger = Ledger::new(budget);
    let mut file = TraceFile::open_within(&arguments.file, &ledger).map_err(refused)?;
    let parents = file.parents().collect();
    let mut analysis = Analysis::new(parents, options(arguments));
    let (bytes, reads) = (arguments.line_bytes, arguments.reads_only);
    trace(&mut file, bytes, reads, &mut analysis).map_err(refused)?;
    let order = "in trace order, which no machine follows";
    let (found, linked) = analysis.finish_linked();
    if let Some(path) = &arguments.profile {
        let written = profile::write(path, file.hash(), &profile::of_linked(linked));
        written.map_err(|error| Failure::Machine(error.to_string()))?;
    }
    Ok((file.head().name.clone(), order, found))
}

fn of_log(arguments: &ReuseArguments, budget: &Budget) -> Result<Analysed, Failure> {
    let ledger = Ledger::new(budget);
    let mut log = AccessLog::open(&arguments.file, &ledger).map_err(refused)?;
    let head = log.head().clone();
    let mut analysis = Analysis::new(head.parents, options(arguments));
    for record in log.records_from(0) {
        let record = record.map_err(refused)?;
        let counts = match record.kind {
            Kind::Read => true,
            Kind::Write | Kind::Atomic => !arguments.reads_only,
            Kind::Prefetch | Kind::CopyBack => false,
        };
        let is_global = arguments.global_end.is_none_or(|end| record.line < end);
        if counts && is_global {
            let by = Unit {
                kernel: record.kernel,
                work_group: record.work_group,
                wavefront: record.wavefront_slot.into(),
            };
            analysis.touch(by, record.line);
        }
    }
    Ok((head.program, "in execution order", analysis.finish()))
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

fn page(program: &str, order: &str, found: &Found) -> String {
    let mut text = format!(
        "{program}: {} kernels, {} of them launched from the device; {} accesses to {} lines\n",
        found.kernels, found.device_kernels, found.accesses, found.lines
    );
    text.push_str("\naccesses to reused lines\n");
    for (name, part) in shares(found) {
        let cells = (BAR as u64 * part).checked_div(found.accesses).unwrap_or(0);
        let bar = "█".repeat(cells as usize);
        let share = percent(part, found.accesses);
        let _ = writeln!(text, "  {name:<24}{share:>8}  {bar}");
    }
    let tenths: Vec<String> = (0..BINS)
        .map(|bin| format!("{:>6}", format!("b{bin}")))
        .collect();
    let tenths = tenths.concat();
    let _ = writeln!(
        text,
        "\nreuse ratios, percentage of units or pairs in each tenth\n{:26}{:>8}{:>10}{tenths}",
        "", "mean", "count"
    );
    for ratios in &found.ratios {
        let count = ratios.count();
        let name = format!("{} {}", ratios.level.name(), ratios.relation);
        let mean = ratios.mean();
        let mean = mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}"));
        let _ = write!(text, "  {name:<24}{mean:>8}{count:>10}");
        for in_bin in ratios.bins {
            let share = 100.0 * in_bin as f64 / count.max(1) as f64;
            let _ = write!(text, "{share:>6.1}");
        }
        if ratios.undefined != 0 {
            let _ = write!(text, "  {} without accesses", ratios.undefined);
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "\nreuse distances in lines, {order}\n{:26}{:>10}{:>10}{:>10}{:>11}{:>11}",
        "", "accesses", "mean", "median <", "beyond L1", "beyond L2"
    );
    for (relation, distances) in Relation::ALL.into_iter().zip(&found.distances) {
        let count = distances.count();
        let mean = if count == 0 {
            "-".to_owned()
        } else {
            format!("{:.1}", distances.sum as f64 / count as f64)
        };
        let median = distances.median_below();
        let median = median.map_or_else(|| "-".to_owned(), |median| median.to_string());
        let (l1, l2) = (
            percent(distances.beyond_l1, count),
            percent(distances.beyond_l2, count),
        );
        let name = relation.name();
        let _ = writeln!(
            text,
            "  {name:<24}{count:>10}{mean:>10}{median:>10}{l1:>11}{l2:>11}"
        );
    }
    let _ = writeln!(
        text,
        "\nchains of strongly linked units\n{:26}{:>10}{:>10}{:>10}",
        "", "longest", "mean", "units"
    );
    for chains in &found.chains {
        let mean = chains.mean();
        let mean = mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.2}"));
        let (name, longest, units) = (chains.level.name(), chains.longest, chains.units);
        let _ = writeln!(text, "  {name:<24}{longest:>10}{mean:>10}{units:>10}");
    }
    text
}

fn shares(found: &Found) -> [(&'static str, u64); 3] {
    [
        ("self", found.shares.own),
        ("parent_child", found.shares.parent_child),
        ("sibling", found.shares.sibling),
    ]
}

/// Formats every number as a row: table, level, relation, key, value.
fn table(found: &Found) -> String {
    let mut table = CsvTable::new(&["table", "level", "relation", "key", "value"]);
    let mut row = |[a, b, c, d]: [&str; 4], value: String| table.row([a, b, c, d, &value]);
    for (key, value) in [
        ("accesses", found.accesses),
        ("lines", found.lines),
        ("kernels", found.kernels),
        ("device_kernels", found.device_kernels),
    ] {
        row(["program", "", "", key], value.to_string());
    }
    for (name, part) in shares(found) {
        row(["share", "", name, "accesses"], part.to_string());
    }
    for ratios in &found.ratios {
        let (level, relation) = (ratios.level.name(), ratios.relation.as_str());
        for (bin, count) in ratios.bins.iter().enumerate() {
            row(
                ["ratio", level, relation, &format!("b{bin}")],
                count.to_string(),
            );
        }
        row(
            ["ratio", level, relation, "undefined"],
            ratios.undefined.to_string(),
        );
        if let Some(mean) = ratios.mean() {
            row(["ratio", level, relation, "mean"], mean.to_string());
        }
    }
    for (relation, distances) in Relation::ALL.into_iter().zip(&found.distances) {
        let name = relation.name();
        for (bin, count) in distances.bins.iter().enumerate() {
            let below = format!("below {}", 1_u64 << bin);
            row(["distance", "", name, &below], count.to_string());
        }
        for (key, value) in [
            ("beyond_l1", distances.beyond_l1),
            ("beyond_l2", distances.beyond_l2),
            ("sum", distances.sum),
        ] {
            row(["distance", "", name, key], value.to_string());
        }
    }
    for chains in &found.chains {
        let level = chains.level.name();
        for (key, value) in [
            ("longest", chains.longest),
            ("chains", chains.chains),
            ("units", chains.units),
        ] {
            row(["chain", level, "", key], value.to_string());
        }
    }
    table.take()
}
