//! Input-queued virtual-channel router: the model of BookSim 2 as GPGPU-Sim uses it, written from
//! its behaviour.
//!
//! | file | what it has |
//! |---|---|
//! | `spec.rs` | what a description says |
//! | `shape.rs` | the numbers of lanes, switch ports and channels |
//! | `pipeline.rs` | the stages of one step |
//! | `vc_allocator.rs` | virtual-channel allocation |
//! | `switch_requests.rs` | which lane of a switch port asks for an output |
//! | `batch.rs` | stages of several cycles |
//! | `credit_wires.rs` | credits on their way back to the inputs |
//!
//! The input ports, the output ports and the switch allocator are those of the crossbar's folder.
//!
//! ```text
//!   offer ─► entry ─► wire ─► virtual channels ─► VC ─────► switch ────► switch ───► wire ─► deliver
//!            1 flit/  input_  of the input        allocation allocation  traversal   output_ 1 flit/
//!            cycle    wire    (buffer_flits each)  per packet per flit               wire    cycle
//!              ▲                                       │         │                      │
//!              └──────────── credit wire ──────────────┼─────────┘                      │
//!                                                      └◄──── credit wire, credit ──────┘
//! ```
//!
//! # Rules
//! - A packet enters at one flit per cycle. With `Fifo`, its head takes the next virtual channel
//!   with a credit after that of the previous packet. If `ordered`, it waits for a credit of
//!   channel `output mod virtual_channels` instead. With `VirtualOutput` it waits for a credit of
//!   the channel of its output. The other flits follow in the same channel.
//! - The head requests a virtual channel of its output; the packet owns it until its tail is
//!   granted the switch. Flits of packets that own different channels interleave.
//! - Every flit requests the switch when it is the first of its channel and its output channel has
//!   a credit. Among channels of one switch port that request the same output, the next one round
//!   robin (or the oldest, or the lowest) is chosen.
//! - A slot of an input channel is freed when its flit is granted the switch. Its credit travels
//!   back, one set of credits per input and cycle. A slot of an output channel is freed when its
//!   flit leaves.
//! - All stages of a step see the results of the previous step. A stage of more than one cycle is
//!   not pipelined: arrivals during its operation wait until it is done.
//!
//! # Timing
//! [`Network::step`](super::Network::step) is one cycle of `internal_speedup` router steps. The
//! following holds with the cycles of [`RouterSpec`]'s descriptions. At speedup 1, a packet of `L`
//! flits offered before the step of `t` is delivered in the step of `t + 5 + L`. At speedup 2 or
//! with speculation, it is delivered in that of `t + 4 + L`. The credit loop of an input is
//! `input_wire + credit_wire + 1` = 5 cycles (4 at speedup 2). That of an output is 5 cycles (4 or
//! 4.5 at speedup 2). At speedup 2, a flit granted in the second half of a cycle crosses in the
//! next cycle.

mod batch;
mod credit_wires;
mod pipeline;
mod shape;
mod spec;
mod switch_requests;
mod vc_allocator;

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use crate::building_blocks::DelayLine;
use crate::crossbar::allocator::Allocator;
use crate::crossbar::arbiter::AnyArbiter;
use crate::crossbar::input_ports::{BufferChoice, InputPortsSpec};
use crate::crossbar::network_ports::NetworkPorts;
use crate::crossbar::queueing::Queueing;
use crate::crossbar::requests::ports;
use batch::Batch;
use credit_wires::CreditWires;
use shape::{Place, Shape};
use switch_requests::RequestMatrix;
use vc_allocator::{Grant, VcAllocator, VcRequests};

pub use spec::{RouterSpec, VIRTUAL_CHANNELS_MAX};

/// Lane number that means no lane.
const NOBODY: u32 = u32::MAX;

/// Progress of the first packet of a lane.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// Idle: the lane holds no packet.
    #[default]
    Idle,
    /// The packet's route is being computed.
    Routing,
    /// The packet requests a virtual channel of its output.
    Allocating,
    /// The packet owns a virtual channel.
    Active,
}

/// Virtual channel of an input, without its buffer.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Lane {
    phase: Phase,
    /// Channel that the first packet owns, counted over all outputs.
    channel: u32,
}

/// Virtual channel of an output, with its credits.
#[derive(Clone, Serialize, Deserialize)]
struct Channel {
    /// Free slots at the far end, as known to the router.
    credits: u32,
    /// Lane whose packet owns the channel, or [`NOBODY`].
    owner: u32,
}

/// Router as a kind of [`Network`](super::Network); `P` is the payload of its packets.
pub struct Router<P> {
    spec: RouterSpec,
    shape: Shape,
    pub(super) ports: NetworkPorts<P>,
    returning: CreditWires,

    lanes: Vec<Lane>,
    places: Vec<Place>,
    routing: VecDeque<u32>,
    routing_batch: Vec<u32>,
    routed_at: u64,

    waiting: VcRequests,
    /// Channels without an owner, as a bit mask per output.
    free: Vec<u64>,
    vc_allocator: VcAllocator,
    grants: Vec<Grant>,
    /// Step in which the current virtual-channel allocation is done.
    allocated_at: Option<u64>,

    channels: Vec<Channel>,
    asking: RequestMatrix,
    /// Number of flits in active lanes. A multi-cycle switch-allocation stage counts them even
    /// while their output has no credits.
    active_flits: u32,
    allocator: Allocator,
    matched: Vec<(u32, u32)>,
    matched_at: Option<u64>,
    /// Lane with the highest priority, for each switch port.
    first_lane: Vec<u32>,
    /// Speculative requests and matches of the step.
    speculation: Option<(RequestMatrix, Allocator)>,
    speculated: Vec<(u32, u32)>,

    traversal: Batch,
    /// Next cycle in which a flit can enter the wire, for each output.
    next_departure: Vec<Cycle>,
    /// Output channels whose credits are in transit.
    credits: DelayLine<u32>,
}

impl<P: Copy> Router<P> {
    /// Creates an empty router; `spec` must have been checked for this shape. The second arbiter
    /// serves speculative requests, if there are any.
    pub(super) fn new(
        inputs: usize,
        outputs: usize,
        spec: &RouterSpec,
        (arbiter, speculative): (AnyArbiter, Option<AnyArbiter>),
    ) -> Self {
        let shape = Shape::new(inputs, outputs, spec);
        let any_lane = spec.queueing == Queueing::Fifo && !spec.ordered;
        let input_ports = InputPortsSpec {
            inputs,
            buffers_per_input: shape.lanes_per_input,
            buffer_flits: spec.buffer_flits,
            choice: if any_lane {
                BufferChoice::NextWithCredit
            } else {
                BufferChoice::ByOutput
            },
            wire_cycles: spec.input_wire_cycles,
        };
        let channel = Channel {
            credits: spec.output_buffer_flits,
            owner: NOBODY,
        };
        let channels = shape.channels;
        let waiters = shape.waiters();
        let asking = || RequestMatrix::new(shape.rows, outputs);
        let like = arbiter.like();
        let allocator = |arbiter| Allocator::new(arbiter, shape.rows, outputs);
        let first_lane = |row| (row % shape.rows_per_input) as u32;
        Self {
            ports: NetworkPorts::new(&input_ports, outputs),
            returning: CreditWires::new(inputs),
            lanes: vec![Lane::default(); shape.lanes],
            places: (0..shape.lanes).map(|lane| shape.place(lane)).collect(),
            routing: VecDeque::new(),
            routing_batch: Vec::new(),
            routed_at: 0,
            waiting: VcRequests::new(waiters, outputs),
            free: vec![u64::MAX >> (64 - channels); outputs],
            vc_allocator: VcAllocator::new(like, (waiters, shape.lanes), outputs, channels),
            grants: Vec::new(),
            allocated_at: None,
            channels: vec![channel; outputs * channels],
            asking: asking(),
            active_flits: 0,
            allocator: allocator(arbiter),
            matched: Vec::new(),
            matched_at: None,
            first_lane: (0..shape.rows).map(first_lane).collect(),
            speculation: speculative.map(|arbiter| (asking(), allocator(arbiter))),
            speculated: Vec::new(),
            traversal: Batch::default(),
            next_departure: vec![0; outputs],
            credits: DelayLine::default(),
            shape,
            spec: spec.clone(),
        }
    }

    /// Iterates over the arbiters and their names in statistics.
    pub(super) fn arbiters(&self) -> impl Iterator<Item = (&'static str, &AnyArbiter)> {
        let speculation = self.speculation.as_ref();
        let speculative = speculation.map(|(_, allocator)| ("_speculation", allocator.arbiter()));
        std::iter::once(("", self.allocator.arbiter())).chain(speculative)
    }

    /// Simulates one cycle; see [`Network::step`](super::Network::step) for the contract.
    pub(super) fn step(&mut self, now: Cycle, deliver: impl FnMut(usize, P, Cycle) -> bool) {
        self.return_credits(now);
        self.ports.enter(now);
        while let Some(lane) = self.ports.inputs.arrive(now) {
            self.arrived(lane);
        }
        let speedup = u64::from(self.spec.internal_speedup);
        for step in now * speedup..(now + 1) * speedup {
            self.router_step(step);
        }
        let at = now + u64::from(self.spec.credit_wire_cycles + self.spec.credit_cycles);
        let credits = &mut self.credits;
        self.ports
            .leave(now, deliver, |_, flit| credits.push(at, flit.channel));
    }

    /// Returns the next cycle with an event; see
    /// [`Network::next_event`](super::Network::next_event).
    pub(super) fn next_event(&self, now: Cycle) -> Option<Cycle> {
        let soon = now + 1;
        // A stage of several cycles works on what it cannot grant, too.
        let allocating = self.allocated_at.is_none()
            && ports(self.waiting.outputs)
                .any(|output| self.free[output] != 0 || self.spec.vc_allocation_cycles > 1);
        let switching = self.matched_at.is_none()
            && (self.asking.any()
                || self.active_flits > 0 && self.spec.switch_allocation_cycles > 1);
        if self.ports.is_entering() || allocating || switching {
            return Some(soon);
        }
        let routing = !self.routing.is_empty() || !self.routing_batch.is_empty();
        let steps = [
            self.allocated_at,
            self.matched_at,
            routing.then_some(self.routed_at),
        ];
        let speedup = u64::from(self.spec.internal_speedup);
        let stages = steps.into_iter().flatten().map(|step| step / speedup);
        let wires = [
            self.returning.next(),
            self.ports.inputs.next_arrival(),
            self.ports.outputs.next_departure(),
            self.credits.next(),
        ];
        let events = stages.chain(wires.into_iter().flatten());
        events.min().map(|first| first.max(soon))
    }

    /// Processes credits that crossed their wires: at the senders, and for the output channels.
    fn return_credits(&mut self, now: Cycle) {
        let inputs = &mut self.ports.inputs;
        self.returning.take(now, |lane| inputs.return_credit(lane));
        while let Some(channel) = self.credits.take(now) {
            let state = &mut self.channels[channel as usize];
            state.credits += 1;
            let (credits, owner) = (state.credits, state.owner);
            if credits == 1 && owner != NOBODY {
                let lane = owner as usize;
                if self.ports.inputs.buffer(lane).flits() > 0 {
                    self.ask(lane);
                }
            }
        }
    }

    /// Handles a flit that has arrived in the buffer of a lane.
    #[inline]
    fn arrived(&mut self, number: usize) {
        if self.ports.inputs.buffer(number).flits() > 1 {
            return;
        }
        let lane = &self.lanes[number];
        if lane.phase == Phase::Active {
            self.active_flits += 1;
            if self.channels[lane.channel as usize].credits > 0 {
                self.ask(number);
            }
        } else {
            self.begin_packet(number);
        }
    }

    /// Starts the first packet of a lane.
    #[inline]
    fn begin_packet(&mut self, lane: usize) {
        if self.spec.routing_cycles > 0 {
            self.lanes[lane].phase = Phase::Routing;
            self.routing.push_back(lane as u32);
        } else {
            self.await_channel(lane);
        }
    }

    #[inline]
    fn await_channel(&mut self, lane: usize) {
        self.lanes[lane].phase = Phase::Allocating;
        let output = self.ports.inputs.buffer(lane).output();
        self.waiting.insert(self.shape.waiter(lane), output);
    }

    /// Requests the switch for the first flit of an active lane.
    #[inline]
    fn ask(&mut self, lane: usize) {
        let (place, output) = (self.places[lane], self.ports.inputs.buffer(lane).output());
        let cell = self.shape.cell(place.row, output);
        self.asking.set(cell, place, output);
    }
}

impl<P: Copy + Serialize + DeserializeOwned> Router<P> {
    /// Registers the state fields for checkpoints.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        self.ports.state(state);
        state.field("returning", &mut self.returning);
        state.array("lanes", &mut self.lanes);
        state.field("routing", &mut self.routing);
        state.field("routing_batch", &mut self.routing_batch);
        state.field("routed_at", &mut self.routed_at);
        state.field("waiting", &mut self.waiting);
        state.array("free", &mut self.free);
        state.part("vc_allocator", |state| self.vc_allocator.state(state));
        state.field("grants", &mut self.grants);
        state.field("allocated_at", &mut self.allocated_at);
        state.array("channels", &mut self.channels);
        state.field("asking", &mut self.asking);
        state.field("active_flits", &mut self.active_flits);
        state.part("allocator", |state| self.allocator.state(state));
        state.field("matched", &mut self.matched);
        state.field("matched_at", &mut self.matched_at);
        state.array("first_lane", &mut self.first_lane);
        if let Some((_, allocator)) = &mut self.speculation {
            state.part("speculation", |state| allocator.state(state));
        }
        state.field("traversal", &mut self.traversal);
        state.array("next_departure", &mut self.next_departure);
        state.field("credits", &mut self.credits);
    }
}
