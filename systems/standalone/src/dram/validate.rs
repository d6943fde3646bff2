//! The comparison with the reference data of DRAMsim3 and Ramulator.
//!
//! What is judged, and how closely, is what the models allow: Ramulator's plain FR-FCFS is the
//! reference form of the scheduler; DRAMsim3's queues and policies are rebuilt from their
//! description, so that totals agree but not single requests; variants whose tie-breaking is not
//! described are shown and not judged. The timing checker watches every run, a broken rule ends the
//! comparison. Reference data that a judged promise needs and that is not there is a miss.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use warpweave_components::dram::{
    BankRoundRobin, BankRoundRobinSpec, Checker, Drain, FrFcfs, FrFcfsCap, FrFcfsCapSpec, Page,
    Refresh, Report, RowHitFirst,
};
use warpweave_files::Ledger;
use warpweave_framework::Policy;

use super::drive::{Outcome, drive};
use super::presets::{Setup, load, setup};
use super::traces::{RequestRow, ServedRow, read_commands, read_requests};
use crate::{Comparison, StandaloneError, Tolerance, environment, read_rows};

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
                "the summary has a tool `{other}` that has no counterpart"
            )));
        }
    }
    if matches!(tool, "ds3_open_nobg" | "ds3_shippedD") {
        spec.timing.t_ccd_l = spec.timing.t_ccd_s;
    }
    setup(spec, clock_mhz).map_err(StandaloneError::Request)
}

/// Preset, tool and trace of the runs that are to be equal request by request.
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

/// Traces of reads and writes, compared with both Ramulators.
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

/// Traces compared with DRAMsim3.
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

/// Compares with the reference data in `folder`: the timing numbers of its presets, every run of
/// its summary, its cycles of single requests, and its command traces.
///
/// # Errors
/// When the folder does not hold the tables of the reference, or a run breaks a timing rule.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    let mut comparison = Comparison::new();
    presets(folder, &mut comparison)?;
    per_request(folder, &mut comparison)?;
    summaries(folder, &mut comparison)?;
    commands(folder, &mut comparison)?;
    Ok(comparison)
}

/// The timing numbers of the presets beside those the tools were given.
fn presets(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let table: Vec<BTreeMap<String, String>> = read_rows(&folder.join("presets.csv"))?;
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
        for row in &table {
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

/// Notes a miss for each case that should have been compared and was not.
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

fn run(setup: &Setup, rows: &[RequestRow], name: &str) -> Result<Outcome, StandaloneError> {
    let mut setup = setup.clone();
    setup.spec.check = true;
    drive(&setup, rows, false, &environment())
        .map_err(|e| StandaloneError::Request(format!("{name}: {e}")))
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
    read_requests(
        &folder.join("traces").join(format!("{trace}.csv.gz")),
        &Ledger::default(),
    )
}

fn per_request(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let place = folder.join("per_request");
    let mut seen = BTreeSet::new();
    for (file, [preset, tool, trace]) in files(&place)? {
        seen.insert([preset.clone(), tool.clone(), trace.clone()]);
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
    let required = TO_THE_CYCLE.map(|case| case.map(str::to_owned));
    require(required, &seen, "requests to the cycle", comparison);
    Ok(())
}

/// What the promises about totals need: preset, tool and trace.
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
    let mut rows: Vec<SummaryRow> = read_rows(&folder.join("summary.csv"))?;
    rows.sort_by(|a, b| a.trace.cmp(&b.trace));
    let mut trace = (String::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for row in rows {
        seen.insert([row.preset.clone(), row.tool.clone(), row.trace.clone()]);
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
    require(required_totals(), &seen, "end cycle", comparison);
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

/// The rule that a tool is known to break: Ramulator 2 has no t32AW, DRAMsim3 refreshes too soon
/// after rows that closed themselves, Ramulator 1 lets PREA follow PRE at once.
fn known_fault(tool: &str) -> Option<&'static str> {
    match tool {
        "ram2_frfcfs" => Some("33 ACT rank (t32AW)"),
        "ds3_close_bg" => Some("ACT -> REF rank (tRC)"),
        "ram1_frfcfs" => Some("PRE -> PRE rank (tPPD)"),
        _ => None,
    }
}

fn commands(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let place = folder.join("commands");
    let gaps: Vec<GapRow> = read_rows(&folder.join("constraint_gaps.csv.gz"))?;
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
        let excused = |what: &str| known_fault(&tool).is_some_and(|rule| what.contains(rule));
        let broken = report.violations.iter();
        let (known, unknown): (Vec<_>, Vec<_>) = broken.partition(|v| excused(&v.what));
        let unknown = unknown.len() as f64;
        comparison.add(&case, "timing violations", unknown, 0.0, Tolerance::Exact);
        if !known.is_empty() {
            let why = Tolerance::Information("a known fault of the tool".to_owned());
            comparison.add(&case, "known violations", known.len() as f64, 0.0, why);
        }
        let why = Tolerance::Information(format!("rules met exactly in {} commands", list.len()));
        let exercised = report.exercised().count() as f64;
        comparison.add(&case, "rules exercised", exercised, exercised, why);
        let of_run = gaps
            .iter()
            .filter(|g| g.preset == preset && g.tool == tool && g.trace == trace);
        slacks(&case, &report, of_run, comparison);
    }
    Ok(())
}

/// What another checker found in a run: the smallest gap of a rule.
#[derive(Clone, Debug, Deserialize)]
struct GapRow {
    trace: String,
    preset: String,
    tool: String,
    constraint: String,
    min_gap_seen: i64,
    required_gap: i64,
    pairs_checked: u64,
}

/// The smallest slack of each rule beside what the reference's own checker found in that run.
fn slacks<'a>(
    case: &str,
    report: &Report,
    theirs: impl Iterator<Item = &'a GapRow>,
    comparison: &mut Comparison,
) {
    let mut found = BTreeMap::new();
    for row in theirs.filter(|row| row.pairs_checked > 0) {
        if let Some(rule) = counterpart(&row.constraint) {
            let slack = row.min_gap_seen - row.required_gap;
            let least = found.entry(rule).or_insert(slack);
            *least = slack.min(*least);
        }
    }
    for (rule, slack) in found {
        let ours = report.rules.iter().find(|r| r.rule == rule);
        let ours = ours.and_then(|r| r.slack_min);
        comparison.add(
            case,
            format!("slack {rule}"),
            ours.map_or(f64::NAN, |slack| slack as f64),
            slack as f64,
            Tolerance::Exact,
        );
    }
}

/// Our rule for one of the reference's checker; several of theirs may be one of ours.
fn counterpart(constraint: &str) -> Option<&'static str> {
    Some(match constraint {
        "ACT->RD bank tRCDRD" => "ACT -> RD bank (tRCDRD)",
        "ACT->WR bank tRCDWR" => "ACT -> WR bank (tRCDWR)",
        "ACT->PRE bank tRAS" => "ACT -> PRE bank (tRAS)",
        "ACT->ACT bank tRC" => "ACT -> ACT bank (tRC)",
        "ACT->ACT bankgroup tRRDL" => "ACT -> ACT group (tRRD_L)",
        "ACT->ACT rank tRRDS" => "ACT -> ACT rank (tRRD_S)",
        "4ACT window tFAW" => "5 ACT rank (tFAW)",
        "32ACT window t32AW" => "33 ACT rank (t32AW)",
        "RD->PRE bank tRTP" => "RD -> PRE bank (tRTP)",
        "PRE->ACT bank tRP" | "PREA->ACT rank tRP" => "PRE -> ACT bank (tRP)",
        "WR->PRE bank WL+BL+tWR" => "WR -> PRE bank (tWL + BL + tWR)",
        "PRE->PRE rank tPPD" | "PRE->PREA rank tPPD" => "PRE -> PRE rank (tPPD)",
        "RD->RD bankgroup tCCDL" => "RD -> RD group (tCCD_L)",
        "RD->RD rank tCCDS" => "RD -> RD rank (tCCD_S)",
        "WR->WR bankgroup tCCDL" => "WR -> WR group (tCCD_L)",
        "WR->WR rank tCCDS" => "WR -> WR rank (tCCD_S)",
        "RD->WR rank tRTW" => "RD -> WR rank (tRTW)",
        "WR->RD rank WL+BL+tWTR" => "WR -> RD rank (tWL + BL + tWTR_S)",
        "PRE/PREA->REF rank tRP" => "PRE -> REF rank (tRP)",
        "ACT->REF rank tRC" => "ACT -> REF rank (tRC)",
        "REF->ACT rank tRFC" => "REF -> ACT rank (tRFC)",
        "REF->REF rank tRFC" => "REF -> REF rank (tRFC)",
        "REF->PRE rank tRFC" => "REF -> PRE rank (tRFC)",
        "ACT->PREA rank tRAS" => "ACT -> PREA rank (tRAS)",
        "RD->PREA rank tRTP" => "RD -> PREA rank (tRTP)",
        "WR->PREA rank WL+BL+tWR" => "WR -> PREA rank (tWL + BL + tWR)",
        "CMDBUS any->any" => "command bus (1 per cycle)",
        // Theirs for the data bus also counts the time before the first burst.
        _ => return None,
    })
}
