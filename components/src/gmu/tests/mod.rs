//! The unit cycle by cycle; beside a naive model of its queues in [`naive`].

mod naive;

use warpweave_framework::{Sink, Source, TestBench};

use super::*;

struct Bench {
    bench: TestBench,
    launch: Source<KernelLaunch>,
    host_done: Sink<KernelDone>,
    ready: Sink<KernelReady>,
    done: Source<KernelDone>,
}

fn bench(hardware_queues: u32, queue_depth: u32, pending_kernels: u32) -> Bench {
    let spec = GmuSpec {
        hardware_queues,
        queue_depth,
        pending_kernels,
        dispatch_latency_cycles: 3,
    };
    let mut bench = TestBench::new();
    let gmu = Gmu::build(spec, &Environment::new("gmu", 0)).unwrap();
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
        self.launch.send_at(cycle, KernelLaunch { kernel, stream });
    }

    fn done_at(&self, cycle: Cycle, kernel: u32) {
        self.done.send_at(cycle, KernelDone { kernel });
    }

    fn ready_at(&mut self, cycle: Cycle, kernel: u32) {
        let ready = self.ready.clone();
        self.bench.expect_at(&ready, cycle, &KernelReady { kernel });
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
    };
    let error = Gmu::build(spec, &Environment::new("gmu", 0)).err().unwrap();
    assert_eq!(error.field, "hardware_queues");
}
