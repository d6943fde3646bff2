//! Compares the DRAM controller with the reference data of DRAMsim3 and Ramulator.
//!
//! Every run must be equal, except those listed in `gates.csv`. The timing checker watches every
//! run, and a broken rule ends the comparison. Missing reference data that a judged promise needs
//! counts as a miss. Data that is not compared is listed.

mod commands;
mod gates;
mod own;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use warpweave_components::dram::{
    BankRoundRobin, BankRoundRobinSpec, Command, Drain, FrFcfs, FrFcfsCap, FrFcfsCapSpec, Issued,
    Page, RowHitFirst,
};
use warpweave_framework::{Environment, Policy};

pub use self::own::validate_own;

use self::commands::commands;
use self::gates::Gates;
use crate::dram::drive::{DriveError, Outcome, drive};
use crate::dram::presets::{Setup, load, setup};
use crate::dram::traces::{RequestRow, ServedRow, read_requests};
use crate::folder::{name_of, stem, table_named, tables_of};
use crate::table::shown;
use crate::written::{Written, as_written};
use crate::{Comparison, StandaloneError, Table, Tolerance, environment};

/// Reason reported for a run without a read latency.
const NO_READ: &str = "the trace has no reads";

/// Columns of the reference summary that are compared.
#[derive(Clone, Debug, Deserialize)]
struct SummaryRow {
    trace: String,
    preset: String,
    tool: String,
    end_cycle: u64,
    row_hit_rate: Written,
    lat_mean: Option<Written>,
}

/// Returns our controller configured like a reference run.
pub(super) fn as_tool(preset: &str, tool: &str) -> Result<Setup, StandaloneError> {
    let Setup {
        mut spec,
        clock_mhz,
        ..
    } = load(preset)?;
    let ramulator_1 = Drain::Watermarks { high: 25, low: 6 };
    let mut dramsim = |page| {
        spec.scheduler = Policy::of::<BankRoundRobin>(&BankRoundRobinSpec { hits: 4 });
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
                "ram1_cap16" => Policy::of::<FrFcfsCap>(&FrFcfsCapSpec { columns: 16 }),
                "ram1_priorhit" => Policy::plain::<RowHitFirst>(),
                _ => Policy::plain::<FrFcfs>(),
            };
        }
        "ram2_frfcfs" => spec.timing.t_32aw = 0,
        "ram2_rowhit" => {
            spec.timing.t_32aw = 0;
            spec.scheduler = Policy::plain::<RowHitFirst>();
        }
        other => {
            return Err(StandaloneError::Request(format!(
                "the tool {} has no counterpart",
                shown(other)
            )));
        }
    }
    if matches!(tool, "ds3_open_nobg" | "ds3_shippedD") {
        spec.timing.t_ccd_l = spec.timing.t_ccd_s;
    }
    Ok(setup(spec, clock_mhz)?)
}

/// Preset, tool and trace of the runs that must match request by request.
const TO_THE_CYCLE: [[&str; 3]; 8] = [
    ["A", "ram2_frfcfs", "idle"],
    ["A", "ram2_frfcfs", "rand_r_lo"],
    ["A", "ram2_frfcfs", "rand_r_sat"],
    ["A", "ram2_frfcfs", "hits90_hi"],
    ["A", "ram2_frfcfs", "seqbgi_r_sat"],
    ["A", "ram2_frfcfs", "bghostile_sat"],
    ["A", "ram2_frfcfs", "rowconf_sat"],
    ["R", "ram2_frfcfs", "hits90_hi"],
];

/// Traces with reads and writes, compared with both Ramulator versions.
const MIXED: [&str; 8] = [
    "mix50_lo",
    "mix50_hi",
    "mix50_sat",
    "hits90w30_sat",
    "bursty_lo",
    "bursty_hi",
    "pingpong_lo",
    "pingpong_sat",
];

/// Names of the traces compared with DRAMsim3.
const DRAMSIM: [&str; 13] = [
    "rand_r_lo",
    "rand_r_hi",
    "rand_r_sat",
    "actbound_sat",
    "hits90_lo",
    "hits90_hi",
    "hits90_sat",
    "seqbgi_r_hi",
    "seqbgi_r_sat",
    "rowconf_sat",
    "bghostile_hi",
    "bghostile_sat",
    "seq_r_sat",
];

/// Compares with the reference data in `folder`. Covers the timing numbers of the presets, all
/// summary runs, single-request cycles and command traces.
///
/// # Errors
/// Returns an error if the folder lacks the reference tables, or a run breaks a timing rule.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    let mut comparison = Comparison::new();
    presets(folder, &mut comparison)?;
    per_request(folder, &mut comparison)?;
    summaries(folder, &mut comparison)?;
    commands(folder, &mut comparison)?;
    Ok(comparison)
}

/// Compares the timing numbers of the presets with those given to the tools.
fn presets(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let table: Table<BTreeMap<String, String>> = Table::read(&folder.join("presets.csv"))?;
    for preset in ["A", "D", "R"] {
        let setup = load(preset)?;
        let t = setup.spec.timing;
        let ours = |parameter: &str| {
            Some(match parameter {
                "tCCD_S" => t.t_ccd_s,
                "tCCD_L" => t.t_ccd_l,
                "tCL" => t.t_cl,
                "tRCDRD" => t.t_rcd_rd,
                "tRCDWR" => t.t_rcd_wr,
                "tRP" => t.t_rp,
                "tWL" => t.t_wl,
                "tRAS" => t.t_ras,
                "tRC" => t.t_rc,
                "tPPD" => t.t_ppd,
                "tRTP" => t.t_rtp,
                "tWTR (S and L)" => t.t_wtr_s,
                "tWR" => t.t_wr,
                "tRRD (S and L)" => t.t_rrd_s,
                "tFAW" => t.t_faw,
                "t32AW" => t.t_32aw,
                "tRFC" => t.t_rfc,
                "tREFI" => t.t_refi,
                "RD->WR command gap" => t.read_to_write(),
                _ => return None,
            })
        };
        for row in &table.rows {
            let cell = |column: &str| row.get(column).map_or("", String::as_str);
            let parameter = cell("parameter");
            let theirs: f64 = cell(preset).parse().unwrap_or(f64::NAN);
            let case = format!("preset {preset}");
            if let Some(ours) = ours(parameter) {
                comparison.add(case, parameter, f64::from(ours), theirs, Tolerance::Exact);
            } else if let ("tCK_ns", Some(mhz)) = (parameter, setup.clock_mhz) {
                // Rounded to three digits there.
                comparison.add(
                    case,
                    parameter,
                    1000.0 / mhz,
                    theirs,
                    Tolerance::Relative(1e-3),
                );
            }
        }
    }
    Ok(())
}

/// Records a miss for each required case that was not compared.
fn require(
    cases: impl IntoIterator<Item = [String; 3]>,
    seen: &BTreeSet<[String; 3]>,
    quantity: &str,
    comparison: &mut Comparison,
) {
    for case in cases {
        if !seen.contains(&case) {
            let quantity = format!("{quantity} in the reference");
            comparison.add(case.join(" "), quantity, 0.0, 1.0, Tolerance::Exact);
        }
    }
}

/// Runs our controller and checks every command.
fn run(
    setup: &Setup,
    trace: &Table<RequestRow>,
    case: &str,
    environment: &Environment,
) -> Result<Outcome, StandaloneError> {
    let mut setup = setup.clone();
    setup.spec.check = true;
    drive(&setup, &trace.rows, true, environment).map_err(|error| match error {
        DriveError::Controller(problem) => StandaloneError::Request(format!("{case}: {problem}")),
        error => trace.refused(error),
    })
}

/// Fraction of column commands that were not the first after an ACT, as the reference counts them.
fn row_hit_rate(commands: &[Vec<Issued>]) -> f64 {
    let (mut columns, mut hits) = (0u64, 0u64);
    for channel in commands {
        let mut used = BTreeSet::new();
        for issued in channel {
            match issued.command {
                Command::Activate { bank, .. } => {
                    used.remove(&bank);
                }
                Command::Read { bank, .. } | Command::Write { bank, .. } => {
                    columns += 1;
                    hits += u64::from(!used.insert(bank));
                }
                _ => {}
            }
        }
    }
    hits as f64 / columns.max(1) as f64
}

/// Splits the file names `PRESET_TOOL_TRACE.csv.gz` of a folder into their parts, in name order.
fn files(
    folder: &Path,
    comparison: &mut Comparison,
) -> Result<Vec<(String, [String; 3])>, StandaloneError> {
    let tools = ["ds3_open_bg", "ds3_close_bg", "ram1_frfcfs", "ram2_frfcfs"];
    let mut files = Vec::new();
    for path in tables_of(folder)? {
        let name = name_of(&path);
        let parts = stem(&name).split_once('_').and_then(|(preset, rest)| {
            let tool = tools.iter().find(|tool| rest.starts_with(**tool))?;
            let trace = rest[tool.len()..].strip_prefix('_')?;
            Some([preset, tool, trace].map(str::to_owned))
        });
        match parts {
            Some(parts) => files.push((name, parts)),
            None => comparison.leave_out(
                shown(&name),
                "file",
                "its name is not PRESET_TOOL_TRACE with a known preset and tool",
            ),
        }
    }
    Ok(files)
}

fn trace_of(folder: &Path, trace: &str) -> Result<Table<RequestRow>, StandaloneError> {
    read_requests(&table_named(&folder.join("traces"), trace)?)
}

fn per_request(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let place = folder.join("per_request");
    let gates = Gates::new();
    let mut seen = BTreeSet::new();
    for (file, [preset, tool, trace]) in files(&place, comparison)? {
        seen.insert([preset.clone(), tool.clone(), trace.clone()]);
        let requests = trace_of(folder, &trace)?;
        let theirs = Table::<ServedRow>::read(&place.join(&file))?.rows;
        let ours = run(&as_tool(&preset, &tool)?, &requests, &file, &environment())?.served;
        let gate = gates.of([&preset, &tool, &trace]).requests();
        let case = format!("{preset} {tool} {trace}");
        alike(case, &ours, &theirs, gate, comparison);
    }
    let required = TO_THE_CYCLE.map(|case| case.map(str::to_owned));
    require(required, &seen, "requests to the cycle", comparison);
    Ok(())
}

/// Counts the requests accepted and completed in the same cycles.
fn alike(
    case: String,
    ours: &[ServedRow],
    theirs: &[ServedRow],
    gate: Tolerance,
    comparison: &mut Comparison,
) {
    let same = ours.iter().zip(theirs).filter(|(a, b)| a == b).count();
    // A table of another length than its trace cannot be equal.
    let all = theirs.len().max(ours.len());
    let quantity = "requests to the cycle";
    comparison.add(case, quantity, same as f64, all as f64, gate);
}

/// Preset, tool and trace of the runs required by the promises about totals.
fn required_totals() -> impl Iterator<Item = [String; 3]> {
    let all = |presets: &'static [&str], tools: &'static [&str], traces: &'static [&str]| {
        presets.iter().flat_map(move |preset| {
            tools.iter().flat_map(move |tool| {
                let case = move |trace: &&str| [*preset, *tool, *trace].map(str::to_owned);
                traces.iter().map(case)
            })
        })
    };
    all(&["A", "D", "R"], &["ram1_frfcfs", "ram2_frfcfs"], &MIXED)
        .chain(all(&["D"], &["ram1_frfcfs"], &DRAMSIM))
        .chain(all(&["A", "R"], &["ds3_open_bg"], &DRAMSIM))
}

fn summaries(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let table = Table::<SummaryRow>::read(&folder.join("summary.csv"))?;
    let mut rows: Vec<(usize, &SummaryRow)> = table.rows.iter().enumerate().collect();
    rows.sort_by(|(_, a), (_, b)| a.trace.cmp(&b.trace));
    let latency_as_written = as_written(table.rows.iter().filter_map(|row| row.lat_mean));
    let hits_as_written = as_written(table.rows.iter().map(|row| row.row_hit_rate));
    let gates = Gates::new();
    let mut seen = BTreeSet::new();
    for of_trace in rows.chunk_by(|(_, a), (_, b)| a.trace == b.trace) {
        let requests = trace_of(folder, &of_trace[0].1.trace)?;
        for &(number, row) in of_trace {
            seen.insert([row.preset.clone(), row.tool.clone(), row.trace.clone()]);
            let case = format!("{} {} {}", row.preset, row.tool, row.trace);
            let setup = as_tool(&row.preset, &row.tool);
            let setup = setup.map_err(|error| table.asks_for(number, "preset and tool", error))?;
            let ours = run(&setup, &requests, &case, &environment())?;
            let gate = gates.of([&row.preset, &row.tool, &row.trace]);
            let (end, theirs) = (ours.summary.end_cycle as f64, row.end_cycle as f64);
            comparison.add(&case, "end cycle", end, theirs, gate.end());
            match (&ours.summary.read_latency, row.lat_mean) {
                (Some(ours), Some(theirs)) => {
                    let gate = gate.latency(&latency_as_written);
                    comparison.add(&case, "mean read latency", ours.mean, theirs.value, gate);
                }
                _ => comparison.leave_out(&case, "mean read latency", NO_READ),
            }
            let gate = gate.hits(&hits_as_written);
            let (ours, theirs) = (row_hit_rate(&ours.commands), row.row_hit_rate.value);
            comparison.add(&case, "row hit rate", ours, theirs, gate);
        }
    }
    require(required_totals(), &seen, "end cycle", comparison);
    Ok(())
}
