//! From dispatch to completion: issue, latencies, barriers and schedulers.

use super::*;

#[test]
fn an_exit_alone_ends_after_start_and_exit_latency() {
    Bench::completes_at(spec(), &[vec![exit()]], 3 + 1);
}

#[test]
fn dependent_instructions_issue_a_latency_apart_and_independent_ones_at_once() {
    let chain = vec![
        step(op(Class::IntAdd, &[1], &[])),
        step(op(Class::IntAdd, &[2], &[1])),
        step(op(Class::IntAdd, &[2], &[])), // Write after write.
        step(op(Class::Exit, &[], &[2])),
    ];
    Bench::completes_at(spec(), &[chain], 3 + 4 + 4 + 4 + 1);
    let free = vec![
        step(op(Class::IntAdd, &[1], &[])),
        step(op(Class::IntAdd, &[2], &[])),
        step(op(Class::IntAdd, &[3], &[])),
        step(op(Class::Exit, &[], &[])),
    ];
    // The last result, of cycle 5, is awaited.
    Bench::completes_at(spec(), &[free], 5 + 4);
}

#[test]
fn a_class_issues_no_faster_than_its_interval_and_others_fill_the_gap() {
    let mut spec = spec();
    spec.classes.special = ClassTiming {
        latency: 2,
        interval: 8,
    };
    let steps = vec![
        step(op(Class::Special, &[1], &[])),
        step(op(Class::IntAdd, &[2], &[])),
        step(op(Class::Special, &[3], &[])),
        exit(),
    ];
    let mut bench = Bench::new(spec, vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    // Special in 3, add in 4, special in 11, exit in 12, its result in 13.
    bench.expect_completion(13, 0, 0);
    assert_eq!(bench.counter("slots_pipe_busy"), 6);
    assert_eq!(bench.counter("slots_issued"), 4);
}

#[test]
fn a_branch_holds_its_wavefront_back_and_not_the_others() {
    let steps = vec![step(op(Class::Branch, &[], &[])), exit()];
    Bench::completes_at(spec(), std::slice::from_ref(&steps), 3 + 4 + 1);
    Bench::completes_at(spec(), &[steps.clone(), steps], 4 + 4 + 1);
}

#[test]
fn arguments_come_after_the_constant_latency() {
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Param, [0; LANES]),
        step(op(Class::Exit, &[], &[1])),
    ];
    Bench::completes_at(spec(), &[steps], 3 + 5 + 1);
}

#[test]
fn a_barrier_waits_for_every_wavefront_that_has_not_exited() {
    let slow = vec![
        step(op(Class::IntAdd, &[1], &[])),
        step(op(Class::Barrier, &[], &[1])),
        exit(),
    ];
    let fast = vec![step(op(Class::Barrier, &[], &[])), exit()];
    let gone = vec![exit()];
    let mut bench = Bench::new(spec(), vec![kernel(&[slow, fast, gone], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    // The slow wavefront adds in 3 and reaches the barrier in 7. All resume in 11 and exit in 11
    // and 12.
    bench.expect_completion(13, 0, 0);
    assert_eq!(bench.counter("barriers"), 1);
}

#[test]
fn a_barrier_takes_its_interval_for_each_wavefront() {
    let mut spec = spec();
    spec.schedulers = 4;
    spec.barrier_interval = 2;
    let steps = vec![step(op(Class::Barrier, &[], &[])), exit()];
    // Two wavefronts of a scheduler arrive in 3 and 4; latency 4, exits on each scheduler.
    for (wavefronts, exits) in [(1, 1), (4, 1), (8, 2)] {
        let all = vec![steps.clone(); wavefronts];
        Bench::completes_at(spec.clone(), &all, 3 + 2 * wavefronts as u64 + 4 + exits);
    }
}

#[test]
fn the_exit_of_the_last_wavefront_missing_opens_a_barrier() {
    let waits = vec![step(op(Class::Barrier, &[], &[])), exit()];
    let leaves = vec![
        step(op(Class::IntAdd, &[1], &[])),
        step(op(Class::Exit, &[], &[1])),
    ];
    // Barrier in 3, add in 4, exit in 8 ends in 9; barrier opens in 13, exit ends in 14.
    Bench::completes_at(spec(), &[waits, leaves], 14);
}

#[test]
fn compute_reaches_one_instruction_per_scheduler_and_cycle() {
    let steps: Vec<_> = (0..100)
        .map(|i| step(op(Class::FpMul, &[i % 8], &[i % 8 + 8])))
        .chain([exit()])
        .collect();
    let mut spec = spec();
    spec.schedulers = 2;
    let mut bench = Bench::new(spec, vec![kernel(&vec![steps; 8], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, _) = bench.bench.receive(&bench.completion);
    // 8 wavefronts of 101 instructions over two schedulers, from cycle 3 on.
    assert_eq!(bench.counter("slots_issued"), 808);
    assert!(cycle <= 3 + 404 + 4, "completed in {cycle}");
}

#[test]
fn greedy_for_long_latencies_sits_out_short_stalls_only() {
    let chain = vec![
        step(op(Class::IntAdd, &[1], &[])),
        step(op(Class::IntAdd, &[1], &[1])),
        step(op(Class::Exit, &[], &[1])),
    ];
    let mut long = spec();
    long.scheduler = Policy::plain::<GtoLongLatency>();
    // One wavefront issues in 3, 7 and 11 and ends in 12, the other in 12, 16 and 20.
    Bench::completes_at(long.clone(), &[chain.clone(), chain.clone()], 21);
    // Any stall loses the slot: the wavefronts alternate.
    Bench::completes_at(spec(), &[chain.clone(), chain.clone()], 13);
    // A wait for memory loses it under both.
    let loads = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0, 4)),
        step(op(Class::Exit, &[], &[1])),
    ];
    let mut bench = Bench::new(long, vec![kernel(&[loads, chain], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (_, request) = bench.bench.receive(&bench.request);
    bench.response.send_at(60, request.answer(Level::L1));
    bench.bench.step(40);
    assert_eq!(bench.counter("wavefront_instructions"), 4);
}

/// Returns the cycle and wavefront of each load of four wavefronts that compute three times first.
fn loads_of(scheduler: Policy<WavefrontScheduling>) -> [(Cycle, u64); 4] {
    let mut spec = spec();
    spec.scheduler = scheduler;
    let mut steps: Vec<_> = (1..4).map(|n| step(op(Class::IntAdd, &[n], &[]))).collect();
    steps.push(access(Class::Load, &[4], &[], Space::Global, strided(0, 4)));
    steps.push(step(op(Class::Exit, &[], &[4])));
    let mut bench = Bench::new(spec, vec![kernel(&vec![steps; 4], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    [(); 4].map(|()| {
        let (cycle, load) = bench.bench.receive(&bench.request);
        (cycle - 3, u64::from(load.source.wavefront_slot))
    })
}

#[test]
fn bas_m12_groups_reach_their_loads_one_after_the_other() {
    // Three instructions of two wavefronts, their loads, then the other two wavefronts.
    let groups = Policy::of::<TwoLevel>(&TwoLevelSpec { group_size: 2 });
    assert_eq!(loads_of(groups), [(9, 0), (10, 1), (17, 2), (18, 3)]);
    let together = [(15, 0), (16, 1), (17, 2), (18, 3)];
    assert_eq!(loads_of(Policy::plain::<Lrr>()), together);
}

#[test]
fn a_unit_that_waits_sleeps() {
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0, 4)),
        step(op(Class::Exit, &[], &[1])),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&vec![steps; 2], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(20);
    let before = bench.bench.simulation().evaluations();
    for (_, request) in bench.request.take_all() {
        bench.response.send_at(5000, request.answer(Level::L1));
    }
    bench.expect_completion(5003, 0, 0);
    let evaluations = bench.bench.simulation().evaluations() - before;
    // The sources, the sinks and the few cycles in which responses and exits happen.
    assert!(evaluations <= 24, "{evaluations} evaluations");
    assert_eq!(bench.counter("slots_issued"), 4);
}
