//! Tests of the compute unit as a component.

use std::collections::VecDeque;
use std::sync::Mutex;

use proptest::prelude::*;
use warpweave_framework::{
    EngineOptions, InstanceStatistics, Link, Order, Sink, Source as BenchSource, TestBench, Value,
};
use warpweave_trace::{
    Code, FrontEnd, Instruction, KernelTrace, KernelWriter, LANES, RegisterSet, Space, StreamWriter,
};

use super::*;
use crate::bloom::BloomSpec;
use crate::launch::{CacheCommand, CacheCommandDone, Dispatch};
use crate::memory::{Level, MemRequest, MemResponse, MemSlave, RequestKind, Source};
use crate::reuse_monitor::{KeyMode, ReuseMonitorSpec};

const ALL: u32 = u32::MAX;

fn spec() -> ComputeUnitSpec {
    let mut classes = ClassTimings::uniform(ClassTiming {
        latency: 4,
        interval: 1,
    });
    classes.load.latency = 3;
    classes.store.latency = 3;
    classes.exit.latency = 1;
    ComputeUnitSpec {
        index: 7,
        wavefront_slots: 8,
        work_group_slots: 4,
        registers: 16384,
        schedulers: 1,
        scheduler: WavefrontPolicy::Gto,
        start_latency: 2,
        classes,
        local_memory: LocalMemorySpec {
            bytes: 4096,
            banks: 32,
            latency: 10,
        },
        constant_latency: 5,
        load_store: LoadStoreSpec {
            line_bytes: 128,
            queue_depth: 4,
            requests_per_cycle: 1,
            outstanding_max: 64,
            writeback_latency: 1,
        },
        private_memory: PrivateMemorySpec {
            base: 1 << 40,
            bytes_per_thread: 64,
        },
        reuse_monitor: None,
    }
}

fn set(registers: &[u16]) -> RegisterSet {
    registers.iter().copied().collect()
}

fn op(class: Class, writes: &[u16], reads: &[u16]) -> Instruction {
    Instruction {
        reads: set(reads),
        writes: set(writes),
        ..Instruction::new(class.name(), class)
    }
}

/// One step of a wavefront: instruction, mask and lane addresses of a memory access.
#[derive(Clone, Debug)]
struct Step {
    instruction: Instruction,
    mask: u32,
    access: Option<(Space, [u64; LANES])>,
    continues: bool,
}

fn step(instruction: Instruction) -> Step {
    Step {
        instruction,
        mask: ALL,
        access: None,
        continues: false,
    }
}

fn strided(base: u64, step: u64) -> [u64; LANES] {
    std::array::from_fn(|lane| base + step * lane as u64)
}

fn access(class: Class, writes: &[u16], reads: &[u16], space: Space, at: [u64; LANES]) -> Step {
    Step {
        access: Some((space, at)),
        ..step(op(class, writes, reads).accessing(space, 4))
    }
}

fn exit() -> Step {
    step(op(Class::Exit, &[], &[]))
}

/// A kernel whose wavefronts execute these steps, each work-group the same ones; every step has
/// its own instruction. A step that continues shares its instruction with the next one.
fn kernel(wavefronts: &[Vec<Step>], work_groups: u32, local_bytes: u32) -> KernelTrace {
    let mut instructions = Vec::new();
    let mut pcs = Vec::new();
    for steps in wavefronts {
        let mut of_wavefront = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            if i == 0 || !steps[i - 1].continues {
                instructions.push(step.instruction.clone());
            }
            of_wavefront.push(instructions.len() as u32 - 1);
        }
        pcs.push(of_wavefront);
    }
    let code = Arc::new(Code {
        name: "test".to_owned(),
        instructions,
        registers_per_thread: 16,
        ..Code::default()
    });
    let block = [32 * wavefronts.len() as u32, 1, 1];
    let mut writer = KernelWriter::new(code, [work_groups, 1, 1], block, local_bytes, Vec::new())
        .expect("the launch is not empty");
    for work_group in 0..work_groups {
        for (number, steps) in wavefronts.iter().enumerate() {
            let mut stream = StreamWriter::new();
            for (step, &pc) in steps.iter().zip(&pcs[number]) {
                match &step.access {
                    Some((space, at)) => stream.access(pc, step.mask, *space, step.continues, at),
                    None => stream.step(pc, step.mask),
                }
            }
            writer
                .finish_wavefront(work_group, number as u32, stream)
                .expect("the stream fits the kernel");
        }
    }
    writer.finish().expect("every wavefront is written")
}

fn program(kernels: Vec<KernelTrace>) -> Environment {
    let mut environment = Environment::new("cu", 1);
    environment.provide(Arc::new(Program {
        name: "test".to_owned(),
        allocations: Vec::new(),
        commands: Vec::new(),
        kernels: kernels.into_iter().map(Arc::new).collect(),
        front_end: FrontEnd::default(),
    }));
    environment
}

fn build(spec: ComputeUnitSpec, kernels: Vec<KernelTrace>) -> ComputeUnit {
    ComputeUnit::build(spec, &program(kernels)).expect("the specification is in range")
}

/// A unit with scripted surroundings.
struct Bench {
    bench: TestBench,
    dispatch: BenchSource<Dispatch>,
    completion: Sink<Completion>,
    request: Sink<MemRequest>,
    response: BenchSource<MemResponse>,
}

impl Bench {
    fn new(spec: ComputeUnitSpec, kernels: Vec<KernelTrace>) -> Self {
        let mut bench = TestBench::new();
        bench.add("cu", build(spec, kernels));
        Self {
            dispatch: bench.source("cu.dispatch.dispatch"),
            completion: bench.sink("cu.dispatch.completion"),
            request: bench.sink("cu.memory.request"),
            response: bench.source("cu.memory.response"),
            bench,
        }
    }

    fn start_at(&self, cycle: Cycle, kernel: u32, work_group: u32, slot: u16) {
        let start = Dispatch::Start {
            kernel,
            work_group,
            slot,
        };
        self.dispatch.send_at(cycle, start);
    }

    fn expect_completion(&mut self, cycle: Cycle, work_group: u32, slot: u16) {
        let completion = Completion::WorkGroup {
            kernel: 0,
            work_group,
            slot,
        };
        self.bench.expect_at(&self.completion, cycle, &completion);
    }

    fn counter(&mut self, name: &str) -> u64 {
        let statistics = self.bench.statistics("cu");
        statistics
            .counter(name)
            .unwrap_or_else(|| panic!("there is no counter {name}"))
    }

    /// The completion of one work-group of these wavefronts, dispatched for cycle 1.
    fn completes_at(spec: ComputeUnitSpec, wavefronts: &[Vec<Step>], cycle: Cycle) {
        let mut bench = Self::new(spec, vec![kernel(wavefronts, 1, 0)]);
        bench.start_at(1, 0, 0, 0);
        bench.expect_completion(cycle, 0, 0);
    }
}

fn slots(statistics: &InstanceStatistics) -> u64 {
    let counters = statistics.values.iter().filter_map(|s| match &s.value {
        Value::Counter(n) if s.name.starts_with("slots_") => Some(*n),
        _ => None,
    });
    counters.sum()
}

// Dispatch for cycle 1, start latency 2: the first instruction issues in cycle 3.

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
fn a_load_sends_after_its_latency_and_wakes_its_reader_after_the_writeback() {
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Global, strided(0x1004, 4)),
        step(op(Class::Exit, &[], &[1])),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 2);
    let source = Source {
        kernel: 0,
        work_group: 0,
        pc: 0,
        compute_unit: 7,
        wavefront_slot: 0,
    };
    let request = |id, line, words| MemRequest {
        source,
        ..MemRequest::read(id, line, words)
    };
    let first = request(0, 0x1000, ALL << 1);
    let second = request(1, 0x1080, 1);
    bench.bench.expect_at(&bench.request, 6, &first);
    bench.bench.expect_at(&bench.request, 7, &second);
    bench.response.send_at(20, second.answer(Level::L1));
    bench.response.send_at(30, first.answer(Level::L1));
    // Last response in 30, exit issues in 31, ends in 32.
    bench.expect_completion(32, 0, 2);
    assert_eq!(bench.counter("slots_memory"), 27);
    let statistics = bench.bench.statistics("cu");
    let Some(Value::Histogram(latency)) = statistics.get("load_latency") else {
        panic!("the latency is a histogram");
    };
    assert_eq!((latency.count(), latency.sum()), (1, 27));
    let expected = Value::Ratio { part: 2, whole: 1 };
    assert_eq!(statistics.get("requests_per_access"), Some(&expected));
}

#[test]
fn a_work_group_completes_only_when_its_stores_are_answered() {
    let steps = vec![
        access(Class::Store, &[], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, store) = bench.bench.receive(&bench.request);
    assert_eq!(
        (cycle, store.kind, store.write_sequence),
        (6, RequestKind::Write, 1)
    );
    bench.bench.expect_nothing(&bench.completion, 10);
    bench.response.send_at(40, store.answer(Level::L2));
    bench.expect_completion(40, 0, 0);
    assert_eq!(bench.counter("slots_ended"), 35);
}

#[test]
fn a_fence_waits_for_the_stores_of_its_wavefront() {
    let steps = vec![
        access(Class::Store, &[], &[], Space::Global, strided(0, 4)),
        step(op(Class::Fence, &[], &[])),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (_, store) = bench.bench.receive(&bench.request);
    bench.response.send_at(40, store.answer(Level::L2));
    // Fence in 40, exit in 44.
    bench.expect_completion(45, 0, 0);
}

#[test]
fn an_atomic_is_one_request_per_line_and_returns_data() {
    let steps = vec![
        access(Class::Atomic, &[1], &[], Space::Global, [0x500; LANES]),
        step(op(Class::Exit, &[], &[1])),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (cycle, atomic) = bench.bench.receive(&bench.request);
    assert_eq!(
        (cycle, atomic.kind, atomic.words),
        (7, RequestKind::Atomic, 1)
    );
    bench.response.send_at(20, atomic.answer(Level::L2));
    bench.expect_completion(22, 0, 0);
    assert_eq!(bench.counter("atomic_requests"), 1);
}

#[test]
fn cache_operators_ask_to_pass_the_first_level_by() {
    let mut load = access(Class::Load, &[1], &[], Space::Global, strided(0, 4));
    load.instruction.hints.cache = warpweave_trace::CacheOperator::GlobalLevel;
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![load, exit()]], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let (_, request) = bench.bench.receive(&bench.request);
    assert_eq!(request.flags, crate::memory::flags::BYPASS_L1);
}

#[test]
fn private_memory_is_interleaved_by_lane_and_apart_per_slot() {
    let steps = vec![
        access(Class::Store, &[], &[], Space::Local, [8; LANES]),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps.clone(), steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let regions = (1_u64 << 40) + 7 * 8 * 32 * 64;
    for slot in 0..2 {
        let (_, store) = bench.bench.receive(&bench.request);
        let expected = (regions + slot * 32 * 64 + 2 * 128, ALL);
        assert_eq!((store.line, store.words), expected);
    }
}

#[test]
#[should_panic(expected = "offset 0x40 of lane 0's private memory, which has 64 bytes")]
fn private_accesses_stay_inside_private_memory() {
    let steps = vec![
        access(Class::Load, &[1], &[], Space::Local, [64; LANES]),
        exit(),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(10);
}

#[test]
fn bank_conflicts_delay_the_reader_and_the_next_access() {
    let load = |writes, stride| {
        access(
            Class::Load,
            &[writes],
            &[],
            Space::Shared,
            strided(0, stride),
        )
    };
    let steps = vec![
        load(1, 8), // Two words per bank.
        load(2, 4),
        step(op(Class::Exit, &[], &[2])),
    ];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 4096)]);
    bench.start_at(1, 0, 0, 0);
    // Loads in 3 and 5, exit in 15.
    bench.expect_completion(16, 0, 0);
    assert_eq!(bench.counter("local_accesses"), 2);
    assert_eq!(bench.counter("local_conflict_cycles"), 1);
    assert_eq!(bench.counter("slots_local_memory_busy"), 1);
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
fn a_memory_instruction_without_lanes_only_takes_its_latency() {
    let mut load = access(Class::Load, &[1], &[], Space::Global, [0; LANES]);
    load.mask = 0;
    let steps = vec![load, step(op(Class::Exit, &[], &[1]))];
    Bench::completes_at(spec(), &[steps], 3 + 3 + 1);
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
    // Slow: add in 3, barrier in 7; all go on in 11; exits in 11 and 12.
    bench.expect_completion(13, 0, 0);
    assert_eq!(bench.counter("barriers"), 1);
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
fn the_parts_of_a_split_access_follow_each_other_and_count_once() {
    let mut first = access(Class::Load, &[1], &[], Space::Shared, strided(0, 4));
    first.mask = 0xffff;
    first.continues = true;
    let mut second = access(Class::Load, &[1], &[], Space::Global, strided(0, 4));
    second.mask = !0xffff;
    second.instruction = first.instruction.clone();
    let steps = vec![first, second, step(op(Class::Exit, &[], &[1]))];
    let mut bench = Bench::new(spec(), vec![kernel(&[steps], 1, 4096)]);
    bench.start_at(1, 0, 0, 0);
    // Local part in 3, ready in 13; global part issues in 13, sends in 16.
    let (cycle, request) = bench.bench.receive(&bench.request);
    assert_eq!((cycle, request.words), (16, !0xffff));
    bench.response.send_at(30, request.answer(Level::L1));
    bench.expect_completion(32, 0, 0);
    assert_eq!(bench.counter("wavefront_instructions"), 2);
    assert_eq!(bench.counter("instructions_load"), 1);
    assert_eq!(bench.counter("slots_issued"), 3);
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
    long.scheduler = WavefrontPolicy::GtoLongLatency;
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

#[test]
fn two_work_groups_share_the_unit_and_free_it_again() {
    let steps = vec![exit()];
    let mut bench = Bench::new(spec(), vec![kernel(&vec![steps; 4], 6, 2048)]);
    bench.start_at(1, 0, 0, 0);
    bench.start_at(2, 0, 1, 1);
    // Four exits in 3 to 6, four in 7 to 10.
    bench.expect_completion(7, 0, 0);
    bench.expect_completion(11, 1, 1);
    bench.start_at(20, 0, 2, 0);
    bench.start_at(21, 0, 3, 3);
    bench.expect_completion(26, 2, 0);
    bench.expect_completion(30, 3, 3);
    assert_eq!(bench.counter("work_groups_completed"), 4);
    assert_eq!(bench.counter("wavefronts_max"), 8);
}

fn refused(local_bytes: u32, slots: [u16; 2]) {
    let steps = vec![step(op(Class::Barrier, &[], &[])), exit()];
    let mut bench = Bench::new(spec(), vec![kernel(&vec![steps; 3], 6, local_bytes)]);
    bench.start_at(1, 0, 0, slots[0]);
    bench.start_at(2, 0, 1, slots[1]);
    bench.bench.step(5);
}

#[test]
#[should_panic(expected = "but work-group 0 of kernel 0 is there")]
fn a_slot_is_never_given_twice() {
    refused(0, [1, 1]);
}

#[test]
#[should_panic(expected = "needs 3000 bytes of local memory and 1096 are free")]
fn local_memory_is_never_exceeded() {
    refused(3000, [0, 1]);
}

#[test]
#[should_panic(expected = "but there are 4 slots")]
fn slots_that_do_not_exist_are_refused() {
    refused(0, [0, 4]);
}

#[test]
#[should_panic(expected = "needs 6 wavefront slots and 2 are free")]
fn wavefront_slots_are_never_exceeded() {
    let mut bench = Bench::new(spec(), vec![kernel(&vec![vec![exit()]; 6], 6, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.start_at(2, 0, 1, 1);
    bench.bench.step(5);
}

#[test]
#[should_panic(expected = "needs 2048 registers and 1000 are free")]
fn registers_are_never_exceeded() {
    let mut spec = spec();
    spec.registers = 1000;
    let mut bench = Bench::new(spec, vec![kernel(&vec![vec![exit()]; 4], 6, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(5);
}

#[test]
#[should_panic(expected = "a response has id 3, which no request in flight has")]
fn an_answer_to_nothing_is_a_failure() {
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![exit()]], 1, 0)]);
    bench
        .response
        .send_at(3, MemRequest::read(3, 0, 1).answer(Level::L1));
    bench.bench.step(5);
}

#[test]
fn an_invalidation_is_answered_at_once_without_a_cache() {
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![exit()]], 1, 0)]);
    bench
        .dispatch
        .send_at(5, Dispatch::Invalidate { kernel: 3 });
    let expected = Completion::Invalidated { kernel: 3 };
    bench.bench.expect_at(&bench.completion, 5, &expected);
}

#[test]
fn an_invalidation_waits_for_the_cache_and_holds_dispatches_back() {
    let mut bench = TestBench::new();
    bench.add("cu", build(spec(), vec![kernel(&[vec![exit()]], 1, 0)]));
    let dispatch = bench.source("cu.dispatch.dispatch");
    let completion = bench.sink("cu.dispatch.completion");
    let command = bench.sink("cu.cache_control.command");
    let done = bench.source("cu.cache_control.done");
    let _request = bench.sink::<MemRequest>("cu.memory.request");
    let _response = bench.source::<MemResponse>("cu.memory.response");
    dispatch.send_at(5, Dispatch::Invalidate { kernel: 0 });
    dispatch.send_at(
        6,
        Dispatch::Start {
            kernel: 0,
            work_group: 0,
            slot: 0,
        },
    );
    bench.expect_at(&command, 5, &CacheCommand::Invalidate);
    bench.expect_nothing(&completion, 10);
    done.send_at(30, CacheCommandDone);
    bench.expect_at(&completion, 30, &Completion::Invalidated { kernel: 0 });
    let expected = Completion::WorkGroup {
        kernel: 0,
        work_group: 0,
        slot: 0,
    };
    bench.expect_at(&completion, 33, &expected);
}

#[test]
fn a_full_load_store_queue_stops_memory_instructions_alone() {
    let mut steps: Vec<_> = (0..6)
        .map(|i| access(Class::Load, &[i], &[], Space::Global, strided(0, 128)))
        .collect();
    steps.push(exit());
    let compute: Vec<_> = (0..20)
        .map(|i| step(op(Class::IntAdd, &[i], &[])))
        .chain([exit()])
        .collect();
    let mut bench = Bench::new(spec(), vec![kernel(&[steps, compute], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(25);
    // Four loads fill the queue in 3 to 6; the other wavefront goes on.
    assert_eq!(bench.counter("instructions_load"), 4);
    assert_eq!(bench.counter("instructions_int_add"), 19);
    bench.bench.step(10);
    assert!(bench.counter("slots_load_store_full") > 0);
}

#[test]
fn sending_stops_at_the_outstanding_limit() {
    let mut spec = spec();
    spec.load_store.outstanding_max = 3;
    let load = access(Class::Load, &[1], &[], Space::Global, strided(0, 128));
    let mut bench = Bench::new(spec, vec![kernel(&[vec![load, exit()]], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(30);
    let sent = bench.request.take_all();
    assert_eq!(sent.len(), 3);
    bench.response.send_at(40, sent[1].1.answer(Level::L1));
    let (cycle, _) = bench.bench.receive(&bench.request);
    assert_eq!(cycle, 40);
}

#[test]
fn reads_feed_the_reuse_monitor() {
    let mut spec = spec();
    spec.reuse_monitor = Some(ReuseMonitorSpec {
        filter: BloomSpec {
            bits: 4840,
            hashes: 3,
        },
        key: KeyMode::LineOwner,
        threshold_percent: 50,
        warm_up_children: 2,
        warm_up_lookups: 64,
        self_all: true,
    });
    let load = |register| access(Class::Load, &[register], &[], Space::Global, strided(0, 8));
    let steps = vec![load(1), load(2), load(3), exit()];
    let mut bench = Bench::new(spec, vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(40);
    assert_eq!(bench.counter("reuse_self_hits"), 4);
    assert_eq!(bench.counter("reuse_self_misses"), 2);
    assert_eq!(bench.counter("reuse_prediction"), 3);
}

#[test]
fn a_unit_without_a_program_or_with_odd_numbers_is_refused() {
    let refusal = |spec, environment: &Environment| match ComputeUnit::build(spec, environment) {
        Ok(_) => panic!("built"),
        Err(error) => (error.field, error.message),
    };
    let (field, message) = refusal(spec(), &Environment::new("cu", 1));
    assert_eq!(field, "");
    assert!(message.contains("name a workload"), "{message}");
    let environment = program(Vec::new());
    let mut odd = spec();
    odd.wavefront_slots = 65;
    assert_eq!(
        refusal(odd, &environment),
        (
            "wavefront_slots".to_owned(),
            "65 is outside 1 to 64".to_owned()
        )
    );
    let mut odd = spec();
    odd.classes.int_div.interval = 0;
    assert_eq!(refusal(odd, &environment).0, "classes.int_div.interval");
    let mut odd = spec();
    odd.load_store.line_bytes = 96;
    assert_eq!(refusal(odd, &environment).0, "load_store.line_bytes");
}

/// What was seen on a wire.
type Log<T> = Arc<Mutex<Vec<(Cycle, T)>>>;

/// A function of (seed, count).
fn random(seed: u64, count: u64) -> u64 {
    let mut z = (seed.rotate_left(32) ^ count).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 29
}

/// Answers each request once, after a random delay and in any order, and refuses requests for
/// some stretches of time.
struct RandomMemory {
    up: MemSlave,
    seed: u64,
    delay_max: u64,
    waiting: VecDeque<(Cycle, MemResponse)>,
    log: Log<MemRequest>,
    received: u64,
}

impl RandomMemory {
    fn new(seed: u64, delay_max: u64, log: Log<MemRequest>) -> Self {
        Self {
            up: MemSlave::default(),
            seed,
            delay_max,
            waiting: VecDeque::new(),
            log,
            received: 0,
        }
    }

    fn refuses(&self, cycle: Cycle) -> bool {
        random(self.seed, cycle / 8).is_multiple_of(4)
    }
}

impl Component for RandomMemory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("waiting", &mut self.waiting);
        state.field("received", &mut self.received);
        state.field(
            "log",
            &mut *self.log.lock().expect("nobody panics with the log"),
        );
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let mut next = Next::Message;
        if self.up.request.peek(ctx).is_some() && self.refuses(now) {
            next = Next::Until((now / 8 + 1) * 8);
        } else {
            while let Some(request) = self.up.request.pop(ctx) {
                let due = now + 1 + random(self.seed, self.received) % self.delay_max;
                self.received += 1;
                let place = self.waiting.partition_point(|(at, _)| *at <= due);
                self.waiting.insert(place, (due, request.answer(Level::L2)));
                let mut log = self.log.lock().expect("nobody panics with the log");
                log.push((now, request));
            }
        }
        while let Some(&(due, response)) = self.waiting.front() {
            if due > now {
                return match next {
                    Next::Until(open) => Next::Until(open.min(due)),
                    _ => Next::Until(due),
                };
            }
            if self.up.response.try_send(ctx, response).is_err() {
                break;
            }
            self.waiting.pop_front();
        }
        next
    }
}

/// Dispatches the work-groups of kernel 0, a given number at a time.
struct Dispatcher {
    down: crate::launch::DispatchMaster,
    work_groups: u32,
    next: u32,
    free: Vec<u16>,
    log: Log<Completion>,
}

impl Component for Dispatcher {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("down", &mut self.down);
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("next", &mut self.next);
        state.field("free", &mut self.free);
        state.field(
            "log",
            &mut *self.log.lock().expect("nobody panics with the log"),
        );
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while let Some(completion) = self.down.completion.pop(ctx) {
            if let Completion::WorkGroup { slot, .. } = completion {
                self.free.push(slot);
            }
            let mut log = self.log.lock().expect("nobody panics with the log");
            log.push((ctx.cycle(), completion));
        }
        while self.next < self.work_groups
            && let Some(&slot) = self.free.last()
        {
            let start = Dispatch::Start {
                kernel: 0,
                work_group: self.next,
                slot,
            };
            if self.down.dispatch.try_send(ctx, start).is_err() {
                return Next::Credit;
            }
            self.free.pop();
            self.next += 1;
        }
        Next::Message
    }
}

/// What a run gives back.
#[derive(Debug, PartialEq)]
struct Seen {
    completions: Vec<(Cycle, Completion)>,
    requests: Vec<(Cycle, MemRequest)>,
    statistics: InstanceStatistics,
}

const RUN_CYCLES: Cycle = 30_000;

/// A unit that runs every work-group of a kernel, two at a time, in front of a random memory.
fn bench(
    spec: &ComputeUnitSpec,
    kernel: &KernelTrace,
    (seed, delay_max): (u64, u64),
    (completions, requests): (&Log<Completion>, &Log<MemRequest>),
) -> TestBench {
    let mut bench = TestBench::new();
    bench.add("cu", build(spec.clone(), vec![kernel.clone()]));
    bench.add(
        "memory",
        RandomMemory::new(seed, delay_max, requests.clone()),
    );
    let dispatcher = Dispatcher {
        down: crate::launch::DispatchMaster::default(),
        work_groups: kernel.work_groups(),
        next: 0,
        free: vec![0, 1],
        log: completions.clone(),
    };
    bench.add("dispatcher", dispatcher);
    let builder = bench.builder();
    builder.connect("cu.memory", "memory.up", Link::latency(1));
    builder.connect("dispatcher.down", "cu.dispatch", Link::latency(1));
    bench
}

fn run(
    spec: &ComputeUnitSpec,
    kernel: &KernelTrace,
    memory: (u64, u64),
    options: EngineOptions,
) -> Seen {
    let (completions, requests): (Log<Completion>, Log<MemRequest>) = Default::default();
    let mut bench = bench(spec, kernel, memory, (&completions, &requests));
    bench.set_options(options);
    bench.step(RUN_CYCLES);
    let statistics = bench.statistics("cu");
    let take = |log: &mut Vec<_>| std::mem::take(log);
    let completions = take(&mut completions.lock().expect("nobody panics with the log"));
    let requests = std::mem::take(&mut *requests.lock().expect("nobody panics with the log"));
    Seen {
        completions,
        requests,
        statistics,
    }
}

/// A step without barrier or exit.
fn any_step() -> impl Strategy<Value = Step> {
    let compute = proptest::sample::select(vec![
        Class::IntAdd,
        Class::IntAdd,
        Class::FpMul,
        Class::Special,
        Class::Branch,
        Class::Fence,
    ]);
    let compute = (compute, 0u16..6, 0u16..6).prop_map(|(class, write, read)| {
        let writes: &[u16] = if matches!(class, Class::Branch | Class::Fence) {
            &[]
        } else {
            &[write]
        };
        step(op(class, writes, &[read]))
    });
    let class =
        proptest::sample::select(vec![Class::Load, Class::Load, Class::Store, Class::Atomic]);
    let space = proptest::sample::select(vec![
        Space::Global,
        Space::Global,
        Space::Shared,
        Space::Local,
        Space::Const,
    ]);
    let at = prop_oneof![
        (0u64..4000).prop_map(|address| [address; LANES]),
        (0u64..4000, 0u64..80).prop_map(|(base, step)| strided(base, step)),
        (0u64..1000, any::<u64>()).prop_map(|(base, seed)| {
            std::array::from_fn(|lane| base + random(seed, lane as u64) % 3000)
        }),
    ];
    let memory =
        (class, space, at, 0u16..6, 0u16..6).prop_map(|(class, space, at, write, read)| {
            let at = if space == Space::Local {
                at.map(|offset| offset % 60)
            } else {
                at
            };
            let writes: &[u16] = if class == Class::Store { &[] } else { &[write] };
            access(class, writes, &[read], space, at)
        });
    let mask = prop_oneof![Just(ALL), any::<u32>(), Just(0)];
    (prop_oneof![2 => compute, 3 => memory], mask).prop_map(|(step, mask)| Step { mask, ..step })
}

/// Kernels whose wavefronts meet at the same barriers, unless they have exited before.
fn any_kernel() -> impl Strategy<Value = KernelTrace> {
    let phase = proptest::collection::vec(any_step(), 0..6);
    let wavefront = proptest::collection::vec(phase, 1..4);
    let wavefronts = proptest::collection::vec(wavefront, 1..5);
    (wavefronts, 1u32..6).prop_map(|(wavefronts, work_groups)| {
        let steps = |phases: Vec<Vec<Step>>| {
            let mut steps = phases.join(&step(op(Class::Barrier, &[], &[])));
            steps.push(exit());
            steps
        };
        let wavefronts: Vec<_> = wavefronts.into_iter().map(steps).collect();
        kernel(&wavefronts, work_groups, 1024)
    })
}

fn any_spec() -> impl Strategy<Value = ComputeUnitSpec> {
    let policy = proptest::sample::select(vec![
        WavefrontPolicy::Gto,
        WavefrontPolicy::GtoLongLatency,
        WavefrontPolicy::Lrr,
    ]);
    (policy, 1u32..4, 1u32..4, 1u32..5, 2u32..40, 0u32..3).prop_map(
        |(policy, schedulers, interval, queue, outstanding, writeback)| {
            let mut spec = spec();
            spec.scheduler = policy;
            spec.schedulers = schedulers;
            spec.classes.special.interval = 2 * interval;
            spec.classes.int_add.interval = interval;
            spec.load_store.queue_depth = queue;
            spec.load_store.outstanding_max = outstanding;
            spec.load_store.requests_per_cycle = interval;
            spec.load_store.writeback_latency = writeback;
            spec
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_instruction_issues_once_and_every_slot_is_accounted_for(
        spec in any_spec(), kernel in any_kernel(), seed in any::<u64>(), delay_max in 1u64..120,
    ) {
        let memory = (seed, delay_max);
        let seen = run(&spec, &kernel, memory, EngineOptions::default());
        let counter = |name: &str| seen.statistics.counter(name).expect("a counter of the unit");
        prop_assert_eq!(seen.completions.len() as u32, kernel.work_groups());
        prop_assert_eq!(counter("wavefront_instructions"), kernel.wavefront_instructions());
        prop_assert_eq!(counter("thread_instructions"), kernel.thread_instructions());
        prop_assert_eq!(counter("slots_issued"), kernel.wavefront_instructions());
        prop_assert_eq!(slots(&seen.statistics), u64::from(spec.schedulers) * (RUN_CYCLES + 1));
        let requests = ["read_requests", "write_requests", "atomic_requests"].map(counter);
        prop_assert_eq!(requests.iter().sum::<u64>(), seen.requests.len() as u64);

        let always_awake = EngineOptions { sleeping: false, ..EngineOptions::default() };
        prop_assert_eq!(&run(&spec, &kernel, memory, always_awake), &seen);
        let shuffled = EngineOptions {
            order: Order::Shuffled { seed },
            ..EngineOptions::default()
        };
        prop_assert_eq!(&run(&spec, &kernel, memory, shuffled), &seen);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_unit_saved_in_the_middle_goes_on_alike(
        spec in any_spec(), kernel in any_kernel(), seed in any::<u64>(),
        cuts in prop::collection::btree_set(0..1500u64, 3),
    ) {
        let build = || bench(&spec, &kernel, (seed, 60), (&Arc::default(), &Arc::default()));
        TestBench::check_state(build, &cuts.into_iter().collect::<Vec<_>>(), 4000);
    }
}
