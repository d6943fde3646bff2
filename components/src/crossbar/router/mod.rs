//! An input-queued virtual-channel router, the model of BookSim 2 as GPGPU-Sim uses it, written
//! from its behaviour.
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
//! - A packet enters at one flit per cycle. With `Fifo` its head takes the next virtual channel
//!   after that of the packet before it which has a credit (or, if `ordered`, waits for a credit of
//!   channel `output mod virtual_channels`); with `VirtualOutput` it waits for a
//!   credit of the channel of its output. The other flits follow in the same channel.
//! - The head asks for a virtual channel of its output; the packet owns it until its tail is
//!   granted the switch. Flits of packets that own different channels interleave.
//! - Every flit asks for the switch when it is the first of its channel and its output channel has
//!   a credit. Of channels of one switch port that ask for the same output, the next one round
//!   robin (or the oldest, or the lowest) does.
//! - A slot of an input channel is free again when its flit is granted the switch: its credit
//!   travels back, one set of credits per input and cycle. A slot of an output channel is free again
//!   when its flit left.
//! - All stages of a step see what the step before left. A stage of more than one cycle is not
//!   pipelined: what comes while it is at work waits until it is done.
//!
//! # Timing
//! [`Router::step`] is one cycle of `internal_speedup` router steps. At speedup 1 and with the
//! cycles of [`RouterSpec`]'s descriptions a packet of `L` flits offered before the step of `t` is
//! delivered in the step of `t + 5 + L`, at speedup 2 or with speculation in that of `t + 4 + L`.
//! The credit loop of an input is `input_wire + credit_wire + 1` = 5 cycles (4 at speedup 2), that
//! of an output 5 (4 or 4.5 at speedup 2, where a flit granted in the second half of a cycle crosses
//! in the next cycle).

mod spec;
mod vc_allocator;

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, State, Statistics};

use super::allocator::{Allocator, PortMask, Requests, bit, ports};
use super::counters::NetworkCounters;
use super::network_spec::{Arbiter, Queueing};
use super::packets::{Entering, Packets, Parcel, QueuedPacket, WireFlit};
use crate::building_blocks::DelayLine;
pub use spec::{RouterSpec, VIRTUAL_CHANNELS_MAX};
use vc_allocator::{Grant, VcAllocator, Waiting, elements, first_channel};

const NOBODY: u32 = u32::MAX;

/// What the first packet of a virtual channel is at.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// There is none.
    #[default]
    Idle,
    /// Its route is computed.
    Routing,
    /// It asks for a virtual channel of its output.
    Allocating,
    /// It owns one.
    Active,
}

/// A virtual channel of an input.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Lane {
    packets: VecDeque<QueuedPacket>,
    /// Flits that have arrived and not left.
    flits: u32,
    /// Free slots, as the sender knows.
    credits: u32,
    phase: Phase,
    /// The channel that the first packet owns, counted over all outputs.
    channel: u32,
}

/// A virtual channel of an output.
#[derive(Clone, Serialize, Deserialize)]
struct Channel {
    /// Free slots at the far end, as the router knows.
    credits: u32,
    /// The lane whose packet owns it, or [`NOBODY`].
    owner: u32,
}

/// A flit that has been granted the switch.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct LeavingFlit {
    packet: u32,
    channel: u32,
    is_tail: bool,
}

/// A stage that works on one batch at a time.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Batch {
    /// Steps in which the latest batch begins and is done.
    begins: u64,
    ends: u64,
}

impl Batch {
    /// What is ready after `step` is done in this step.
    #[inline]
    fn pass(&mut self, step: u64, cycles: u32, speedup: u64) -> u64 {
        if step >= self.begins {
            self.begin(step.max(self.ends) + 1, cycles, speedup);
        }
        self.ends
    }

    #[inline]
    fn begin(&mut self, step: u64, cycles: u32, speedup: u64) {
        self.begins = step;
        self.ends = step.max((step / speedup + u64::from(cycles) - 1) * speedup);
    }
}

/// The lanes whose first flits ask for the switch: per switch port and output, a bit per lane.
#[derive(Serialize, Deserialize)]
struct Asking {
    lanes: Vec<u64>,
    requests: Requests,
}

impl Asking {
    fn new(rows: usize, outputs: usize) -> Self {
        Self {
            lanes: vec![0; rows * outputs],
            requests: Requests::new(rows, outputs),
        }
    }

    #[inline]
    fn set(&mut self, cell: usize, place: Place, output: usize) {
        if self.lanes[cell] == 0 {
            self.requests.set(place.row, output);
        }
        self.lanes[cell] |= 1 << place.bit;
    }

    #[inline]
    fn clear(&mut self, cell: usize, place: Place, output: usize) {
        self.lanes[cell] &= !(1 << place.bit);
        if self.lanes[cell] == 0 {
            self.requests.clear(place.row, output);
        }
    }
}

/// The numbers of lanes, switch ports and channels.
#[derive(Clone, Copy)]
struct Shape {
    outputs: usize,
    lanes_per_input: usize,
    /// Virtual channels per output.
    channels: usize,
    /// Switch ports per input.
    ports: usize,
    /// Every input has one lane per output.
    per_output: bool,
}

impl Shape {
    /// The number of a lane among those who wait for one output: only one lane of an input does if
    /// each output has its own.
    #[inline]
    fn waiter(self, lane: usize) -> usize {
        if self.per_output {
            lane / self.lanes_per_input
        } else {
            lane
        }
    }

    #[inline]
    fn lane(self, waiter: usize, output: usize) -> usize {
        if self.per_output {
            waiter * self.lanes_per_input + output
        } else {
            waiter
        }
    }

    #[inline]
    fn cell(self, row: usize, output: usize) -> usize {
        row * self.outputs + output
    }
}

/// When the first packet of a lane was offered.
#[inline]
fn age<P: Copy>(lanes: &[Lane], packets: &Packets<P>, lane: usize) -> Cycle {
    let first = lanes[lane].packets.front();
    first.map_or(Cycle::MAX, |first| packets.get(first.packet).offered)
}

/// Where a lane stands.
#[derive(Clone, Copy)]
struct Place {
    input: usize,
    /// Switch port.
    row: usize,
    /// Its bit among the lanes of the row that can ask for one output.
    bit: u32,
}

/// Matches lanes and outputs: which lane of a switch port asks, and which switch port is heard.
struct Chooser<'a, P> {
    shape: Shape,
    arbiter: Arbiter,
    first_lane: &'a [u32],
    lanes: &'a [Lane],
    packets: &'a Packets<P>,
}

impl<P: Copy> Chooser<'_, P> {
    /// Appends pairs of lane and output; returns their indices.
    #[inline]
    fn allocate(
        &self,
        asking: &Asking,
        allocator: &mut Allocator,
        matched: &mut Vec<(u32, u32)>,
    ) -> std::ops::Range<usize> {
        let before = matched.len();
        let age = |row, output| age(self.lanes, self.packets, self.lane(asking, row, output));
        for index in 0..allocator.allocate(&asking.requests, PortMask::MAX, age) {
            let (row, output) = allocator.matched(index);
            matched.push((self.lane(asking, row, output) as u32, output as u32));
        }
        before..matched.len()
    }

    /// Which of the lanes of a switch port asks for the output.
    #[inline]
    fn lane(&self, asking: &Asking, row: usize, output: usize) -> usize {
        let first = row / self.shape.ports * self.shape.lanes_per_input;
        if self.shape.per_output {
            return first + output;
        }
        let mask = asking.lanes[self.shape.cell(row, output)];
        let number = match self.arbiter {
            Arbiter::AgeBased => {
                let age = |number: &usize| age(self.lanes, self.packets, first + number);
                elements(&[mask]).min_by_key(age).unwrap_or(0)
            }
            Arbiter::Fixed => mask.trailing_zeros() as usize,
            Arbiter::RoundRobin | Arbiter::Islip { .. } => {
                first_channel(mask, self.first_lane[row]) as usize
            }
        };
        first + number
    }
}

/// The router; `P` is what its packets carry.
pub struct Router<P> {
    spec: RouterSpec,
    shape: Shape,

    entering: Vec<Entering>,
    busy_inputs: PortMask,
    freed_inputs: PortMask,
    /// Per input: the lane of its last packet, or [`NOBODY`].
    last_lane: Vec<u32>,
    wire: DelayLine<WireFlit>,
    /// Per input: lanes whose slots come back.
    returning: Vec<DelayLine<u32>>,
    returning_inputs: PortMask,
    /// Per input: the step of its last set of credits.
    credit_steps: Vec<u64>,

    lanes: Vec<Lane>,
    places: Vec<Place>,
    routing: VecDeque<u32>,
    routing_batch: Vec<u32>,
    routed_at: u64,

    waiting: Waiting,
    free: Vec<u64>,
    vc_allocator: VcAllocator,
    grants: Vec<Grant>,
    /// Step in which the virtual-channel allocation under way is done.
    allocated_at: Option<u64>,

    channel_states: Vec<Channel>,
    asking: Asking,
    /// Lanes that could ask if their output had credits count for a stage of several cycles.
    active_flits: u32,
    allocator: Allocator,
    matched: Vec<(u32, u32)>,
    matched_at: Option<u64>,
    /// Per switch port: the lane with the highest priority.
    first_lane: Vec<u32>,
    /// Speculative requests and matches of the step.
    speculation: Option<(Asking, Allocator)>,
    speculated: Vec<(u32, u32)>,

    traversal: Batch,
    /// Per output: the next cycle in which a flit can take to the wire.
    next_departure: Vec<Cycle>,
    leaving: Vec<DelayLine<LeavingFlit>>,
    leaving_outputs: PortMask,
    blocked_outputs: PortMask,
    /// Channels whose slots come back.
    credits: DelayLine<u32>,

    packets: Packets<P>,
    flits_inside: u64,
    counters: NetworkCounters,
}

impl<P: Copy> Router<P> {
    /// An empty router; `spec` has been checked for this shape.
    pub fn new(inputs: usize, outputs: usize, spec: &RouterSpec) -> Self {
        let lanes_per_input = spec.lanes(outputs as u32) as usize;
        let channels = spec.virtual_channels as usize;
        let per_output = spec.queueing == Queueing::VirtualOutput;
        let speedup = spec.input_speedup as usize;
        let (lanes, rows) = (inputs * lanes_per_input, inputs * speedup);
        let waiters = if per_output { inputs } else { lanes };
        let lane = Lane {
            credits: spec.buffer_flits,
            ..Lane::default()
        };
        let channel = Channel {
            credits: spec.output_buffer_flits,
            owner: NOBODY,
        };
        let place = |lane: usize| {
            let (input, number) = (lane / lanes_per_input, lane % lanes_per_input);
            Place {
                input,
                row: input * speedup + number % speedup,
                bit: if per_output { 0 } else { number as u32 },
            }
        };
        let asking = || Asking::new(rows, outputs);
        let allocator = || Allocator::new(spec.arbiter, rows, outputs);
        Self {
            shape: Shape {
                outputs,
                lanes_per_input,
                channels,
                ports: speedup,
                per_output,
            },
            entering: vec![Entering::default(); inputs],
            busy_inputs: 0,
            freed_inputs: 0,
            last_lane: vec![NOBODY; inputs],
            wire: DelayLine::default(),
            returning: vec![DelayLine::default(); inputs],
            returning_inputs: 0,
            credit_steps: vec![u64::MAX; inputs],
            lanes: vec![lane; lanes],
            places: (0..lanes).map(place).collect(),
            routing: VecDeque::new(),
            routing_batch: Vec::new(),
            routed_at: 0,
            waiting: Waiting::new(waiters, outputs),
            free: vec![u64::MAX >> (64 - channels); outputs],
            vc_allocator: VcAllocator::new(spec.arbiter, (waiters, lanes), outputs, channels),
            grants: Vec::new(),
            allocated_at: None,
            channel_states: vec![channel; outputs * channels],
            asking: asking(),
            active_flits: 0,
            allocator: allocator(),
            matched: Vec::new(),
            matched_at: None,
            first_lane: (0..rows).map(|row| (row % speedup) as u32).collect(),
            speculation: spec.speculative.then(|| (asking(), allocator())),
            speculated: Vec::new(),
            traversal: Batch::default(),
            next_departure: vec![0; outputs],
            leaving: vec![DelayLine::default(); outputs],
            leaving_outputs: 0,
            blocked_outputs: 0,
            credits: DelayLine::default(),
            packets: Packets::new(),
            flits_inside: 0,
            counters: NetworkCounters::new(inputs, outputs),
            spec: spec.clone(),
        }
    }

    /// Whether `input` has no entering packet, so that one can be offered.
    #[inline]
    pub fn accepts(&self, input: usize) -> bool {
        self.busy_inputs & bit(input) == 0
    }

    /// Inputs that accept a packet, as bits.
    #[inline]
    pub fn accepting(&self) -> u128 {
        let all = PortMask::MAX >> (PortMask::BITS as usize - self.entering.len());
        all & !self.busy_inputs
    }

    /// Inputs that finished taking a packet in the last step, as bits.
    #[inline]
    pub fn freed(&self) -> u128 {
        self.freed_inputs
    }

    /// Puts a packet before its input port; its head enters in the step of cycle `now`.
    ///
    /// # Panics
    /// When the input does not accept, or the parcel names no port or has no flit.
    pub fn offer(&mut self, now: Cycle, parcel: Parcel, payload: P) {
        let Parcel {
            input,
            output,
            flits,
            bytes,
        } = parcel;
        assert!(self.accepts(input), "input {input} is taking a packet");
        assert!(
            output < self.shape.outputs && flits > 0,
            "{flits} flits to output {output} of {}",
            self.shape.outputs
        );
        let head = QueuedPacket {
            packet: self.packets.insert(now, bytes, payload),
            output: output as u32,
            flits_left: flits,
        };
        self.entering[input] = Entering {
            queue: NOBODY,
            flits_left: flits,
            head: Some(head),
        };
        self.busy_inputs |= bit(input);
    }

    /// One cycle. `deliver` is handed every packet whose tail can leave: its output, what it
    /// carries, the cycle in which its head entered; it says whether the receiver took it. Cycles
    /// in which nothing can happen may be left out.
    pub fn step(&mut self, now: Cycle, mut deliver: impl FnMut(usize, P, Cycle) -> bool) {
        self.return_credits(now);
        self.enter(now);
        while let Some(flit) = self.wire.take(now) {
            self.arrive(flit);
        }
        let speedup = u64::from(self.spec.internal_speedup);
        for step in now * speedup..(now + 1) * speedup {
            self.router_step(step);
        }
        self.leave(now, &mut deliver);
        if self.counters.occupancy.value() != self.flits_inside {
            self.counters.occupancy.set(now, self.flits_inside);
        }
    }

    /// The first cycle after `now` in which a step changes something without new packets and
    /// without a receiver changing its mind; nothing if there is none.
    pub fn next_event(&self, now: Cycle) -> Option<Cycle> {
        let soon = now + 1;
        let entering = self.busy_inputs & !self.counters.stalled_inputs != 0;
        // A stage of several cycles works on what it cannot grant, too.
        let allocating = self.allocated_at.is_none()
            && ports(self.waiting.outputs)
                .any(|output| self.free[output] != 0 || self.spec.vc_allocation_cycles > 1);
        let switching = self.matched_at.is_none()
            && (self.asking.requests.wanted() != 0
                || self.active_flits > 0 && self.spec.switch_allocation_cycles > 1);
        if entering || allocating || switching {
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
        let returning = ports(self.returning_inputs).filter_map(|i| self.returning[i].next());
        let leaving = ports(self.leaving_outputs & !self.blocked_outputs)
            .filter_map(|o| self.leaving[o].next());
        let wires = [self.wire.next(), self.credits.next()];
        let events = stages
            .chain(returning)
            .chain(leaving)
            .chain(wires.into_iter().flatten());
        events.min().map(|first| first.max(soon))
    }

    /// Whether a receiver refused a packet in the last step.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.blocked_outputs != 0
    }

    /// Packets offered and not delivered.
    pub fn packets_inside(&self) -> usize {
        self.packets.len()
    }

    /// Packets delivered so far.
    pub fn packets_delivered(&self) -> u64 {
        self.counters.packets
    }

    /// Flits that left so far, per output.
    pub fn flits_delivered(&self) -> &[u64] {
        &self.counters.flits
    }

    /// Cycles from offer to delivery of the packets delivered so far.
    pub fn latency(&self) -> &Histogram {
        &self.counters.latency
    }

    /// Cycles before `cycle` in which an entering flit found no credit, added up over inputs.
    pub fn credit_stalls(&self, cycle: Cycle) -> u64 {
        self.counters.credit_stalls(cycle)
    }

    /// Reports the statistics of this router, named `network_…`.
    pub fn statistics(&self, network: &str, statistics: &mut Statistics<'_>) {
        self.counters.statistics(network, statistics);
    }

    /// Credits that crossed their wires are noted: at the senders, and of the output channels.
    fn return_credits(&mut self, now: Cycle) {
        for input in ports(self.returning_inputs) {
            let returning = &mut self.returning[input];
            while let Some(lane) = returning.take(now) {
                self.lanes[lane as usize].credits += 1;
            }
            if returning.is_empty() {
                self.returning_inputs &= !bit(input);
            }
        }
        while let Some(channel) = self.credits.take(now) {
            let state = &mut self.channel_states[channel as usize];
            state.credits += 1;
            let owner = state.owner;
            if state.credits == 1 && owner != NOBODY && self.lanes[owner as usize].flits > 0 {
                self.ask(owner as usize);
            }
        }
    }

    /// One flit of every entering packet takes to the wire, if its lane has a credit.
    fn enter(&mut self, now: Cycle) {
        self.freed_inputs = 0;
        let at = now + u64::from(self.spec.input_wire_cycles);
        for input in ports(self.busy_inputs) {
            let lane = match self.entering[input].head {
                Some(head) => self.choose_lane(input, head.output as usize),
                None => self.entering[input].queue as usize,
            };
            if self.lanes[lane].credits == 0 {
                self.counters.begin_stall(input, now);
                continue;
            }
            self.counters.end_stall(input, now);
            self.lanes[lane].credits -= 1;
            let entering = &mut self.entering[input];
            let head = entering.head.take();
            if let Some(head) = head {
                self.packets.enter(head.packet, now);
                entering.queue = lane as u32;
                self.last_lane[input] = lane as u32;
            }
            let queue = entering.queue;
            self.wire.push(at, WireFlit { queue, head });
            self.flits_inside += 1;
            entering.flits_left -= 1;
            if entering.flits_left == 0 {
                self.busy_inputs &= !bit(input);
                self.freed_inputs |= bit(input);
            }
        }
    }

    /// The lane that a head would take; it has no credit if none has.
    #[inline]
    fn choose_lane(&self, input: usize, output: usize) -> usize {
        let lanes = self.shape.lanes_per_input;
        let first = input * lanes;
        if self.shape.per_output {
            return first + output;
        }
        if self.spec.ordered {
            return first + output % lanes;
        }
        let last = self.last_lane[input];
        if last == NOBODY {
            return first;
        }
        let last = last as usize - first;
        let after = (1..=lanes).map(|k| first + (last + k) % lanes);
        let mut with_credit = after.filter(|&lane| self.lanes[lane].credits > 0);
        with_credit.next().unwrap_or(first + last)
    }

    #[inline]
    fn arrive(&mut self, flit: WireFlit) {
        let number = flit.queue as usize;
        let lane = &mut self.lanes[number];
        lane.packets.extend(flit.head);
        lane.flits += 1;
        if lane.flits > 1 {
            return;
        }
        if lane.phase == Phase::Active {
            self.active_flits += 1;
            if self.channel_states[lane.channel as usize].credits > 0 {
                self.ask(number);
            }
        } else {
            self.begin_packet(number);
        }
    }

    /// The first packet of a lane sets out.
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
        let output = self.output_of(lane);
        self.waiting.insert(self.shape.waiter(lane), output);
    }

    /// Output of the first packet of a lane.
    #[inline]
    fn output_of(&self, lane: usize) -> usize {
        let first = self.lanes[lane].packets.front();
        first.expect("a flit belongs to a packet").output as usize
    }

    /// The first flit of an active lane asks for the switch.
    #[inline]
    fn ask(&mut self, lane: usize) {
        let (place, output) = (self.places[lane], self.output_of(lane));
        let cell = self.shape.cell(place.row, output);
        self.asking.set(cell, place, output);
    }

    /// Every stage sees what the step before left: first all decide, then all act.
    fn router_step(&mut self, step: u64) {
        let routed = self.route(step);
        if self.waiting.outputs != 0 && self.allocated_at.is_none() {
            self.allocate_channels(step);
        }
        if self.matched_at.is_none() {
            self.allocate_switch(step);
        }
        if self.spec.speculative && self.waiting.outputs != 0 {
            self.speculate();
        }
        for lane in routed {
            self.await_channel(lane as usize);
        }
        if self.allocated_at.is_some_and(|at| at <= step) {
            self.allocated_at = None;
            self.take_channels();
        }
        if self.matched_at.is_some_and(|at| at <= step) {
            self.matched_at = None;
            self.pass_flits(step);
        }
        if self.spec.speculative {
            self.pass_speculated(step);
        }
    }

    /// Lanes whose routes are known now.
    fn route(&mut self, step: u64) -> Vec<u32> {
        if self.routing_batch.is_empty() {
            if self.routing.is_empty() {
                return Vec::new();
            }
            self.routing_batch.extend(self.routing.drain(..));
            self.routed_at = self.done(step, self.spec.routing_cycles);
        }
        if self.routed_at <= step {
            std::mem::take(&mut self.routing_batch)
        } else {
            Vec::new()
        }
    }

    /// The step in which a stage of `cycles` that begins in `step` is done.
    #[inline]
    fn done(&self, step: u64, cycles: u32) -> u64 {
        let mut batch = Batch::default();
        batch.begin(step, cycles, u64::from(self.spec.internal_speedup));
        batch.ends
    }

    fn allocate_channels(&mut self, step: u64) {
        let (shape, lanes, packets) = (self.shape, &self.lanes, &self.packets);
        for output in ports(self.waiting.outputs) {
            let free = self.free[output];
            if free != 0 {
                let age = |waiter| age(lanes, packets, shape.lane(waiter, output));
                let allocator = &mut self.vc_allocator;
                allocator.allocate((output, free), &self.waiting, age, &mut self.grants);
            }
        }
        self.allocated_at = Some(self.done(step, self.spec.vc_allocation_cycles));
    }

    /// The granted channels are taken, if they are still free.
    fn take_channels(&mut self) {
        let mut grants = std::mem::take(&mut self.grants);
        for grant in grants.drain(..) {
            let output = grant.output as usize;
            if self.free[output] & 1 << grant.channel == 0 {
                continue;
            }
            let lane = self.shape.lane(grant.waiter as usize, output);
            let channel = output * self.shape.channels + grant.channel as usize;
            self.free[output] &= !(1 << grant.channel);
            self.waiting.remove(grant.waiter as usize, output);
            self.lanes[lane].phase = Phase::Active;
            self.lanes[lane].channel = channel as u32;
            self.active_flits += 1;
            self.channel_states[channel].owner = lane as u32;
            if self.channel_states[channel].credits > 0 {
                self.ask(lane);
            }
        }
        self.grants = grants;
    }

    /// Matches switch ports and outputs.
    fn allocate_switch(&mut self, step: u64) {
        let wanted = self.asking.requests.wanted() != 0;
        if wanted {
            let chooser = Chooser {
                shape: self.shape,
                arbiter: self.spec.arbiter,
                first_lane: &self.first_lane,
                lanes: &self.lanes,
                packets: &self.packets,
            };
            let matches = chooser.allocate(&self.asking, &mut self.allocator, &mut self.matched);
            for index in matches {
                self.turn(index);
            }
        }
        if wanted || self.active_flits > 0 {
            self.matched_at = Some(self.done(step, self.spec.switch_allocation_cycles));
        }
    }

    /// The lane of a match has the lowest priority in its switch port from now on.
    #[inline]
    fn turn(&mut self, index: usize) {
        let lane = self.matched[index].0 as usize;
        let lanes = self.shape.lanes_per_input;
        self.first_lane[self.places[lane].row] = ((lane + self.shape.ports) % lanes) as u32;
    }

    /// Matches what regular requests left to heads that still ask for a channel.
    fn speculate(&mut self) {
        let Some((asking, allocator)) = &mut self.speculation else {
            return;
        };
        *asking = Asking::new(self.first_lane.len(), self.shape.outputs);
        for output in ports(self.waiting.outputs) {
            let first = output * self.shape.channels;
            let has_credit = |c: usize| self.channel_states[first + c].credits > 0;
            if !elements(&[self.free[output]]).any(has_credit) {
                continue;
            }
            for waiter in elements(self.waiting.of(output)) {
                let place = self.places[self.shape.lane(waiter, output)];
                asking.set(self.shape.cell(place.row, output), place, output);
            }
        }
        let chooser = Chooser {
            shape: self.shape,
            arbiter: self.spec.arbiter,
            first_lane: &self.first_lane,
            lanes: &self.lanes,
            packets: &self.packets,
        };
        let mut matched = Vec::new();
        chooser.allocate(asking, allocator, &mut matched);
        let taken = |(lane, output): &(u32, u32)| {
            let row = |lane: u32| self.places[lane as usize].row;
            let mut regular = self.matched.iter();
            regular.any(|m| m.1 == *output || row(m.0) == row(*lane))
        };
        matched.retain(|m| !taken(m));
        self.speculated = matched;
    }

    /// Speculative matches count if the lane got a channel with a credit in the same step.
    fn pass_speculated(&mut self, step: u64) {
        for (lane, output) in std::mem::take(&mut self.speculated) {
            let lane = lane as usize;
            let ports = self.shape.ports;
            self.first_lane[self.places[lane].row] =
                ((lane + ports) % self.shape.lanes_per_input) as u32;
            let channel = self.lanes[lane].channel as usize;
            if self.lanes[lane].phase == Phase::Active && self.channel_states[channel].credits > 0 {
                self.pass_flit(step, lane, output as usize);
            }
        }
    }

    fn pass_flits(&mut self, step: u64) {
        let mut matched = std::mem::take(&mut self.matched);
        for (lane, output) in matched.drain(..) {
            self.pass_flit(step, lane as usize, output as usize);
        }
        self.matched = matched;
    }

    /// The first flit of a lane crosses the switch.
    fn pass_flit(&mut self, step: u64, number: usize, output: usize) {
        let lane = &mut self.lanes[number];
        let first = lane.packets.front_mut().expect("only flits ask");
        let packet = first.packet;
        first.flits_left -= 1;
        let is_tail = first.flits_left == 0;
        lane.flits -= 1;
        let (flits, channel) = (lane.flits, lane.channel);
        let state = &mut self.channel_states[channel as usize];
        state.credits -= 1;
        let stops = is_tail || flits == 0;
        if stops || state.credits == 0 {
            let place = self.places[number];
            let cell = self.shape.cell(place.row, output);
            self.asking.clear(cell, place, output);
        }
        if stops {
            self.active_flits -= 1;
        }
        if is_tail {
            state.owner = NOBODY;
            self.free[output] |= 1 << (channel as usize % self.shape.channels);
            lane.packets.pop_front();
            lane.phase = Phase::Idle;
            if flits > 0 {
                self.begin_packet(number);
            }
        }
        self.return_slot(step, number);
        self.depart(
            step,
            output,
            LeavingFlit {
                packet,
                channel,
                is_tail,
            },
        );
    }

    /// The credit of a freed slot sets out: one set of credits per input and cycle.
    #[inline]
    fn return_slot(&mut self, step: u64, lane: usize) {
        let now = step / u64::from(self.spec.internal_speedup);
        let input = self.places[lane].input;
        let returning = &mut self.returning[input];
        let last = returning.last().unwrap_or(0);
        let earliest = now + u64::from(self.spec.credit_wire_cycles);
        let same_set = self.credit_steps[input] == step;
        self.credit_steps[input] = step;
        let at = earliest.max(if same_set { last } else { last + 1 });
        returning.push(at, lane as u32);
        self.returning_inputs |= bit(input);
    }

    /// A flit that was granted the switch crosses it and takes to the wire.
    #[inline]
    fn depart(&mut self, step: u64, output: usize, flit: LeavingFlit) {
        let speedup = u64::from(self.spec.internal_speedup);
        let crossed = self
            .traversal
            .pass(step, self.spec.traversal_cycles, speedup);
        let departs = (crossed / speedup).max(self.next_departure[output]);
        self.next_departure[output] = departs + 1;
        let at = departs + u64::from(self.spec.output_wire_cycles);
        self.leaving[output].push(at, flit);
        self.leaving_outputs |= bit(output);
    }

    /// One flit leaves every output; a tail only if the receiver takes the packet.
    fn leave(&mut self, now: Cycle, deliver: &mut impl FnMut(usize, P, Cycle) -> bool) {
        self.blocked_outputs = 0;
        let credit = u64::from(self.spec.credit_wire_cycles + self.spec.credit_cycles);
        for output in ports(self.leaving_outputs) {
            let Some(&flit) = self.leaving[output].ready(now) else {
                continue;
            };
            if flit.is_tail {
                let packet = self.packets.get(flit.packet);
                if !deliver(output, packet.payload, packet.entered) {
                    self.blocked_outputs |= bit(output);
                    continue;
                }
                self.counters.delivered(packet.bytes, now - packet.offered);
                self.packets.remove(flit.packet);
            }
            self.leaving[output].take(now);
            self.credits.push(now + credit, flit.channel);
            self.counters.flits[output] += 1;
            self.flits_inside -= 1;
            if self.leaving[output].is_empty() {
                self.leaving_outputs &= !bit(output);
            }
        }
    }
}

impl<P: Copy + Serialize + DeserializeOwned> Router<P> {
    /// Names the fields of the state.
    pub fn state(&mut self, state: &mut State<'_>) {
        state.field("entering", &mut self.entering);
        state.field("busy_inputs", &mut self.busy_inputs);
        state.field("last_lane", &mut self.last_lane);
        state.field("wire", &mut self.wire);
        state.field("returning", &mut self.returning);
        state.field("returning_inputs", &mut self.returning_inputs);
        state.field("credit_steps", &mut self.credit_steps);
        state.field("lanes", &mut self.lanes);
        state.field("routing", &mut self.routing);
        state.field("routing_batch", &mut self.routing_batch);
        state.field("routed_at", &mut self.routed_at);
        state.field("waiting", &mut self.waiting);
        state.field("free", &mut self.free);
        state.part("vc_allocator", |state| self.vc_allocator.state(state));
        state.field("grants", &mut self.grants);
        state.field("allocated_at", &mut self.allocated_at);
        state.field("channels", &mut self.channel_states);
        state.field("asking", &mut self.asking);
        state.field("active_flits", &mut self.active_flits);
        state.part("allocator", |state| self.allocator.state(state));
        state.field("matched", &mut self.matched);
        state.field("matched_at", &mut self.matched_at);
        state.field("first_lane", &mut self.first_lane);
        if let Some((_, allocator)) = &mut self.speculation {
            state.part("speculation", |state| allocator.state(state));
        }
        state.field("traversal", &mut self.traversal);
        state.field("next_departure", &mut self.next_departure);
        state.field("leaving", &mut self.leaving);
        state.field("leaving_outputs", &mut self.leaving_outputs);
        state.field("blocked_outputs", &mut self.blocked_outputs);
        state.field("credits", &mut self.credits);
        state.field("packets", &mut self.packets);
        state.field("flits_inside", &mut self.flits_inside);
        state.field("counters", &mut self.counters);
    }
}
