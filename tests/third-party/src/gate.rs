//! Component with its own policy role: a gate in a memory wire that opens according to its
//! timetable.
//!
//! ```text
//!   up.request  ──►[ open in this cycle? ]──► down.request
//!   up.response ◄──────────────────────────── down.response
//! ```
//!
//! # Ports
//! `up` and `down`, bundles of the memory protocol. Blocked messages wait in their wires.
//!
//! # Timing
//! A request leaves in the first cycle in which it is readable and the gate is open. A response
//! leaves in the cycle in which it is readable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave::components::memory::{MemMaster, MemSlave};
use warpweave::framework::{
    Component, Context, Cycle, Environment, Kind, Next, Policy, PolicyContext, PolicyKind,
    PolicyRole, Ports, SpecError, State, Stateful, Statistics,
};

/// Policy role of timetables, which open the gate.
pub(crate) struct Timetable;

/// Timetable that decides when a gate is open.
pub(crate) trait Opens: Send {
    /// Returns the first cycle from `cycle` on in which the gate is open. The call has no side
    /// effects.
    fn from(&self, cycle: Cycle) -> Cycle;
    /// Notifies the timetable that a request has passed.
    fn passed(&mut self, cycle: Cycle);
    /// Names the timetable's state for checkpoints and hashes.
    fn state(&mut self, state: &mut State<'_>);
}

impl PolicyRole for Timetable {
    const NAME: &'static str = "timetable";
    const SUMMARY: &'static str = "When a gate is open";
    type Policy = Box<dyn Opens>;
    type Site = ();
}

/// Timetable that opens a fixed number of cycles after each request.
struct Every {
    cycles: Cycle,
    open_from: Cycle,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EverySpec {
    /// Cycles from one request to the next, 1 to 1000.
    #[serde(default = "two")]
    cycles: u32,
}

fn two() -> u32 {
    2
}

impl Opens for Every {
    fn from(&self, cycle: Cycle) -> Cycle {
        cycle.max(self.open_from)
    }

    fn passed(&mut self, cycle: Cycle) {
        self.open_from = cycle + self.cycles;
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("open_from", &mut self.open_from);
    }
}

/// Kind under which descriptions name the timetable.
pub(crate) struct EveryKind;

impl PolicyKind for EveryKind {
    type Role = Timetable;
    const NAME: &'static str = "Every";
    const SUMMARY: &'static str = "Open some cycles after each request";
    type Spec = EverySpec;

    fn build(
        spec: EverySpec,
        _context: &PolicyContext<'_, Timetable>,
    ) -> Result<Box<dyn Opens>, SpecError> {
        SpecError::in_range("cycles", spec.cycles, 1..=1000)?;
        Ok(Box::new(Every {
            cycles: spec.cycles.into(),
            open_from: 0,
        }))
    }
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateSpec {
    /// Timetable policy that decides when the gate is open.
    timetable: Policy<Timetable>,
}

/// Gate component described at the top of the file.
#[derive(Ports, Statistics)]
pub(crate) struct Gate {
    timetable: Box<dyn Opens>,
    #[port]
    up: MemSlave,
    #[port]
    down: MemMaster,
    /// Requests passed on.
    #[statistic(unit = "requests")]
    requests: u64,
}

impl Kind for Gate {
    const NAME: &'static str = "Gate";
    const SUMMARY: &'static str = "Passes memory requests on when its timetable says so";
    type Spec = GateSpec;

    fn build(spec: GateSpec, environment: &Environment) -> Result<Self, SpecError> {
        Ok(Self {
            timetable: spec.timetable.build("timetable", environment, &(), 0)?,
            up: MemSlave::default(),
            down: MemMaster::default(),
            requests: 0,
        })
    }
}

impl Component for Gate {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let mut blocked = false;
        while !blocked && self.down.response.peek(ctx).is_some() {
            blocked = !self.up.response.can_send(ctx);
            if !blocked && let Some(response) = self.down.response.pop(ctx) {
                self.up.response.send(ctx, response);
            }
        }
        if self.up.request.peek(ctx).is_none() {
            return if blocked { Next::Credit } else { Next::Message };
        }
        let open = self.timetable.from(ctx.cycle());
        if open > ctx.cycle() {
            return Next::Until(open);
        }
        if !self.down.request.can_send(ctx) {
            return Next::Credit;
        }
        if let Some(request) = self.up.request.pop(ctx) {
            self.down.request.send(ctx, request);
            self.timetable.passed(ctx.cycle());
            self.requests += 1;
        }
        Next::Busy
    }
}

impl Stateful for Gate {
    fn state(&mut self, state: &mut State<'_>) {
        state.part("timetable", |state| self.timetable.state(state));
        state.tally("requests", &mut self.requests);
    }
}
