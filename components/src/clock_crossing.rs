//! Clock-domain crossing: a memory wire through a pair of bounded synchronising FIFOs.
//!
//! ```text
//!   up.request  ─►[ depth, synchroniser_cycles ]─► down.request
//!   up.response ◄─[ depth, synchroniser_cycles ]◄─ down.response
//! ```
//!
//! The engine's channels carry exact timestamps. A wire between two clocks delivers a message at
//! the first receiver edge at or after its time. Domains may therefore be joined by plain wires,
//! and no message is ever early or late. A plain wire lacks the cost of real crossings:
//! synchroniser stages for the pointers, and the bounded FIFO in between. This component adds both.
//! It is clocked by one of the two domains (usually the upper one), and its wires to the other
//! domain cross the clocks.
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up` | [`MemSlave`] | requests wait in their wire while the request FIFO is full |
//! | `down` | [`MemMaster`] | responses wait in their wire while the response FIFO is full |
//!
//! # Timing
//! A message readable in cycle `t` of this component's clock, with none queued before it, leaves on
//! the other side in cycle `t + synchroniser_cycles`. One message per cycle and direction passes.
//! An entry freed in a cycle can be refilled in that cycle, so full rate needs
//! `depth ≥ synchroniser_cycles`. The wires add their own latency and the wait for the receiver's
//! edge. Ids pass unchanged, because no streams are merged.
//!
//! # Not modelled
//! Metastability; a slower release of slots than of data (the credit latency of the wires can model
//! it).

use std::any::Any;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Context, Cycle, Environment, Facts, Functional, FunctionalError, InPort, Inspect,
    Kind, Message, Negotiate, Next, Onward, OutPort, PortId, Ports, SpecError, State, Statistics,
    TimeWeighted, Waits,
};

use crate::building_blocks::DelayLine;
use crate::memory::{MemMaster, MemRequest, MemResponse, MemSlave, forward_functional, is_request};

/// Specification of a clock crossing: FIFO depth and synchroniser latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockCrossingSpec {
    /// Messages that the FIFO of each direction holds.
    pub depth: u32,
    /// Cycles of this component's clock that a message takes, at least 1; two or three synchroniser
    /// stages are usual.
    pub synchroniser_cycles: u32,
}

/// FIFO of one direction of the crossing.
#[derive(State)]
struct Fifo<T> {
    line: DelayLine<T>,
    passed: u64,
    occupancy: TimeWeighted,
    /// True if the head was refused in the last evaluation.
    blocked: bool,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self {
            line: DelayLine::default(),
            passed: 0,
            occupancy: TimeWeighted::default(),
            blocked: false,
        }
    }
}

impl<T: Message + Copy> Fifo<T> {
    /// Evaluates one cycle: the head leaves and the next message is taken. Returns the next cycle
    /// with work that needs no external event.
    fn evaluate(
        &mut self,
        ctx: &mut Context<'_>,
        spec: &ClockCrossingSpec,
        (from, to): (&mut InPort<T>, &mut OutPort<T>),
    ) -> Option<Cycle> {
        let now = ctx.cycle();
        self.blocked = false;
        if let Some(message) = self.line.ready(now) {
            self.blocked = to.try_send(ctx, *message).is_err();
            if !self.blocked {
                self.line.take(now);
                self.passed += 1;
                self.occupancy.sub(now, 1);
            }
        }
        let depth = spec.depth as usize;
        if self.line.len() < depth
            && let Some(message) = from.pop(ctx)
        {
            self.line
                .push(now + u64::from(spec.synchroniser_cycles), message);
            self.occupancy.add(now, 1);
        }
        if self.line.len() < depth && from.peek(ctx).is_some() {
            return Some(now + 1);
        }
        let next = self.line.next().filter(|_| !self.blocked);
        next.map(|cycle| cycle.max(now + 1))
    }
}

/// Clock-domain crossing with a synchronising FIFO per direction.
#[derive(Ports, State, Statistics)]
pub struct ClockCrossing {
    #[state(skip)]
    spec: ClockCrossingSpec,
    #[port]
    up: MemSlave,
    #[port]
    down: MemMaster,
    /// Requests that crossed.
    #[state(part)]
    #[statistic(value = self.requests.passed, unit = "requests")]
    requests: Fifo<MemRequest>,
    /// Responses that crossed.
    #[state(part)]
    #[statistic(value = self.responses.passed, unit = "responses")]
    #[statistic(
        value = self.requests.occupancy,
        name = "request_occupancy",
        unit = "requests",
        meaning = "Mean number of requests in the FIFO"
    )]
    #[statistic(
        value = self.responses.occupancy,
        name = "response_occupancy",
        unit = "responses",
        meaning = "Mean number of responses in the FIFO"
    )]
    responses: Fifo<MemResponse>,
}

impl Kind for ClockCrossing {
    const NAME: &'static str = "ClockCrossing";
    const SUMMARY: &'static str = "Synchronising FIFOs of a memory wire between two clocks";
    type Spec = ClockCrossingSpec;

    fn build(spec: ClockCrossingSpec, _environment: &Environment) -> Result<Self, SpecError> {
        SpecError::in_range("depth", spec.depth, 1..=1 << 20)?;
        SpecError::in_range("synchroniser_cycles", spec.synchroniser_cycles, 1..=1 << 16)?;
        Ok(Self {
            spec,
            up: MemSlave::default(),
            down: MemMaster::default(),
            requests: Fifo::default(),
            responses: Fifo::default(),
        })
    }
}

impl Component for ClockCrossing {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let down = (&mut self.up.request, &mut self.down.request);
        let request = self.requests.evaluate(ctx, &self.spec, down);
        let up = (&mut self.down.response, &mut self.up.response);
        let response = self.responses.evaluate(ctx, &self.spec, up);
        match request.into_iter().chain(response).min() {
            Some(cycle) if cycle == ctx.cycle() + 1 => Next::Busy,
            Some(cycle) => Next::Until(cycle),
            None if self.requests.blocked || self.responses.blocked => Next::Credit,
            None => Next::Idle,
        }
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Negotiate for ClockCrossing {
    fn passage(&self, port: PortId, _facts: &mut Facts) -> Option<u32> {
        is_request(port).then_some(0)
    }
}

impl Functional for ClockCrossing {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        forward_functional(port, message, Self::DOWN.member(MemMaster::REQUEST), onward)
    }
}

impl Inspect for ClockCrossing {
    fn waits(&self, waits: &mut Waits<'_>) {
        for (what, inside) in [
            ("requests", self.requests.line.len()),
            ("responses", self.responses.line.len()),
        ] {
            if inside > 0 {
                waits.inside(format!("{inside} {what} in the synchronizing FIFO"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpweave_framework::{
        EngineOptions, Frequency, InstanceStatistics, Link, Order, TestBench,
    };

    use super::*;
    use crate::building_blocks::{EchoMemory, EchoMemorySpec};
    use crate::memory::{Level, RequestKind};

    fn crossing(depth: u32, synchroniser_cycles: u32) -> ClockCrossing {
        let spec = ClockCrossingSpec {
            depth,
            synchroniser_cycles,
        };
        ClockCrossing::build(spec, &Environment::default()).unwrap()
    }

    #[test]
    fn a_message_takes_the_synchroniser_cycles_each_way() {
        let mut bench = TestBench::new();
        bench.add("cdc", crossing(4, 3));
        let requests = bench.source("cdc.up.request");
        let arrivals = bench.sink::<MemRequest>("cdc.down.request");
        let answers = bench.source("cdc.down.response");
        let responses = bench.sink::<MemResponse>("cdc.up.response");
        let read = MemRequest::read(7, 128, 1);
        requests.send_at(10, read);
        bench.expect_at(&arrivals, 13, &read);
        answers.send_at(20, read.answer(Level::L2));
        bench.expect_at(&responses, 23, &read.answer(Level::L2));
    }

    #[test]
    fn depth_bounds_the_rate_to_its_share_of_the_latency() {
        for (depth, expected) in [
            (1, [8, 11, 14, 17]),
            (2, [8, 9, 11, 12]),
            (3, [8, 9, 10, 11]),
        ] {
            let mut bench = TestBench::new();
            bench.add("cdc", crossing(depth, 3));
            let requests = bench.source("cdc.up.request");
            let arrivals = bench.sink::<MemRequest>("cdc.down.request");
            bench.source::<MemResponse>("cdc.down.response");
            bench.sink::<MemResponse>("cdc.up.response");
            for n in 0..4 {
                requests.send_at(5, MemRequest::read(n, 0, 1));
            }
            bench.step(40);
            let cycles: Vec<_> = arrivals.take_all().iter().map(|(c, _)| *c).collect();
            assert_eq!(cycles, expected, "depth {depth}");
        }
    }

    #[test]
    fn a_round_trip_between_two_clocks_is_exact() {
        // Upper side at 3 GHz (2 ticks), memory at 2 GHz (3 ticks).
        let mut bench = TestBench::with_clock(Frequency::new(3_000_000_000, 1).unwrap());
        bench.add("cdc", crossing(4, 2));
        let mut memory = EchoMemory::new(&EchoMemorySpec {
            level: Level::L2,
            ..EchoMemorySpec::latency(5)
        })
        .unwrap();
        let arrivals = memory.arrivals();
        let slow = bench
            .builder()
            .clock("memory", Frequency::new(2_000_000_000, 1).unwrap());
        bench.builder().add("memory", slow, memory);
        bench
            .builder()
            .connect("cdc.down", "memory.up", Link::latency(1));
        let requests = bench.source("cdc.up.request");
        let responses = bench.sink::<MemResponse>("cdc.up.response");
        let read = MemRequest::read(1, 0, 1);
        requests.send_at(10, read);
        // Leaves at 12 (tick 24), readable at tick 26, seen at the edge 27 = cycle 9 of the memory.
        // Answered in its cycle 14 (tick 42), readable at 45, seen at tick 46 = cycle 23.
        bench.expect_at(&responses, 23 + 2, &read.answer(Level::L2));
        assert_eq!(arrivals.take_all(), [(9, read)]);
    }

    #[test]
    fn sizes_of_zero_are_named() {
        for (depth, cycles, field) in [(0, 1, "depth"), (1, 0, "synchroniser_cycles")] {
            let spec = ClockCrossingSpec {
                depth,
                synchroniser_cycles: cycles,
            };
            let error = ClockCrossing::build(spec, &Environment::default())
                .err()
                .unwrap();
            assert_eq!(error.field, field);
        }
    }

    type Traffic = Vec<(Cycle, RequestKind)>;
    type Outcomes = (
        Vec<(Cycle, MemRequest)>,
        Vec<(Cycle, MemResponse)>,
        InstanceStatistics,
    );

    fn run(
        (depth, synchroniser_cycles): (u32, u32),
        traffic: &Traffic,
        (stalls, memory_hertz): (u32, u64),
        options: EngineOptions,
    ) -> Outcomes {
        let mut bench = TestBench::new();
        bench.set_options(options);
        bench.add("cdc", crossing(depth, synchroniser_cycles));
        let mut memory = EchoMemory::new(&EchoMemorySpec {
            stalls,
            seed: 1,
            ..EchoMemorySpec::latency(7)
        })
        .unwrap();
        let arrivals = memory.arrivals();
        let clock = bench
            .builder()
            .clock("memory", Frequency::new(memory_hertz, 1).unwrap());
        bench.builder().add("memory", clock, memory);
        bench
            .builder()
            .connect("cdc.down", "memory.up", Link::latency(1));
        let source = bench.source("cdc.up.request");
        for (number, &(cycle, kind)) in traffic.iter().enumerate() {
            let read = MemRequest::read(number as u32, 0, u32::MAX);
            source.send_at(1 + cycle, MemRequest { kind, ..read });
        }
        let sink = bench.sink::<MemResponse>("cdc.up.response");
        sink.stall_randomly(4, stalls);
        bench.step(3_000);
        let statistics = bench.statistics("cdc");
        (arrivals.take_all(), sink.take_all(), statistics)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn everything_crosses_once_and_in_order_whatever_stalls(
            depth in 1u32..5, cycles in 1u32..5, stalls in 0u32..12,
            memory_hertz in prop::sample::select(vec![700_000_000u64, 1_000_000_000, 1_750_000_000]),
            mut traffic in prop::collection::vec(
                (0u64..60, prop::sample::select(RequestKind::ALL.to_vec())), 0..60),
        ) {
            traffic.sort_by_key(|r| r.0);
            let terms = ((depth, cycles), (stalls, memory_hertz));
            let outcome = run(terms.0, &traffic, terms.1, EngineOptions::default());
            let (arrived, responses, statistics) = &outcome;
            let ids: Vec<_> = arrived.iter().map(|(_, r)| r.id as usize).collect();
            prop_assert_eq!(ids, (0..traffic.len()).collect::<Vec<_>>());
            let ids: Vec<_> = responses.iter().map(|(_, r)| r.id as usize).collect();
            let wanted: Vec<_> = (0..traffic.len()).filter(|&n| traffic[n].1.wants_response()).collect();
            prop_assert_eq!(ids.len() as u64, statistics.counter("responses").unwrap());
            prop_assert_eq!(ids, wanted);
            for options in [
                EngineOptions { sleeping: false, ..EngineOptions::default() },
                EngineOptions { order: Order::Shuffled { seed: 3 }, ..EngineOptions::default() },
            ] {
                prop_assert_eq!(&run(terms.0, &traffic, terms.1, options), &outcome);
            }
        }
    }
}
