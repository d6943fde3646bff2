//! Cycle-by-cycle tests of the unit, and a comparison with a naive model of its queues in
//! [`naive`].

mod families;
mod naive;

use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_framework::{NoFields, Policy, PolicyContext, PolicyKind, Sink, Source, TestBench};

use super::*;
use crate::work_group_scheduler::tests::program;

struct Bench {
    bench: TestBench,
    launch: Source<KernelLaunch>,
    host_done: Sink<KernelDone>,
    ready: Sink<KernelReady>,
    done: Source<KernelDone>,
}

fn bench(hardware_queues: u32, queue_depth: u32, pending_kernels: u32) -> Bench {
    let order = Policy::plain::<Fcfs>();
    bench_with(order, hardware_queues, queue_depth, pending_kernels)
}

fn bench_with(
    order: Policy<KernelOrder>,
    hardware_queues: u32,
    queue_depth: u32,
    pending_kernels: u32,
) -> Bench {
    let spec = spec(order, hardware_queues, queue_depth, pending_kernels);
    bench_of(spec, &Environment::new("gmu", 0))
}

fn spec(
    order: Policy<KernelOrder>,
    hardware_queues: u32,
    queue_depth: u32,
    pending_kernels: u32,
) -> GmuSpec {
    GmuSpec {
        hardware_queues,
        queue_depth,
        pending_kernels,
        dispatch_latency_cycles: 3,
        work_group_latency_cycles: 0,
        order,
    }
}

fn bench_of(spec: GmuSpec, environment: &Environment) -> Bench {
    let mut bench = TestBench::new();
    let gmu = Gmu::build(spec, environment).unwrap();
    bench.add("gmu", gmu);
    Bench {
        launch: bench.source("gmu.host.launch"),
        host_done: bench.sink("gmu.host.done"),
        ready: bench.sink("gmu.scheduler.ready"),
        done: bench.source("gmu.scheduler.done"),
        bench,
    }
}

impl Bench {
    fn launch_at(&self, cycle: Cycle, kernel: u32, stream: u32) {
        self.launch
            .send_at(cycle, KernelLaunch::plain(kernel, stream));
    }

    fn done_at(&self, cycle: Cycle, kernel: u32) {
        self.done.send_at(cycle, KernelDone { kernel });
    }

    fn ready_at(&mut self, cycle: Cycle, kernel: u32) {
        let ready = self.ready.clone();
        self.bench
            .expect_at(&ready, cycle, &KernelLaunch::plain(kernel, 0).into());
    }
}

#[test]
fn a_launch_is_ready_after_the_dispatch_latency_and_done_passes_in_its_cycle() {
    let mut b = bench(2, 4, 4);
    b.launch_at(5, 0, 0);
    b.ready_at(8, 0);
    b.done_at(20, 0);
    let done = b.host_done.clone();
    b.bench.expect_at(&done, 20, &KernelDone { kernel: 0 });
}

/// A small kernel overtakes a large one of another stream that became head earlier.
#[test]
fn each_work_group_of_a_kernel_adds_its_latency() {
    let shapes = [(9, 1, 0, 0), (2, 1, 0, 0), (3, 1, 0, 0)];
    let mut environment = Environment::new("gmu", 0);
    environment.provide(Arc::new(program(&shapes, Vec::new())));
    let mut b = bench_of(
        GmuSpec {
            work_group_latency_cycles: 10,
            ..spec(Policy::plain::<Fcfs>(), 2, 4, 4)
        },
        &environment,
    );
    b.launch_at(5, 0, 0);
    b.launch_at(6, 1, 1);
    b.launch_at(7, 2, 1);
    b.ready_at(6 + 3 + 2 * 10, 1);
    b.done_at(40, 1);
    b.ready_at(40 + 3 + 3 * 10, 2);
    b.ready_at(5 + 3 + 9 * 10, 0);
}

#[test]
fn kernels_of_one_stream_run_one_after_the_other_and_streams_side_by_side() {
    let mut b = bench(2, 4, 4);
    b.launch_at(5, 0, 7);
    b.launch_at(6, 1, 7);
    b.launch_at(7, 2, 9);
    b.ready_at(8, 0);
    b.ready_at(10, 2);
    let ready = b.ready.clone();
    b.bench.expect_nothing(&ready, 10);
    b.done_at(30, 0);
    b.ready_at(33, 1);
}

#[test]
fn the_pool_is_served_first_come_first_served_when_a_queue_empties() {
    let mut b = bench(1, 4, 4);
    for (kernel, stream) in [(0, 0), (1, 1), (2, 2), (3, 1)] {
        b.launch_at(5 + Cycle::from(kernel), kernel, stream);
    }
    b.ready_at(8, 0);
    b.done_at(20, 0);
    // Stream 1 takes the queue, its later kernel too, ahead of stream 2.
    b.ready_at(23, 1);
    b.done_at(30, 1);
    b.ready_at(33, 3);
    b.done_at(40, 3);
    b.ready_at(43, 2);
    let statistics = b.bench.statistics("gmu");
    assert_eq!(statistics.counter("kernels_through_pool"), Some(3));
    assert_eq!(statistics.counter("pooled_kernels_max"), Some(3));
}

#[test]
fn a_full_pool_holds_launches_back_and_counts_the_cycles() {
    let mut b = bench(1, 1, 1);
    for kernel in 0..3 {
        b.launch_at(5, kernel, kernel);
    }
    b.ready_at(8, 0);
    b.bench.step(11);
    // Cycle 7 was the first in which the third launch was readable.
    let statistics = b.bench.statistics("gmu");
    assert_eq!(statistics.counter("kernels_accepted"), Some(2));
    assert_eq!(statistics.counter("launch_stalls"), Some(1));
    b.done_at(30, 0);
    b.ready_at(33, 1);
    let statistics = b.bench.statistics("gmu");
    assert_eq!(statistics.counter("launch_stall_cycles"), Some(30 - 7));
    assert_eq!(statistics.counter("kernels_accepted"), Some(3));
}

#[test]
fn a_full_queue_sends_its_stream_to_the_pool_in_order() {
    let mut b = bench(2, 1, 4);
    for kernel in 0..3 {
        b.launch_at(5 + Cycle::from(kernel), kernel, 0);
    }
    b.ready_at(8, 0);
    b.done_at(20, 0);
    b.ready_at(23, 1);
    b.done_at(30, 1);
    b.ready_at(33, 2);
}

#[test]
#[should_panic(expected = "kernel 4, which does not run")]
fn completion_of_a_kernel_that_does_not_run_ends_the_run() {
    let mut b = bench(1, 1, 1);
    b.done_at(5, 4);
    b.bench.step(10);
}

#[test]
fn queues_that_hold_no_kernel_are_refused() {
    let spec = GmuSpec {
        hardware_queues: 0,
        queue_depth: 1,
        pending_kernels: 0,
        dispatch_latency_cycles: 0,
        work_group_latency_cycles: 0,
        order: Policy::plain::<Fcfs>(),
    };
    let error = Gmu::build(spec, &Environment::new("gmu", 0)).err().unwrap();
    assert_eq!(error.field, "hardware_queues");
}

#[test]
fn an_empty_queue_goes_to_the_most_urgent_kernel_and_streams_stay_in_order() {
    let mut b = bench_with(Policy::plain::<Priority>(), 1, 2, 8);
    // Kernel 3 is the most urgent, but the second of its stream.
    for (kernel, stream, priority) in [(0, 0, 0), (1, 1, 0), (2, 2, 1), (3, 1, 9), (4, 3, 2)] {
        let launch = KernelLaunch {
            priority,
            ..KernelLaunch::plain(kernel, stream)
        };
        b.launch.send_at(5 + Cycle::from(kernel), launch);
    }
    let sent = |kernel, priority| KernelReady {
        kernel,
        priority,
        hint: 0,
    };
    let ready = b.ready.clone();
    b.bench.expect_at(&ready, 8, &sent(0, 0));
    for (cycle, ends, next) in [
        (20, 0, sent(4, 2)),
        (30, 4, sent(2, 1)),
        (40, 2, sent(1, 0)),
        (50, 1, sent(3, 9)),
    ] {
        b.done_at(cycle, ends);
        b.bench.expect_at(&ready, cycle + 3, &next);
    }
}

/// Log of a policy's notifications by name and kernel, and of queries by cycle and candidates.
static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Leaves the queue empty if there is only one candidate; otherwise picks the last one.
#[derive(State, Statistics)]
struct LastOfSeveral;

impl PolicyKind for LastOfSeveral {
    type Role = KernelOrder;
    const NAME: &'static str = "LastOfSeveral";
    const SUMMARY: &'static str = "For tests";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, KernelOrder>,
    ) -> Result<Box<dyn OrderPolicy>, SpecError> {
        Ok(Box::new(Self))
    }
}

fn hear(what: String) {
    HEARD.lock().push(what);
}

impl OrderPolicy for LastOfSeveral {
    fn arrived(&mut self, kernel: KernelLaunch) {
        hear(format!("arrived {}", kernel.kernel));
    }

    fn queue_empty(&mut self, empty: &EmptyQueue<'_>) -> Option<u32> {
        let pool: Vec<_> = empty.pool.iter().map(|w| w.launch.kernel).collect();
        hear(format!(
            "cycle {}: queue {} for {pool:?}",
            empty.cycle, empty.queue
        ));
        (pool.len() > 1).then(|| pool[pool.len() - 1])
    }

    fn own_groups_done(&mut self, kernel: KernelLaunch) {
        hear(format!("own groups of {}", kernel.kernel));
    }

    fn family_done(&mut self, kernel: KernelLaunch) {
        hear(format!("family of {}", kernel.kernel));
    }
}

#[test]
fn a_policy_is_asked_when_something_changes_and_may_leave_a_queue_empty() {
    let mut b = bench_with(Policy::plain::<LastOfSeveral>(), 1, 2, 1);
    for kernel in 0..3 {
        b.launch_at(5 + Cycle::from(kernel), kernel, kernel);
    }
    // Kernel 0 waits in the pool until kernel 1 is at the door, which gets the queue.
    b.ready_at(9, 1);
    b.bench.step(10);
    b.done_at(30, 1);
    b.ready_at(33, 2);
    let heard = std::mem::take(&mut *HEARD.lock());
    let expected = [
        "arrived 0",
        "cycle 5: queue 0 for [0]",
        "arrived 1",
        "cycle 6: queue 0 for [0, 1]",
        "arrived 2",
        "own groups of 1",
        "family of 1",
        // First without the launch at the door, which finds the pool full.
        "cycle 30: queue 0 for [0]",
        "cycle 30: queue 0 for [0, 2]",
    ];
    assert_eq!(heard, expected);
}

/// Assigns queues to a kernel that does not exist.
#[derive(State, Statistics)]
struct Absent;

impl PolicyKind for Absent {
    type Role = KernelOrder;
    const NAME: &'static str = "Absent";
    const SUMMARY: &'static str = "For tests";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, KernelOrder>,
    ) -> Result<Box<dyn OrderPolicy>, SpecError> {
        Ok(Box::new(Self))
    }
}

impl OrderPolicy for Absent {
    fn queue_empty(&mut self, _: &EmptyQueue<'_>) -> Option<u32> {
        Some(77)
    }
}

#[test]
#[should_panic(
    expected = "the kernel order Absent gave queue 0 to kernel 77, which is not waiting for one"
)]
fn a_policy_that_chooses_a_kernel_that_does_not_wait_ends_the_run() {
    let mut b = bench_with(Policy::plain::<Absent>(), 1, 1, 1);
    b.launch_at(5, 0, 0);
    b.bench.step(10);
}
