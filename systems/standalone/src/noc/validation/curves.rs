//! Load curves: latency below saturation and throughput beyond it, with our own random packets.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Problem, check_shape, fits, wrong};
use crate::noc::bench::FLITS_MAX;
use crate::noc::drive::Shape;
use crate::noc::presets::{PRESETS, preset};
use crate::noc::traffic::{Offered, Pattern};
use crate::table::shown;
use crate::written::{Written, as_written};
use crate::{Comparison, StandaloneError, Table, Tolerance};

/// Point of a load curve in the reference table.
#[derive(Deserialize)]
pub(super) struct CurveRow {
    config: String,
    src_ports: usize,
    dst_ports: usize,
    pattern: String,
    packet_flits: u32,
    hotspot_frac: Option<f64>,
    seed: u64,
    offered_flits_per_cycle_per_src: f64,
    accepted_flits_per_cycle: Written,
    pkts_unfinished: u64,
    lat_mean: Written,
}

impl CurveRow {
    /// Key of the curve; equal for all points of one curve.
    fn key(&self) -> (&str, usize, usize, &str, u32) {
        (
            &self.config,
            self.src_ports,
            self.dst_ports,
            &self.pattern,
            self.packet_flits,
        )
    }

    fn pattern(&self) -> Result<Pattern, Problem> {
        let part = self.hotspot_frac.unwrap_or(0.0);
        match self.pattern.as_str() {
            "uniform" => Ok(Pattern::Uniform),
            "perm" => Ok(Pattern::Permutation),
            "hotspot" if (0.0..=1.0).contains(&part) => Ok(Pattern::Hotspot(part)),
            "hotspot" => Err((
                "hotspot_frac",
                format!("{part} is not a fraction from 0 to 1"),
            )),
            other => Err(("pattern", format!("no pattern is named {}", shown(other)))),
        }
    }

    fn shape(&self) -> Shape {
        Shape {
            inputs: self.src_ports,
            outputs: self.dst_ports,
        }
    }

    /// Checks that the point can be measured. On error, returns the column and the problem.
    fn check(&self) -> Result<(), Problem> {
        check_shape(self.src_ports, self.dst_ports)?;
        self.pattern()?;
        if !(1..=FLITS_MAX).contains(&self.packet_flits) {
            let what = format!("{} is outside 1 to {FLITS_MAX}", self.packet_flits);
            return Err(("packet_flits", what));
        }
        let load = self.offered_flits_per_cycle_per_src;
        if !(0.0..=1.0).contains(&load) {
            let what = format!("{load} is not a load from 0 to 1");
            return Err(("offered_flits_per_cycle_per_src", what));
        }
        let (inputs, outputs) = (self.src_ports, self.dst_ports);
        let spec = preset(&self.config, inputs as u32, outputs as u32)
            .map_err(|e| ("config", e.to_string()))?;
        fits(&spec, "config", (inputs, outputs))
    }

    /// True if the result is deterministic: every source has its own output, and packets of one
    /// flit never wait.
    fn without_chance(&self) -> bool {
        self.pattern == "perm" && self.packet_flits == 1 && !self.config.starts_with("voq")
    }
}

/// Checks that every configuration has a curve, so that a truncated table does not pass.
pub(super) fn coverage(rows: &[CurveRow], comparison: &mut Comparison) {
    let has = |name: &str| rows.iter().any(|row| row.config == name);
    let found = PRESETS.iter().filter(|(name, _)| has(name)).count();
    comparison.add(
        "load curves",
        "configurations of the reference",
        found as f64,
        PRESETS.len() as f64,
        Tolerance::Exact,
    );
}

/// Tolerance for the mean latency below saturation, by packet length in flits. It is set just above
/// the measured error.
fn latency_within(flits: u32) -> Tolerance {
    Tolerance::Relative(if flits == 1 { 0.012 } else { 0.032 })
}

/// Tolerance for the flits accepted in overload, by packet length in flits.
fn saturation_within(flits: u32) -> Tolerance {
    Tolerance::Relative(if flits == 1 { 0.009 } else { 0.033 })
}

/// Compares mean latency below 0.7 of a curve's saturation, and the flits accepted in overload.
pub(super) fn curves(
    table: &Table<CurveRow>,
    windows: u64,
    comparison: &mut Comparison,
) -> Result<(), StandaloneError> {
    let rows = &table.rows;
    let mut saturation: BTreeMap<_, f64> = BTreeMap::new();
    for row in rows {
        let most = saturation.entry(row.key()).or_default();
        *most = most.max(row.accepted_flits_per_cycle.value);
    }
    let latency_as_written = as_written(rows.iter().map(|row| row.lat_mean));
    let accepted_as_written = as_written(rows.iter().map(|row| row.accepted_flits_per_cycle));
    for (number, row) in rows.iter().enumerate() {
        let refused = |(column, problem)| wrong(table, number, column, problem);
        row.check().map_err(refused)?;
        let shape = row.shape();
        let spec = preset(&row.config, shape.inputs as u32, shape.outputs as u32)?;
        let offered = Offered {
            pattern: row.pattern().map_err(refused)?,
            flits: row.packet_flits,
            load: row.offered_flits_per_cycle_per_src,
            seed: row.seed,
        };
        let case = format!(
            "{} {}x{} {} {} flits at {}",
            row.config,
            row.src_ports,
            row.dst_ports,
            row.pattern,
            row.packet_flits,
            row.offered_flits_per_cycle_per_src,
        );
        if row.offered_flits_per_cycle_per_src >= 1.0 {
            let gate = if row.without_chance() {
                accepted_as_written.clone()
            } else {
                saturation_within(row.packet_flits)
            };
            let ours = offered.measure(&spec, shape, 1)?.accepted;
            let theirs = row.accepted_flits_per_cycle.value;
            comparison.add(case, "saturation, flits/cycle", ours, theirs, gate);
            continue;
        }
        let part = row.accepted_flits_per_cycle.value / saturation[&row.key()];
        let judged = part < 0.7 && row.pkts_unfinished == 0;
        let gate = if row.without_chance() {
            latency_as_written.clone()
        } else if judged {
            latency_within(row.packet_flits)
        } else {
            let why = "not below 0.7 of saturation: random packets vary too much";
            Tolerance::Information(why.to_owned())
        };
        let measured = offered.measure(&spec, shape, if judged { windows } else { 1 })?;
        let theirs = row.lat_mean.value;
        comparison.add(case, "mean latency", measured.latency, theirs, gate);
    }
    Ok(())
}
