//! Kernels launched from the device: queues, streams and completions of families.

use std::sync::Arc;

use warpweave_trace::Parent;

use super::*;
use crate::work_group_scheduler::tests::family;

struct Both {
    inner: Bench,
    device: Source<KernelLaunch>,
}

/// Creates a unit with `hardware_queues` queues. The kernels have these launchers: kernel, record,
/// lane and stream.
fn both(
    hardware_queues: u32,
    pending_kernels: u32,
    launched_by: &[Option<(u32, u32, u8, u32)>],
) -> Both {
    let spec = GmuSpec {
        hardware_queues,
        queue_depth: 4,
        pending_kernels,
        dispatch_latency_cycles: 3,
        work_group_latency_cycles: 0,
        order: Policy::plain::<Fcfs>(),
    };
    let mut environment = Environment::new("gmu", 0);
    environment.provide(Arc::new(family(launched_by)));
    let mut bench = TestBench::new();
    bench.add("gmu", Gmu::build(spec, &environment).unwrap());
    let device = bench.source("gmu.device");
    Both {
        inner: Bench {
            launch: bench.source("gmu.host.launch"),
            host_done: bench.sink("gmu.host.done"),
            ready: bench.sink("gmu.scheduler.ready"),
            done: bench.source("gmu.scheduler.done"),
            bench,
        },
        device,
    }
}

impl Both {
    fn child_at(&self, cycle: Cycle, kernel: u32, stream: u32) {
        self.device
            .send_at(cycle, KernelLaunch::plain(kernel, stream));
    }

    fn host_hears_at(&mut self, cycle: Cycle, kernel: u32) {
        let done = self.inner.host_done.clone();
        self.inner
            .bench
            .expect_at(&done, cycle, &KernelDone { kernel });
    }
}

#[test]
fn the_next_kernel_of_a_stream_waits_for_all_descendants_while_the_queue_is_free() {
    // One queue: kernel 0 launches 1, which launches 2; kernel 3 follows 0 in the host's stream.
    let by = [None, Some((0, 0, 0, 50)), Some((1, 0, 0, 51)), None];
    let mut b = both(1, 8, &by);
    b.inner.launch_at(5, 0, 7);
    b.inner.launch_at(6, 3, 7);
    b.inner.ready_at(8, 0);
    b.child_at(12, 1, 50);
    b.inner.done_at(20, 0);
    // The queue goes to the child at once.
    b.inner.ready_at(23, 1);
    b.child_at(24, 2, 51);
    b.inner.done_at(30, 1);
    b.inner.ready_at(33, 2);
    b.inner.done_at(40, 2);
    // Families complete from the innermost to the outermost; then the stream proceeds.
    b.host_hears_at(40, 2);
    b.host_hears_at(41, 1);
    b.host_hears_at(42, 0);
    b.inner.ready_at(43, 3);
    b.inner.done_at(50, 3);
    b.host_hears_at(50, 3);
    let statistics = b.inner.bench.statistics("gmu");
    assert_eq!(statistics.counter("kernels_completed"), Some(4));
}

#[test]
fn a_parent_that_ends_after_its_children_is_complete_at_once() {
    let by = [None, Some((0, 0, 0, 50)), Some((0, 0, 1, 51))];
    let mut b = both(4, 8, &by);
    b.inner.launch_at(5, 0, 0);
    b.inner.ready_at(8, 0);
    b.child_at(12, 1, 50);
    b.child_at(12, 2, 51);
    b.inner.ready_at(15, 1);
    b.inner.done_at(20, 1);
    b.host_hears_at(20, 1);
    b.inner.done_at(25, 2);
    b.host_hears_at(25, 2);
    b.inner.done_at(30, 0);
    b.host_hears_at(30, 0);
}

#[test]
fn a_thirty_third_stream_waits_for_a_queue() {
    let by: Vec<_> = [None]
        .into_iter()
        .chain((0..33).map(|n| Some((0, n / 32, (n % 32) as u8, 50 + n))))
        .collect();
    let mut b = both(32, 64, &by);
    b.inner.launch_at(5, 0, 0);
    for kernel in 1..=33 {
        b.child_at(10, kernel, 49 + kernel);
    }
    b.inner.bench.step(60);
    let ready = std::iter::from_fn(|| b.inner.ready.take()).count();
    // The parent and 31 children.
    assert_eq!(ready, 32);
    b.inner.done_at(100, 5);
    b.inner.bench.step(60);
    let next = b
        .inner
        .ready
        .take()
        .map(|(cycle, ready)| (cycle, ready.kernel));
    assert_eq!(next, Some((103, 32)));
}

#[test]
fn a_launch_that_finds_the_pool_full_waits_and_says_so() {
    let by: Vec<_> = [None]
        .into_iter()
        .chain((0..3).map(|n| Some((0, 0, n as u8, 50 + n))))
        .collect();
    let mut b = both(1, 2, &by);
    b.inner.launch_at(5, 0, 0);
    for kernel in 1..=3 {
        b.child_at(10, kernel, 49 + kernel);
    }
    b.inner.bench.step(40);
    let statistics = b.inner.bench.statistics("gmu");
    assert_eq!(statistics.counter("kernels_accepted"), Some(3));
    assert!(statistics.counter("device_launch_stall_cycles").unwrap() > 20);
}

#[test]
fn a_tail_launch_waits_for_its_parent_and_all_that_it_launched() {
    // Kernel 0 launches 1, which launches 2, and 3 and 4 into its tail-launch stream. Kernel 5
    // follows in the host's stream. The pool has room for one kernel.
    let tail = Parent::tail_stream(0);
    let by = [
        None,
        Some((0, 0, 0, 50)),
        Some((1, 0, 0, 51)),
        Some((0, 0, 1, tail)),
        Some((0, 1, 0, tail)),
        None,
    ];
    let mut b = both(4, 1, &by);
    b.inner.launch_at(5, 0, 7);
    b.inner.launch_at(6, 5, 7);
    b.inner.ready_at(8, 0);
    // The later one arrives first, and before the work that both wait for.
    b.child_at(12, 4, tail);
    b.child_at(13, 3, tail);
    b.child_at(14, 1, 50);
    b.inner.ready_at(17, 1);
    b.child_at(21, 2, 51);
    b.inner.ready_at(24, 2);
    b.inner.done_at(30, 0);
    b.inner.done_at(35, 1);
    b.inner.done_at(40, 2);
    b.host_hears_at(40, 2);
    b.host_hears_at(41, 1);
    b.inner.ready_at(43, 3);
    b.inner.done_at(50, 3);
    b.host_hears_at(50, 3);
    b.inner.ready_at(53, 4);
    b.inner.done_at(60, 4);
    b.host_hears_at(60, 4);
    b.host_hears_at(61, 0);
    b.inner.ready_at(63, 5);
}

#[test]
fn a_tail_launch_that_arrives_when_all_is_done_runs_at_once() {
    let tail = Parent::tail_stream(0);
    let by = [None, Some((0, 0, 0, tail)), Some((0, 0, 1, tail))];
    let mut b = both(1, 8, &by);
    b.inner.launch_at(5, 0, 0);
    b.inner.ready_at(8, 0);
    b.child_at(12, 2, tail);
    b.inner.done_at(20, 0);
    // The second of the stream still waits for the first.
    b.child_at(30, 1, tail);
    b.inner.ready_at(33, 1);
    b.inner.done_at(40, 1);
    b.host_hears_at(40, 1);
    b.inner.ready_at(43, 2);
    b.inner.done_at(50, 2);
    b.host_hears_at(50, 2);
    b.host_hears_at(51, 0);
}

#[test]
fn the_tail_of_a_tail_comes_before_the_next_of_the_stream() {
    // 0 tail-launches 1 and 3; 1 tail-launches 2.
    let tail = Parent::tail_stream;
    let by = [
        None,
        Some((0, 0, 0, tail(0))),
        Some((1, 0, 0, tail(1))),
        Some((0, 1, 0, tail(0))),
    ];
    let mut b = both(4, 8, &by);
    b.inner.launch_at(5, 0, 0);
    b.inner.ready_at(8, 0);
    b.child_at(10, 1, tail(0));
    b.child_at(10, 3, tail(0));
    b.inner.done_at(20, 0);
    b.inner.ready_at(23, 1);
    b.child_at(24, 2, tail(1));
    b.inner.done_at(30, 1);
    b.inner.ready_at(33, 2);
    b.inner.done_at(40, 2);
    b.host_hears_at(40, 2);
    b.host_hears_at(41, 1);
    b.inner.ready_at(43, 3);
}
