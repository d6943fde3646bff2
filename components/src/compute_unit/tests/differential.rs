//! Differential test of the compute unit against a naive model.

use proptest::prelude::*;

use super::naive::{Naive, NaiveLog};
use super::random_kernels::{Requests, any_kernel, any_spec, surround};
use super::*;

/// Counter name and number of each stall reason.
const REASONS: [(&str, IssueSlot); 11] = [
    ("slots_issued", IssueSlot::Issued),
    ("slots_pipe_busy", IssueSlot::PipeBusy),
    ("slots_local_memory_busy", IssueSlot::LocalMemoryBusy),
    ("slots_load_store_full", IssueSlot::LoadStoreFull),
    ("slots_fetch", IssueSlot::Fetch),
    ("slots_scoreboard", IssueSlot::Scoreboard),
    ("slots_memory", IssueSlot::Memory),
    ("slots_control", IssueSlot::Control),
    ("slots_barrier", IssueSlot::Barrier),
    ("slots_ended", IssueSlot::Ended),
    ("slots_no_wavefront", IssueSlot::NoWavefront),
];

/// Maximum length of a run in cycles.
const CYCLES_MAX: Cycle = 4000;
/// Number of cycles compared one by one; after that only every 37th is compared.
const EACH: Cycle = 250;

fn naive_policy() -> impl Strategy<Value = Policy<WavefrontScheduling>> {
    proptest::sample::select(vec![
        Policy::plain::<Gto>(),
        Policy::plain::<GtoLongLatency>(),
        Policy::plain::<Lrr>(),
        Policy::plain::<OldestFirst>(),
    ])
}

/// Messages logged on a connection, with the request IDs removed.
fn without_ids(log: &Log<MemRequest>) -> Vec<(Cycle, MemRequest)> {
    let log = log.lock();
    let plain = |(cycle, request): &(Cycle, MemRequest)| (*cycle, MemRequest { id: 0, ..*request });
    log.iter().map(plain).collect()
}

/// Returns slots lost to memory by the level that ended the wait, and slots without a wavefront
/// before one arrived.
fn parts(log: &NaiveLog) -> [u64; 4] {
    let mut parts = [0; 4];
    for (cycle, scheduler, slot) in &log.slots {
        let after = |at: &Cycle, of: &usize| at > cycle && of == scheduler;
        let ended = || log.answered.iter().find(|(at, of, _)| after(at, of));
        match slot {
            IssueSlot::Memory if let Some((_, _, level)) = ended() => {
                let levels = [Level::L1, Level::L2, Level::DRAM];
                let part = levels.iter().position(|known| known == level);
                parts[part.expect("the memory answers as one of these")] += 1;
            }
            IssueSlot::NoWavefront if log.came.iter().any(|(at, of)| after(at, of)) => {
                parts[3] += 1;
            }
            _ => {}
        }
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_unit_does_in_every_cycle_what_a_naive_one_does(
        spec in any_spec(), scheduler in naive_policy(), kernel in any_kernel(),
        seed in any::<u64>(), delay_max in 1u64..120,
    ) {
        let spec = ComputeUnitSpec { scheduler, ..spec };
        let (completions, requests): ([Log<Completion>; 2], [Requests; 2]) = Default::default();
        let log: Arc<Mutex<NaiveLog>> = Arc::default();
        let mut fast = TestBench::new();
        fast.add("cu", build(spec.clone(), vec![kernel.clone()]));
        let mut naive = TestBench::new();
        naive.add("cu", Naive::new(spec.clone(), kernel.clone(), log.clone()));
        for (number, bench) in [&mut fast, &mut naive].into_iter().enumerate() {
            let logs = (&completions[number], &requests[number]);
            surround(bench, &spec, &kernel, (seed, delay_max), logs);
        }
        let mut counted = [0_u64; 12];
        let mut seen = 0;
        let mut cycle = 0;
        let done = |log: &Log<Completion>| log.lock().len() as u32;
        while cycle < CYCLES_MAX && done(&completions[1]) < kernel.work_groups() {
            let step = if cycle < EACH { 1 } else { 37 };
            cycle += step;
            fast.step(step);
            naive.step(step);
            let log = log.lock();
            for (_, _, slot) in &log.slots[seen..] {
                counted[*slot as usize] += 1;
            }
            seen = log.slots.len();
            let statistics = fast.statistics("cu");
            for (name, reason) in REASONS {
                let count = statistics.counter(name).unwrap_or(0);
                prop_assert_eq!(count, counted[reason as usize], "{} after {} cycles", name, cycle);
            }
        }
        for (one, other) in requests[0].iter().zip(&requests[1]) {
            prop_assert_eq!(without_ids(one), without_ids(other));
        }
        let seen = |log: &Log<Completion>| log.lock().clone();
        prop_assert_eq!(seen(&completions[0]), seen(&completions[1]));
        let statistics = fast.statistics("cu");
        let log = log.lock();
        prop_assert_eq!(statistics.counter("wavefront_instructions"), Some(log.instructions));
        let names = ["memory_slots_L1", "memory_slots_L2", "memory_slots_Dram", "no_wavefront_slots_launch"];
        let counts = names.map(|name| statistics.counter(name).unwrap_or(0));
        prop_assert_eq!(counts, parts(&log));
        if spec.load_waits && done(&completions[1]) == kernel.work_groups() {
            let waits: u64 = log.waits.values().sum();
            prop_assert_eq!(statistics.counter("load_wait"), Some(waits));
            for (pc, cycles) in &log.waits {
                let count = statistics.counter(&format!("load_wait_test_pc[{pc}]"));
                prop_assert_eq!(count, Some(*cycles), "instruction {}", pc);
            }
        }
        for kind in ["integer", "single", "double", "special", "memory", "control"] {
            let issued = log.issued.iter().filter(|known| **known == kind).count() as u64;
            let count = statistics.counter(&format!("issued_slots_{kind}"));
            prop_assert_eq!(count, Some(issued), "{}", kind);
        }
    }
}
