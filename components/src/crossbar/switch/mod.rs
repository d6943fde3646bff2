//! A rectangular input-queued switch of flits, without ports of its own, so that it can be tested
//! and measured alone.
//!
//! ```text
//!   offer ─► entry ─► pipe ─► input queues ─► matching ─► output buffer ─► deliver
//!            1 flit/  input_  (credits)       wormhole,   output_cycles    1 flit/
//!            cycle    cycles                  × speedup                    cycle
//!              ▲                   │
//!              └── credit_cycles ──┘
//! ```
//!
//! # Timing
//! [`Switch::step`] is one cycle: credits come back, every entering packet moves one flit into its
//! input pipe if it has a credit, flits that passed the pipe join their queue, inputs and outputs
//! are matched `internal_speedup` times, every output lets one flit leave. A packet of `L` flits
//! offered to an empty switch before the step of cycle `t` is delivered in the step of
//! `t + input_cycles + output_cycles + L - 1`.
//!
//! A BookSim 2 router with one virtual channel of 64 flits, as GPGPU-Sim uses it, is `Fifo`,
//! `Islip(iterations: 1)`, both buffers 64, `output_cycles: 3, credit_cycles: 2,
//! turnaround_matchings: 1` and `input_cycles: 3` at internal speedup 1 (latency `5 + L`),
//! `input_cycles: 2` at 2 (`4 + L`); mean latency then agrees within 3.5 %, saturation within 1 %.
//! With all of these 0, `credit_cycles: 1` and no bound on the buffers it is the slotted switch of
//! queueing theory: latency 0 means served in the slot of arrival.
//!
//! # Rules
//! - Wormhole: once its head is switched a packet holds its input and its output until its tail is
//!   switched. (If inputs could start several packets they would hold several outputs at a
//!   fraction of their rate each.)
//! - Packets of one input and output stay in order.
//! - A full input queue stops the entry of that input; a full output buffer stops its output; a
//!   tail that the receiver refuses stays in the output buffer.
//! - Nobody starves: both arbiters serve a persistent request within inputs × outputs packets; an
//!   input that started 8 × outputs packets of several flits while another head waits starts
//!   nothing else until that one was served.
//!
//! # Not modelled
//! Virtual channels other than output queues, and flits of several packets interleaved at an output
//! (BookSim does so with several virtual channels); pipelines whose stages depend on the flit; half
//! cycles (BookSim's speedup 2 has a credit loop of 4.5 cycles).

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, State, Statistics};

use crate::building_blocks::DelayLine;
use crate::crossbar::allocator::{Allocator, Match, PortMask, Requests, bit, ports};
use crate::crossbar::counters::NetworkCounters;
use crate::crossbar::network_spec::{Queueing, SwitchSpec};
use crate::crossbar::packets::{Entering, Packets, Parcel, QueuedPacket, WireFlit};

#[derive(Default, Serialize, Deserialize)]
struct InputQueue {
    packets: VecDeque<QueuedPacket>,
    /// Flits that have arrived and not left.
    flits: u32,
    credits: u32,
    /// Sits out the turnaround after a tail.
    rests: bool,
}

/// One flit in an output buffer.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct LeavingFlit {
    packet: u32,
    is_tail: bool,
}

/// The switch; `P` is what its packets carry.
pub struct Switch<P> {
    spec: SwitchSpec,
    outputs: usize,

    entering: Vec<Entering>,
    /// Inputs with an entering packet.
    busy_inputs: PortMask,
    /// Inputs whose last packet finished entering in the last step; of use only until the next, and
    /// so no state.
    freed_inputs: PortMask,

    pipes: Vec<DelayLine<WireFlit>>,
    piped_inputs: PortMask,
    queues: Vec<InputQueue>,
    /// Queues whose slots come back.
    returning: DelayLine<u32>,

    requests: Requests,
    allocator: Allocator,
    /// Inputs and outputs of tails whose turnaround ends, at which matching (counted from cycle 0).
    turnarounds: DelayLine<Match>,
    turning_outputs: PortMask,

    buffers: Vec<DelayLine<LeavingFlit>>,
    occupied_outputs: PortMask,
    full_outputs: PortMask,
    /// Outputs whose tail was refused in the last step.
    blocked_outputs: PortMask,

    packets: Packets<P>,
    flits_inside: u64,
    counters: NetworkCounters,
}

impl<P: Copy> Switch<P> {
    /// An empty switch; `spec` has been checked for this shape.
    pub fn new(inputs: usize, outputs: usize, spec: &SwitchSpec) -> Self {
        let queues = match spec.queueing {
            Queueing::Fifo => inputs,
            Queueing::VirtualOutput => inputs * outputs,
        };
        let queue = || InputQueue {
            credits: spec.buffer_flits,
            ..InputQueue::default()
        };
        Self {
            outputs,
            entering: vec![Entering::default(); inputs],
            busy_inputs: 0,
            freed_inputs: 0,
            pipes: (0..inputs).map(|_| DelayLine::default()).collect(),
            piped_inputs: 0,
            queues: (0..queues).map(|_| queue()).collect(),
            returning: DelayLine::default(),
            requests: Requests::new(inputs, outputs),
            allocator: Allocator::new(spec.arbiter, inputs, outputs),
            turnarounds: DelayLine::default(),
            turning_outputs: 0,
            buffers: (0..outputs).map(|_| DelayLine::default()).collect(),
            occupied_outputs: 0,
            full_outputs: 0,
            blocked_outputs: 0,
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
            output < self.outputs && flits > 0,
            "{flits} flits to output {output} of {}",
            self.outputs
        );
        let slot = self.packets.insert(now, bytes, payload);
        self.entering[input] = Entering {
            queue: self.queue_of(input, output) as u32,
            flits_left: flits,
            head: Some(QueuedPacket {
                packet: slot,
                output: output as u32,
                flits_left: flits,
            }),
        };
        self.busy_inputs |= bit(input);
    }

    /// One cycle. `deliver` is handed every packet whose tail can leave: its output, what it
    /// carries, the cycle in which its head entered; it says whether the receiver took it. Cycles in which nothing can happen may be left out.
    pub fn step(&mut self, now: Cycle, mut deliver: impl FnMut(usize, P, Cycle) -> bool) {
        while let Some(queue) = self.returning.take(now) {
            self.queues[queue as usize].credits += 1;
        }
        self.enter(now);
        self.join_queues(now);
        let speedup = u64::from(self.spec.internal_speedup);
        for matching in now * speedup..(now + 1) * speedup {
            self.traverse(now, matching);
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
        if self.busy_inputs & !self.counters.stalled_inputs != 0 {
            return Some(soon);
        }
        let mut first = Cycle::MAX;
        first = first.min(self.returning.next().unwrap_or(Cycle::MAX));
        let open = !(self.full_outputs | self.turning_outputs);
        if ports(self.requests.wanted() & open).any(|o| self.requests.to_output(o) != 0) {
            return Some(soon);
        }
        if let Some(matching) = self.turnarounds.next() {
            first = first.min(matching / u64::from(self.spec.internal_speedup));
        }
        let pipes = ports(self.piped_inputs).filter_map(|i| self.pipes[i].next());
        let buffers = ports(self.occupied_outputs & !self.blocked_outputs)
            .filter_map(|o| self.buffers[o].next());
        let first = pipes.chain(buffers).fold(first, Cycle::min);
        (first != Cycle::MAX).then(|| first.max(soon))
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

    /// Reports the statistics of this switch, named `network_…`.
    pub fn statistics(&self, network: &str, statistics: &mut Statistics<'_>) {
        self.counters.statistics(network, statistics);
    }

    #[inline]
    fn queue_of(&self, input: usize, output: usize) -> usize {
        match self.spec.queueing {
            Queueing::Fifo => input,
            Queueing::VirtualOutput => input * self.outputs + output,
        }
    }

    /// One flit of every entering packet goes into its pipe, if it has a credit.
    fn enter(&mut self, now: Cycle) {
        self.freed_inputs = 0;
        for input in ports(self.busy_inputs) {
            let entering = &mut self.entering[input];
            let queue = &mut self.queues[entering.queue as usize];
            if queue.credits == 0 {
                self.counters.begin_stall(input, now);
                continue;
            }
            self.counters.end_stall(input, now);
            queue.credits -= 1;
            let flit = WireFlit {
                queue: entering.queue,
                head: entering.head.take(),
            };
            if let Some(head) = flit.head {
                self.packets.enter(head.packet, now);
            }
            self.pipes[input].push(now + u64::from(self.spec.input_cycles), flit);
            self.piped_inputs |= bit(input);
            self.flits_inside += 1;
            entering.flits_left -= 1;
            if entering.flits_left == 0 {
                self.busy_inputs &= !bit(input);
                self.freed_inputs |= bit(input);
            }
        }
    }

    /// Flits that passed the pipe join their queue and request their output.
    fn join_queues(&mut self, now: Cycle) {
        for input in ports(self.piped_inputs) {
            while let Some(flit) = self.pipes[input].take(now) {
                let queue = &mut self.queues[flit.queue as usize];
                queue.packets.extend(flit.head);
                queue.flits += 1;
                if queue.flits == 1 && !queue.rests {
                    let first = queue.packets.front().expect("a flit belongs to a packet");
                    self.requests.set(input, first.output as usize);
                }
            }
            if self.pipes[input].is_empty() {
                self.piped_inputs &= !bit(input);
            }
        }
    }

    /// Matches inputs and outputs once and moves the matched flits.
    fn traverse(&mut self, now: Cycle, matching: u64) {
        while let Some((input, output)) = self.turnarounds.take(matching) {
            self.turning_outputs &= !bit(output);
            let number = self.queue_of(input, output);
            let queue = &mut self.queues[number];
            queue.rests = false;
            if queue.flits > 0 {
                let first = queue.packets.front().expect("a flit belongs to a packet");
                self.requests.set(input, first.output as usize);
            }
        }
        let open = !(self.full_outputs | self.turning_outputs);
        let (queues, packets) = (&self.queues, &self.packets);
        let (per_output, outputs) = (self.spec.queueing == Queueing::VirtualOutput, self.outputs);
        let age = |input: usize, output: usize| {
            let queue = if per_output {
                input * outputs + output
            } else {
                input
            };
            let first = queues[queue].packets.front();
            first.map_or(Cycle::MAX, |first| packets.get(first.packet).offered)
        };
        let matches = self.allocator.allocate(&self.requests, open, age);
        for index in 0..matches {
            let (input, output) = self.allocator.matched(index);
            self.move_flit(now, matching, (input, output));
        }
    }

    fn move_flit(&mut self, now: Cycle, matching: u64, (input, output): Match) {
        let number = self.queue_of(input, output);
        let queue = &mut self.queues[number];
        let first = queue.packets.front_mut().expect("only flits request");
        let packet = first.packet;
        first.flits_left -= 1;
        queue.flits -= 1;
        let is_tail = first.flits_left == 0;
        if is_tail {
            queue.packets.pop_front();
            self.requests.release(input, output);
            if self.spec.turnaround_matchings > 0 {
                queue.rests = true;
                self.turning_outputs |= bit(output);
                let end = matching + 1 + u64::from(self.spec.turnaround_matchings);
                self.turnarounds.push(end, (input, output));
            }
        } else {
            self.requests.hold(input, output);
        }
        let requests = queue.flits > 0 && !queue.rests;
        let next = queue.packets.front().filter(|_| requests);
        match next.map(|packet| packet.output as usize) {
            Some(same) if same == output => {}
            Some(other) => {
                self.requests.clear(input, output);
                self.requests.set(input, other);
            }
            None => self.requests.clear(input, output),
        }
        self.returning
            .push(now + u64::from(self.spec.credit_cycles), number as u32);

        let buffer = &mut self.buffers[output];
        buffer.push(
            now + u64::from(self.spec.output_cycles),
            LeavingFlit { packet, is_tail },
        );
        self.occupied_outputs |= bit(output);
        if buffer.len() >= self.spec.output_buffer_flits as usize {
            self.full_outputs |= bit(output);
        }
    }

    /// One flit leaves every output; a tail only if the receiver takes the packet.
    fn leave(&mut self, now: Cycle, deliver: &mut impl FnMut(usize, P, Cycle) -> bool) {
        self.blocked_outputs = 0;
        for output in ports(self.occupied_outputs) {
            let Some(flit) = self.buffers[output].ready(now) else {
                continue;
            };
            if flit.is_tail {
                let slot = flit.packet;
                let packet = self.packets.get(slot);
                if !deliver(output, packet.payload, packet.entered) {
                    self.blocked_outputs |= bit(output);
                    continue;
                }
                self.counters.delivered(packet.bytes, now - packet.offered);
                self.packets.remove(slot);
            }
            self.buffers[output].take(now);
            self.counters.flits[output] += 1;
            self.flits_inside -= 1;
            self.full_outputs &= !bit(output);
            if self.buffers[output].is_empty() {
                self.occupied_outputs &= !bit(output);
            }
        }
    }
}

impl<P: Copy + Serialize + DeserializeOwned> Switch<P> {
    /// Names the fields of the state.
    pub fn state(&mut self, state: &mut State<'_>) {
        state.field("entering", &mut self.entering);
        state.field("busy_inputs", &mut self.busy_inputs);
        state.field("pipes", &mut self.pipes);
        state.field("piped_inputs", &mut self.piped_inputs);
        state.field("queues", &mut self.queues);
        state.field("returning", &mut self.returning);
        state.field("requests", &mut self.requests);
        state.part("allocator", |state| self.allocator.state(state));
        state.field("turnarounds", &mut self.turnarounds);
        state.field("turning_outputs", &mut self.turning_outputs);
        state.field("buffers", &mut self.buffers);
        state.field("occupied_outputs", &mut self.occupied_outputs);
        state.field("full_outputs", &mut self.full_outputs);
        state.field("blocked_outputs", &mut self.blocked_outputs);
        state.field("packets", &mut self.packets);
        state.field("flits_inside", &mut self.flits_inside);
        state.field("counters", &mut self.counters);
    }
}
