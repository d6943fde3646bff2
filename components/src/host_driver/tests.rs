//! Tests of command processing by the host, and of rejected programs.

use warpweave_framework::{Outcome, Sink, Source, TestBench, Tick};

use super::*;
use crate::kernel_times::KernelTime;
use crate::launch::KernelDone;
use crate::work_group_scheduler::tests::{engines, program};

const SPEC: HostDriverSpec = HostDriverSpec {
    copy_latency_cycles: 10,
    copy_bytes_per_cycle: 64,
    launch_latency_cycles: 4,
    flush_caches: false,
};

struct Bench {
    bench: TestBench,
    times: Arc<KernelTimes>,
    launch: Sink<KernelLaunch>,
    done: Source<KernelDone>,
}

fn bench(commands: Vec<HostCommand>) -> Bench {
    let times = Arc::new(KernelTimes::default());
    let mut environment = Environment::new("host", 0);
    environment.provide(Arc::new(program(&[(1, 1, 0, 0); 4], commands)));
    environment.provide(times.clone());
    let mut bench = TestBench::new();
    bench.add("host", HostDriver::build(SPEC, &environment).unwrap());
    Bench {
        times,
        launch: bench.sink("host.gmu.launch"),
        done: bench.source("host.gmu.done"),
        bench,
    }
}

impl Bench {
    fn launched_at(&mut self, cycle: Cycle, kernel: u32, stream: u32) {
        let sink = self.launch.clone();
        let launch = KernelLaunch::plain(kernel, stream);
        self.bench.expect_at(&sink, cycle, &launch);
    }

    fn done_at(&self, cycle: Cycle, kernel: u32) {
        self.done.send_at(cycle, KernelDone { kernel });
    }
}

fn to_device(bytes: u64) -> HostCommand {
    HostCommand::CopyToDevice {
        allocation: 0,
        offset: 0,
        bytes,
    }
}

fn to_host(bytes: u64) -> HostCommand {
    HostCommand::CopyToHost {
        allocation: 0,
        offset: 0,
        bytes,
    }
}

fn launch(kernel: u32, stream: u32) -> HostCommand {
    HostCommand::Launch { kernel, stream }
}

#[test]
fn copies_launches_and_waits_take_the_stated_cycles() {
    let mut b = bench(vec![
        to_device(65),
        launch(0, 0),
        launch(1, 5),
        HostCommand::Synchronize,
        launch(2, 0),
        to_host(64),
    ]);
    // 10 cycles and two of transfer, then launches every 4.
    b.launched_at(12 + 4, 0, 0);
    b.launched_at(12 + 8, 1, 5);
    b.done_at(30, 1);
    b.done_at(50, 0);
    b.launched_at(50 + 4, 2, 0);
    b.done_at(70, 2);
    assert_eq!(b.bench.run_until_quiet(), Outcome::Done);
    assert_eq!(b.bench.cycle(), 70 + 10 + 1);
    let time = |launched, completed| KernelTime {
        launched: Some(Tick(launched)),
        started: None,
        completed: Some(Tick(completed)),
    };
    assert_eq!(
        [0, 1, 2, 3].map(|kernel| b.times.of(kernel)),
        [
            time(16, 50),
            time(20, 30),
            time(54, 70),
            KernelTime::default()
        ]
    );
    let statistics = b.bench.statistics("host");
    let counter = |name| statistics.counter(name).unwrap();
    assert_eq!(counter("commands_completed"), 6);
    assert_eq!(counter("first_launch_cycle"), 16);
    assert_eq!(counter("last_completion_cycle"), 70);
    assert_eq!(counter("copied_to_device"), 65);
    assert_eq!(counter("copied_to_host"), 64);
    assert_eq!(counter("copy_cycles"), 12 + 11);
    assert_eq!(counter("launch_cycles"), 3 * 4);
    assert_eq!(counter("wait_cycles"), (50 - 20) + (70 - 54));
}

#[test]
fn a_run_ends_with_its_last_kernel_without_a_final_wait() {
    let mut b = bench(vec![launch(0, 0)]);
    b.done_at(33, 0);
    assert_eq!(b.bench.run_until_quiet(), Outcome::Done);
    assert_eq!(b.bench.cycle(), 33);
}

#[test]
fn an_empty_program_ends_in_cycle_zero() {
    let mut b = bench(Vec::new());
    assert_eq!(b.bench.run_until_quiet(), Outcome::Done);
    assert_eq!(b.bench.cycle(), 0);
}

#[test]
fn a_kernel_that_never_completes_is_a_deadlock_that_names_it() {
    let mut b = bench(vec![launch(3, 0), HostCommand::Synchronize]);
    let outcome = b.bench.run_until_quiet();
    let Outcome::Deadlock(report) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(report.to_string().contains("kernels 3 have not completed"));
}

#[test]
fn a_launch_without_room_waits_and_counts_the_cycles() {
    let results = engines().map(|options| {
        let mut b = bench((0..4).map(|kernel| launch(kernel, 0)).collect());
        b.bench.set_options(options);
        b.launch.stall_until(40);
        b.bench.step(60);
        let launched = b.launch.take_all();
        for kernel in 0..4 {
            b.done_at(80, kernel);
        }
        assert_eq!(b.bench.run_until_quiet(), Outcome::Done);
        let times = [0, 1, 2, 3].map(|kernel| b.times.of(kernel));
        (launched, times, b.bench.statistics("host"))
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
    // The wire holds two; the third is ready in cycle 12, and its slot free in cycle 41.
    let launches: Vec<_> = results[0].1.iter().map(|t| t.launched).collect();
    assert_eq!(launches, [4, 8, 41, 45].map(|cycle| Some(Tick(cycle))));
    assert_eq!(results[0].2.counter("launch_blocked_cycles"), Some(41 - 12));
}

#[test]
#[should_panic(expected = "completion of kernel 2, which is not in flight")]
fn completion_of_a_kernel_not_launched_ends_the_run() {
    let mut b = bench(vec![launch(0, 0)]);
    b.done_at(20, 2);
    b.bench.step(30);
}

fn refused(spec: HostDriverSpec, commands: Vec<HostCommand>) -> SpecError {
    let mut environment = Environment::new("host", 0);
    environment.provide(Arc::new(program(&[(1, 1, 0, 0)], commands)));
    HostDriver::build(spec, &environment).err().unwrap()
}

#[test]
fn what_cannot_run_is_refused_with_the_reason() {
    let no_rate = HostDriverSpec {
        copy_bytes_per_cycle: 0,
        ..SPEC
    };
    assert_eq!(refused(no_rate, Vec::new()).field, "copy_bytes_per_cycle");
    let twice = refused(SPEC, vec![launch(0, 0), launch(0, 1)]);
    assert!(twice.message.contains("kernel 0 in commands 0 and 1"));
    let unknown = refused(SPEC, vec![launch(7, 0)]);
    assert!(unknown.message.contains("launches kernel 7"));
    let none = HostDriver::build(SPEC, &Environment::new("host", 0));
    assert!(none.err().unwrap().message.contains("needs a program"));
}

#[test]
fn a_launch_that_finds_empty_caches_waits_for_the_earlier_ones_and_for_the_flush() {
    let plan = Arc::new(LaunchPlan::new(Vec::new()));
    let mut environment = Environment::new("host", 0);
    let commands = vec![launch(0, 0), launch(1, 1)];
    environment.provide(Arc::new(program(&[(1, 1, 0, 0); 2], commands)));
    environment.provide(Arc::clone(&plan));
    let spec = HostDriverSpec {
        flush_caches: true,
        ..SPEC
    };
    let mut bench = TestBench::new();
    bench.add(
        "host",
        HostDriver::build(spec.clone(), &environment).unwrap(),
    );
    assert!(plan.flushes());
    let sink = bench.sink::<KernelLaunch>("host.gmu.launch");
    let done = bench.source::<KernelDone>("host.gmu.done");
    plan.set_stop_delay(2);
    // The host asks in cycle 0 and resumes in cycle 2.
    bench.step(1);
    assert!(plan.wants_flush() && plan.due().is_some());
    plan.fulfilled();
    bench.expect_at(&sink, 6, &KernelLaunch::plain(0, 0));
    bench.step(40);
    assert_eq!(plan.due(), None, "kernel 0 is in flight");
    let now = bench.cycle();
    done.send_at(now + 4, KernelDone { kernel: 0 });
    bench.step(5);
    assert!(plan.wants_flush());
    plan.fulfilled();
    bench.expect_at(&sink, now + 10, &KernelLaunch::plain(1, 1));
    // Without a plan no runner would do it.
    assert_eq!(refused(spec, vec![launch(0, 0)]).field, "flush_caches");
}
