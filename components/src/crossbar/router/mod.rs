//! Input-queued virtual-channel router: the model of BookSim 2 as GPGPU-Sim uses it, written from
//! its behaviour.
//!
//! | file | what it has |
//! |---|---|
//! | `spec.rs` | what a description says |
//! | `shape.rs` | the numbers of lanes, switch ports and channels |
//! | `pipeline.rs` | one step: what the stages do to lanes and channels |
//! | `route_stage.rs`, `channel_stage.rs`, `switch_stage.rs`, `output_links.rs` | the stages: route computation, virtual-channel allocation, switch allocation, traversal |
//! | `vc_allocator.rs` | matching of packets and virtual channels |
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
mod channel_stage;
mod credit_wires;
mod output_links;
mod pipeline;
mod route_stage;
mod shape;
mod spec;
mod switch_requests;
mod switch_stage;
mod vc_allocator;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State, Statistics};

use crate::crossbar::arbiter::AnyArbiter;
use crate::crossbar::input_ports::{BufferChoice, InputPortsSpec};
use crate::crossbar::network_ports::NetworkPorts;
use crate::crossbar::queueing::Queueing;
use channel_stage::ChannelStage;
use credit_wires::CreditWires;
use output_links::OutputLinks;
use route_stage::RouteStage;
use shape::{Place, Shape};
use switch_stage::SwitchStage;

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
#[derive(State)]
pub struct Router<P> {
    #[state(skip)]
    spec: RouterSpec,
    #[state(skip)]
    shape: Shape,
    #[state(flatten)]
    pub(super) ports: NetworkPorts<P>,
    returning: CreditWires,
    #[state(array)]
    lanes: Vec<Lane>,
    /// Position of each lane.
    #[state(skip)]
    places: Vec<Place>,
    #[state(array)]
    channels: Vec<Channel>,
    #[state(part)]
    routing: RouteStage,
    #[state(part)]
    vc_allocation: ChannelStage,
    #[state(part)]
    switching: SwitchStage,
    #[state(part)]
    links: OutputLinks,
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
        Self {
            ports: NetworkPorts::new(&input_ports, outputs),
            returning: CreditWires::new(inputs),
            lanes: vec![Lane::default(); shape.lanes],
            places: (0..shape.lanes).map(|lane| shape.place(lane)).collect(),
            channels: vec![channel; outputs * shape.channels],
            routing: RouteStage::default(),
            vc_allocation: ChannelStage::new(arbiter.like(), shape),
            switching: SwitchStage::new(shape, arbiter, speculative),
            links: OutputLinks::new(outputs),
            shape,
            spec: spec.clone(),
        }
    }

    /// Returns the contract violation of an arbiter, if there was one.
    pub(super) fn broken(&self) -> Option<&str> {
        let mut arbiters = self.switching.arbiters();
        arbiters.find_map(|(_, arbiter)| arbiter.broken())
    }

    /// Reports the statistics of open arbiters.
    pub(super) fn report_arbiters(&self, statistics: &mut Statistics<'_>) {
        for (prefix, arbiter) in self.switching.arbiters() {
            match prefix {
                Some(prefix) => statistics.under(prefix, |s| arbiter.statistics(s)),
                None => arbiter.statistics(statistics),
            }
        }
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
        let credits = &mut self.links.credits;
        self.ports
            .leave(now, deliver, |_, flit| credits.push(at, flit.channel));
    }

    /// Returns the next cycle with an event; see
    /// [`Network::next_event`](super::Network::next_event).
    pub(super) fn next_event(&self, now: Cycle) -> Option<Cycle> {
        let soon = now + 1;
        let RouterSpec {
            vc_allocation_cycles,
            switch_allocation_cycles,
            ..
        } = self.spec;
        if self.ports.is_entering()
            || self.vc_allocation.has_work(vc_allocation_cycles)
            || self.switching.has_work(switch_allocation_cycles)
        {
            return Some(soon);
        }
        let steps = [
            self.vc_allocation.done_at(),
            self.switching.done_at(),
            self.routing.next(),
        ];
        let speedup = u64::from(self.spec.internal_speedup);
        let stages = steps.into_iter().flatten().map(|step| step / speedup);
        let wires = [
            self.returning.next(),
            self.ports.inputs.next_arrival(),
            self.ports.outputs.next_departure(),
            self.links.credits.next(),
        ];
        let events = stages.chain(wires.into_iter().flatten());
        events.min().map(|first| first.max(soon))
    }

    /// Processes credits that crossed their wires: at the senders, and for the output channels.
    fn return_credits(&mut self, now: Cycle) {
        let inputs = &mut self.ports.inputs;
        self.returning.take(now, |lane| inputs.return_credit(lane));
        while let Some(channel) = self.links.credits.take(now) {
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
            self.switching.active_flits += 1;
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
            self.routing.push(lane as u32);
        } else {
            self.await_channel(lane);
        }
    }

    #[inline]
    fn await_channel(&mut self, lane: usize) {
        self.lanes[lane].phase = Phase::Allocating;
        let output = self.ports.inputs.buffer(lane).output();
        let waiter = self.shape.waiter(lane);
        self.vc_allocation.waiting.insert(waiter, output);
    }

    /// Requests the switch for the first flit of an active lane.
    #[inline]
    fn ask(&mut self, lane: usize) {
        let (place, output) = (self.places[lane], self.ports.inputs.buffer(lane).output());
        let cell = self.shape.cell(place.row, output);
        self.switching.asking.set(cell, place, output);
    }
}
