//! The router beside BookSim 2, the switch beside queueing theory.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use warpweave_components::crossbar::{
    Islip, IslipSpec, NetworkSpec, Queueing, RouterSpec, SwitchSpec,
};
use warpweave_framework::{Environment, Policy};

use super::drive::{Packet, Shape, drive};
use super::presets::{PRESETS, booksim, preset};
use super::traffic::{Offered, Pattern};
use crate::{Comparison, StandaloneError, Tolerance, read_rows};

/// Compares with the reference data in `folder`: `anchors.csv`, `curves.csv`, `theory.csv` and the
/// packet lists `replay_*.csv.gz`.
///
/// # Errors
/// When the folder does not hold the tables of the reference.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    let mut comparison = tables(folder, 4)?;
    coverage(&read_rows(&folder.join("curves.csv"))?, &mut comparison);
    for ports in [(64, 64), (64, 48)] {
        large_switch(ports, &mut comparison)?;
    }
    Ok(comparison)
}

/// What the tables of the folder say; judged latencies are measured over so many windows.
fn tables(folder: &Path, windows: u64) -> Result<Comparison, StandaloneError> {
    let mut comparison = Comparison::new();
    for anchor in read_rows::<Anchor>(&folder.join("anchors.csv"))? {
        anchor.compare(&mut comparison)?;
    }
    for list in lists(folder)? {
        replay(&list, &mut comparison)?;
    }
    let rows: Vec<CurveRow> = read_rows(&folder.join("curves.csv"))?;
    curves(&rows, windows, &mut comparison)?;
    for row in read_rows::<TheoryRow>(&folder.join("theory.csv"))? {
        row.compare(windows, &mut comparison)?;
    }
    Ok(comparison)
}

/// A small exact experiment.
#[derive(Deserialize)]
struct Anchor {
    quantity: String,
    variation: String,
    speedup: String,
    num_vcs: u32,
    vc_buf_flits: u32,
    packet_flits: u32,
    value: f64,
}

impl Anchor {
    fn compare(&self, comparison: &mut Comparison) -> Result<(), StandaloneError> {
        let spec = self.spec()?;
        let (ours, case) = match self.quantity.as_str() {
            "zero_load_latency" => (
                f64::from(spec.zero_load_cycles(self.packet_flits)),
                self.variation.clone(),
            ),
            "single_flow_flits_per_cycle" => (self.throughput(&spec, 1)?, self.speedup.clone()),
            "12_to_1_flits_per_cycle" => (self.throughput(&spec, 12)?, self.speedup.clone()),
            other => {
                return Err(StandaloneError::Request(format!(
                    "anchors.csv has an unknown quantity `{other}`"
                )));
            }
        };
        let case = format!(
            "anchor {case}, {} vc x {} flits, {}-flit packets",
            self.num_vcs, self.vc_buf_flits, self.packet_flits
        );
        comparison.add(case, &self.quantity, ours, self.value, Tolerance::Exact);
        Ok(())
    }

    fn spec(&self) -> Result<RouterSpec, StandaloneError> {
        let mut spec = booksim(self.num_vcs, self.vc_buf_flits, 1);
        let option = if self.variation.is_empty() {
            &self.speedup
        } else {
            &self.variation
        };
        let (name, number) = option.rsplit_once(' ').unwrap_or((option, ""));
        let field = match name {
            "s1" => return Ok(spec),
            "speculative" => {
                spec.speculative = true;
                return Ok(spec);
            }
            "" if number.is_empty() => return Ok(spec),
            "internal_speedup" => &mut spec.internal_speedup,
            "routing_delay" => &mut spec.routing_cycles,
            "vc_alloc_delay" => &mut spec.vc_allocation_cycles,
            "sw_alloc_delay" => &mut spec.switch_allocation_cycles,
            "st_final_delay" => &mut spec.traversal_cycles,
            "credit_delay" => &mut spec.credit_cycles,
            _ => {
                return Err(StandaloneError::Request(format!(
                    "anchors.csv has an unknown variation `{option}`"
                )));
            }
        };
        *field = number.parse().map_err(|_| {
            StandaloneError::Request(format!("anchors.csv: `{option}` has no number"))
        })?;
        Ok(spec)
    }

    /// Sources that always have a packet for one output: packets of one flow 400 of one flit or
    /// 120 longer ones, of twelve 40 each; the rate is taken between the first and the last arrival
    /// of those after the first quarter and written with four decimals, as the reference does.
    fn throughput(&self, spec: &RouterSpec, inputs: usize) -> Result<f64, StandaloneError> {
        let each = match (inputs, self.packet_flits) {
            (1, 1) => 400,
            (1, _) => 120,
            _ => 40,
        };
        let packets: Vec<Packet> = (0..each * inputs)
            .map(|number| Packet {
                create: 0,
                src: number % inputs,
                dst: 0,
                flits: self.packet_flits,
            })
            .collect();
        let shape = Shape { inputs, outputs: 1 };
        let spec = NetworkSpec::Router(spec.clone());
        let run = drive(&spec, shape, &packets, u64::MAX, &Environment::default())?;
        let mut arrivals: Vec<u64> = run.passages.iter().flatten().map(|p| p.arrive).collect();
        arrivals.sort_unstable();
        let kept = &arrivals[arrivals.len() / 4..];
        let cycles = kept[kept.len() - 1] - kept[0];
        let flits = (kept.len() - 1) as f64 * f64::from(self.packet_flits);
        Ok((flits / cycles as f64 * 1e4).round() / 1e4)
    }
}

/// The packet lists of a folder, by name.
fn lists(folder: &Path) -> Result<Vec<std::path::PathBuf>, StandaloneError> {
    let entries = std::fs::read_dir(folder).map_err(|e| StandaloneError::file(folder, e))?;
    let mut lists = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| StandaloneError::file(folder, e))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with("replay_")) {
            lists.push(path);
        }
    }
    lists.sort();
    Ok(lists)
}

/// Inputs and outputs, from a name such as `replay_12x8_uniform_…`.
fn shape_of_name(path: &Path) -> Option<Shape> {
    let name = path.file_name()?.to_str()?;
    let (inputs, outputs) = name.split('_').nth(1)?.split_once('x')?;
    Some(Shape {
        inputs: inputs.parse().ok()?,
        outputs: outputs.parse().ok()?,
    })
}

/// Every packet of a list, in every configuration that the list has results of. A packet without
/// a result (near the end of a list that was cut) only takes part.
fn replay(path: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let shape = shape_of_name(path).ok_or_else(|| {
        StandaloneError::Request(format!(
            "{name} does not name its ports as in replay_12x8_…"
        ))
    })?;
    let rows: Vec<BTreeMap<String, Option<u64>>> = read_rows(path)?;
    let result = |row: &BTreeMap<_, _>, column: &str| row.get(column).copied().flatten();
    let of = |row: &BTreeMap<_, _>, column: &str| result(row, column).unwrap_or(0);
    let packets: Vec<Packet> = rows
        .iter()
        .map(|row| Packet {
            create: of(row, "create"),
            src: of(row, "src") as usize,
            dst: of(row, "dst") as usize,
            flits: of(row, "flits") as u32,
        })
        .collect();
    let columns = rows.first().into_iter().flat_map(BTreeMap::keys);
    for config in columns.filter_map(|column| column.strip_prefix("arrive_")) {
        let spec = preset(config, shape.inputs as u32, shape.outputs as u32)?;
        let run = drive(&spec, shape, &packets, u64::MAX, &Environment::default())?;
        let (inject, arrive) = (format!("inject_{config}"), format!("arrive_{config}"));
        let judged = rows.iter().zip(&run.passages).filter_map(|(row, passage)| {
            let theirs = (result(row, &inject)?, result(row, &arrive)?);
            Some(passage.is_some_and(|p| (p.inject, p.arrive) == theirs))
        });
        let (equal, other): (Vec<_>, Vec<_>) = judged.partition(|equal| *equal);
        comparison.add(
            format!("{name} {config}"),
            "packets equal to the cycle",
            equal.len() as f64,
            (equal.len() + other.len()) as f64,
            Tolerance::Exact,
        );
    }
    Ok(())
}

/// One point of a load curve.
#[derive(Deserialize)]
struct CurveRow {
    config: String,
    src_ports: usize,
    dst_ports: usize,
    pattern: String,
    packet_flits: u32,
    hotspot_frac: Option<f64>,
    seed: u64,
    offered_flits_per_cycle_per_src: f64,
    accepted_flits_per_cycle: f64,
    pkts_unfinished: u64,
    lat_mean: f64,
}

impl CurveRow {
    /// Points of one curve have the same key.
    fn key(&self) -> (&str, usize, usize, &str, u32) {
        (
            &self.config,
            self.src_ports,
            self.dst_ports,
            &self.pattern,
            self.packet_flits,
        )
    }

    fn pattern(&self) -> Result<Pattern, StandaloneError> {
        Ok(match self.pattern.as_str() {
            "uniform" => Pattern::Uniform,
            "perm" => Pattern::Permutation,
            "hotspot" => Pattern::Hotspot(self.hotspot_frac.unwrap_or(0.0)),
            other => {
                return Err(StandaloneError::Request(format!(
                    "curves.csv has an unknown pattern `{other}`"
                )));
            }
        })
    }
}

/// Every configuration has a curve: a table that lost some would hold otherwise.
fn coverage(rows: &[CurveRow], comparison: &mut Comparison) {
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

/// Mean latency below 0.7 of the saturation of its curve within 5 %, accepted flits in overload
/// within 2 % (1 flit) or 4 % (more).
fn curves(
    rows: &[CurveRow],
    windows: u64,
    comparison: &mut Comparison,
) -> Result<(), StandaloneError> {
    let mut saturation: BTreeMap<_, f64> = BTreeMap::new();
    for row in rows {
        let most = saturation.entry(row.key()).or_default();
        *most = most.max(row.accepted_flits_per_cycle);
    }
    for row in rows {
        let shape = Shape {
            inputs: row.src_ports,
            outputs: row.dst_ports,
        };
        let spec = preset(&row.config, shape.inputs as u32, shape.outputs as u32)?;
        let offered = Offered {
            pattern: row.pattern()?,
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
        let overload = row.offered_flits_per_cycle_per_src >= 1.0;
        let part = row.accepted_flits_per_cycle / saturation[&row.key()];
        if overload {
            let accepted = offered.measure(&spec, shape, 1)?.accepted;
            let within = if row.packet_flits == 1 { 0.02 } else { 0.04 };
            let tolerance = Tolerance::Relative(within);
            let reference = row.accepted_flits_per_cycle;
            comparison.add(
                case,
                "saturation, flits/cycle",
                accepted,
                reference,
                tolerance,
            );
        } else {
            let judged = part < 0.7 && row.pkts_unfinished == 0;
            let measured = offered.measure(&spec, shape, if judged { windows } else { 1 })?;
            let tolerance = if judged {
                Tolerance::Relative(0.05)
            } else {
                let why = "not below 0.7 of saturation: other random packets weigh too much";
                Tolerance::Information(why.to_owned())
            };
            comparison.add(
                case,
                "mean latency",
                measured.latency,
                row.lat_mean,
                tolerance,
            );
        }
    }
    Ok(())
}

/// One row of the slotted model.
#[derive(Deserialize)]
struct TheoryRow {
    model: String,
    src_ports: usize,
    dst_ports: usize,
    islip_iterations: u32,
    arrival_prob_per_src: f64,
    throughput_per_dst: f64,
    mean_delay_slots: f64,
}

/// A switch without delays whose slots are cycles.
fn slotted(queueing: Queueing, iterations: u32, buffer_flits: u32) -> NetworkSpec {
    NetworkSpec::Switch(SwitchSpec {
        flit_bytes: 32,
        queueing,
        arbiter: Policy::of::<Islip>(&IslipSpec { iterations }),
        buffer_flits,
        output_buffer_flits: 2,
        internal_speedup: 1,
        input_cycles: 0,
        output_cycles: 0,
        credit_cycles: 1,
        turnaround_matchings: 0,
    })
}

fn uniform(load: f64, seed: u64) -> Offered {
    Offered {
        pattern: Pattern::Uniform,
        flits: 1,
        load,
        seed,
    }
}

impl TheoryRow {
    fn compare(&self, windows: u64, comparison: &mut Comparison) -> Result<(), StandaloneError> {
        let shape = Shape {
            inputs: self.src_ports,
            outputs: self.dst_ports,
        };
        let saturated = self.arrival_prob_per_src >= 1.0;
        let case = format!(
            "slotted {} {}x{}, {} iterations at {:.4}",
            self.model,
            self.src_ports,
            self.dst_ports,
            self.islip_iterations,
            self.arrival_prob_per_src
        );
        let (quantity, ours, reference, tolerance) = match (self.model.as_str(), saturated) {
            ("fifo", true) => {
                let spec = slotted(Queueing::Fifo, 1, 8);
                let accepted = uniform(1.0, 3).measure(&spec, shape, windows)?.accepted;
                let per_output = accepted / self.dst_ports as f64;
                let reference = self.throughput_per_dst;
                let tolerance = Tolerance::Relative(0.01);
                ("throughput per output", per_output, reference, tolerance)
            }
            ("islip", true) => {
                // The pointers of square switches take long to desynchronise.
                let spec = slotted(Queueing::VirtualOutput, self.islip_iterations, 1 << 14);
                let accepted = uniform(1.0, 3).measure(&spec, shape, 5 * windows)?.accepted;
                let per_output = accepted / self.dst_ports as f64;
                (
                    "throughput per output",
                    per_output,
                    0.99,
                    Tolerance::AtLeast,
                )
            }
            ("islip", false) => {
                let spec = slotted(Queueing::VirtualOutput, self.islip_iterations, 1 << 14);
                let offered = uniform(self.arrival_prob_per_src, 3);
                let delay = offered.measure(&spec, shape, windows)?.latency;
                let reference = self.mean_delay_slots;
                let light = self.throughput_per_dst < 0.7;
                let tolerance = if light {
                    Tolerance::Relative(0.05)
                } else {
                    Tolerance::Information("heavy load: the random packets weigh too much".into())
                };
                ("mean delay, slots", delay, reference, tolerance)
            }
            // An output-queued switch is not a crossbar.
            _ => return Ok(()),
        };
        comparison.add(case, quantity, ours, reference, tolerance);
        Ok(())
    }
}

/// FIFO inputs of a large switch under uniform load: `(1 + c) - sqrt(1 + c²)` per output for
/// `c = inputs / outputs`. A switch of finite size lies above it, of 64 x 64 by 0.6 %.
fn large_switch(
    (inputs, outputs): (usize, usize),
    comparison: &mut Comparison,
) -> Result<(), StandaloneError> {
    let c = inputs as f64 / outputs as f64;
    let spec = slotted(Queueing::Fifo, 1, 8);
    let accepted = uniform(1.0, 5)
        .measure(&spec, Shape { inputs, outputs }, 2)?
        .accepted;
    comparison.add(
        format!("slotted fifo {inputs}x{outputs}"),
        "throughput per output, (1+c)-sqrt(1+c²)",
        accepted / outputs as f64,
        (1.0 + c) - (1.0 + c * c).sqrt(),
        Tolerance::Relative(0.01),
    );
    Ok(())
}

#[cfg(test)]
mod tests;
