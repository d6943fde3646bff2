//! Traffic for a network without components around it: random numbers, plans and endless streams.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpweave_framework::{Cycle, Environment, Policy, State, Stateful};
use warpweave_random::{CounterRng, GAMMA};

use super::open_arbiters::{Oldest, Rotating};
use crate::crossbar::{
    AgeBased, Arbiter, Fixed, Islip, IslipSpec, Network, NetworkPlace, NetworkSpec, PacketInfo,
    Queueing, RoundRobin, SwitchSpec,
};

/// Returns the random number of a cycle and port. It is a separate function because the comparison
/// with the reference depends on these draws. Near saturation, other draws differ by some per cent.
pub(super) fn random(seed: u64, now: Cycle, port: usize) -> u64 {
    let mut z = seed ^ now.wrapping_mul(GAMMA) ^ (port as u64).rotate_left(40);
    for multiplier in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        z = (z ^ z >> 29).wrapping_add(GAMMA).wrapping_mul(multiplier);
    }
    z ^ z >> 32
}

/// True with this probability, decided by the random number.
pub(super) fn happens(random: u64, probability: f64) -> bool {
    ((random >> 11) as f64) < probability * (1u64 << 53) as f64
}

/// Creates a packet of which only the route and the length matter.
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

/// Delivered packets: cycle, output, (input, number of the packet at that input).
pub(super) type Delivered = Vec<(Cycle, usize, (u32, u32))>;

/// Options for the simulation of a plan.
#[derive(Clone, Copy)]
pub(super) struct Play {
    pub(super) outputs: usize,
    /// Average number of cycles out of 16 in which the receiver refuses a packet.
    pub(super) refuse: u32,
    /// Steps only in cycles in which something can happen.
    pub(super) lazy: bool,
    /// Cycle in which the network is saved and replaced by a fresh one restored from it.
    pub(super) save_at: Option<Cycle>,
}

/// Simulated cycles of a plan, many more than any plan needs.
const PLAYED: Cycle = 30_000;

/// Cycles in which the state is compared: two while packets are inside, and the last one.
const LOOKS: [Cycle; 3] = [60, 130, PLAYED - 1];

/// State of a network in each of those cycles.
pub(super) type States = Vec<Vec<u8>>;

/// Simulates a plan to its end. Returns the deliveries, the credit stall cycles and the saved
/// states.
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

/// Returns the longest time between two packets of any pair of ports. All inputs send packets of
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

/// Builds a network without a component around it.
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

/// Generates a number of outputs and a plan for them.
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
