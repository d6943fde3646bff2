//! Tests of the router alone: BookSim's exact latencies, conservation, order, fairness, saved
//! state.

use proptest::prelude::*;
use warpweave_framework::Policy;

use super::traffic::{
    Play, any_arbiter, any_plan, any_queueing, any_switch, islip, longest_wait, play,
};
use crate::crossbar::{AgeBased, NetworkSpec, Queueing, RoundRobin, RouterSpec};

/// BookSim 2 with one virtual channel, as GPGPU-Sim uses it except for the internal speedup.
fn booksim() -> RouterSpec {
    RouterSpec {
        flit_bytes: 40,
        queueing: Queueing::Fifo,
        virtual_channels: 1,
        ordered: false,
        buffer_flits: 64,
        output_buffer_flits: 64,
        arbiter: islip(1),
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

/// Returns a lower bound on the cycles of any packet, whatever other traffic there is.
///
/// With pipelined stages, the zero-load latency is the minimum. With batch stages it is not: a
/// packet delayed by others may find more of its flits in one batch. Then its head takes all stages
/// and every other flit at least a cycle.
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
        spec in prop_oneof![3 => any_router(), 1 => any_switch().prop_map(NetworkSpec::Switch)],
        (outputs, plan) in any_plan(), refuse in 0u32..12, save_at in 0u64..400,
    ) {
        let how = Play { outputs, refuse, lazy: false, save_at: None };
        let (delivered, stalls, states) = play(&spec, &plan, how);
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
        let played = (delivered, stalls, states);
        prop_assert_eq!(&play(&spec, &plan, lazily), &played);
        let restored = Play { save_at: Some(save_at), ..how };
        prop_assert_eq!(&play(&spec, &plan, restored), &played);
    }
}

#[test]
fn nobody_starves_while_others_send_without_end() {
    for queueing in [Queueing::Fifo, Queueing::VirtualOutput] {
        for arbiter in [
            Policy::plain::<RoundRobin>(),
            Policy::plain::<AgeBased>(),
            islip(1),
            islip(3),
        ] {
            for virtual_channels in [1, 3] {
                let spec = NetworkSpec::Router(RouterSpec {
                    queueing,
                    arbiter: arbiter.clone(),
                    virtual_channels,
                    buffer_flits: 8,
                    ..booksim()
                });
                let waited = longest_wait(&spec, (6, 5), 6_000);
                assert!(waited < 1_500, "{spec:?}: {waited}");
            }
        }
    }
}

#[test]
fn flits_of_packets_with_different_channels_interleave() {
    // Two packets of 5 flits go to one output. With one channel the second follows the first; with
    // two they interleave and the first is late, too.
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
        let (delivered, ..) = play(&spec, &plan, how);
        delivered.iter().map(|d| d.0).collect::<Vec<_>>()
    };
    assert_eq!(arrivals(1), [10, 16]);
    assert_eq!(arrivals(2).last(), Some(&15));
}
