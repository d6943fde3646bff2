//! Small exact experiments: zero-load latency, and throughput of one flow and of twelve.

use serde::Deserialize;
use warpweave_components::crossbar::{NetworkSpec, RouterSpec};
use warpweave_framework::Environment;

use super::{Problem, check_shape, fits};
use crate::noc::bench::FLITS_MAX;
use crate::noc::drive::{Packet, Shape, drive};
use crate::noc::presets::booksim;
use crate::table::shown;
use crate::{Comparison, StandaloneError, Tolerance};

/// Small exact experiment with a single expected result.
#[derive(Deserialize)]
pub(super) struct Anchor {
    pub(super) quantity: String,
    pub(super) variation: String,
    pub(super) speedup: String,
    pub(super) num_vcs: u32,
    pub(super) vc_buf_flits: u32,
    pub(super) packet_flits: u32,
    pub(super) value: f64,
}

impl Anchor {
    /// Checks that the experiment can be run. On error, returns the column and the problem.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let inputs = self.inputs()?;
        check_shape(inputs, 1)?;
        if !(1..=FLITS_MAX).contains(&self.packet_flits) {
            let what = format!("{} is outside 1 to {FLITS_MAX}", self.packet_flits);
            return Err(("packet_flits", what));
        }
        fits(&NetworkSpec::Router(self.spec()?), "num_vcs", (inputs, 1))
    }

    /// Returns the number of sources in the experiment.
    fn inputs(&self) -> Result<usize, Problem> {
        match self.quantity.as_str() {
            "zero_load_latency" | "single_flow_flits_per_cycle" => Ok(1),
            "12_to_1_flits_per_cycle" => Ok(12),
            other => Err((
                "quantity",
                format!("no experiment is named {}", shown(other)),
            )),
        }
    }

    /// Compares our result with the reference's. The row has been checked.
    pub(super) fn compare(&self, comparison: &mut Comparison) -> Result<(), StandaloneError> {
        let refused = |(column, problem): Problem| {
            StandaloneError::Request(format!("anchors.csv: column {column}: {problem}"))
        };
        let spec = self.spec().map_err(refused)?;
        let (ours, case) = if self.quantity == "zero_load_latency" {
            let cycles = spec.zero_load_cycles(self.packet_flits);
            (f64::from(cycles), &self.variation)
        } else {
            let inputs = self.inputs().map_err(refused)?;
            (self.throughput(&spec, inputs)?, &self.speedup)
        };
        let case = format!(
            "anchor {case}, {} vc x {} flits, {}-flit packets",
            self.num_vcs, self.vc_buf_flits, self.packet_flits
        );
        comparison.add(case, &self.quantity, ours, self.value, Tolerance::Exact);
        Ok(())
    }

    fn spec(&self) -> Result<RouterSpec, Problem> {
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
                return Err(("variation", format!("no option is named {}", shown(option))));
            }
        };
        *field = number
            .parse()
            .map_err(|_| ("variation", format!("{} has no number", shown(option))))?;
        Ok(spec)
    }

    /// Measures the throughput of sources that always have a packet for one output. One flow sends
    /// 400 packets of one flit or 120 longer ones; twelve flows send 40 each. The rate is taken
    /// between the first and last arrival after the first quarter. It is written with four
    /// decimals, as in the reference.
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
