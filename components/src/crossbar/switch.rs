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

use warpweave_framework::{Cycle, Histogram, Level, Statistics};

use super::allocator::{Allocator, Match, PortMask, Requests, bit, ports};
use super::delay_line::DelayLine;
use super::network::{NetworkSpec, Queueing};

/// A packet on its way into an input queue.
#[derive(Clone, Copy, Default)]
struct Entering {
    /// Queue it enters.
    queue: u32,
    flits_left: u32,
    /// The packet, until its head has entered.
    head: Option<QueuedPacket>,
}

/// One flit between the port and its queue.
struct PipedFlit {
    queue: u32,
    /// The packet, if this is its head.
    head: Option<QueuedPacket>,
}

/// A packet in an input queue, from the arrival of its head to the departure of its tail.
#[derive(Clone, Copy)]
struct QueuedPacket {
    packet: u32,
    output: u32,
    flits_left: u32,
}

#[derive(Default)]
struct InputQueue {
    packets: VecDeque<QueuedPacket>,
    /// Flits that have arrived and not left.
    flits: u32,
    credits: u32,
    /// Sits out the turnaround after a tail.
    rests: bool,
}

/// One flit in an output buffer.
struct LeavingFlit {
    packet: u32,
    is_tail: bool,
}

/// A packet inside the switch.
struct Packet<P> {
    payload: P,
    offered: Cycle,
    bytes: u32,
}

/// What a packet needs beside its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Input port.
    pub input: usize,
    /// Output port.
    pub output: usize,
    /// Flits, at least 1.
    pub flits: u32,
    /// Bytes, for the statistics.
    pub bytes: u32,
}

/// Counters of one switch.
#[derive(Clone, Debug, Default)]
struct SwitchCounters {
    packets: u64,
    bytes: u64,
    /// Flits that left, per output.
    flits: Vec<u64>,
    /// Cycles in which an entering flit found no credit, added up over inputs.
    credit_stalls: u64,
    /// Cycles from offer to delivery.
    latency: Histogram,
    /// Flits inside.
    occupancy: Level,
}

/// The switch; `P` is what its packets carry.
pub struct Switch<P> {
    spec: NetworkSpec,
    outputs: usize,

    entering: Vec<Entering>,
    /// Inputs with an entering packet.
    busy_inputs: PortMask,
    /// Inputs whose last packet finished entering in the last step.
    freed_inputs: PortMask,
    /// Inputs whose entering flit found no credit, and since when.
    stalled_inputs: PortMask,
    stalled_since: Vec<Cycle>,

    pipes: Vec<DelayLine<PipedFlit>>,
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

    packets: Vec<Option<Packet<P>>>,
    free_packets: Vec<u32>,
    flits_inside: u64,
    counters: SwitchCounters,
}

impl<P: Copy> Switch<P> {
    /// An empty switch; `spec` has been checked for this shape.
    pub fn new(inputs: usize, outputs: usize, spec: &NetworkSpec) -> Self {
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
            stalled_inputs: 0,
            stalled_since: vec![0; inputs],
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
            packets: Vec::new(),
            free_packets: Vec::new(),
            flits_inside: 0,
            counters: SwitchCounters {
                flits: vec![0; outputs],
                ..SwitchCounters::default()
            },
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
        let packet = Some(Packet {
            payload,
            offered: now,
            bytes,
        });
        let slot = if let Some(slot) = self.free_packets.pop() {
            self.packets[slot as usize] = packet;
            slot
        } else {
            self.packets.push(packet);
            self.packets.len() as u32 - 1
        };
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

    /// One cycle. `deliver` is handed every packet whose tail can leave, with its output, and says
    /// whether the receiver took it. Cycles in which nothing can happen may be left out.
    pub fn step(&mut self, now: Cycle, mut deliver: impl FnMut(usize, P) -> bool) {
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
        if self.busy_inputs & !self.stalled_inputs != 0 {
            return Some(soon);
        }
        let mut first = Cycle::MAX;
        if self.stalled_inputs != 0 {
            first = first.min(self.returning.next().unwrap_or(Cycle::MAX));
        }
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
        self.packets.len() - self.free_packets.len()
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
        let open = ports(self.stalled_inputs).map(|i| cycle.saturating_sub(self.stalled_since[i]));
        self.counters.credit_stalls + open.sum::<u64>()
    }

    /// Reports the statistics of this switch, named `network_…`.
    pub fn statistics(&self, network: &str, statistics: &mut Statistics<'_>) {
        let cycle = statistics.cycle();
        let counters = &self.counters;
        let name = |what: &str| format!("{network}_{what}");
        statistics.counter(
            &name("packets"),
            "packets",
            "Packets delivered by the network",
            counters.packets,
        );
        statistics.counter(
            &name("flits"),
            "flits",
            "Flits that left the network's outputs",
            counters.flits.iter().sum(),
        );
        statistics.counter(
            &name("bytes"),
            "bytes",
            "Bytes of the packets delivered, control included, padding not",
            counters.bytes,
        );
        statistics.counter(
            &name("credit_stalls"),
            "cycles",
            "Cycles in which a flit at an input found its queue full, added up over inputs",
            self.credit_stalls(cycle),
        );
        statistics.histogram(
            &name("latency"),
            "cycles",
            "Cycles from a packet's being taken at its input to its tail leaving",
            &counters.latency,
        );
        statistics.gauge(
            &name("occupancy"),
            "flits",
            "Mean number of flits inside the network",
            counters.occupancy.mean(cycle),
        );
        statistics.counter(
            &name("occupancy_max"),
            "flits",
            "Largest number of flits inside the network",
            counters.occupancy.max(),
        );
        for (output, flits) in counters.flits.iter().enumerate() {
            statistics.ratio(
                &format!("{network}_output_utilisation[{output}]"),
                "Cycles in which a flit left this output",
                *flits,
                cycle,
            );
        }
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
                if self.stalled_inputs & bit(input) == 0 {
                    self.stalled_inputs |= bit(input);
                    self.stalled_since[input] = now;
                }
                continue;
            }
            if self.stalled_inputs & bit(input) != 0 {
                self.stalled_inputs &= !bit(input);
                self.counters.credit_stalls += now - self.stalled_since[input];
            }
            queue.credits -= 1;
            let flit = PipedFlit {
                queue: entering.queue,
                head: entering.head.take(),
            };
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
        let matches = self.allocator.allocate(&self.requests, open);
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
    fn leave(&mut self, now: Cycle, deliver: &mut impl FnMut(usize, P) -> bool) {
        self.blocked_outputs = 0;
        for output in ports(self.occupied_outputs) {
            let Some(flit) = self.buffers[output].ready(now) else {
                continue;
            };
            if flit.is_tail {
                let slot = flit.packet;
                let place = &mut self.packets[slot as usize];
                let packet = place.as_ref().expect("a packet stays until its tail left");
                if !deliver(output, packet.payload) {
                    self.blocked_outputs |= bit(output);
                    continue;
                }
                self.counters.packets += 1;
                self.counters.bytes += u64::from(packet.bytes);
                self.counters.latency.record(now - packet.offered);
                *place = None;
                self.free_packets.push(slot);
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
