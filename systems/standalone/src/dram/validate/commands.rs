//! Runs the tools' command traces through our checker and compares with another checker's findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use warpweave_components::dram::{Checker, Refresh, Report};

use super::files;
use crate::dram::presets::load;
use crate::dram::traces::read_commands;
use crate::folder::table_named;
use crate::{Comparison, StandaloneError, Table, Tolerance};

/// Returns the rule that a tool is known to break. Ramulator 2 has no t32AW. DRAMsim3 refreshes too
/// soon after rows that closed themselves. Ramulator 1 lets PREA follow PRE at once.
fn known_fault(tool: &str) -> Option<&'static str> {
    match tool {
        "ram2_frfcfs" => Some("33 ACT rank (t32AW)"),
        "ds3_close_bg" => Some("ACT -> REF rank (tRC)"),
        "ram1_frfcfs" => Some("PRE -> PRE rank (tPPD)"),
        _ => None,
    }
}

/// Checks every command trace of the folder.
pub(super) fn commands(folder: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let place = folder.join("commands");
    let gaps = Table::<GapRow>::read(&table_named(folder, "constraint_gaps")?)?.rows;
    without_counterpart(&gaps, comparison);
    for (file, [preset, tool, trace]) in files(&place, comparison)? {
        let spec = load(&preset)?.spec;
        let geometry = spec.geometry;
        let path = place.join(&file);
        let list = read_commands(&path, &geometry)?;
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
            let why = Tolerance::Information("a known bug of the tool".to_owned());
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

/// Row of another checker's findings: the smallest gap seen for a rule.
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

/// Compares the smallest slack of each rule with that found by the reference's own checker.
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

/// Lists the rules of the other checker that have no counterpart.
fn without_counterpart(gaps: &[GapRow], comparison: &mut Comparison) {
    let names: BTreeSet<_> = gaps.iter().map(|row| row.constraint.as_str()).collect();
    for name in names {
        if counterpart(name).is_none() {
            let why = match name {
                "DATABUS no overlap" => "the tool also counts the time before the first burst",
                _ if name.starts_with("RDA->") || name.starts_with("WRA->") => {
                    "no command trace of a run with auto-precharge"
                }
                _ if name.starts_with("STATE:") => "has no gap; ours counts violations",
                _ if name.starts_with("REFRESH lateness") => "the tool counts from cycle 0",
                _ => "no rule of ours has this name",
            };
            comparison.leave_out("command traces", format!("slack {name}"), why);
        }
    }
}

/// Maps a rule of the reference's checker to ours. Several of theirs may map to one of ours.
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
        _ => return None,
    })
}
