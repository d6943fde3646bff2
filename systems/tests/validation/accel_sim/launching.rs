//! Gaps between kernels, and what a unit holds.

use super::super::harness::{REGISTERS, Step, named};
use super::{Hand, MACHINES, SMALL};

#[test]
fn kernels_of_a_stream_follow_each_other_after_the_latency_of_a_launch() {
    for machine in &MACHINES {
        let (one, three) = (
            machine.run(&SMALL, &[(1, 1, vec![])]),
            machine.run(&SMALL, &vec![(1, 1, vec![]); 3]),
        );
        let hand = &three.hand;
        let dispatch = hand.numbers.wire("cluster[0].cu[0].dispatch");
        let control = if machine.has_l1 {
            2 * hand.numbers.wire("cluster[0].cu[0].cache_control")
        } else {
            0
        };
        let gap = hand.numbers.of("gmu", "dispatch_latency_cycles")
            + 2 * hand.numbers.wire("gmu.scheduler")
            + 4 * dispatch
            + hand.cu("start_latency")
            + hand.cu("classes.exit.latency")
            + control;
        assert_eq!(three.all - one.all, 2 * gap, "{}", machine.file);
    }
}

/// Work-groups of four wavefronts: a unit holds what its slots, its registers and its grid leave.
#[test]
fn a_unit_holds_as_many_work_groups_as_its_resources_allow() {
    for machine in &MACHINES {
        let units = |hand: &Hand| {
            hand.numbers.of("scheduler", "clusters")
                * hand.numbers.of("scheduler", "units_per_cluster")
        };
        let empty = machine.alone(&[]);
        let work_groups = 40 * units(&empty.hand) as u32;
        let steps: Vec<_> = (0..200).map(|i| Step::Compute(i % REGISTERS)).collect();
        let ran = machine.run(&SMALL, &[(work_groups, 4, steps)]);
        let hand = &ran.hand;
        // 16 registers of 32 threads, rounded up to what is given out together.
        let granularity = hand.cu("register_granularity");
        let registers = (16 * 32_u64).next_multiple_of(granularity) * 4;
        let held = (hand.cu("wavefront_slots") / 4)
            .min(hand.cu("work_group_slots"))
            .min(hand.cu("registers") / registers);
        for unit in named(&ran.simulated, "cu") {
            assert_eq!(
                unit.counter("wavefronts_max"),
                Some(4 * held),
                "{}",
                unit.path
            );
        }
    }
}
