//! Tests of work-group queues in memory.

use warpweave_framework::Source;

use super::fake_unit::Log;
use super::scripted::{ended, ready, start};
use super::*;
use crate::launch::KernelReady;
use crate::memory::{Level, MemRequest, MemResponse, RequestKind, word_mask};

fn in_memory(entries_on_chip: u32) -> WorkGroupSchedulerSpec {
    let memory = QueueMemorySpec {
        base: 1 << 20,
        bytes_per_queue: 128,
        entries_on_chip,
    };
    let spec = QueuesSpec {
        stealing: Stealing::Literal,
        memory: Some(memory),
    };
    WorkGroupSchedulerSpec {
        clusters: 1,
        ..spec_of(Policy::of::<ShortestQueue>(&spec))
    }
}

fn scheduler(spec: WorkGroupSchedulerSpec, kernels: &[KernelShape]) -> WorkGroupScheduler {
    let mut environment = Environment::new("dut", 0);
    environment.provide(Arc::new(program(kernels, Vec::new())));
    WorkGroupScheduler::build(spec, &environment).unwrap()
}

#[test]
fn queues_in_memory_need_the_wire() {
    let error = scheduler(in_memory(4), &[]).elaborated().unwrap_err();
    assert_eq!(error.field, "policy");
    assert!(error.message.contains("ShortestQueue"), "{}", error.message);
    assert!(error.message.contains("`memory`"), "{}", error.message);
}

struct Bench {
    bench: TestBench,
    kernels: Source<KernelReady>,
    requests: Sink<MemRequest>,
    responses: Source<MemResponse>,
    dispatches: Vec<Sink<Dispatch>>,
    ends: Vec<Source<Completion>>,
}

fn bench() -> Bench {
    bench_of(in_memory(2), &[(10, 1, 0, 0)])
}

fn bench_of(spec: WorkGroupSchedulerSpec, kernels: &[KernelShape]) -> Bench {
    let mut bench = TestBench::new();
    bench.add("dut", scheduler(spec, kernels));
    let _done = bench.sink::<KernelDone>("dut.gmu.done");
    Bench {
        ends: (0..2)
            .map(|unit| bench.source(&format!("dut.units[{unit}].completion")))
            .collect(),
        kernels: bench.source("dut.gmu.ready"),
        requests: bench.sink("dut.memory.request"),
        responses: bench.source("dut.memory.response"),
        dispatches: (0..2)
            .map(|unit| bench.sink(&format!("dut.units[{unit}].dispatch")))
            .collect(),
        bench,
    }
}

#[test]
fn what_the_scheduler_does_not_hold_is_written_and_comes_back_before_its_dispatch() {
    let mut b = bench();
    b.kernels.send_at(5, ready(0));
    // Each queue has five work-groups, of which the scheduler holds two. The 8-byte entries of the
    // others are written together. The second unit's queue follows the first unit's.
    let (first, second) = (1 << 20, (1 << 20) + 128);
    let writes = [(5, 0, first), (6, 1, second)].map(|(cycle, id, line)| {
        let write = MemRequest::write(id, line, word_mask(16, 24));
        b.bench.expect_at(&b.requests, cycle, &write);
        write
    });
    for (cycle, unit, work_group, slot) in [(5, 0, 0, 0), (5, 1, 1, 0), (6, 0, 2, 1), (6, 1, 3, 1)]
    {
        let start = start(work_group, slot);
        b.bench.expect_at(&b.dispatches[unit], cycle, &start);
    }
    b.ends[0].send_at(20, ended(0, 0));
    let mut read = MemRequest::read(2, first, word_mask(16, 4));
    read.source.work_group = 4;
    b.bench.expect_at(&b.requests, 20, &read);
    b.responses.send_at(40, read.answer(Level::L2));
    b.bench.expect_at(&b.dispatches[0], 40, &start(4, 0));
    // The entry behind it came with it.
    b.ends[0].send_at(45, ended(2, 1));
    b.bench.expect_at(&b.dispatches[0], 45, &start(6, 1));
    // No placement waited for the responses to the writes.
    for write in writes {
        b.responses.send_at(60, write.answer(Level::L2));
    }
    b.bench.step(70);
    let statistics = b.bench.statistics("dut");
    assert_eq!(statistics.counter("queue_accesses"), Some(3));
    let stalled = statistics.counter("stalled_on_queue_memory");
    assert_eq!(stalled, Some(20));
}

#[test]
fn an_entry_is_read_only_after_it_was_written() {
    let mut b = bench_of(in_memory(1), &[(40, 1, 0, 0)]);
    b.kernels.send_at(0, ready(0));
    // The wire is full at first, so that writes and the read wait together.
    b.requests.stall_until(20);
    b.bench.step(60);
    let sent = b.requests.take_all();
    let kinds: Vec<_> = sent.iter().map(|(_, request)| request.kind).collect();
    let [.., RequestKind::Read] = kinds[..] else {
        panic!("nothing is read, or not last: {kinds:?}");
    };
    let writes = kinds.iter().filter(|kind| **kind == RequestKind::Write);
    assert_eq!(writes.count() + 1, kinds.len());
}

#[test]
#[should_panic(expected = "which matches no request")]
fn memory_that_answers_what_was_not_asked_ends_the_run() {
    let mut b = bench();
    b.responses
        .send_at(5, MemRequest::read(9, 0, 1).answer(Level::L2));
    b.bench.step(10);
}

/// The whole launch path with a memory behind the scheduler gives the same results with and without
/// sleep, in any order, and from any checkpoint.
#[test]
fn queues_in_memory_depend_neither_on_sleep_nor_on_order() {
    let machinery = || launch_path::Machinery {
        kernels: vec![(23, 3, 0, 0), (9, 1, 0, 0), (30, 2, 0, 0)],
        commands: (0..3)
            .map(|kernel| HostCommand::Launch {
                kernel,
                stream: kernel,
            })
            .collect(),
        scheduler: in_memory(3),
        gmu: launch_path::gmu(3),
        seed: 11,
    };
    let [sleepy, awake, shuffled] =
        engines().map(|options| launch_path::run(&machinery(), options));
    assert_eq!(sleepy, awake);
    assert_eq!(sleepy, shuffled);
    launch_path::check_run(&machinery(), &sleepy).unwrap();
    let accesses = launch_path::counter(&sleepy.2, "scheduler", "queue_accesses");
    assert!(accesses > 62 / 3, "{accesses}");
    let build = || launch_path::bench(&machinery(), &Arc::default(), &Log::default());
    TestBench::check_state(build, &[0, 7, 60, 200], 2000);
}
