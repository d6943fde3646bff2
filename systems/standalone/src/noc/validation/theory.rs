//! Validates switches without delays against queueing theory.

use serde::Deserialize;
use warpweave_components::crossbar::{Islip, IslipSpec, NetworkSpec, Queueing, SwitchSpec};
use warpweave_framework::Policy;

use super::{Problem, check_shape, fits};
use crate::noc::drive::Shape;
use crate::noc::traffic::{Offered, Pattern};
use crate::table::shown;
use crate::{Comparison, StandaloneError, Tolerance};

/// Row of the theory table, for the slotted model.
#[derive(Deserialize)]
pub(super) struct TheoryRow {
    model: String,
    src_ports: usize,
    dst_ports: usize,
    islip_iterations: u32,
    arrival_prob_per_src: f64,
    throughput_per_dst: f64,
    mean_delay_slots: f64,
}

/// Returns a switch without delays in which one slot is one cycle.
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

/// Buffer size in flits, large enough that deep queues never fill.
const DEEP_FLITS: u32 = 1 << 14;

impl TheoryRow {
    /// Checks that the row can be measured. On error, returns the column and the problem.
    pub(super) fn check(&self) -> Result<(), Problem> {
        check_shape(self.src_ports, self.dst_ports)?;
        let load = self.arrival_prob_per_src;
        if !(0.0..=1.0).contains(&load) {
            return Err((
                "arrival_prob_per_src",
                format!("{load} is not a probability"),
            ));
        }
        let ports = (self.src_ports, self.dst_ports);
        match self.model.as_str() {
            "fifo" | "oq" => Ok(()),
            "islip" => {
                let deep = slotted(Queueing::VirtualOutput, self.islip_iterations, DEEP_FLITS);
                fits(&deep, "islip_iterations", ports)
            }
            other => Err(("model", format!("no model is named {}", shown(other)))),
        }
    }

    pub(super) fn compare(
        &self,
        windows: u64,
        comparison: &mut Comparison,
    ) -> Result<(), StandaloneError> {
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
                let tolerance = Tolerance::Relative(0.005);
                ("throughput per output", per_output, reference, tolerance)
            }
            ("islip", true) => {
                // The pointers of square switches take long to desynchronise.
                let spec = slotted(Queueing::VirtualOutput, self.islip_iterations, DEEP_FLITS);
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
                let spec = slotted(Queueing::VirtualOutput, self.islip_iterations, DEEP_FLITS);
                let offered = uniform(self.arrival_prob_per_src, 3);
                let delay = offered.measure(&spec, shape, windows)?.latency;
                let reference = self.mean_delay_slots;
                let light = self.throughput_per_dst < 0.7;
                let tolerance = if light {
                    Tolerance::Relative(0.02)
                } else {
                    Tolerance::Information("heavy load: random packets vary too much".into())
                };
                ("mean delay, slots", delay, reference, tolerance)
            }
            ("oq", _) => {
                comparison.leave_out(
                    case,
                    "mean delay, slots",
                    "an output-queued switch is not a crossbar",
                );
                return Ok(());
            }
            _ => {
                let why = "theory covers only the saturation of FIFO inputs";
                comparison.leave_out(case, "mean delay, slots", why);
                return Ok(());
            }
        };
        comparison.add(case, quantity, ours, reference, tolerance);
        Ok(())
    }
}

/// Throughput of FIFO inputs in a large switch under uniform load: `(1 + c) - sqrt(1 + c²)` per
/// output for `c = inputs / outputs`. A switch of finite size has a higher throughput.
pub(super) fn large_switch(
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
        Tolerance::Relative(0.006),
    );
    Ok(())
}
