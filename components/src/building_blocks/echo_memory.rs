//! Memory model for test benches: it answers every request in order after a fixed latency.
//!
//! ```text
//!   up.request ──► [ 1 per cycle, some cycles off ] ──► latency_cycles ──► up.response
//! ```
//!
//! It serves as the next level of a component under test. Responses arrive at known cycles; with
//! `stalls`, back-pressure occurs at unpredictable ones.
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up` | [`MemSlave`] | a request waits in its wire in a stalled cycle, and while `latency_cycles` answers are inside; answers wait inside |
//!
//! # Timing
//! A request readable in cycle `t` that is not stalled is answered in cycle `t + latency_cycles`.
//! Copy-backs are accepted and not answered. One request and one response per cycle.
//!
//! # Not modelled
//! Contents: a response carries the write sequence of its request.
//!
//! ```
//! use warpweave_components::building_blocks::{EchoMemory, EchoMemorySpec};
//! use warpweave_components::clock_crossing::{ClockCrossing, ClockCrossingSpec};
//! use warpweave_components::memory::{Level, MemRequest, MemResponse};
//! use warpweave_framework::{Environment, Kind, Link, TestBench};
//!
//! let crossing = ClockCrossingSpec { depth: 4, synchroniser_cycles: 2 };
//! let mut memory = EchoMemory::new(&EchoMemorySpec::latency(20))?;
//! let arrivals = memory.arrivals();
//!
//! let mut bench = TestBench::new();
//! bench.add("crossing", ClockCrossing::build(crossing, &Environment::default())?);
//! bench.add("memory", memory);
//! bench.builder().connect("crossing.down", "memory.up", Link::latency(1));
//! let requests = bench.source::<MemRequest>("crossing.up.request");
//! let responses = bench.sink::<MemResponse>("crossing.up.response");
//!
//! let read = MemRequest::read(7, 0x80, u32::MAX);
//! requests.send_at(10, read);
//! // 2 cycles and a wire down, 20 in the memory, a wire and 2 cycles up.
//! bench.expect_at(&responses, 10 + 3 + 20 + 3, &read.answer(Level::DRAM));
//! assert_eq!(arrivals.take_all(), [(13, read)]);
//! # Ok::<(), warpweave_framework::SpecError>(())
//! ```

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Context, Cycle, Inspect, Next, Ports, SpecError, State, Statistics, Waits,
};
use warpweave_random::CounterRng;

use super::DelayLine;
use crate::memory::{Level, MemRequest, MemResponse, MemSlave};

/// Upper limit of the latency; the memory holds up to one response per cycle of latency.
const LATENCY_MAX: u32 = 1 << 20;

/// Cycles after which a continuously stalling memory checks again.
const LOOK_AHEAD: Cycle = 64;

/// Specification of an [`EchoMemory`]: latency, stalls and reported level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EchoMemorySpec {
    /// Cycles from accepting a request to its response, at least 1.
    pub latency_cycles: u32,
    /// Average number of cycles out of 16 that accept no request, 0 to 15.
    pub stalls: u32,
    /// Seed of the random choice of stalled cycles.
    pub seed: u64,
    /// Memory level reported in responses as the supplier of the data.
    pub level: Level,
}

impl EchoMemorySpec {
    /// Creates a specification with this latency in cycles and no stalls.
    pub fn latency(cycles: u32) -> Self {
        Self {
            latency_cycles: cycles,
            stalls: 0,
            seed: 0,
            level: Level::DRAM,
        }
    }
}

/// Memory with a fixed latency and optional random stalls, for test benches.
#[derive(Ports, State, Statistics)]
pub struct EchoMemory {
    #[port]
    up: MemSlave,
    #[state(skip)]
    spec: EchoMemorySpec,
    #[state(skip)]
    dice: CounterRng,
    answers: DelayLine<MemResponse>,
    /// Log of arrivals, kept only if requested; not part of the state.
    #[state(skip)]
    arrivals: Option<Arrivals>,
}

/// Log of the requests that arrived at an [`EchoMemory`], each with its cycle.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(Arc<Mutex<Vec<(Cycle, MemRequest)>>>);

impl Arrivals {
    /// Returns all logged arrivals not taken before, in order, and clears the log.
    pub fn take_all(&self) -> Vec<(Cycle, MemRequest)> {
        std::mem::take(&mut self.0.lock())
    }
}

impl EchoMemory {
    /// Builds the memory from its specification.
    ///
    /// # Errors
    /// Fails if a value is outside its range.
    pub fn new(spec: &EchoMemorySpec) -> Result<Self, SpecError> {
        SpecError::in_range("latency_cycles", spec.latency_cycles, 1..=LATENCY_MAX)?;
        SpecError::in_range("stalls", spec.stalls, 0..=15)?;
        Ok(Self {
            up: MemSlave::default(),
            spec: *spec,
            dice: CounterRng::new(spec.seed, "echo memory"),
            answers: DelayLine::default(),
            arrivals: None,
        })
    }

    /// Starts logging arrivals and returns a handle to the log. Entries are kept until they are
    /// taken.
    pub fn arrivals(&mut self) -> Arrivals {
        self.arrivals.get_or_insert_default().clone()
    }

    fn has_room(&self) -> bool {
        self.answers.len() < self.spec.latency_cycles as usize
    }

    fn is_stalled(&self, cycle: Cycle) -> bool {
        self.dice.chance(cycle, self.spec.stalls)
    }

    /// Returns the first cycle from `soon` on that is not stalled, within the look-ahead window.
    fn open_from(&self, soon: Cycle) -> Cycle {
        let mut cycles = soon..soon + LOOK_AHEAD;
        let open = cycles.find(|cycle| !self.is_stalled(*cycle));
        open.unwrap_or(soon + LOOK_AHEAD)
    }

    /// Sends the response that is due. Returns true if the port refused it.
    fn answer(&mut self, ctx: &mut Context<'_>) -> bool {
        let now = ctx.cycle();
        let Some(answer) = self.answers.ready(now) else {
            return false;
        };
        let sent = self.up.response.try_send(ctx, *answer).is_ok();
        if sent {
            self.answers.take(now);
        }
        !sent
    }

    fn take_request(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.cycle();
        if !self.has_room() || self.is_stalled(now) {
            return;
        }
        let Some(request) = self.up.request.pop(ctx) else {
            return;
        };
        if let Some(arrivals) = &self.arrivals {
            arrivals.0.lock().push((now, request));
        }
        if request.kind.wants_response() {
            let at = now + Cycle::from(self.spec.latency_cycles);
            self.answers.push(at, request.answer(self.spec.level));
        }
    }
}

impl Component for EchoMemory {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let refused = self.answer(ctx);
        self.take_request(ctx);
        let soon = ctx.cycle() + 1;
        let takes = self.has_room() && self.up.request.peek(ctx).is_some();
        let takes = takes.then(|| self.open_from(soon));
        let answers = self.answers.next().filter(|_| !refused);
        match takes.into_iter().chain(answers).min() {
            Some(cycle) => Next::Until(cycle),
            None if refused => Next::Credit,
            None => Next::Idle,
        }
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Inspect for EchoMemory {
    fn waits(&self, waits: &mut Waits<'_>) {
        if !self.answers.is_empty() {
            waits.inside(format!("{} answers wait", self.answers.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use warpweave_framework::verify::{Contract, Rig};
    use warpweave_framework::{Outcome, Sink, Source, TestBench};

    use super::*;
    use crate::checkers::surround_with_memory;
    use crate::memory::RequestKind;

    struct Bench {
        bench: TestBench,
        arrivals: Arrivals,
        requests: Source<MemRequest>,
        responses: Sink<MemResponse>,
    }

    fn bench(spec: EchoMemorySpec) -> Bench {
        let mut memory = EchoMemory::new(&spec).unwrap();
        let arrivals = memory.arrivals();
        let mut bench = TestBench::new();
        bench.add("memory", memory);
        Bench {
            requests: bench.source("memory.up.request"),
            responses: bench.sink("memory.up.response"),
            arrivals,
            bench,
        }
    }

    #[test]
    fn a_request_per_cycle_is_answered_after_the_latency() {
        for latency in [1, 5] {
            let mut b = bench(EchoMemorySpec::latency(latency));
            let reads: Vec<_> = (0..12).map(|id| MemRequest::read(id, 0, 1)).collect();
            for read in &reads {
                b.requests.send_at(10, *read);
            }
            b.bench.step(60);
            let received = b.responses.take_all();
            for (n, (cycle, response)) in received.iter().enumerate() {
                assert_eq!(*cycle, 10 + n as Cycle + Cycle::from(latency));
                assert_eq!(*response, reads[n].answer(Level::DRAM));
            }
            assert_eq!(received.len(), 12);
            let arrived = b.arrivals.take_all();
            let expected: Vec<_> = (10..).zip(reads).collect();
            assert_eq!(arrived, expected);
        }
    }

    #[test]
    fn copy_backs_are_not_answered() {
        let mut b = bench(EchoMemorySpec::latency(3));
        let copy_back = MemRequest {
            kind: RequestKind::CopyBack,
            ..MemRequest::write(9, 0, 1)
        };
        b.requests.send_at(10, copy_back);
        assert_eq!(b.bench.run_until_quiet(), Outcome::Done);
        assert_eq!(b.responses.count(), 0);
        assert_eq!(b.arrivals.take_all(), [(10, copy_back)]);
    }

    #[test]
    fn answers_that_cannot_leave_hold_requests_up_without_loss() {
        let mut b = bench(EchoMemorySpec::latency(4));
        b.responses.stall_until(100);
        for id in 0..40 {
            b.requests.send_at(10, MemRequest::read(id, 0, 1));
        }
        b.bench.step(90);
        assert!(b.requests.pending() > 25, "the sender is held up");
        b.bench.step(200);
        let ids: Vec<_> = b.responses.take_all().iter().map(|(_, r)| r.id).collect();
        assert_eq!(ids, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn about_as_many_cycles_take_no_request_as_the_description_says() {
        let spec = EchoMemorySpec {
            stalls: 4,
            seed: 3,
            ..EchoMemorySpec::latency(2)
        };
        let mut b = bench(spec);
        for id in 0..1200 {
            b.requests.send_at(10, MemRequest::read(id, 0, 1));
        }
        b.bench.step(3000);
        let last = b.arrivals.take_all().last().unwrap().0;
        assert!((1500..1700).contains(&last), "{last}");
    }

    #[test]
    fn numbers_outside_their_range_are_named() {
        let field = |spec: EchoMemorySpec| EchoMemory::new(&spec).err().unwrap().field;
        assert_eq!(field(EchoMemorySpec::latency(0)), "latency_cycles");
        let spec = EchoMemorySpec {
            stalls: 16,
            ..EchoMemorySpec::latency(1)
        };
        assert_eq!(field(spec), "stalls");
    }

    #[test]
    fn it_keeps_the_contract_of_a_component() {
        for stalls in [0, 9] {
            let spec = EchoMemorySpec {
                stalls,
                seed: 5,
                ..EchoMemorySpec::latency(7)
            };
            Contract::new(|rig: &mut Rig| {
                rig.add("memory", EchoMemory::new(&spec).unwrap());
                surround_with_memory(rig, &RequestKind::ALL, &["memory.up"], &[]);
            })
            .assert();
        }
    }
}
