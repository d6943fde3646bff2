//! The comparison with the reference data of DRAMsim3 and Ramulator.
//!
//! What is judged, and how closely, is what the models allow: Ramulator's plain FR-FCFS is the
//! reference form of the scheduler; DRAMsim3's queues and policies are rebuilt from their
//! description, so that totals agree but not single requests; variants whose tie-breaking is not
//! described are shown and not judged.

use std::path::Path;

use serde::Deserialize;
use warpweave_components::dram::{Checker, Drain, Page, Refresh, Scheduler};

use super::drive::{Outcome, drive};
use super::presets::{Setup, load, setup};
use super::traces::{RequestRow, ServedRow, read_commands, read_requests};
use crate::{Comparison, StandaloneError, Tolerance, read_rows};

/// The columns of the summary that are compared.
#[derive(Clone, Debug, Deserialize)]
struct SummaryRow {
    trace: String,
    preset: String,
    tool: String,
    end_cycle: u64,
    row_hit_rate: f64,
    lat_mean: Option<f64>,
}

/// Our controller in the configuration of a reference run.
pub(super) fn as_tool(preset: &str, tool: &str) -> Result<Setup, StandaloneError> {
    let Setup {
        mut spec,
        clock_mhz,
        ..
    } = load(preset)?;
    let ramulator_1 = Drain::Watermarks { high: 25, low: 6 };
    let mut dramsim = |page| {
        spec.scheduler = Scheduler::BankRoundRobin { hits: 4 };
        spec.page = page;
        spec.drain = Drain::Batches { idle_above: 8 };
        spec.bank_queue = Some(8);
    };
    match tool {
        "ds3_open_bg" | "ds3_open_nobg" => dramsim(Page::Open),
        "ds3_close_bg" => dramsim(Page::Closed),
        "ds3_shippedD" => {
            dramsim(Page::Open);
            spec.timing.t_rtp = 5;
            spec.timing.t_rtw = Some(20);
        }
        "ram1_frfcfs" | "ram1_cap16" | "ram1_priorhit" => {
            spec.drain = ramulator_1;
            spec.merge_writes = false;
            spec.scheduler = match tool {
                "ram1_cap16" => Scheduler::FrFcfsCap { columns: 16 },
                "ram1_priorhit" => Scheduler::RowHitFirst,
                _ => Scheduler::FrFcfs,
            };
        }
        "ram2_frfcfs" => spec.timing.t_32aw = 0,
        "ram2_rowhit" => {
            spec.timing.t_32aw = 0;
            spec.scheduler = Scheduler::RowHitFirst;
        }
        other => {
            return Err(StandaloneError::Request(format!(
                "the summary has a tool `{other}` that has no counterpart"
            )));
        }
    }
    if matches!(tool, "ds3_open_nobg" | "ds3_shippedD") {
        spec.timing.t_ccd_l = spec.timing.t_ccd_s;
    }
    setup(spec, clock_mhz).map_err(StandaloneError::Request)
}

/// Compares with the reference data in `folder`: every run of its summary whose trace is there,
/// its cycles of single requests, and its command traces.
///
/// # Errors
/// When the folder does not hold the tables of the reference.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    let mut comparison = Comparison::new();
    per_request(folder, &mut comparison)?;
    summaries(folder, &mut comparison)?;
    commands(folder, &mut comparison)?;
    Ok(comparison)
}

fn run(setup: &Setup, rows: &[RequestRow], name: &str) -> Result<Outcome, StandaloneError> {
    drive(setup, rows, false).map_err(|e| StandaloneError::Request(format!("{name}: {e}")))
}

/// `PRESET_TOOL_TRACE.csv.gz`: its parts, for every file of a folder, in order of name.
fn files(folder: &Path) -> Result<Vec<(String, [String; 3])>, StandaloneError> {
    let listing = std::fs::read_dir(folder).map_err(|e| StandaloneError::file(folder, e))?;
    let mut names: Vec<String> = listing
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name.ends_with(".csv.gz"))
        .collect();
    names.sort_unstable();
    let tools = ["ds3_open_bg", "ds3_close_bg", "ram1_frfcfs", "ram2_frfcfs"];
    let split = |name: String| {
        let stem = name.trim_end_matches(".csv.gz");
        let (preset, rest) = stem.split_once('_')?;
        let tool = tools.iter().find(|tool| rest.starts_with(**tool))?;
        let trace = rest[tool.len()..].strip_prefix('_')?;
        let parts = [preset, tool, trace].map(str::to_owned);
        Some((name, parts))
    };
    Ok(names.into_iter().filter_map(split).collect())
}

fn trace_of(folder: &Path, trace: &str) -> Result<Vec<RequestRow>, StandaloneError> {
    read_requests(&folder.join("traces").join(format!("{trace}.csv.gz")))
}

fn per_request(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let place = folder.join("per_request");
    for (file, [preset, tool, trace]) in files(&place)? {
        let rows = trace_of(folder, &trace)?;
        let theirs: Vec<ServedRow> = read_rows(&place.join(&file))?;
        let ours = run(&as_tool(&preset, &tool)?, &rows, &file)?.served;
        let same = ours.iter().zip(&theirs).filter(|(a, b)| a == b).count();
        let reads_only = rows.iter().all(|r| r.rw == 'R');
        let tolerance = match tool.as_str() {
            "ram2_frfcfs" => Tolerance::Exact,
            "ram1_frfcfs" if reads_only => Tolerance::Exact,
            "ram1_frfcfs" => {
                Tolerance::Information("Ramulator 1 refreshes ahead of active requests".to_owned())
            }
            _ => Tolerance::Information("DRAMsim3's order is rebuilt, not copied".to_owned()),
        };
        comparison.add(
            format!("{preset} {tool} {trace}"),
            "requests to the cycle",
            same as f64,
            theirs.len() as f64,
            tolerance,
        );
    }
    Ok(())
}

fn summaries(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let mut rows: Vec<SummaryRow> = read_rows(&folder.join("summary.csv"))?;
    rows.sort_by(|a, b| a.trace.cmp(&b.trace));
    let mut trace = (String::new(), Vec::new());
    for row in rows {
        if trace.0 != row.trace {
            let requests = trace_of(folder, &row.trace)?;
            trace = (row.trace.clone(), requests);
        }
        let name = format!("{} {} {}", row.preset, row.tool, row.trace);
        let ours = run(&as_tool(&row.preset, &row.tool)?, &trace.1, &name)?.summary;
        let (end, latency) = tolerances(&row);
        let theirs = row.end_cycle as f64;
        comparison.add(&name, "end cycle", ours.end_cycle as f64, theirs, end);
        if let (Some(ours), Some(theirs)) = (&ours.read_latency, row.lat_mean) {
            comparison.add(&name, "mean read latency", ours.mean, theirs, latency);
        }
        let why = Tolerance::Information("follows from the order of requests".to_owned());
        comparison.add(
            &name,
            "row hit rate",
            ours.row_hit_rate,
            row.row_hit_rate,
            why,
        );
    }
    Ok(())
}

/// How close end cycle and mean latency are to be.
fn tolerances(row: &SummaryRow) -> (Tolerance, Tolerance) {
    let shown = |why: &str| Tolerance::Information(why.to_owned());
    match row.tool.as_str() {
        "ram1_frfcfs" | "ram2_frfcfs" => (Tolerance::Relative(0.01), Tolerance::Relative(0.01)),
        "ram1_cap16" | "ram1_priorhit" => (Tolerance::Relative(0.02), Tolerance::Relative(0.02)),
        "ram2_rowhit" => (
            Tolerance::Relative(0.02),
            shown("which rows Ramulator 2 protects is not described"),
        ),
        _ => (
            Tolerance::Relative(0.05),
            shown("DRAMsim3 answers equal reads together, and its queues are deeper than its text"),
        ),
    }
}

/// Violations the reference's own README lists for the stored command traces.
fn known_violations(preset: &str, tool: &str) -> bool {
    tool == "ram2_frfcfs" && matches!(preset, "B" | "D") || tool == "ds3_close_bg"
}

fn commands(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let place = folder.join("commands");
    for (file, [preset, tool, trace]) in files(&place)? {
        let spec = load(&preset)?.spec;
        let geometry = spec.geometry;
        let path = place.join(&file);
        let list = read_commands(&path, geometry.bank_groups, geometry.banks_per_group)?;
        let refresh = Refresh::AllBank { postponed_max: 0 };
        let mut checker = Checker::new(&geometry, spec.timing, refresh);
        for issued in &list {
            checker.check(issued);
        }
        let report = checker.finish();
        let case = format!("{preset} {tool} {trace}");
        let tolerance = if known_violations(&preset, &tool) {
            Tolerance::Information("known faults of the tool".to_owned())
        } else {
            Tolerance::Exact
        };
        let violations = report.violations.len() as f64;
        comparison.add(&case, "timing violations", violations, 0.0, tolerance);
        let why = Tolerance::Information(format!("rules met exactly in {} commands", list.len()));
        let exercised = report.exercised().count() as f64;
        comparison.add(&case, "rules exercised", exercised, exercised, why);
    }
    Ok(())
}
