//! Traffic for a network without components around it: random numbers, plans and endless streams.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpweave_framework::{Cycle, Environment, Policy, State};
use warpweave_random::{CounterRng, GAMMA};

use super::open_arbiters::{Oldest, Rotating};
use crate::crossbar::{
    AgeBased, Arbiter, Fixed, Islip, IslipSpec, Network, NetworkPlace, NetworkSpec, PacketInfo,
    Queueing, RoundRobin, SwitchSpec,
};

/// The random number of a cycle and port. A function of its own: the comparison with the reference
/// rests on these draws, and near saturation others lie some per cent beside them.
pub(super) fn random(seed: u64, now: Cycle, port: usize) -> u64 {
    let mut z = seed ^ now.wrapping_mul(GAMMA) ^ (port as u64).rotate_left(40);
    for multiplier in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        z = (z ^ z >> 29).wrapping_add(GAMMA).wrapping_mul(multiplier);
    }
    z ^ z >> 32
}

/// Whether a random number says yes, which it does with this probability.
pub(super) fn happens(random: u64, probability: f64) -> bool {
    ((random >> 11) as f64) < probability * (1u64 << 53) as f64
}

/// A packet of which only the way and the length matter.
pub(super) fn parcel(input: usize, output: usize, flits: u32) -> PacketInfo {
    PacketInfo {
        input,
        output,
        flits,
        bytes: flits,
    }
}

/// Packets per input: earliest cycle, output, flits.
pub(super) type Plan = Vec<Vec<(Cycle, usize, u32)>>;

/// What was delivered: cycle, output, (input, number of the packet at that input).
pub(super) type Delivered = Vec<(Cycle, usize, (u32, u32))>;

/// How a plan is played.
#[derive(Clone, Copy)]
pub(super) struct Play {
    pub(super) outputs: usize,
    /// Of 16 cycles, how many refuse a packet.
    pub(super) refuse: u32,
    /// Step only in cycles in which something can happen.
    pub(super) lazy: bool,
    /// Save in this cycle and go on with a fresh network.
    pub(super) save_at: Option<Cycle>,
}

/// Cycles of a play, many more than any plan needs.
const PLAYED: Cycle = 30_000;

/// The cycles in which the state of a play is looked at: while packets are inside, and in the end.
const LOOKS: [Cycle; 3] = [60, 130, PLAYED - 1];

/// The state of a network in each of those cycles.
pub(super) type States = Vec<Vec<u8>>;

/// Plays a plan to its end; returns the cycles of credit stalls and what the state was, too.
pub(super) fn play(spec: &NetworkSpec, plan: &Plan, how: Play) -> (Delivered, u64, States) {
    let fresh = || network(plan.len(), how.outputs, spec);
    let mut network = fresh();
    let mut queues: Vec<VecDeque<_>> = plan
        .iter()
        .map(|p| p.iter().enumerate().collect())
        .collect();
    let dice = CounterRng::new(1, "receivers");
    let mut delivered = Vec::new();
    let mut wake = 0;
    let mut states = Vec::new();
    for now in 0..PLAYED {
        if LOOKS.contains(&now) {
            states.push(State::save(|state| network.state(state)).unwrap());
        }
        if how.save_at == Some(now) {
            let bytes = State::save(|state| network.state(state)).unwrap();
            network = fresh();
            State::load(&bytes, |state| network.state(state)).unwrap();
            assert_eq!(State::save(|state| network.state(state)).unwrap(), bytes);
        }
        let mut due = !how.lazy || wake == now || network.is_blocked();
        for (input, queue) in queues.iter_mut().enumerate() {
            if network.accepts(input) && queue.front().is_some_and(|(_, p)| p.0 <= now) {
                let (number, &(_, output, flits)) = queue.pop_front().unwrap();
                let packet = (input as u32, number as u32);
                network.offer(now, parcel(input, output, flits), packet);
                due = true;
            }
        }
        if !due {
            continue;
        }
        network.step(now, |output, packet, entered| {
            assert!(entered <= now);
            let takes = !dice.chance(now * 128 + output as u64, how.refuse);
            if takes {
                delivered.push((now, output, packet));
            }
            takes
        });
        wake = network.next_event(now).unwrap_or(Cycle::MAX);
        assert!(wake > now);
    }
    assert_eq!(network.packets_inside(), 0, "packets are stuck");
    assert_eq!(network.next_event(PLAYED), None);
    (delivered, network.credit_stalls(PLAYED), states)
}

/// The longest time between two packets of any pair of ports, with all inputs sending packets of
/// three flits to all outputs in turn without end.
pub(super) fn longest_wait(
    spec: &NetworkSpec,
    (inputs, outputs): (usize, usize),
    cycles: Cycle,
) -> Cycle {
    let mut network = network(inputs, outputs, spec);
    let mut sent = vec![0; inputs];
    let mut last = vec![0; inputs * outputs];
    let mut longest = 0;
    for now in 0..cycles {
        for (input, sent) in sent.iter_mut().enumerate() {
            if network.accepts(input) {
                let output = *sent % outputs;
                *sent += 1;
                network.offer(now, parcel(input, output, 3), input * outputs + output);
            }
        }
        network.step(now, |_, pair, _| {
            last[pair] = now;
            true
        });
        let waited = last.iter().map(|last| now - last).max();
        longest = longest.max(waited.unwrap_or(0));
    }
    longest
}

pub(super) fn islip(iterations: u32) -> Policy<Arbiter> {
    Policy::of::<Islip>(&IslipSpec { iterations })
}

/// A network without a component around it.
pub(super) fn network<P: Copy>(inputs: usize, outputs: usize, spec: &NetworkSpec) -> Network<P> {
    let place = NetworkPlace {
        field: "network",
        environment: &Environment::default(),
        number: 0,
    };
    Network::new(inputs, outputs, spec, &place).unwrap()
}

pub(super) fn any_arbiter() -> impl Strategy<Value = Policy<Arbiter>> {
    prop_oneof![
        Just(Policy::plain::<RoundRobin>()),
        Just(Policy::plain::<AgeBased>()),
        Just(Policy::plain::<Fixed>()),
        Just(Policy::plain::<Oldest>()),
        Just(Policy::plain::<Rotating>()),
        (1u32..4).prop_map(islip)
    ]
}

pub(super) fn any_queueing() -> impl Strategy<Value = Queueing> {
    prop_oneof![Just(Queueing::Fifo), Just(Queueing::VirtualOutput)]
}

pub(super) fn any_switch() -> impl Strategy<Value = SwitchSpec> {
    let sizes = (1u32..8, 1u32..6, 1u32..3);
    let delays = (0u32..4, 0u32..4, 1u32..4, 0u32..3);
    (any_queueing(), any_arbiter(), sizes, delays).prop_map(|(queueing, arbiter, sizes, delays)| {
        SwitchSpec {
            flit_bytes: 32,
            queueing,
            arbiter,
            buffer_flits: sizes.0,
            output_buffer_flits: sizes.1,
            internal_speedup: sizes.2,
            input_cycles: delays.0,
            output_cycles: delays.1,
            credit_cycles: delays.2,
            turnaround_matchings: delays.3,
        }
    })
}

/// A number of outputs and a plan for them.
pub(super) fn any_plan() -> impl Strategy<Value = (usize, Plan)> {
    (1usize..7, 1usize..7).prop_flat_map(|(inputs, outputs)| {
        let packet = (0u64..200, 0..outputs, 1u32..6);
        let of_input = prop::collection::vec(packet, 0..40).prop_map(|mut packets| {
            packets.sort_by_key(|p| p.0);
            packets
        });
        (Just(outputs), prop::collection::vec(of_input, inputs))
    })
}
