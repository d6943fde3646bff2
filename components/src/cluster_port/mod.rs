//! Cluster port: the first-level caches of a cluster's compute units share one network port.
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
//! A request readable at `up[i]` in cycle `t`, with none queued before it, leaves at `down` in
//! cycle `t + request_cycles`. A response readable at `down` in cycle `t` leaves at its up port in
//! `t + response_cycles`. In each direction one message per cycle is taken and one leaves. With
//! `broadcast`, the directly following responses for the same line and sectors and other up ports
//! leave together with it. They must have passed the port and their up ports must have room. An
//! entry freed in a cycle can be refilled in that cycle. Full rate therefore needs
//! `injection_depth ≥ request_cycles` and `response_depth ≥ response_cycles`.
//!
//! Requests are taken round robin: from the first up port after the one served last whose request
//! can be taken. Copy-backs need no table entry and pass a full table; they are sent downstream
//! with id [`u32::MAX`]. The response FIFO is one queue: a compute unit that takes no response
//! blocks those behind it.
//!
//! # Not modelled
//! The bus inside the cluster beyond one message per cycle; coalescing of requests of different
//! compute units.

#[cfg(test)]
pub(crate) mod tests;

use std::any::Any;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Facts, Functional, FunctionalError, Id,
    IdTable, Inspect, Kind, Message, Negotiate, Next, Onward, PortId, Ports, Preset, SpecError,
    State, Statistics, TimeWeighted, Waits,
};

use crate::building_blocks::DelayLine;
use crate::memory::{
    MemMaster, MemRequest, MemResponse, MemSlave, PendingWords, RequestKind, forward_functional,
    is_request,
};

/// Maximum number of up ports of a cluster.
const UP_PORTS_MAX: u32 = 1 << 12;

/// Maximum number of entries of each buffer and of the table.
const DEPTH_MAX: u32 = Id::PLACES_MAX as u32;

/// Maximum latency through the port in cycles.
const CYCLES_MAX: u32 = 1 << 16;

/// Maximum number of up ports with a broadcast response bus.
const BROADCAST_PORTS_MAX: u32 = 128;

/// True if one transfer can deliver both responses.
fn carries_the_same(a: &MemResponse, b: &MemResponse) -> bool {
    let bytes = |r: &MemResponse| (r.line, r.words, r.level, r.write_sequence);
    a.kind == RequestKind::Read && b.kind == RequestKind::Read && bytes(a) == bytes(b)
}

/// Specification of a cluster port: buffers, latencies and outstanding requests.
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
    /// Maximum number of outstanding requests of the cluster.
    pub outstanding: u32,
    /// Enables a response bus that reaches all compute units at once. Consecutive responses with
    /// the same bytes of the same line to different compute units leave together. Source: off in
    /// the ICC paper's baseline.
    #[serde(default)]
    pub broadcast: bool,
}

/// Destination of a response: up port and original id.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Entry {
    port: u32,
    /// Id of the request as received from the upper level.
    id: u32,
    awaited: PendingWords,
}

#[derive(Default, Serialize, Deserialize, Statistics)]
struct Counters {
    /// Requests sent down.
    #[statistic(unit = "requests")]
    requests: u64,
    /// Bytes of the requests sent down.
    #[statistic(unit = "bytes")]
    request_bytes: u64,
    /// Responses sent up.
    #[statistic(unit = "responses")]
    responses: u64,
    /// Bytes of the responses sent up.
    #[statistic(unit = "bytes")]
    response_bytes: u64,
    /// Responses sent up in the same broadcast as an earlier one.
    #[statistic(unit = "responses")]
    shared_responses: u64,
    /// Requests taken from this up port.
    #[statistic(unit = "requests")]
    requests_taken: Vec<u64>,
    /// Mean number of requests in the injection buffer.
    #[statistic(unit = "requests")]
    injection_occupancy: TimeWeighted,
    /// Mean number of responses in the response FIFO.
    #[statistic(unit = "responses")]
    response_occupancy: TimeWeighted,
}

/// Port through which the compute units of a cluster share the network.
#[derive(Ports, State, Statistics)]
pub struct ClusterPort {
    #[port]
    up: Vec<MemSlave>,
    #[port]
    down: MemMaster,
    #[state(skip)]
    spec: ClusterPortSpec,
    injection: DelayLine<MemRequest>,
    responses: DelayLine<MemResponse>,
    /// Requests whose responses have not left.
    entries: IdTable<Entry>,
    /// Up port with the highest priority.
    first: usize,
    #[statistic(flatten)]
    counters: Counters,
}

impl Kind for ClusterPort {
    const NAME: &'static str = "ClusterPort";
    const SUMMARY: &'static str = "One network port shared by the compute units of a cluster";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "fermi",
        summary: "Port of one compute unit of the GTX 480. Source: GPGPU-Sim's SM2_GTX480 configuration",
        ron: include_str!("../../../scenarios/presets/fermi/cluster_port.ron"),
    }];
    type Spec = ClusterPortSpec;

    fn build(spec: ClusterPortSpec, _environment: &Environment) -> Result<Self, SpecError> {
        let range = SpecError::in_range;
        range("up_ports", spec.up_ports, 1..=UP_PORTS_MAX)?;
        range("injection_depth", spec.injection_depth, 1..=DEPTH_MAX)?;
        range("response_depth", spec.response_depth, 1..=DEPTH_MAX)?;
        range("request_cycles", spec.request_cycles, 1..=CYCLES_MAX)?;
        range("response_cycles", spec.response_cycles, 1..=CYCLES_MAX)?;
        range("outstanding", spec.outstanding, 1..=DEPTH_MAX)?;
        SpecError::require(
            !spec.broadcast || spec.up_ports <= BROADCAST_PORTS_MAX,
            "broadcast",
            || format!("a bus can reach at most {BROADCAST_PORTS_MAX} up ports at once"),
        )?;
        Ok(Self {
            up: (0..spec.up_ports).map(|_| MemSlave::default()).collect(),
            down: MemMaster::default(),
            injection: DelayLine::default(),
            responses: DelayLine::default(),
            entries: IdTable::default(),
            first: 0,
            counters: Counters {
                requests_taken: vec![0; spec.up_ports as usize],
                ..Counters::default()
            },
            spec,
        })
    }
}

impl Component for ClusterPort {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        // Responses first: their departure frees entries that requests can take.
        let response_blocked = !self.return_responses(ctx);
        self.take_response(ctx);
        let request_blocked = !self.inject(ctx);
        let took_request = self.take_request(ctx);
        self.note_occupancies(ctx.cycle());
        self.next(ctx, took_request, request_blocked, response_blocked)
    }

    fn evaluation_cost(&self) -> u64 {
        // About 470 instructions.
        5
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

impl Negotiate for ClusterPort {
    fn passage(&self, port: PortId, _facts: &mut Facts) -> Option<u32> {
        is_request(port).then_some(0)
    }
}

impl Functional for ClusterPort {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        forward_functional(port, message, Self::DOWN.member(MemMaster::REQUEST), onward)
    }
}

impl Inspect for ClusterPort {
    fn contents(&self, contents: &mut Contents<'_>) {
        contents.level("requests", self.injection.len() as u64);
        contents.level("responses", self.responses.len() as u64);
        contents.level("unanswered", self.entries.len() as u64);
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
        if !self.entries.is_empty() {
            let waiting = self.entries.len();
            waits.on_port(
                Self::DOWN.member(MemMaster::RESPONSE),
                format!("{waiting} requests wait for their responses"),
            );
        }
    }
}

impl ClusterPort {
    /// Sends the oldest response upstream, with those that can share its transfer. Returns false if
    /// its port had no room.
    #[inline]
    fn return_responses(&mut self, ctx: &mut Context<'_>) -> bool {
        if self.responses.ready(ctx.cycle()).is_none() {
            return true;
        }
        if self.spec.broadcast {
            self.broadcast(ctx)
        } else {
            self.return_response(ctx)
        }
    }

    /// Sends the oldest response, which is ready, with those that can share its transfer. Returns
    /// false if a port had no room.
    fn broadcast(&mut self, ctx: &mut Context<'_>) -> bool {
        let first = self.responses.ready(ctx.cycle()).copied();
        let first = first.expect("the caller checked that there is one");
        let mut served = self.bit_of(&first);
        if !self.return_response(ctx) {
            return false;
        }
        while let Some(next) = self.responses.ready(ctx.cycle()) {
            let port = self.bit_of(next);
            if !carries_the_same(&first, next) || served & port != 0 {
                break;
            }
            served |= port;
            if !self.return_response(ctx) {
                return false;
            }
            self.counters.shared_responses += 1;
        }
        true
    }

    /// Returns the up port of a response as a one-hot mask, for ports within reach of the bus.
    fn bit_of(&self, response: &MemResponse) -> u128 {
        1 << (self.entries[Id::from_bits(response.id)].port % BROADCAST_PORTS_MAX)
    }

    /// Sends the oldest response, which is ready. Returns false if its port had no room.
    #[inline(always)]
    fn return_response(&mut self, ctx: &mut Context<'_>) -> bool {
        let response = self.responses.ready(ctx.cycle());
        let mut response = *response.expect("the caller checked that there is one");
        let id = Id::from_bits(response.id);
        let entry = &mut self.entries[id];
        let up = &mut self.up[entry.port as usize].response;
        if !up.can_send(ctx) {
            return false;
        }
        self.counters.response_bytes += u64::from(response.wire_bytes());
        response.id = entry.id;
        let is_last = entry.awaited.leave(&response);
        up.send(ctx, response);
        if is_last {
            self.entries.remove(id);
        }
        self.responses.remove_first();
        self.counters.responses += 1;
        true
    }

    fn take_response(&mut self, ctx: &mut Context<'_>) {
        if self.responses.len() >= self.spec.response_depth as usize {
            return;
        }
        let Some(response) = self.down.response.pop(ctx) else {
            return;
        };
        let entry = self.entries.get_mut(Id::from_bits(response.id));
        if !entry.is_some_and(|entry| entry.awaited.come(&response)) {
            ctx.fail(format!(
                "down sent a response with id {}, which matches no outstanding request: {response:?}",
                response.id
            ));
            return;
        }
        let at = ctx.cycle() + u64::from(self.spec.response_cycles);
        self.responses.push(at, response);
    }

    /// Sends the oldest request downstream. Returns false if there was no room.
    fn inject(&mut self, ctx: &mut Context<'_>) -> bool {
        let now = ctx.cycle();
        if self.injection.ready(now).is_none() {
            return true;
        }
        if !self.down.request.can_send(ctx) {
            return false;
        }
        let request = self.injection.take(now).expect("it was ready");
        self.counters.request_bytes += u64::from(request.wire_bytes());
        self.down.request.send(ctx, request);
        self.counters.requests += 1;
        true
    }

    fn take_request(&mut self, ctx: &mut Context<'_>) -> bool {
        let Some(port) = self.next_port(ctx) else {
            return false;
        };
        let mut request = self.up[port].request.pop(ctx).expect("next_port peeked");
        self.first = if port + 1 == self.up.len() {
            0
        } else {
            port + 1
        };
        request.id = if request.kind.wants_response() {
            let entry = Entry {
                port: port as u32,
                id: request.id,
                awaited: PendingWords::of(&request),
            };
            self.entries.insert(entry).bits()
        } else {
            u32::MAX
        };
        let at = ctx.cycle() + u64::from(self.spec.request_cycles);
        self.injection.push(at, request);
        self.counters.requests_taken[port] += 1;
        true
    }

    /// True if the table has an entry for another request.
    fn has_entry(&self) -> bool {
        self.entries.len() < self.spec.outstanding as usize
    }

    /// Returns the up port whose request is taken next, if any can be.
    fn next_port(&self, ctx: &Context<'_>) -> Option<usize> {
        if self.injection.len() >= self.spec.injection_depth as usize {
            return None;
        }
        let has_entry = self.has_entry();
        let ports = self.up.len();
        let mut port = self.first;
        for _ in 0..ports {
            let request = self.up[port].request.peek(ctx);
            if request.is_some_and(|r| has_entry || !r.kind.wants_response()) {
                return Some(port);
            }
            port += 1;
            if port == ports {
                port = 0;
            }
        }
        None
    }

    /// Records the buffer occupancies of this cycle, after departures and arrivals.
    #[inline]
    fn note_occupancies(&mut self, now: Cycle) {
        let (injection, responses) = (self.injection.len(), self.responses.len());
        let counters = &mut self.counters;
        counters.injection_occupancy.set(now, injection as u64);
        counters.response_occupancy.set(now, responses as u64);
    }

    fn next(
        &self,
        ctx: &Context<'_>,
        took_request: bool,
        request_blocked: bool,
        response_blocked: bool,
    ) -> Next {
        let event = |next: Option<Cycle>, blocked: bool| match next {
            Some(cycle) if !blocked => cycle,
            _ => Cycle::MAX,
        };
        let injection = event(self.injection.next(), request_blocked);
        let response = event(self.responses.next(), response_blocked);
        let first = injection.min(response);
        let more_responses = || {
            self.responses.len() < self.spec.response_depth as usize
                && self.down.response.peek(ctx).is_some()
        };
        // Where no request was taken, none can be in the next cycle.
        let more_requests = || took_request && self.next_port(ctx).is_some();
        if first <= ctx.cycle() + 1 || more_responses() || more_requests() {
            return Next::Busy;
        }
        if first != Cycle::MAX {
            Next::Until(first)
        } else if request_blocked || response_blocked {
            Next::Credit
        } else if !self.entries.is_empty() {
            Next::Message
        } else {
            Next::Idle
        }
    }
}
