//! Gaps between kernels, and resource limits of a unit.

use super::super::harness::{REGISTERS, Step, named, scenario_of_text, scenarios, sum};
use super::{Hand, IN_TURN, MACHINES, NO_FETCH, Ran, SMALL, Work, word};

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

#[test]
fn each_work_group_of_a_kernel_adds_its_latency_to_that_of_the_launch() {
    for machine in &MACHINES {
        let after = |latency: u64| {
            let latency = format!("gmu.work_group_latency_cycles={latency}");
            let sets = [&SMALL[..], &[&*latency]].concat();
            machine.run(&sets, &[(5, 1, vec![])]).cycles
        };
        assert_eq!(after(7) - after(0), 5 * 7, "{}", machine.file);
    }
}

/// Slices are notified after the first level, over wires of three cycles. The kernel completes when
/// they have replied.
#[test]
fn a_second_level_that_drops_its_lines_delays_the_next_kernel_and_lets_it_miss() {
    for machine in &MACHINES {
        let file = scenarios().join(format!("systems/accelsim/{}.ron", machine.file));
        let system = format!(
            "System(
                extends: {file:?},
                parts: {{ \"scheduler\": (second_level: (slices: \"=channels * slices\", invalidate_at: KernelEnd)) }},
                wires: {{ \"scheduler.caches[k] <-> l2[k].control\": (latency: 3) }},
            )"
        );
        let sets = [&SMALL[..], &[IN_TURN, NO_FETCH]].concat();
        let dropping = scenario_of_text(&system, "vector_add.ron", &sets);
        let run = |steps: Vec<Step>| {
            let steps = move |_: u32, _: u32| steps.clone();
            let kernels: [Work<'_>; 2] = [(1, 1, &steps), (1, 1, &steps)];
            let kept = machine.run_work(&[&SMALL[..], &[NO_FETCH]].concat(), &kernels);
            (kept, machine.run_scenario(&dropping, &kernels))
        };
        let (kept, dropped) = run(Vec::new());
        assert_eq!(dropped.cycles - kept.cycles, 2 * 3, "{}", machine.file);
        assert_eq!(dropped.all - kept.all, 2 * 2 * 3, "{}", machine.file);

        let (kept, dropped) = run(vec![word(0), Step::Use]);
        let read = |ran: &Ran| sum(&named(&ran.simulated, "dram"), "reads");
        assert_eq!(read(&dropped), 2 * read(&kept), "{}", machine.file);
    }
}

/// Work-groups of four wavefronts: residency is limited by slots, registers and grid.
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
