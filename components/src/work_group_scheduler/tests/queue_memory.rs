//! Queues of work-groups in memory.

use warpweave_framework::Source;

use super::fake_unit::Log;
use super::scripted::{ready, start};
use super::*;
use crate::launch::KernelReady;
use crate::memory::{Level, MemRequest, MemResponse};

fn in_memory(entries_on_chip: u32) -> WorkGroupSchedulerSpec {
    let memory = QueueMemorySpec {
        base: 1 << 20,
        bytes_per_queue: 128,
        entries_on_chip,
    };
    let spec = QueuesSpec {
        stealing: Stealing::Longest,
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
}

fn bench() -> Bench {
    let mut bench = TestBench::new();
    bench.add("dut", scheduler(in_memory(2), &[(8, 1, 0, 0)]));
    let _done = bench.sink::<KernelDone>("dut.gmu.done");
    for unit in 0..2 {
        let _ends = bench.source::<Completion>(&format!("dut.units[{unit}].completion"));
    }
    Bench {
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
fn a_work_group_is_dispatched_when_its_entry_has_come() {
    let mut b = bench();
    b.kernels.send_at(5, ready(0));
    let read = |id, line, work_group| {
        let mut request = MemRequest::read(id, line, 1);
        request.source.work_group = work_group;
        request
    };
    let to_first = read(0, 1 << 20, 0);
    b.bench.expect_at(&b.requests, 5, &to_first);
    b.responses.send_at(30, to_first.answer(Level::L2));
    b.bench.expect_at(&b.dispatches[0], 30, &start(0, 0));
    // One at a time; the queue of the other unit lies behind.
    let to_second = read(1, (1 << 20) + 128, 1);
    b.bench.expect_at(&b.requests, 30, &to_second);
    b.responses.send_at(50, to_second.answer(Level::L2));
    b.bench.expect_at(&b.dispatches[1], 50, &start(1, 0));
    // The second entry of each queue came with the first.
    b.bench.expect_at(&b.dispatches[0], 50, &start(2, 1));
    b.bench.expect_at(&b.dispatches[1], 51, &start(3, 1));
    let statistics = b.bench.statistics("dut");
    assert_eq!(statistics.counter("queue_accesses"), Some(2));
    // Cycles 5 to 29 and 31 to 49; in cycle 30 the first was dispatched.
    let stalled = statistics.counter("stalled_on_queue_memory");
    assert_eq!(stalled, Some(25 + 19));
}

#[test]
#[should_panic(expected = "which was not asked for")]
fn memory_that_answers_what_was_not_asked_ends_the_run() {
    let mut b = bench();
    b.responses
        .send_at(5, MemRequest::read(9, 0, 1).answer(Level::L2));
    b.bench.step(10);
}

/// The whole launch path with a memory behind the scheduler gives the same results asleep and awake, in
/// any order, and from any checkpoint.
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
