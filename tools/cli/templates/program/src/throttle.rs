//! Passes memory requests on, at most one every `interval_cycles` cycles.
//!
//! ```text
//!   up.request  ──►[ opens every `interval_cycles` ]──► down.request
//!   up.response ◄────────────────────────────────────── down.response
//! ```
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up` | [`MemSlave`] | requests wait in their wire until the next one may pass and `down` has room |
//! | `down` | [`MemMaster`] | responses wait in their wire until `up` has room |
//!
//! # Timing
//! A request leaves in the cycle in which it is readable, but at least `interval_cycles` after the
//! previous one. A response leaves in the cycle in which it is readable.
//!
//! # Not modelled
//! Processing of the messages themselves.

use std::any::Any;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave::components::memory::{MemMaster, MemSlave, forward_functional};
use warpweave::framework::{
    Component, Context, Cycle, Environment, Facts, Functional, FunctionalError, Kind, Negotiate,
    Next, Onward, PortId, Ports, SpecError, State, Statistics,
};

/// Parameters of the component, as set in descriptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThrottleSpec {
    /// Cycles from one request to the next, 1 to 65536.
    interval_cycles: u32,
}

/// Component described at the top of the file.
#[derive(Ports, State, Statistics)]
pub(crate) struct Throttle {
    #[state(skip)]
    spec: ThrottleSpec,
    #[port]
    up: MemSlave,
    #[port]
    down: MemMaster,
    /// First cycle in which the next request may pass.
    open_from: Cycle,
    /// Requests passed on.
    #[state(tally)]
    #[statistic(unit = "requests")]
    requests: u64,
    /// Responses passed on.
    #[state(tally)]
    #[statistic(unit = "responses")]
    responses: u64,
}

impl Kind for Throttle {
    const NAME: &'static str = "Throttle";
    const SUMMARY: &'static str = "Passes memory requests on at a bounded rate";
    type Spec = ThrottleSpec;

    fn build(spec: ThrottleSpec, _environment: &Environment) -> Result<Self, SpecError> {
        SpecError::in_range("interval_cycles", spec.interval_cycles, 1..=1 << 16)?;
        Ok(Self {
            spec,
            up: MemSlave::default(),
            down: MemMaster::default(),
            open_from: 0,
            requests: 0,
            responses: 0,
        })
    }
}

impl Component for Throttle {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let blocked = self.pass_responses(ctx);
        if self.up.request.peek(ctx).is_none() {
            return if blocked { Next::Credit } else { Next::Message };
        }
        if ctx.cycle() < self.open_from {
            return Next::Until(self.open_from);
        }
        if !self.down.request.can_send(ctx) {
            return Next::Credit;
        }
        if let Some(request) = self.up.request.pop(ctx) {
            self.down.request.send(ctx, request);
            self.requests += 1;
            self.open_from = ctx.cycle() + Cycle::from(self.spec.interval_cycles);
        }
        match self.up.request.peek(ctx) {
            Some(_) => Next::Until(self.open_from),
            None if blocked => Next::Credit,
            None => Next::Message,
        }
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }
}

/// Lets the neighbours see each other: the lengths of their lines, for example, are compared
/// through this component.
impl Negotiate for Throttle {
    fn passage(&self, port: PortId, _facts: &mut Facts) -> Option<u32> {
        (port.member == MemMaster::REQUEST).then_some(0)
    }
}

/// Forwards the accesses that warm caches up before a region.
impl Functional for Throttle {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        forward_functional(port, message, Self::DOWN.member(MemMaster::REQUEST), onward)
    }
}

impl Throttle {
    /// Passes all readable responses on. True if one was left because `up` has no room.
    fn pass_responses(&mut self, ctx: &mut Context<'_>) -> bool {
        while self.down.response.peek(ctx).is_some() {
            if !self.up.response.can_send(ctx) {
                return true;
            }
            if let Some(response) = self.down.response.pop(ctx) {
                self.up.response.send(ctx, response);
                self.responses += 1;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use warpweave::components::checkers::surround_with_memory;
    use warpweave::components::memory::{Level, MemRequest, MemResponse, RequestKind};
    use warpweave::framework::TestBench;
    use warpweave::framework::verify::{Contract, Rig};

    use super::*;

    fn build(interval_cycles: u32) -> Result<Throttle, SpecError> {
        Throttle::build(ThrottleSpec { interval_cycles }, &Environment::default())
    }

    #[test]
    fn requests_leave_one_interval_apart_and_responses_at_once() {
        let mut bench = TestBench::new();
        bench.add("dut", build(4).unwrap());
        let requests = bench.source("dut.up.request");
        let below = bench.sink::<MemRequest>("dut.down.request");
        let answers = bench.source("dut.down.response");
        let above = bench.sink::<MemResponse>("dut.up.response");
        let read = |id| MemRequest::read(id, 128, 1);
        for (cycle, id) in [(10, 1), (11, 2), (30, 3)] {
            requests.send_at(cycle, read(id));
        }
        answers.send_at(20, read(1).answer(Level::DRAM));
        bench.expect_at(&below, 10, &read(1));
        bench.expect_at(&below, 14, &read(2));
        bench.expect_at(&above, 20, &read(1).answer(Level::DRAM));
        bench.expect_at(&below, 30, &read(3));
        let statistics = bench.statistics("dut");
        assert_eq!(statistics.counter("requests"), Some(3));
        assert_eq!(statistics.counter("responses"), Some(1));
    }

    #[test]
    fn it_keeps_every_promise_under_any_traffic() {
        Contract::new(|rig: &mut Rig| {
            rig.add("dut", build(3).unwrap());
            surround_with_memory(rig, &RequestKind::ALL, &["dut.up"], &["dut.down"]);
        })
        .assert();
    }

    #[test]
    fn an_interval_of_zero_is_refused() {
        let error = build(0).err().unwrap();
        assert_eq!(error.field, "interval_cycles");
    }
}
