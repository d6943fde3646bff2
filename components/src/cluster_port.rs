//! The port of a cluster: the first-level caches of its compute units share one network port.
//!
//! ```text
//!   up[0] ─►┐             injection buffer
//!   up[1] ─►├ round robin ─►[ ▮▮▮▮ ]─► down.request
//!   up[n] ─►┘  1 / cycle     request_cycles
//!
//!   up[k] ◄─ by id ◄─[ ▮▮▮▮ ]◄─ down.response
//!     1 / cycle     response FIFO, response_cycles
//! ```
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up[i]` | [`MemSlave`] | a request waits in its wire while others are served, the injection buffer is full or all `outstanding` entries wait for responses |
//! | `down` | [`MemMaster`] | a response waits in its wire while the response FIFO is full |
//!
//! # Timing
//! A request readable at `up[i]` in cycle `t`, with nothing before it, leaves at `down` in cycle
//! `t + request_cycles`; a response readable at `down` in cycle `t` leaves at its up port in
//! `t + response_cycles`. In each direction one message per cycle is taken and one leaves; with
//! `broadcast`, the responses right behind it for the same line and sectors and other up ports leave
//! with it, as far as they have passed the port and their up ports have room. What
//! leaves a buffer in a cycle makes room for what is taken in that cycle, so full rate needs
//! `injection_depth ≥ request_cycles` and `response_depth ≥ response_cycles`.
//!
//! Requests are taken round robin: the first up port after the one served last whose request can
//! be taken. Copy-backs need no entry for a response and pass a full table; they are sent down
//! with id [`u32::MAX`]. The response FIFO is one queue: a compute unit that takes no response
//! blocks those behind it.
//!
//! # Not modelled
//! The bus inside the cluster beyond one message per cycle; coalescing of requests of different
//! compute units.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Environment, Kind, Level as Lasting, Message, Next, Ports,
    SpecError, State, Statistics, Waits,
};

use crate::building_blocks::DelayLine;
use crate::memory::{MemMaster, MemRequest, MemResponse, MemSlave, RequestKind};

/// Most up ports.
const UP_PORTS_MAX: u32 = 1 << 12;

/// Most entries of each buffer and of the table.
const DEPTH_MAX: u32 = 1 << 20;

/// Most up ports of a response bus that reaches all at once.
const BROADCAST_PORTS_MAX: u32 = 128;

/// Whether one transfer can bring both responses.
fn carries_the_same(a: &MemResponse, b: &MemResponse) -> bool {
    let bytes = |r: &MemResponse| (r.line, r.words, r.level, r.write_sequence);
    a.kind == RequestKind::Read && b.kind == RequestKind::Read && bytes(a) == bytes(b)
}

/// What a description says about a cluster port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterPortSpec {
    /// Compute units of the cluster, 1 to 4096.
    pub up_ports: u32,
    /// Requests that the injection buffer holds. Source: 8, own choice.
    pub injection_depth: u32,
    /// Responses that the response FIFO holds. Source: 16, own choice.
    pub response_depth: u32,
    /// Cycles a request takes through the port, at least 1.
    pub request_cycles: u32,
    /// Cycles a response takes through the port, at least 1.
    pub response_cycles: u32,
    /// Requests of the cluster that may wait for their responses.
    pub outstanding: u32,
    /// The response bus reaches all compute units at once: responses that follow each other in the
    /// FIFO and carry the same bytes of the same line to different compute units leave together.
    /// Source: off in the ICC paper's baseline.
    #[serde(default)]
    pub broadcast: bool,
}

/// Where a response belongs.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Entry {
    port: u32,
    /// Id of the request as it came from above.
    id: u32,
    waits: bool,
}

#[derive(Default, Serialize, Deserialize)]
struct Counters {
    requests: u64,
    request_bytes: u64,
    responses: u64,
    response_bytes: u64,
    /// Responses that left together with one before them.
    shared_responses: u64,
    /// Requests taken, per up port.
    taken: Vec<u64>,
    injection_occupancy: Lasting,
    response_occupancy: Lasting,
}

/// The component; see the module.
pub struct ClusterPort {
    spec: ClusterPortSpec,
    up: Vec<MemSlave>,
    down: MemMaster,
    injection: DelayLine<MemRequest>,
    responses: DelayLine<MemResponse>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Up port with the highest priority.
    first: usize,
    counters: Counters,
}

impl Kind for ClusterPort {
    const NAME: &'static str = "ClusterPort";
    const SUMMARY: &'static str = "One network port shared by the compute units of a cluster";
    type Spec = ClusterPortSpec;

    fn build(spec: ClusterPortSpec, _environment: &Environment) -> Result<Self, SpecError> {
        let range = |field: &str, value: u32, high: u32| {
            SpecError::require((1..=high).contains(&value), field, || {
                format!("{value} is outside 1..={high}")
            })
        };
        range("up_ports", spec.up_ports, UP_PORTS_MAX)?;
        range("injection_depth", spec.injection_depth, DEPTH_MAX)?;
        range("response_depth", spec.response_depth, DEPTH_MAX)?;
        range("request_cycles", spec.request_cycles, 1 << 16)?;
        range("response_cycles", spec.response_cycles, 1 << 16)?;
        range("outstanding", spec.outstanding, DEPTH_MAX)?;
        SpecError::require(
            !spec.broadcast || spec.up_ports <= BROADCAST_PORTS_MAX,
            "broadcast",
            || format!("a bus reaches at most {BROADCAST_PORTS_MAX} up ports at once"),
        )?;
        let empty = Entry {
            port: 0,
            id: 0,
            waits: false,
        };
        Ok(Self {
            up: (0..spec.up_ports).map(|_| MemSlave::default()).collect(),
            down: MemMaster::default(),
            injection: DelayLine::default(),
            responses: DelayLine::default(),
            entries: vec![empty; spec.outstanding as usize],
            free: (0..spec.outstanding).rev().collect(),
            first: 0,
            counters: Counters {
                taken: vec![0; spec.up_ports as usize],
                ..Counters::default()
            },
            spec,
        })
    }
}

impl Component for ClusterPort {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundles("up", &mut self.up);
        ports.bundle("down", &mut self.down);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        // Responses first: their departure frees entries that requests can take.
        let response_blocked = !self.return_responses(ctx);
        self.take_response(ctx);
        let request_blocked = !self.inject(ctx);
        self.take_request(ctx);
        self.next(ctx, request_blocked, response_blocked)
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("injection", &mut self.injection);
        state.field("responses", &mut self.responses);
        state.array("entries", &mut self.entries);
        state.field("free", &mut self.free);
        state.field("first", &mut self.first);
        state.field("counters", &mut self.counters);
    }

    fn evaluation_cost(&self) -> u64 {
        // About 470 instructions.
        5
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        let cycle = statistics.cycle();
        let counters = &self.counters;
        let count = [
            (
                "requests",
                "requests",
                "Requests sent down",
                counters.requests,
            ),
            (
                "request_bytes",
                "bytes",
                "Bytes of the requests sent down",
                counters.request_bytes,
            ),
            (
                "responses",
                "responses",
                "Responses sent up",
                counters.responses,
            ),
            (
                "response_bytes",
                "bytes",
                "Bytes of the responses sent up",
                counters.response_bytes,
            ),
            (
                "shared_responses",
                "responses",
                "Responses sent up together with one before them",
                counters.shared_responses,
            ),
        ];
        for (name, unit, meaning, value) in count {
            statistics.counter(name, unit, meaning, value);
        }
        for (port, taken) in counters.taken.iter().enumerate() {
            statistics.counter(
                &format!("requests_taken[{port}]"),
                "requests",
                "Requests taken from this up port",
                *taken,
            );
        }
        statistics.gauge(
            "injection_occupancy",
            "requests",
            "Mean number of requests in the injection buffer",
            counters.injection_occupancy.mean(cycle),
        );
        statistics.gauge(
            "response_occupancy",
            "responses",
            "Mean number of responses in the response FIFO",
            counters.response_occupancy.mean(cycle),
        );
    }

    fn contents(&self, contents: &mut Contents<'_>) {
        contents.level("requests", self.injection.len() as u64);
        contents.level("responses", self.responses.len() as u64);
        let unanswered = self.entries.len() - self.free.len();
        contents.level("unanswered", unanswered as u64);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        if !self.injection.is_empty() {
            waits.inside(format!(
                "{} requests in the injection buffer",
                self.injection.len()
            ));
        }
        if !self.responses.is_empty() {
            waits.inside(format!(
                "{} responses in the response FIFO",
                self.responses.len()
            ));
        }
        let waiting = self.entries.len() - self.free.len();
        if waiting > 0 {
            waits.on_port(
                "down.response",
                format!("{waiting} requests wait for their responses"),
            );
        }
    }
}

impl ClusterPort {
    /// Sends the oldest response up, and those that can share its transfer; false if its port had
    /// no room.
    fn return_responses(&mut self, ctx: &mut Context<'_>) -> bool {
        let Some(first) = self.responses.ready(ctx.cycle()).copied() else {
            return true;
        };
        let mut served: u128 = 1 << (self.entries[first.id as usize].port % BROADCAST_PORTS_MAX);
        if !self.return_response(ctx, first) {
            return false;
        }
        while self.spec.broadcast
            && let Some(next) = self.responses.ready(ctx.cycle()).copied()
        {
            let port = 1 << (self.entries[next.id as usize].port % BROADCAST_PORTS_MAX);
            if !carries_the_same(&first, &next) || served & port != 0 {
                break;
            }
            served |= port;
            if !self.return_response(ctx, next) {
                return false;
            }
            self.counters.shared_responses += 1;
        }
        true
    }

    /// Sends the oldest response up; false if its port had no room.
    fn return_response(&mut self, ctx: &mut Context<'_>, response: MemResponse) -> bool {
        let now = ctx.cycle();
        let slot = response.id;
        let entry = &mut self.entries[slot as usize];
        let response = MemResponse {
            id: entry.id,
            ..response
        };
        let up = &mut self.up[entry.port as usize].response;
        if up.try_send(ctx, response).is_err() {
            return false;
        }
        entry.waits = false;
        self.free.push(slot);
        self.responses.take(now);
        self.counters.response_occupancy.sub(now, 1);
        self.counters.responses += 1;
        self.counters.response_bytes += u64::from(response.wire_bytes());
        true
    }

    fn take_response(&mut self, ctx: &mut Context<'_>) {
        if self.responses.len() >= self.spec.response_depth as usize {
            return;
        }
        let Some(response) = self.down.response.pop(ctx) else {
            return;
        };
        if self
            .entries
            .get(response.id as usize)
            .is_none_or(|e| !e.waits)
        {
            ctx.fail(format!(
                "down answered id {}, for which nothing waits: {response:?}",
                response.id
            ));
            return;
        }
        let at = ctx.cycle() + u64::from(self.spec.response_cycles);
        self.responses.push(at, response);
        self.counters.response_occupancy.add(ctx.cycle(), 1);
    }

    /// Sends the oldest request down; false if there was no room.
    fn inject(&mut self, ctx: &mut Context<'_>) -> bool {
        let now = ctx.cycle();
        let Some(request) = self.injection.ready(now).copied() else {
            return true;
        };
        if self.down.request.try_send(ctx, request).is_err() {
            return false;
        }
        self.injection.take(now);
        self.counters.injection_occupancy.sub(now, 1);
        self.counters.requests += 1;
        self.counters.request_bytes += u64::from(request.wire_bytes());
        true
    }

    fn take_request(&mut self, ctx: &mut Context<'_>) {
        let Some(port) = self.next_port(ctx) else {
            return;
        };
        let mut request = self.up[port].request.pop(ctx).expect("next_port peeked");
        self.first = (port + 1) % self.up.len();
        request.id = if request.kind.wants_response() {
            let slot = self.free.pop().expect("next_port asked for an entry");
            self.entries[slot as usize] = Entry {
                port: port as u32,
                id: request.id,
                waits: true,
            };
            slot
        } else {
            u32::MAX
        };
        let at = ctx.cycle() + u64::from(self.spec.request_cycles);
        self.injection.push(at, request);
        self.counters.injection_occupancy.add(ctx.cycle(), 1);
        self.counters.taken[port] += 1;
    }

    /// The up port whose request is taken next, if one can be.
    fn next_port(&self, ctx: &Context<'_>) -> Option<usize> {
        if self.injection.len() >= self.spec.injection_depth as usize {
            return None;
        }
        let n = self.up.len();
        (self.first..n).chain(0..self.first).find(|port| {
            let request = self.up[*port].request.peek(ctx);
            request.is_some_and(|r| !r.kind.wants_response() || !self.free.is_empty())
        })
    }

    fn next(&self, ctx: &Context<'_>, request_blocked: bool, response_blocked: bool) -> Next {
        let now = ctx.cycle();
        let more_responses = self.responses.len() < self.spec.response_depth as usize
            && self.down.response.peek(ctx).is_some();
        if more_responses || self.next_port(ctx).is_some() {
            return Next::Busy;
        }
        let injection = self.injection.next().filter(|_| !request_blocked);
        let response = self.responses.next().filter(|_| !response_blocked);
        match injection.into_iter().chain(response).min() {
            Some(cycle) if cycle <= now + 1 => Next::Busy,
            Some(cycle) => Next::Until(cycle),
            None if request_blocked || response_blocked => Next::Credit,
            None if self.free.len() < self.entries.len() => Next::Message,
            None => Next::Idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpweave_framework::{
        Cycle, EngineOptions, InstanceStatistics, Link, Order, Sink, TestBench,
    };

    use super::*;
    use crate::building_blocks::{EchoMemory, EchoMemorySpec};
    use crate::memory::Level;

    fn spec() -> ClusterPortSpec {
        ClusterPortSpec {
            up_ports: 3,
            injection_depth: 8,
            response_depth: 16,
            request_cycles: 2,
            response_cycles: 3,
            outstanding: 64,
            broadcast: false,
        }
    }

    fn port(spec: ClusterPortSpec) -> ClusterPort {
        ClusterPort::build(spec, &Environment::default()).unwrap()
    }

    #[test]
    fn a_request_and_its_response_take_the_documented_cycles() {
        let mut bench = TestBench::new();
        bench.add("port", port(spec()));
        let requests = bench.source::<MemRequest>("port.up[2].request");
        let arrivals = bench.sink::<MemRequest>("port.down.request");
        let answers = bench.source::<MemResponse>("port.down.response");
        let responses = bench.sink::<MemResponse>("port.up[2].response");
        for other in 0..2 {
            bench.source::<MemRequest>(&format!("port.up[{other}].request"));
            bench.sink::<MemResponse>(&format!("port.up[{other}].response"));
        }
        let read = MemRequest::read(9, 128, 1);
        requests.send_at(10, read);
        let down = MemRequest { id: 0, ..read };
        bench.expect_at(&arrivals, 12, &down);
        answers.send_at(20, down.answer(Level::L2));
        bench.expect_at(&responses, 23, &read.answer(Level::L2));
    }

    #[test]
    fn up_ports_take_turns_one_request_per_cycle() {
        let mut bench = TestBench::new();
        bench.add("port", port(spec()));
        let arrivals = bench.sink::<MemRequest>("port.down.request");
        bench.source::<MemResponse>("port.down.response");
        for up in 0..3u32 {
            let source = bench.source(&format!("port.up[{up}].request"));
            for n in 0..3 {
                source.send_at(5, MemRequest::read(n, u64::from(up) * 128, 1));
            }
            bench.sink::<MemResponse>(&format!("port.up[{up}].response"));
        }
        bench.step(30);
        let got: Vec<_> = arrivals
            .take_all()
            .iter()
            .map(|(c, r)| (*c, r.line / 128))
            .collect();
        let expected: Vec<_> = (0..9).map(|k| (7 + k, k % 3)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn a_full_injection_buffer_stalls_without_loss() {
        let mut bench = TestBench::new();
        bench.add(
            "port",
            port(ClusterPortSpec {
                up_ports: 1,
                injection_depth: 1,
                ..spec()
            }),
        );
        let requests = bench.source("port.up[0].request");
        let arrivals = bench.sink::<MemRequest>("port.down.request");
        bench.source::<MemResponse>("port.down.response");
        bench.sink::<MemResponse>("port.up[0].response");
        for n in 0..3 {
            requests.send_at(5, MemRequest::read(n, 0, 1));
        }
        bench.step(30);
        let cycles: Vec<_> = arrivals.take_all().iter().map(|(c, _)| *c).collect();
        assert_eq!(
            cycles,
            [7, 9, 11],
            "one slot passes one request per request_cycles"
        );
    }

    #[test]
    fn a_full_table_stalls_reads_but_not_copy_backs_of_other_ports() {
        let mut bench = TestBench::new();
        bench.add(
            "port",
            port(ClusterPortSpec {
                up_ports: 2,
                outstanding: 1,
                ..spec()
            }),
        );
        let first = bench.source("port.up[0].request");
        let second = bench.source("port.up[1].request");
        let arrivals = bench.sink::<MemRequest>("port.down.request");
        let answers = bench.source::<MemResponse>("port.down.response");
        let responses = bench.sink::<MemResponse>("port.up[0].response");
        bench.sink::<MemResponse>("port.up[1].response");
        let read = MemRequest::read(0, 0, 1);
        let copy_back = MemRequest {
            kind: RequestKind::CopyBack,
            ..read
        };
        first.send_at(5, read);
        first.send_at(5, MemRequest { line: 128, ..read });
        second.send_at(9, copy_back);
        bench.expect_at(&arrivals, 7, &read);
        bench.expect_at(
            &arrivals,
            11,
            &MemRequest {
                id: u32::MAX,
                ..copy_back
            },
        );
        bench.expect_nothing(&arrivals, 20);
        answers.send_at(40, read.answer(Level::L2));
        bench.expect_at(&responses, 43, &read.answer(Level::L2));
        bench.expect_at(&arrivals, 45, &MemRequest { line: 128, ..read });
    }

    #[test]
    fn a_broadcast_brings_one_line_to_several_units_in_one_cycle() {
        for (broadcast, behind) in [(false, [1, 2]), (true, [0, 1])] {
            let mut bench = TestBench::new();
            let spec = ClusterPortSpec {
                broadcast,
                ..spec()
            };
            bench.add("port", port(spec));
            let _arrivals = bench.sink::<MemRequest>("port.down.request");
            let answers = bench.source::<MemResponse>("port.down.response");
            // Unit 0 takes nothing at first: its first answer holds its wire, the others queue up.
            let answered = [(0, 512), (0, 0), (1, 0), (2, 128)];
            let mut sinks = Vec::new();
            for up in 0..3 {
                let source = bench.source(&format!("port.up[{up}].request"));
                for &(_, line) in answered.iter().filter(|a| a.0 == up) {
                    source.send_at(1 + up, MemRequest::read(7, line, 1));
                }
                let name = format!("port.up[{up}].response");
                let link = Link::latency(1).capacity(1);
                sinks.push(bench.sink_behind::<MemResponse>(&name, link));
            }
            sinks[0].stall_until(60);
            // Entries are taken in the order of the round robin: units 0, 1, 2, 0.
            for (id, line) in [(0, 512), (3, 0), (1, 0), (2, 128)] {
                answers.send_at(20, MemRequest::read(id, line, 1).answer(Level::L2));
            }
            bench.step(120);
            let cycles: Vec<Vec<_>> = sinks
                .iter()
                .map(|s| s.take_all().iter().map(|(cycle, _)| *cycle).collect())
                .collect();
            let blocked = cycles[0][1];
            assert_eq!([cycles[1][0] - blocked, cycles[2][0] - blocked], behind);
            let shared = bench.statistics("port").counter("shared_responses");
            assert_eq!(shared, Some(u64::from(broadcast)));
        }
    }

    #[test]
    #[should_panic(expected = "answered id 7, for which nothing waits")]
    fn an_answer_to_nothing_is_reported() {
        let mut bench = TestBench::new();
        bench.add(
            "port",
            port(ClusterPortSpec {
                up_ports: 1,
                ..spec()
            }),
        );
        bench.source::<MemRequest>("port.up[0].request");
        bench.sink::<MemRequest>("port.down.request");
        bench.sink::<MemResponse>("port.up[0].response");
        let answers = bench.source("port.down.response");
        answers.send_at(3, MemRequest::read(7, 0, 1).answer(Level::L2));
        bench.step(10);
    }

    #[test]
    fn zero_sizes_are_named() {
        let error = |change: &dyn Fn(&mut ClusterPortSpec)| {
            let mut spec = spec();
            change(&mut spec);
            let built = ClusterPort::build(spec, &Environment::default());
            built.err().map(|e| e.field)
        };
        assert_eq!(error(&|_| ()), None);
        assert_eq!(error(&|s| s.up_ports = 0).as_deref(), Some("up_ports"));
        assert_eq!(
            error(&|s| s.request_cycles = 0).as_deref(),
            Some("request_cycles")
        );
        assert_eq!(
            error(&|s| s.outstanding = u32::MAX).as_deref(),
            Some("outstanding")
        );
    }

    type Traffic = Vec<Vec<(Cycle, u64, RequestKind)>>;
    type Outcomes = (
        Vec<(Cycle, MemRequest)>,
        Vec<Vec<(Cycle, MemResponse)>>,
        InstanceStatistics,
    );

    fn run(
        spec: &ClusterPortSpec,
        traffic: &Traffic,
        stalls: u32,
        options: EngineOptions,
    ) -> Outcomes {
        let mut bench = TestBench::new();
        bench.set_options(options);
        bench.add("port", port(spec.clone()));
        let mut memory = EchoMemory::new(&EchoMemorySpec {
            stalls,
            seed: 1,
            ..EchoMemorySpec::latency(17)
        })
        .unwrap();
        let arrivals = memory.arrivals();
        bench.add("memory", memory);
        bench
            .builder()
            .connect("port.down", "memory.up", Link::latency(1));
        let mut sinks = Vec::new();
        for (up, requests) in traffic.iter().enumerate() {
            let source = bench.source(&format!("port.up[{up}].request"));
            for (number, &(cycle, line, kind)) in requests.iter().enumerate() {
                let read = MemRequest::read(number as u32, line * 128, u32::MAX);
                source.send_at(1 + cycle, MemRequest { kind, ..read });
            }
            let sink = bench.sink::<MemResponse>(&format!("port.up[{up}].response"));
            sink.stall_randomly(up as u64, stalls);
            sinks.push(sink);
        }
        bench.step(4_000);
        let statistics = bench.statistics("port");
        (
            arrivals.take_all(),
            sinks.iter().map(Sink::take_all).collect(),
            statistics,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn every_request_is_answered_once_in_order_whatever_stalls(
            up_ports in 1u32..6, depths in (1u32..6, 1u32..6, 1u32..8), cycles in (1u32..5, 1u32..5),
            stalls in 0u32..12, broadcast: bool,
            requests in prop::collection::vec(
                (0usize..6, 0u64..60, 0u64..8, prop::sample::select(RequestKind::ALL.to_vec())), 0..80),
        ) {
            let spec = ClusterPortSpec {
                up_ports,
                injection_depth: depths.0,
                response_depth: depths.1,
                outstanding: depths.2,
                request_cycles: cycles.0,
                response_cycles: cycles.1,
                broadcast,
            };
            let mut traffic: Traffic = vec![Vec::new(); up_ports as usize];
            for (up, cycle, line, kind) in requests {
                traffic[up % up_ports as usize].push((cycle, line, kind));
            }
            for port in &mut traffic {
                port.sort_by_key(|r| r.0);
            }
            let outcome = run(&spec, &traffic, stalls, EngineOptions::default());
            let (arrived, responses, statistics) = &outcome;
            let total: usize = traffic.iter().map(Vec::len).sum();
            prop_assert_eq!(arrived.len(), total);
            prop_assert_eq!(statistics.counter("requests"), Some(total as u64));
            for (up, sent) in traffic.iter().enumerate() {
                // The memory answers in order and the port keeps it.
                let ids: Vec<_> = responses[up].iter().map(|(_, r)| r.id as usize).collect();
                let wanted: Vec<_> = (0..sent.len()).filter(|&n| sent[n].2.wants_response()).collect();
                prop_assert_eq!(ids, wanted);
                for (_, response) in &responses[up] {
                    let (_, line, kind) = sent[response.id as usize];
                    prop_assert_eq!((response.line, response.kind), (line * 128, kind));
                }
            }
            for options in [
                EngineOptions { sleeping: false, ..EngineOptions::default() },
                EngineOptions { order: Order::Shuffled { seed: 3 }, ..EngineOptions::default() },
            ] {
                prop_assert_eq!(&run(&spec, &traffic, stalls, options), &outcome);
            }
        }
    }
}
