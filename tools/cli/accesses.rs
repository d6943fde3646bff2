//! `warpweave accesses`: summary of an access log as a page or as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use warpweave_accesses::{AccessLog, AccessLogError, Head, Kind, Record};
use warpweave_files::{Budget, Input, Ledger, OVER_BUDGET_HINT};
use warpweave_params::{name_hint, printable_lines};
use warpweave_systems::report::CsvTable;

use crate::outcome::{CommandResult, Failure, to_stdout};
use crate::recordings::window;

/// Number of table bytes that are written at once.
const PIECE_BYTES: usize = 1 << 16;
/// Memory per cache line while accesses are counted, in bytes.
const LINE_BYTES: u64 = 96;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Access log written by `run --accesses FILE`.
    file: PathBuf,
    /// Show only accesses seen by this tap; may be repeated.
    #[arg(long = "tap", value_name = "NAME")]
    taps: Vec<String>,
    /// Show only accesses in these cycles of the core clock.
    #[arg(long, value_name = "FROM..UNTIL", value_parser = window)]
    cycles: Option<(u64, Option<u64>)>,
    /// Output format: text page or table.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Human-readable page with totals and tables.
    Text,
    /// Table with one row for each access.
    Csv,
}

pub(crate) fn accesses(arguments: &Arguments, budget: &Budget) -> CommandResult {
    let ledger = Ledger::new(budget);
    let mut log = AccessLog::open(&arguments.file, &ledger).map_err(refused)?;
    let head = log.head().clone();
    let taps: Vec<&str> = head.ports.iter().map(|port| port.tap.as_str()).collect();
    for tap in &arguments.taps {
        if !taps.contains(&tap.as_str()) {
            let hint = name_hint(tap, "taps of the log", taps.iter().copied());
            return Err(Failure::InputText(format!(
                "--tap {tap}: the log has no such tap\nhint: {hint}"
            )));
        }
    }
    let wanted = |record: &Record| {
        arguments.taps.is_empty()
            || arguments
                .taps
                .iter()
                .any(|tap| tap == taps[record.port as usize])
    };
    let (from, until) = arguments.cycles.unwrap_or((0, None));
    let from = from.saturating_mul(head.core_period);
    let records = log.records_from(from).take_while(|record| {
        // An error is reported, not skipped.
        let (Ok(record), Some(until)) = (record, until) else {
            return true;
        };
        record.tick / head.core_period <= until
    });
    let records = records.filter(|record| record.as_ref().map_or(true, &wanted));
    match arguments.format {
        Form::Csv => table(&head, records)?,
        Form::Text => {
            let mut counted = LineCounts::default();
            for record in records {
                counted.add(&head, &record.map_err(refused)?, &ledger)?;
            }
            to_stdout(&printable_lines(&counted.page(&head)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// True if a file starts with the header of an access log.
pub(crate) fn is_log(path: &Path) -> Result<bool, Failure> {
    let refused =
        |error: std::io::Error| Failure::InputText(format!("{}: {error}", path.display()));
    let mut input = Input::open(path).map_err(refused)?;
    let mut begin = [0; AccessLog::MAGIC.len()];
    match std::io::Read::read_exact(&mut input, &mut begin) {
        Ok(()) => Ok(begin == AccessLog::MAGIC),
        // The reader of traces says what is wrong with it.
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(refused(error)),
    }
}

/// Explains why a log cannot be read.
pub(crate) fn refused(error: AccessLogError) -> Failure {
    if error.is_over_budget() {
        return Failure::Machine(format!("{error}\nhint: {OVER_BUDGET_HINT}"));
    }
    Failure::InputText(error.to_string())
}

fn table(
    head: &Head,
    records: impl Iterator<Item = Result<Record, AccessLogError>>,
) -> Result<(), Failure> {
    let mut table = CsvTable::new(&[
        "tick",
        "cycle",
        "tap",
        "port",
        "kernel",
        "kernel_name",
        "work_group",
        "compute_unit",
        "wavefront_slot",
        "pc",
        "kind",
        "line",
        "words",
    ]);
    for record in records {
        let record = record.map_err(refused)?;
        let port = &head.ports[record.port as usize];
        let kernel = head.kernels.get(record.kernel as usize);
        table.row([
            &record.tick.to_string(),
            &(record.tick / head.core_period).to_string(),
            &port.tap,
            &port.address,
            &record.kernel.to_string(),
            &kernel.cloned().unwrap_or_default(),
            &record.work_group.to_string(),
            &record.compute_unit.to_string(),
            &record.wavefront_slot.to_string(),
            &record.pc.to_string(),
            &record.kind.name().to_owned(),
            &format!("{:#x}", record.line),
            &format!("{:#010x}", record.words),
        ]);
        if table.bytes() >= PIECE_BYTES {
            to_stdout(&table.take())?;
        }
    }
    to_stdout(&table.take())
}

/// Access statistics of a line at a tap.
struct Line {
    words: u32,
    reads: u64,
    /// Compute unit of the first access, followed by its kernel and work-group.
    unit: u16,
    work_group: (u32, u32),
    several_units: bool,
    several_work_groups: bool,
}

#[derive(Default)]
struct Tap {
    kinds: [u64; Kind::ALL.len()],
    lines: BTreeMap<u64, Line>,
}

#[derive(Default)]
struct LineCounts {
    records: u64,
    first: Option<u64>,
    last: u64,
    taps: BTreeMap<String, Tap>,
    /// Number of accesses by kernel and tap.
    kernels: BTreeMap<(u32, String), u64>,
}

impl LineCounts {
    fn add(&mut self, head: &Head, record: &Record, ledger: &Ledger) -> Result<(), Failure> {
        self.records += 1;
        self.first.get_or_insert(record.tick);
        self.last = record.tick;
        let name = &head.ports[record.port as usize].tap;
        if !self.taps.contains_key(name) {
            self.taps.insert(name.clone(), Tap::default());
        }
        let Some(tap) = self.taps.get_mut(name) else {
            return Ok(());
        };
        tap.kinds[record.kind as usize] += 1;
        let by = (record.kernel, record.work_group);
        if !tap.lines.contains_key(&record.line) {
            let charged = ledger.charge("lines of the log", LINE_BYTES);
            charged.map_err(|error| refused(error.into()))?;
        }
        let line = tap.lines.entry(record.line).or_insert(Line {
            words: 0,
            reads: 0,
            unit: record.compute_unit,
            work_group: by,
            several_units: false,
            several_work_groups: false,
        });
        line.words |= record.words;
        line.reads += u64::from(record.kind == Kind::Read);
        line.several_units |= line.unit != record.compute_unit;
        line.several_work_groups |= line.work_group != by;
        *self
            .kernels
            .entry((record.kernel, name.clone()))
            .or_default() += 1;
        Ok(())
    }

    fn page(&self, head: &Head) -> String {
        let mut out = String::new();
        let cycle = |tick: u64| tick / head.core_period;
        let from = self.first.map_or(0, cycle);
        let _ = writeln!(
            out,
            "{} accesses of {} in cycles {from} to {}",
            self.records,
            head.program,
            cycle(self.last)
        );
        let _ = writeln!(
            out,
            "\n{:<16}{:>12}{:>12}{:>10}{:>11}{:>11}{:>12}{:>14}",
            "tap", "reads", "writes", "atomics", "prefetches", "copy-backs", "lines", "bytes"
        );
        for (name, tap) in &self.taps {
            let bytes: u64 = tap
                .lines
                .values()
                .map(|line| 4 * u64::from(line.words.count_ones()))
                .sum();
            let [reads, writes, atomics, prefetches, copy_backs] = tap.kinds;
            let _ = writeln!(
                out,
                "{name:<16}{reads:>12}{writes:>12}{atomics:>10}{prefetches:>11}{copy_backs:>11}{:>12}{bytes:>14}",
                tap.lines.len()
            );
        }
        let _ = writeln!(
            out,
            "\n{:<20}{:>14}{:>18}{:>26}",
            "lines requested by", "several units", "several groups", "reads each (quartiles)"
        );
        for (name, tap) in &self.taps {
            let share = |several: fn(&Line) -> bool| {
                let lines = tap.lines.values().filter(|line| several(line)).count();
                format!("{:.1}%", 100.0 * lines as f64 / tap.lines.len() as f64)
            };
            let mut reads: Vec<u64> = tap.lines.values().map(|line| line.reads).collect();
            reads.sort_unstable();
            let quartile = |part: usize| reads[(reads.len() - 1) * part / 4];
            let _ = writeln!(
                out,
                "{name:<20}{:>14}{:>18}{:>26}",
                share(|line| line.several_units),
                share(|line| line.several_work_groups),
                format!("{} to {}", quartile(1), quartile(3))
            );
        }
        let _ = writeln!(out, "\n{:<40}{:<16}{:>12}", "kernel", "tap", "accesses");
        for ((kernel, tap), count) in &self.kernels {
            let name = head.kernels.get(*kernel as usize);
            let name = format!("{} #{kernel}", name.map_or("?", String::as_str));
            let _ = writeln!(out, "{name:<40}{tap:<16}{count:>12}");
        }
        out
    }
}
