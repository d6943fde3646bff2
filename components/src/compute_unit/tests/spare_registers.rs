//! Loads of loops that are prefetched into spare registers. A unit that does so is compared with a
//! plain one that runs the loop with the prefetches and moves written out.

use proptest::prelude::*;
use warpweave_framework::{InstanceStatistics, Outcome};

use super::loop_kernel::{HEAD, LoopKernel, any_loop};
use super::random_kernels::{Requests, any_kernel, surround};
use super::*;
use crate::compute_unit::spare_registers::testing::instruction;
use crate::memory::flags;

/// Requests as a memory sees them, but for their instructions.
type Traffic = Vec<(Cycle, u64, u32, RequestKind)>;

/// Completions, requests and statistics of a run.
struct LoopRun {
    completions: Vec<(Cycle, Completion)>,
    requests: Vec<(Cycle, MemRequest)>,
    statistics: InstanceStatistics,
}

impl LoopRun {
    fn count(&self, name: &str) -> u64 {
        self.statistics.counter(name).unwrap()
    }

    fn traffic(&self) -> Traffic {
        let plain = |(at, r): &(Cycle, MemRequest)| (*at, r.line, r.words, r.kind);
        self.requests.iter().map(plain).collect()
    }
}

fn loop_bench(spec: &ComputeUnitSpec, kernel: &KernelTrace, seed: u64) -> (TestBench, Logs) {
    let logs = Logs::default();
    let mut bench = TestBench::new();
    bench.add("cu", build(spec.clone(), vec![kernel.clone()]));
    surround(&mut bench, spec, kernel, (seed, 90), (&logs.0, &logs.1));
    (bench, logs)
}

type Logs = (Log<Completion>, Requests);

fn run(spec: &ComputeUnitSpec, kernel: &KernelTrace, seed: u64) -> LoopRun {
    let (mut bench, (completions, requests)) = loop_bench(spec, kernel, seed);
    assert_eq!(bench.run_until_quiet(), Outcome::Done);
    let completions = completions.lock().clone();
    let requests = requests[0].lock().clone();
    LoopRun {
        completions,
        requests,
        statistics: bench.statistics("cu"),
    }
}

fn with(spares: SpareRegistersSpec) -> ComputeUnitSpec {
    ComputeUnitSpec {
        spare_registers: Some(spares),
        ..spec()
    }
}

fn metered(unit: ComputeUnitSpec) -> ComputeUnitSpec {
    ComputeUnitSpec {
        load_waits: true,
        ..unit
    }
}

fn fixed(distance: u32) -> SpareRegistersSpec {
    SpareRegistersSpec {
        distance: PrefetchDistance::Fixed(distance),
        ..SpareRegistersSpec::default()
    }
}

fn compiler(distance: u32) -> SpareRegistersSpec {
    SpareRegistersSpec {
        variant: SpareVariant::Compiler,
        ..fixed(distance)
    }
}

fn at_once(distance: u32) -> SpareRegistersSpec {
    SpareRegistersSpec {
        detection_iterations: 0,
        ..fixed(distance)
    }
}

/// Iterations that one lane reads, in order; those read ahead are negative.
fn timeline(spares: SpareRegistersSpec, trips: u32) -> Vec<i64> {
    let kernel = LoopKernel::of_one_lane(trips);
    let run = run(&with(spares), &kernel.trace(|i| kernel.head_at(i)), 3);
    let iteration = |request: &MemRequest| (request.line - kernel.head_at(0)[0]) as i64 / 128;
    let mut reads = Vec::new();
    for (_, request) in &run.requests {
        assert_eq!(request.source.pc, HEAD);
        let is_ahead = request.flags & flags::INJECTED != 0;
        reads.push(iteration(request) * if is_ahead { -1 } else { 1 });
    }
    let count = |ahead: bool| reads.iter().filter(|read| (**read < 0) == ahead).count() as u64;
    assert_eq!(run.count("injected_heads"), count(true));
    assert_eq!(run.count("loads_replaced"), count(true));
    reads
}

#[test]
fn the_timelines_of_compiler_and_hardware_are_as_stated() {
    assert_eq!(timeline(compiler(1), 5), [1, -2, -3, -4, -5]);
    assert_eq!(timeline(at_once(1), 5), [1, 2, -3, -4, -5]);
    let ahead = [1, -4, 2, -5, 3, -6, -7, -8];
    assert_eq!(timeline(compiler(3), 8), ahead);
    let counted = [1, 2, -5, 3, -6, 4, -7, -8];
    assert_eq!(timeline(at_once(3), 8), counted);
}

#[test]
fn detection_takes_three_iterations_and_counting_one() {
    assert_eq!(timeline(fixed(1), 8), [1, 2, 3, 4, 5, -6, -7, -8]);
    assert_eq!(timeline(fixed(1), 4), [1, 2, 3, 4]);
}

#[test]
fn a_control_that_replaces_nothing_reads_everything_twice() {
    let kernel = LoopKernel::of_one_lane(8);
    let spares = SpareRegistersSpec {
        replace: false,
        ..compiler(1)
    };
    let run = run(&with(spares), &kernel.trace(|i| kernel.head_at(i)), 3);
    assert_eq!(run.count("injected_heads"), 7);
    assert_eq!(run.count("loads_replaced"), 0);
    assert_eq!(run.requests.len(), 8 + 7);
}

#[test]
fn tails_in_the_cache_are_read_again() {
    let kernel = LoopKernel {
        has_tail: true,
        ..LoopKernel::of_one_lane(6)
    };
    let spares = SpareRegistersSpec {
        tails: TailPrefetches::Cache,
        ..compiler(1)
    };
    let run = run(&with(spares), &kernel.trace(|i| kernel.head_at(i)), 3);
    let of = |kind| run.requests.iter().filter(|(_, r)| r.kind == kind).count();
    assert_eq!(of(RequestKind::Prefetch), 5);
    assert_eq!(of(RequestKind::Read), 6 + 6);
    assert_eq!(run.count("loads_replaced"), 5);
}

#[test]
#[should_panic(expected = "a stride of 128 bytes predicts 0x100300")]
fn an_address_that_breaks_the_stride_ends_the_run() {
    let kernel = LoopKernel::of_one_lane(8);
    let broken = |iteration| kernel.head_at(if iteration < 6 { iteration } else { 30 });
    run(&with(compiler(1)), &kernel.trace(broken), 3);
}

#[test]
fn an_address_without_a_stride_is_not_prefetched() {
    let kernel = LoopKernel {
        stride: 0,
        ..LoopKernel::of_one_lane(8)
    };
    for spares in [compiler(1), at_once(1), fixed(1)] {
        let run = run(&with(spares), &kernel.trace(|i| kernel.head_at(i)), 3);
        assert_eq!(run.count("injected_heads"), 0);
    }
}

#[test]
fn the_distance_follows_the_iterations_left_and_the_registers_to_spare() {
    let dynamic = PrefetchDistance::Dynamic {
        low: 1,
        med: 2,
        high: 3,
        mid: 4,
        high_at: 6,
    };
    let spares = SpareRegistersSpec {
        distance: dynamic,
        ..compiler(1)
    };
    for (trips, registers, expected) in [(3, 16, 1), (5, 16, 2), (9, 16, 3), (9, 61, 2), (9, 63, 0)]
    {
        let kernel = LoopKernel::of_one_lane(trips);
        let mut trace = kernel.trace(|i| kernel.head_at(i));
        trace.attributes.push(warpweave_trace::Attribute::new(
            warpweave_trace::Attribute::REGISTERS,
            registers,
        ));
        let run = run(&with(spares), &trace, 3);
        let name = format!("prefetch_distance_{expected}");
        assert_eq!(
            run.count(&name),
            1,
            "{trips} iterations, {registers} registers"
        );
    }
}

#[test]
fn a_loop_with_two_exits_is_counted_and_left_alone() {
    let kernel = LoopKernel::of_one_lane(8);
    let mut trace = kernel.trace(|i| kernel.head_at(i));
    let mut code = (*trace.code).clone();
    code.instructions[2] = instruction("bra p2");
    code.instructions[2].loop_head = Some(HEAD);
    code.instructions[2].target = Some(code.instructions.len() as u32 - 1);
    trace.code = Arc::new(code);
    let refused = run(&with(compiler(1)), &trace, 3);
    assert_eq!(refused.count("loops_with_exit"), 1);
    assert_eq!(refused.count("injected_heads"), 0);
    let spares = SpareRegistersSpec {
        exits: LoopExits::Known,
        ..compiler(1)
    };
    let known = run(&with(spares), &trace, 3);
    assert_eq!(known.count("injected_heads"), 7);
    assert_eq!(known.count("prefetches_beyond_exit"), 0);
}

#[test]
fn prefetches_beyond_the_exit_that_a_lane_takes_are_counted_and_not_sent() {
    let kernel = LoopKernel {
        breaks: true,
        ..LoopKernel::of_one_lane(8)
    };
    let mut trace = kernel.trace(|i| kernel.head_at(i));
    let mut code = (*trace.code).clone();
    code.instructions[2] = instruction("bra p2");
    code.instructions[2].loop_head = Some(HEAD);
    code.instructions[2].target = Some(code.instructions.len() as u32 - 1);
    trace.code = Arc::new(code);
    for (distance, beyond) in [(1, 1), (3, 3)] {
        let spares = SpareRegistersSpec {
            exits: LoopExits::Known,
            ..compiler(distance)
        };
        let run = run(&with(spares), &trace, 3);
        assert_eq!(run.count("injected_heads"), u64::from(8 - distance));
        assert_eq!(run.count("prefetches_beyond_exit"), beyond);
    }
}

#[test]
fn addresses_of_heads_are_computed_where_the_sequence_says_so() {
    for (is_indexed, arithmetic) in [(false, 1), (true, 3)] {
        let kernel = LoopKernel {
            is_indexed,
            ..LoopKernel::of_one_lane(8)
        };
        let spares = SpareRegistersSpec {
            head_sequence: HeadSequence::Slice,
            ..compiler(1)
        };
        let run = run(&with(spares), &kernel.trace(|i| kernel.head_at(i)), 3);
        assert_eq!(run.count("injected_heads"), 7);
        assert_eq!(run.count("injected_arithmetic"), 7 * arithmetic);
    }
}

fn any_spares() -> impl Strategy<Value = SpareRegistersSpec> {
    (any::<bool>(), 1u32..4, any::<bool>(), any::<bool>()).prop_map(
        |(is_compiler, distance, detects, replace)| SpareRegistersSpec {
            replace,
            ..match (is_compiler, detects) {
                (true, _) => compiler(distance),
                (false, true) => fixed(distance),
                (false, false) => at_once(distance),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn prefetches_and_moves_take_the_time_that_they_take_when_written_out(
        kernel in any_loop(), distance in 1u32..4, is_compiler in any::<bool>(),
        head_sequence in prop::sample::select(vec![HeadSequence::Offset, HeadSequence::Slice]),
        address_registers in prop::sample::select(vec![0, 2]), seed in any::<u64>(),
    ) {
        let (spares, first) = if is_compiler {
            (compiler(distance), 1)
        } else {
            (at_once(distance), 2)
        };
        let spares = SpareRegistersSpec { head_sequence, address_registers, ..spares };
        let wavefronts = 0..kernel.trips.len();
        let steps: Vec<_> = wavefronts
            .map(|wavefront| kernel.written_out(wavefront, (distance, first), &spares))
            .collect();
        let expected = run(&metered(spec()), &super::kernel(&steps, 1, 0), seed);
        let seen = run(&metered(with(spares)), &kernel.trace(|i| kernel.head_at(i)), seed);
        prop_assert_eq!(seen.traffic(), expected.traffic());
        prop_assert_eq!(seen.count("load_wait"), expected.count("load_wait"));
        prop_assert_eq!(&seen.completions, &expected.completions);
        let injected = seen.count("injected_heads") + seen.count("injected_tails")
            + seen.count("injected_arithmetic");
        let instructions = seen.count("wavefront_instructions");
        prop_assert_eq!(instructions + injected, expected.count("wavefront_instructions"));
        prop_assert_eq!(seen.count("slots_issued"), expected.count("slots_issued"));
    }

    #[test]
    fn a_meter_of_waits_changes_nothing_and_tells_heads_from_tails(
        kernel in any_loop(), spares in any_spares(), seed in any::<u64>(),
    ) {
        let trace = kernel.trace(|i| kernel.head_at(i));
        let plain = run(&with(spares), &trace, seed);
        let seen = run(&metered(with(spares)), &trace, seed);
        prop_assert_eq!(&seen.requests, &plain.requests);
        prop_assert_eq!(&seen.completions, &plain.completions);
        for statistic in &plain.statistics.values {
            prop_assert_eq!(seen.statistics.get(&statistic.name), Some(&statistic.value));
        }
        let [head, tail, other] =
            ["head", "tail", "other"].map(|role| seen.count(&format!("load_wait_{role}")));
        prop_assert_eq!(seen.count("load_wait"), head + tail + other);
        let of = |pc: u32| seen.statistics.counter(&format!("load_wait_loop_pc[{pc}]"));
        let (of_head, of_tail) = (of(kernel.head()).unwrap(), of(kernel.head() + 3).unwrap_or(0));
        prop_assert_eq!(of_head + of_tail, head + tail + other);
        // Before there is a plan, loads have no role.
        if seen.count("loops_planned") == 0 {
            prop_assert_eq!(head + tail, 0);
        } else if spares.is_compiler() {
            prop_assert!(head <= of_head && tail <= of_tail);
        }
    }

    #[test]
    fn every_prefetch_is_used_once_and_none_is_for_a_lane_that_has_ended(
        kernel in any_loop(), spares in any_spares(), seed in any::<u64>(),
    ) {
        let trace = kernel.trace(|i| kernel.head_at(i));
        let seen = run(&with(spares), &trace, seed);
        let plain = run(&spec(), &trace, seed);
        let injected = seen.count("injected_heads") + seen.count("injected_tails");
        let replaced = if spares.replace { injected } else { 0 };
        prop_assert_eq!(seen.count("loads_replaced"), replaced);
        prop_assert_eq!(seen.count("prefetches_without_address"), 0);
        for name in ["wavefront_instructions", "thread_instructions"] {
            prop_assert_eq!(seen.count(name), plain.count(name), "{}", name);
        }
    }

    #[test]
    fn a_distance_of_0_changes_nothing(
        kernel in any_loop(), other in any_kernel(), seed in any::<u64>(), is_compiler in any::<bool>(),
    ) {
        let spares = if is_compiler { compiler(0) } else { fixed(0) };
        for trace in [kernel.trace(|i| kernel.head_at(i)), other] {
            let (seen, plain) = (run(&with(spares), &trace, seed), run(&spec(), &trace, seed));
            prop_assert_eq!(&seen.requests, &plain.requests);
            prop_assert_eq!(&seen.completions, &plain.completions);
            for statistic in &plain.statistics.values {
                prop_assert_eq!(seen.statistics.get(&statistic.name), Some(&statistic.value));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn a_unit_with_prefetched_loops_that_is_saved_goes_on_alike(
        kernel in any_loop(), spares in any_spares(), seed in any::<u64>(),
        cuts in prop::collection::btree_set(0..1500u64, 3),
    ) {
        let trace = kernel.trace(|i| kernel.head_at(i));
        let build = || loop_bench(&with(spares), &trace, seed).0;
        TestBench::check_state(build, &cuts.into_iter().collect::<Vec<_>>(), 4000);
    }
}
