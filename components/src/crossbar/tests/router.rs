//! The router alone: BookSim's exact anchors, conservation, order, fairness, saved state.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpweave_framework::{Cycle, State};

use crate::crossbar::{Arbiter, Network, NetworkSpec, Parcel, Queueing, RouterSpec, SwitchSpec};

/// BookSim 2 with one virtual channel, as GPGPU-Sim uses it but for the internal speedup.
fn booksim() -> RouterSpec {
    RouterSpec {
        flit_bytes: 40,
        queueing: Queueing::Fifo,
        virtual_channels: 1,
        ordered: false,
        buffer_flits: 64,
        output_buffer_flits: 64,
        arbiter: Arbiter::Islip { iterations: 1 },
        internal_speedup: 1,
        input_speedup: 1,
        speculative: false,
        routing_cycles: 0,
        vc_allocation_cycles: 1,
        switch_allocation_cycles: 1,
        traversal_cycles: 1,
        input_wire_cycles: 2,
        output_wire_cycles: 2,
        credit_wire_cycles: 2,
        credit_cycles: 0,
    }
}

#[test]
fn zero_load_latency_is_booksims_for_every_pipeline_option() {
    // Cycles of packets of 1, 2, 5 and 9 flits.
    let cases: [(fn(&mut RouterSpec), [u32; 4]); 9] = [
        (|_| (), [6, 7, 10, 14]),
        (|s| s.internal_speedup = 2, [5, 6, 9, 13]),
        (|s| s.routing_cycles = 1, [7, 8, 11, 15]),
        (|s| s.routing_cycles = 2, [8, 9, 12, 16]),
        (|s| s.vc_allocation_cycles = 2, [7, 8, 11, 15]),
        (|s| s.switch_allocation_cycles = 2, [7, 9, 15, 23]),
        (|s| s.traversal_cycles = 2, [7, 9, 12, 16]),
        (|s| s.speculative = true, [5, 6, 9, 13]),
        (|s| s.credit_cycles = 2, [6, 7, 10, 14]),
    ];
    for (change, expected) in cases {
        let mut spec = booksim();
        change(&mut spec);
        let cycles = [1, 2, 5, 9].map(|flits| spec.zero_load_cycles(flits));
        assert_eq!(cycles, expected, "{spec:?}");
    }
}

/// One offered packet: earliest cycle, output, flits.
type Plan = Vec<Vec<(Cycle, usize, u32)>>;

/// What was delivered: cycle, output, (input, number of the packet at that input).
type Delivered = Vec<(Cycle, usize, (u32, u32))>;

/// How a plan is played.
#[derive(Clone, Copy)]
struct Play {
    outputs: usize,
    /// Of 16 cycles, how many refuse a packet.
    refuse: u64,
    /// Step only in cycles in which something can happen.
    lazy: bool,
    /// Save in this cycle and go on with a fresh network.
    save_at: Option<Cycle>,
}

fn refused(now: Cycle, output: usize, refuse: u64) -> bool {
    let bits = (now * 64 + output as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits >> 60 < refuse
}

fn play(spec: &NetworkSpec, plan: &Plan, play: Play) -> (Delivered, u64) {
    let fresh = || Network::new(plan.len(), play.outputs, spec);
    let mut network = fresh();
    let mut queues: Vec<VecDeque<_>> = plan
        .iter()
        .map(|p| p.iter().enumerate().collect())
        .collect();
    let mut delivered = Vec::new();
    let mut wake = 0;
    for now in 0..30_000 {
        if play.save_at == Some(now) {
            let bytes = State::save(|state| network.state(state)).unwrap();
            network = fresh();
            State::load(&bytes, |state| network.state(state)).unwrap();
            assert_eq!(State::save(|state| network.state(state)).unwrap(), bytes);
        }
        let mut due = !play.lazy || wake == now || network.is_blocked();
        for (input, queue) in queues.iter_mut().enumerate() {
            if network.accepts(input) && queue.front().is_some_and(|(_, p)| p.0 <= now) {
                let (number, &(_, output, flits)) = queue.pop_front().unwrap();
                let parcel = Parcel {
                    input,
                    output,
                    flits,
                    bytes: flits,
                };
                network.offer(now, parcel, (input as u32, number as u32));
                due = true;
            }
        }
        if !due {
            continue;
        }
        network.step(now, |output, packet, entered| {
            assert!(entered <= now);
            let takes = !refused(now, output, play.refuse);
            if takes {
                delivered.push((now, output, packet));
            }
            takes
        });
        wake = network.next_event(now).unwrap_or(Cycle::MAX);
        assert!(wake > now);
    }
    assert_eq!(network.packets_inside(), 0, "packets are stuck");
    assert_eq!(network.next_event(30_000), None);
    (delivered, network.credit_stalls(30_000))
}

fn any_arbiter() -> impl Strategy<Value = Arbiter> {
    prop_oneof![
        Just(Arbiter::RoundRobin),
        Just(Arbiter::AgeBased),
        Just(Arbiter::Fixed),
        (1u32..4).prop_map(|iterations| Arbiter::Islip { iterations })
    ]
}

fn any_queueing() -> impl Strategy<Value = Queueing> {
    prop_oneof![Just(Queueing::Fifo), Just(Queueing::VirtualOutput)]
}

fn any_router() -> impl Strategy<Value = NetworkSpec> {
    let switches = (any::<bool>(), any::<bool>());
    let sizes = (1u32..7, 1u32..6, 1u32..6, 1u32..3, 1u32..3);
    let stages = (0u32..3, 1u32..3, 1u32..3, 1u32..3);
    let wires = (0u32..3, 0u32..3, 1u32..4, 0u32..2);
    (
        any_queueing(),
        any_arbiter(),
        switches,
        sizes,
        stages,
        wires,
    )
        .prop_map(
            |(queueing, arbiter, (ordered, speculative), sizes, stages, wires)| {
                NetworkSpec::Router(RouterSpec {
                    flit_bytes: 32,
                    queueing,
                    virtual_channels: sizes.0,
                    ordered,
                    buffer_flits: sizes.1,
                    output_buffer_flits: sizes.2,
                    arbiter,
                    internal_speedup: sizes.3,
                    input_speedup: sizes.4,
                    speculative: speculative && stages.1 == 1 && stages.2 == 1,
                    routing_cycles: stages.0,
                    vc_allocation_cycles: stages.1,
                    switch_allocation_cycles: stages.2,
                    traversal_cycles: stages.3,
                    input_wire_cycles: wires.0,
                    output_wire_cycles: wires.1,
                    credit_wire_cycles: wires.2,
                    credit_cycles: wires.3,
                })
            },
        )
}

fn any_switch() -> impl Strategy<Value = NetworkSpec> {
    let sizes = (1u32..8, 1u32..6, 1u32..3);
    let delays = (0u32..4, 0u32..4, 1u32..4, 0u32..3);
    (any_queueing(), any_arbiter(), sizes, delays).prop_map(|(queueing, arbiter, sizes, delays)| {
        NetworkSpec::Switch(SwitchSpec {
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
        })
    })
}

fn any_plan() -> impl Strategy<Value = (usize, Plan)> {
    (1usize..7, 1usize..7).prop_flat_map(|(inputs, outputs)| {
        let packet = (0u64..200, 0..outputs, 1u32..6);
        let of_input = prop::collection::vec(packet, 0..40).prop_map(|mut packets| {
            packets.sort_by_key(|p| p.0);
            packets
        });
        (Just(outputs), prop::collection::vec(of_input, inputs))
    })
}

/// The cycles below which no packet goes through, whatever else is in the network.
///
/// Alone in an empty network nothing is faster, if the stages are pipelined. A stage that works on
/// batches can be: held up by others on its way, a packet may find more of its flits in one batch.
/// Then its head takes all stages and every other flit at least a cycle.
fn least_cycles(spec: &NetworkSpec, flits: u32) -> u64 {
    let batches = match spec {
        NetworkSpec::Router(spec) => {
            spec.vc_allocation_cycles
                .max(spec.switch_allocation_cycles)
                .max(spec.traversal_cycles)
                > 1
        }
        NetworkSpec::Switch(_) => false,
    };
    u64::from(if batches {
        spec.zero_load_cycles(1) + flits - 1
    } else {
        spec.zero_load_cycles(flits)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn nothing_is_lost_doubled_or_misrouted_and_the_saved_state_goes_on_identically(
        spec in prop_oneof![3 => any_router(), 1 => any_switch()],
        (outputs, plan) in any_plan(), refuse in 0u64..12, save_at in 0u64..400,
    ) {
        let how = Play { outputs, refuse, lazy: false, save_at: None };
        let (delivered, stalls) = play(&spec, &plan, how);
        let mut seen: Vec<Vec<bool>> = plan.iter().map(|p| vec![false; p.len()]).collect();
        let mut last = vec![None; plan.len() * outputs];
        let mut flits_of = vec![0; outputs];
        let in_order = match &spec {
            NetworkSpec::Router(spec) => spec.keeps_order(),
            NetworkSpec::Switch(_) => true,
        };
        for &(now, output, (input, number)) in &delivered {
            let (created, wanted, flits) = plan[input as usize][number as usize];
            prop_assert_eq!(output, wanted);
            prop_assert!(!std::mem::replace(&mut seen[input as usize][number as usize], true));
            prop_assert!(now >= created + least_cycles(&spec, flits));
            let flow = &mut last[input as usize * outputs + output];
            prop_assert!(!in_order || flow.is_none_or(|before| before < number));
            *flow = Some(number);
            // No output passes more than one flit per cycle.
            flits_of[output] += u64::from(flits);
            prop_assert!(flits_of[output] <= now + 1);
        }
        prop_assert!(seen.iter().flatten().all(|s| *s));
        // Neither stepping only when something can happen nor a checkpoint makes a difference.
        let lazily = Play { lazy: true, ..how };
        prop_assert_eq!(&play(&spec, &plan, lazily), &(delivered.clone(), stalls));
        let restored = Play { save_at: Some(save_at), ..how };
        prop_assert_eq!(play(&spec, &plan, restored), (delivered, stalls));
    }
}

#[test]
fn nobody_starves_while_others_send_without_end() {
    let (inputs, outputs) = (6, 5);
    for queueing in [Queueing::Fifo, Queueing::VirtualOutput] {
        for arbiter in [
            Arbiter::RoundRobin,
            Arbiter::AgeBased,
            Arbiter::Islip { iterations: 1 },
            Arbiter::Islip { iterations: 3 },
        ] {
            for virtual_channels in [1, 3] {
                let spec = NetworkSpec::Router(RouterSpec {
                    queueing,
                    arbiter,
                    virtual_channels,
                    buffer_flits: 8,
                    ..booksim()
                });
                let mut network = Network::new(inputs, outputs, &spec);
                let mut sent = vec![0; inputs];
                let mut last = vec![0; inputs * outputs];
                for now in 0..6_000 {
                    for (input, sent) in sent.iter_mut().enumerate() {
                        if network.accepts(input) {
                            let output = *sent % outputs;
                            *sent += 1;
                            let parcel = Parcel {
                                input,
                                output,
                                flits: 3,
                                bytes: 0,
                            };
                            network.offer(now, parcel, input * outputs + output);
                        }
                    }
                    network.step(now, |_, pair, _| {
                        last[pair] = now;
                        true
                    });
                    let waited = last.iter().map(|l| now - l).max();
                    assert!(waited < Some(1_500), "{spec:?}: {last:?} in {now}");
                }
            }
        }
    }
}

#[test]
fn flits_of_packets_with_different_channels_interleave() {
    // Two packets of 5 flits for one output: with one channel the second follows the first, with
    // two they take turns and the first is late, too.
    let arrivals = |virtual_channels| {
        let spec = NetworkSpec::Router(RouterSpec {
            virtual_channels,
            ..booksim()
        });
        let plan = vec![vec![(0, 0, 5)], vec![(0, 0, 5)]];
        let how = Play {
            outputs: 1,
            refuse: 0,
            lazy: true,
            save_at: None,
        };
        let (delivered, _) = play(&spec, &plan, how);
        delivered.iter().map(|d| d.0).collect::<Vec<_>>()
    };
    assert_eq!(arrivals(1), [10, 16]);
    assert_eq!(arrivals(2).last(), Some(&15));
}
