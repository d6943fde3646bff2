//! Launch unit: models the time the runtime takes for device-side kernel launches.
//!
//! ```text
//!   units[0] ─►┐
//!   units[1] ─►┼─► records under way ─► kernels, each when it is due ─► gmu
//!   …          ┘
//! ```
//!
//! # Ports
//!
//! | Port       | Direction | Message        | Back-pressure                                       |
//! |------------|-----------|----------------|-----------------------------------------------------|
//! | `units[n]` | in        | `DeviceLaunch` | not taken while `kernels_in_flight` kernels are under way |
//! | `gmu`      | out       | `KernelLaunch` | kernels that are due wait, in order                 |
//!
//! # Timing
//!
//! A record that launches `x` kernels and is readable in cycle `c` sends one kernel for each
//! launching lane. That of the `i`-th such lane (`i` from 1 to `x`) is sent in cycle
//! `c + base_cycles + i * cycles_per_kernel`. The last one is sent `A x + b` after the record's
//! arrival (LASER, section 2). With `arrival: Together` all are due in that cycle. Among kernels
//! due in one cycle, those of the earlier record go first. Units are polled in order. One kernel is
//! sent per cycle.
//!
//! Kernels predicted to share lines with their parent or siblings have priority 1, all others 0
//! (LASER, section 6). The hint of a kernel carries its unit and the prediction. Runs with a reuse
//! profile score the predictions against it (`prediction_score.rs`).
//!
//! # Not modelled
//!
//! Work of the runtime in compute units and memory for a launch.

mod prediction_score;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Histogram, InPort, Inspect, Kind, Next,
    OutPort, Ports, Preset, SpecError, State, Statistics, TimeWeighted, Waits,
};
use warpweave_trace::{LaunchGraph, Program};

use self::prediction_score::{PredictionScore, parents};
use crate::artefact::artefact_if_any;
use crate::launch::{DeviceLaunch, KernelLaunch, LaunchHint};
use crate::reuse_monitor::Relation;
use crate::reuse_profile::{self, ReuseProfile};

/// Arrival times of the kernels of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LaunchArrival {
    /// Each kernel arrives when its own launch is done.
    #[default]
    InTurn,
    /// All kernels arrive when the last one would.
    Together,
}

/// Delays and capacity of a launch unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchUnitSpec {
    /// Number of compute units connected, at least 1.
    pub units: u32,
    /// Fixed latency of a record in cycles, in addition to its kernels (`b`). Source: 20210, LASER,
    /// Table 1.
    pub base_cycles: u32,
    /// Additional cycles for each kernel of a record (`A`). Source: 1721, LASER, Table 1.
    pub cycles_per_kernel: u32,
    /// Arrival times of the kernels of a record. Source: own choice; the paper says when the last
    /// one does.
    #[serde(default)]
    pub arrival: LaunchArrival,
    /// Maximum number of kernels in flight, at least 32.
    pub kernels_in_flight: u32,
}

/// Launch unit: delays device-side launches; see the [module](self).
#[derive(Ports, State, Statistics)]
pub struct LaunchUnit {
    #[port]
    units: Vec<InPort<DeviceLaunch>>,
    #[port]
    gmu: OutPort<KernelLaunch>,
    #[state(skip)]
    spec: LaunchUnitSpec,
    #[state(skip)]
    graph: LaunchGraph,
    /// Kernels in flight, ordered by due cycle and then by arrival.
    #[state(with = visit_kernels)]
    under_way: BTreeMap<(Cycle, u64), KernelLaunch>,
    /// launch records taken
    #[statistic(unit = "records")]
    records: u64,
    /// kernels that the records launch
    #[statistic(name = "kernels_taken", unit = "kernels")]
    taken: u64,
    /// kernels sent to the GMU
    #[statistic(name = "kernels_sent", unit = "kernels")]
    sent: u64,
    /// mean number of kernels under way
    #[statistic(name = "kernels_in_flight", unit = "kernels")]
    #[statistic(
        name = "kernels_in_flight_max",
        unit = "kernels",
        meaning = "most kernels under way at a time",
        maximum,
        value = self.under_way_level.max()
    )]
    under_way_level: TimeWeighted,
    /// cycles from the time at which a kernel was due until it was sent
    #[statistic(name = "launch_delay", unit = "cycles")]
    late: Histogram,
    /// Prediction accuracy; present if there is a reuse profile.
    #[state(part)]
    #[statistic(flatten)]
    foresight: Option<PredictionScore>,
}

/// Saves the kernels in flight as a list, which has a readable form.
fn visit_kernels(
    kernels: &mut BTreeMap<(Cycle, u64), KernelLaunch>,
    name: &str,
    state: &mut State<'_>,
) {
    state.field_as(
        name,
        kernels,
        |kernels| -> Vec<_> { kernels.iter().map(|(at, launch)| (*at, *launch)).collect() },
        |kernels, saved| {
            *kernels = saved.into_iter().collect();
            Ok(())
        },
    );
}

impl Kind for LaunchUnit {
    const NAME: &'static str = "LaunchUnit";
    const SUMMARY: &'static str = "Delays kernels that are launched from the device";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "laser",
        summary: "The launch overhead of the LASER paper, Table 1",
        ron: include_str!("../../../scenarios/presets/laser/launch_unit.ron"),
    }];
    type Spec = LaunchUnitSpec;

    fn build(spec: LaunchUnitSpec, environment: &Environment) -> Result<Self, SpecError> {
        SpecError::in_range("units", spec.units, 1..)?;
        SpecError::in_range("kernels_in_flight", spec.kernels_in_flight, 32..)?;
        let program = environment.resource::<Program>();
        let parents = program
            .as_ref()
            .map_or_else(Vec::new, |program| parents(program));
        let graph = program.map_or_else(LaunchGraph::default, |program| program.launch_graph());
        let profile = artefact_if_any::<ReuseProfile>(environment, reuse_profile::WHAT)?;
        Ok(Self {
            units: (0..spec.units).map(|_| InPort::new()).collect(),
            gmu: OutPort::new(),
            spec,
            graph,
            foresight: profile.map(|profile| PredictionScore::new(profile, parents)),
            under_way: BTreeMap::new(),
            taken: 0,
            records: 0,
            sent: 0,
            under_way_level: TimeWeighted::default(),
            late: Histogram::default(),
        })
    }
}

impl Component for LaunchUnit {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.take(ctx);
        let cycle = ctx.cycle();
        let Some((&(due, number), &launch)) = self.under_way.first_key_value() else {
            return Next::Message;
        };
        if due > cycle {
            return Next::Until(due);
        }
        if self.gmu.try_send(ctx, launch).is_err() {
            return Next::Credit;
        }
        self.under_way.remove(&(due, number));
        self.under_way_level.sub(cycle, 1);
        self.sent += 1;
        self.late.record(cycle - due);
        // The next one may be due, and a record that waits may find room.
        Next::Busy
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Inspect for LaunchUnit {
    fn contents(&self, contents: &mut Contents<'_>) {
        for launch in self.under_way.values() {
            let thing = contents
                .thing("kernel", u64::from(launch.kernel))
                .number("stream", u64::from(launch.stream));
            let hint = LaunchHint::from_word(launch.hint);
            if let Some(unit) = hint.unit {
                thing.number("unit", unit.into());
            }
            thing.number("predicted", Relation::code(hint.relation));
            if let Some(foresight) = &self.foresight {
                thing.number("near", foresight.is_near(launch.kernel).into());
            }
        }
        contents.level("kernels_in_flight", self.under_way_level.value());
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        if !self.under_way.is_empty() {
            let what = format!(
                "{} kernels launched from the device are under way",
                self.under_way.len()
            );
            waits.on_port("gmu", what);
        }
    }
}

impl LaunchUnit {
    /// Accepts records as long as there is room for the kernels they launch.
    fn take(&mut self, ctx: &mut Context<'_>) {
        for unit in 0..self.units.len() {
            while self.under_way.len() < self.spec.kernels_in_flight as usize {
                let Some(record) = self.units[unit].pop(ctx) else {
                    break;
                };
                self.launch(ctx.cycle(), unit as u16, record);
            }
        }
    }

    fn launch(&mut self, cycle: Cycle, unit: u16, record: DeviceLaunch) {
        let DeviceLaunch {
            kernel,
            work_group,
            wavefront,
            record,
            predictions,
        } = record;
        let children = self.graph.launched(kernel, work_group, wavefront, record);
        let each = Cycle::from(self.spec.cycles_per_kernel);
        let base = cycle + Cycle::from(self.spec.base_cycles);
        self.records += 1;
        for ((child, turn), number) in children.iter().zip(1..).zip(0..) {
            let turn = match self.spec.arrival {
                LaunchArrival::InTurn => turn,
                LaunchArrival::Together => children.len() as u64,
            };
            let relation = predictions.of(number);
            let is_urgent = matches!(relation, Some(Relation::ParentChild | Relation::Sibling));
            if let Some(foresight) = &mut self.foresight {
                foresight.count(child.kernel, is_urgent);
            }
            let hint = LaunchHint {
                unit: Some(unit),
                relation,
                is_bound: predictions.is_bound(number),
            };
            let launch = KernelLaunch {
                priority: is_urgent.into(),
                hint: hint.to_word(),
                ..KernelLaunch::plain(child.kernel, child.parent.stream)
            };
            self.under_way
                .insert((base + each * turn, self.taken), launch);
            self.taken += 1;
            self.under_way_level.add(cycle, 1);
        }
    }
}
