//! Rectangular input-queued switch of flits: one stage between the input and the output ports of a
//! network. [`SwitchSpec`] (`spec.rs`) is its specification.
//!
//! ```text
//!   offer ─► entry ─► wire ─► input queues ─► matching ─► output buffer ─► deliver
//!            1 flit/  input_  (credits)       wormhole,   output_cycles    1 flit/
//!            cycle    cycles                  × speedup                    cycle
//!              ▲                   │
//!              └── credit_cycles ──┘
//! ```
//!
//! # Timing
//! [`Network::step`](super::Network::step) is one cycle. Credits return, and every entering packet
//! moves one flit into its input wire if it has a credit. Flits that passed the wire join their
//! queue. Inputs and outputs are matched `internal_speedup` times, and every output lets one flit
//! leave. A packet of `L` flits offered to an empty switch before the step of cycle `t` is
//! delivered in the step of `t + input_cycles + output_cycles + L - 1`.
//!
//! A BookSim 2 router with one virtual channel of 64 flits, as GPGPU-Sim uses it, is configured as
//! follows. Use `Fifo`, `Islip(iterations: 1)`, both buffers 64, and
//! `output_cycles: 3, credit_cycles: 2, turnaround_matchings: 1`. Add `input_cycles: 3` at internal
//! speedup 1 (latency `5 + L`), or `input_cycles: 2` at 2 (`4 + L`). Mean latency then agrees
//! within 3.5 %, saturation within 1 %. With all of these 0, `credit_cycles: 1` and no bound on the
//! buffers it is the slotted switch of queueing theory. Latency 0 then means served in the slot of
//! arrival.
//!
//! # Rules
//! - Wormhole: once its head is switched, a packet holds its input and its output until its tail is
//!   switched. (If inputs could start several packets they would hold several outputs at a fraction
//!   of their rate each.)
//! - Packets of one input and output stay in order.
//! - A full input queue stops the entry of that input. A full output buffer stops its output. A
//!   tail that the receiver refuses stays in the output buffer.
//! - Freedom from starvation: both arbiters serve a persistent request within inputs × outputs
//!   packets. An input that started 8 × outputs packets of several flits while another head waits
//!   starts nothing else until that one is served.
//!
//! # Not modelled
//! Virtual channels other than output queues. Interleaved flits of several packets at an output, as
//! in BookSim with several virtual channels. Pipelines whose stages depend on the flit. Half cycles
//! (BookSim's speedup 2 has a credit loop of 4.5 cycles).

mod spec;

use warpweave_framework::{Cycle, State};

use crate::building_blocks::DelayLine;
use crate::crossbar::allocator::{Allocator, Match};
use crate::crossbar::arbiter::AnyArbiter;
use crate::crossbar::input_ports::{BufferChoice, InputPortsSpec};
use crate::crossbar::network_ports::NetworkPorts;
use crate::crossbar::output_ports::LeavingFlit;
use crate::crossbar::port_bits::PortBits;
use crate::crossbar::port_bits::PortMask;
use crate::crossbar::requests::{Requests, ports};

pub use spec::SwitchSpec;

/// Switch as a kind of [`Network`](super::Network); `P` is the payload of its packets.
#[derive(State)]
pub struct Switch<P> {
    #[state(skip)]
    spec: SwitchSpec,
    #[state(skip)]
    queues_per_input: usize,
    #[state(flatten)]
    pub(super) ports: NetworkPorts<P>,
    /// Queues whose credits are in transit.
    returning: DelayLine<u32>,

    requests: Requests,
    #[state(part)]
    allocator: Allocator,
    /// Inputs and outputs of tails in turnaround, with the matching at which it ends (counted from
    /// cycle 0).
    turnarounds: DelayLine<(u32, u32)>,
    /// Queues and outputs that are idle during the turnaround after a tail.
    #[state(array)]
    turning_queues: Vec<bool>,
    turning_outputs: PortBits,
    /// Outputs whose buffer is currently full.
    full_outputs: PortBits,
}

impl<P: Copy> Switch<P> {
    /// Creates an empty switch; `spec` must have been checked for this shape.
    pub(super) fn new(
        inputs: usize,
        outputs: usize,
        spec: &SwitchSpec,
        arbiter: AnyArbiter,
    ) -> Self {
        let queues_per_input = spec.queues_per_input(outputs as u32) as usize;
        let input_ports = InputPortsSpec {
            inputs,
            buffers_per_input: queues_per_input,
            buffer_flits: spec.buffer_flits,
            choice: BufferChoice::ByOutput,
            wire_cycles: spec.input_cycles,
        };
        Self {
            queues_per_input,
            ports: NetworkPorts::new(&input_ports, outputs),
            returning: DelayLine::default(),
            requests: Requests::new(inputs, outputs),
            allocator: Allocator::new(arbiter, inputs, outputs),
            turnarounds: DelayLine::default(),
            turning_queues: vec![false; inputs * queues_per_input],
            turning_outputs: PortBits::default(),
            full_outputs: PortBits::default(),
            spec: spec.clone(),
        }
    }

    pub(super) fn arbiter(&self) -> &AnyArbiter {
        self.allocator.arbiter()
    }

    /// Simulates one cycle; see [`Network::step`](super::Network::step) for the contract.
    pub(super) fn step(&mut self, now: Cycle, deliver: impl FnMut(usize, P, Cycle) -> bool) {
        while let Some(queue) = self.returning.take(now) {
            self.ports.inputs.return_credit(queue as usize);
        }
        self.ports.enter(now);
        while let Some(queue) = self.ports.inputs.arrive(now) {
            if self.ports.inputs.buffer(queue).flits() == 1 {
                self.request(queue);
            }
        }
        let speedup = u64::from(self.spec.internal_speedup);
        for matching in now * speedup..(now + 1) * speedup {
            self.traverse(now, matching);
        }
        let full = &mut self.full_outputs;
        self.ports
            .leave(now, deliver, |output, _| full.remove(output));
    }

    /// Returns the next cycle with an event; see
    /// [`Network::next_event`](super::Network::next_event).
    pub(super) fn next_event(&self, now: Cycle) -> Option<Cycle> {
        let soon = now + 1;
        let open = self.open_outputs();
        let mut wanted = ports(self.requests.wanted() & open);
        if self.ports.is_entering() || wanted.any(|o| self.requests.to_output(o) != 0) {
            return Some(soon);
        }
        let speedup = u64::from(self.spec.internal_speedup);
        let turnaround = self.turnarounds.next();
        let first = [
            self.returning.next(),
            turnaround.map(|matching| matching / speedup),
            self.ports.inputs.next_arrival(),
            self.ports.outputs.next_departure(),
        ]
        .into_iter()
        .fold(Cycle::MAX, |first, event| {
            first.min(event.unwrap_or(Cycle::MAX))
        });
        (first != Cycle::MAX).then(|| first.max(soon))
    }

    /// Returns the outputs that can accept a flit from the switch.
    #[inline]
    fn open_outputs(&self) -> PortMask {
        !(self.full_outputs.mask() | self.turning_outputs.mask())
    }

    #[inline]
    fn queue_of(&self, input: usize, output: usize) -> usize {
        let queues = self.queues_per_input;
        if queues == 1 {
            return input;
        }
        input * queues + output % queues
    }

    /// Requests the output of a queue's first packet, unless the queue is in turnaround.
    #[inline]
    fn request(&mut self, queue: usize) {
        if !self.turning_queues[queue] {
            let output = self.ports.inputs.buffer(queue).output();
            let input = match self.queues_per_input {
                1 => queue,
                many => queue / many,
            };
            self.requests.set(input, output);
        }
    }

    /// Matches inputs and outputs once and moves the matched flits.
    fn traverse(&mut self, now: Cycle, matching: u64) {
        while let Some((input, output)) = self.turnarounds.take(matching) {
            let (input, output) = (input as usize, output as usize);
            self.turning_outputs.remove(output);
            let queue = self.queue_of(input, output);
            self.turning_queues[queue] = false;
            if self.ports.inputs.buffer(queue).flits() > 0 {
                self.request(queue);
            }
        }
        let open = self.open_outputs();
        let (network, queues) = (&self.ports, self.queues_per_input);
        let age = |input: usize, output: usize| network.age(input * queues + output % queues);
        let matches = self.allocator.allocate(&self.requests, open, age);
        for index in 0..matches {
            let (input, output) = self.allocator.matched(index);
            self.move_flit(now, matching, (input, output));
        }
    }

    fn move_flit(&mut self, now: Cycle, matching: u64, (input, output): Match) {
        let number = self.queue_of(input, output);
        let (flit, mut next) = self.ports.inputs.take_flit(number);
        if flit.is_tail && self.spec.turnaround_matchings > 0 {
            next = None;
            self.turning_queues[number] = true;
            self.turning_outputs.insert(output);
            let end = matching + 1 + u64::from(self.spec.turnaround_matchings);
            self.turnarounds.push(end, (input as u32, output as u32));
        }
        self.requests.passed(
            (input, output),
            flit.is_tail,
            next.map(|next| next as usize),
        );
        self.returning
            .push(now + u64::from(self.spec.credit_cycles), number as u32);
        let leaving = LeavingFlit {
            packet: flit.packet,
            is_tail: flit.is_tail,
            channel: output as u32,
        };
        let at = now + u64::from(self.spec.output_cycles);
        let held = self.ports.outputs.push(output, at, leaving);
        if held >= self.spec.output_buffer_flits as usize {
            self.full_outputs.insert(output);
        }
    }
}
