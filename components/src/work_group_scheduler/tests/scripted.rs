//! Tests of the scheduler between scripted neighbors.

use warpweave_framework::{NoFields, Outcome, PolicyContext, Source, Stateful};

use super::*;
use crate::launch::{CacheCommand, CacheCommandDone, KernelLaunch, KernelReady};

pub(super) struct Scripted {
    pub(super) bench: TestBench,
    pub(super) ready: Source<KernelReady>,
    pub(super) done: Sink<KernelDone>,
    pub(super) completions: Vec<Source<Completion>>,
    pub(super) dispatches: Vec<Sink<Dispatch>>,
}

pub(super) fn scripted(spec: WorkGroupSchedulerSpec, kernels: &[KernelShape]) -> Scripted {
    scripted_program(spec, program(kernels, Vec::new()))
}

pub(super) fn scripted_program(spec: WorkGroupSchedulerSpec, program: Program) -> Scripted {
    let mut environment = Environment::new("dut", 0);
    environment.provide(Arc::new(program));
    let units = spec.clusters * spec.units_per_cluster;
    let mut bench = TestBench::new();
    bench.add(
        "dut",
        WorkGroupScheduler::build(spec, &environment).unwrap(),
    );
    Scripted {
        ready: bench.source("dut.gmu.ready"),
        done: bench.sink("dut.gmu.done"),
        completions: (0..units)
            .map(|u| bench.source(&format!("dut.units[{u}].completion")))
            .collect(),
        dispatches: (0..units)
            .map(|u| bench.sink(&format!("dut.units[{u}].dispatch")))
            .collect(),
        bench,
    }
}

pub(super) fn ready(kernel: u32) -> KernelReady {
    KernelLaunch::plain(kernel, 0).into()
}

pub(super) fn start(work_group: u32, slot: u16) -> Dispatch {
    Dispatch::Start {
        kernel: 0,
        work_group,
        slot,
        hint: 0,
    }
}

pub(super) fn ended(work_group: u32, slot: u16) -> Completion {
    Completion::WorkGroup {
        kernel: 0,
        work_group,
        slot,
    }
}

#[test]
fn dispatch_refill_invalidation_and_done_take_the_stated_cycles() {
    let spec = WorkGroupSchedulerSpec {
        clusters: 1,
        ..spec::<GlobalRoundRobin>()
    };
    let mut s = scripted(spec, &[(5, 1, 0, 0)]);
    s.ready.send_at(5, ready(0));
    s.bench.expect_at(&s.dispatches[0], 5, &start(0, 0));
    s.bench.expect_at(&s.dispatches[1], 5, &start(1, 0));
    s.bench.expect_at(&s.dispatches[0], 6, &start(2, 1));
    s.bench.expect_at(&s.dispatches[1], 6, &start(3, 1));
    s.completions[1].send_at(20, ended(1, 0));
    s.bench.expect_at(&s.dispatches[1], 20, &start(4, 0));
    s.completions[0].send_at(30, ended(2, 1));
    s.completions[0].send_at(31, ended(0, 0));
    s.completions[1].send_at(32, ended(4, 0));
    s.completions[1].send_at(40, ended(3, 1));
    for unit in 0..2 {
        s.bench.expect_at(
            &s.dispatches[unit],
            40,
            &Dispatch::Invalidate { kernel: 0, ran: 35 },
        );
    }
    s.completions[0].send_at(50, Completion::Invalidated { kernel: 0 });
    s.completions[1].send_at(60, Completion::Invalidated { kernel: 0 });
    s.bench.expect_at(&s.done, 60, &KernelDone { kernel: 0 });
    let statistics = s.bench.statistics("dut");
    assert_eq!(statistics.counter("cycles_dispatching"), Some(3));
    // Full from cycle 7 to 19; the kernel has no undispatched work-group after cycle 20.
    assert_eq!(statistics.counter("stalled_on_work_group_slots"), Some(13));
    assert_eq!(statistics.counter("invalidates_sent"), Some(2));
}

#[test]
fn without_invalidation_the_kernel_is_done_with_its_last_work_group() {
    let spec = WorkGroupSchedulerSpec {
        invalidate_at: InvalidateAt::Never,
        ..spec::<TwoLevelRoundRobin>()
    };
    let mut s = scripted(spec, &[(1, 1, 0, 0)]);
    s.ready.send_at(3, ready(0));
    s.bench.expect_at(&s.dispatches[0], 3, &start(0, 0));
    s.completions[0].send_at(9, ended(0, 0));
    s.bench.expect_at(&s.done, 9, &KernelDone { kernel: 0 });
}

/// Slices receive the command when the last unit has replied, for one kernel at a time. The kernel
/// is done with the last slice.
#[test]
fn the_second_level_drops_its_lines_after_the_first_and_before_the_kernel_is_done() {
    for first_level in [InvalidateAt::KernelEnd, InvalidateAt::Never] {
        let spec = WorkGroupSchedulerSpec {
            clusters: 1,
            units_per_cluster: 1,
            invalidate_at: first_level,
            second_level: Some(SecondLevelSpec {
                slices: 2,
                invalidate_at: InvalidateAt::KernelEnd,
            }),
            ..spec::<GlobalRoundRobin>()
        };
        let mut s = scripted(spec, &[(1, 1, 0, 0), (1, 1, 0, 0)]);
        let commands: Vec<Sink<CacheCommand>> = (0..2)
            .map(|slice| s.bench.sink(&format!("dut.caches[{slice}].command")))
            .collect();
        let dropped: Vec<Source<CacheCommandDone>> = (0..2)
            .map(|slice| s.bench.source(&format!("dut.caches[{slice}].done")))
            .collect();
        s.ready.send_at(3, ready(0));
        s.ready.send_at(3, ready(1));
        let mut told = 20;
        for kernel in 0..2 {
            let (work_group, slot) = (0, kernel as u16);
            let ended = Completion::WorkGroup {
                kernel,
                work_group,
                slot,
            };
            s.completions[0].send_at(20 + Cycle::from(kernel), ended);
            if first_level == InvalidateAt::KernelEnd {
                told = 30;
                let answer = Completion::Invalidated { kernel };
                s.completions[0].send_at(30 + Cycle::from(kernel), answer);
            }
        }
        // The second kernel's turn comes in the cycle in which the first is done.
        for (kernel, told, done) in [(0, told, 50), (1, 50, 70)] {
            for command in &commands {
                s.bench.expect_at(command, told, &CacheCommand::Invalidate);
            }
            dropped[1].send_at(done - 5, CacheCommandDone);
            dropped[0].send_at(done, CacheCommandDone);
            s.bench.expect_at(&s.done, done, &KernelDone { kernel });
        }
    }
}

/// A child does not invalidate its parent's lines, in either order of ending.
#[test]
fn lines_stay_until_the_family_ends_if_so_described() {
    let spec = || WorkGroupSchedulerSpec {
        clusters: 1,
        units_per_cluster: 1,
        invalidate_at: InvalidateAt::FamilyEnd,
        ..spec::<GlobalRoundRobin>()
    };
    let of = |kernel, slot| Completion::WorkGroup {
        kernel,
        work_group: 0,
        slot,
    };
    for (first, last) in [(0, 1), (1, 0)] {
        let program = family(&[None, Some((0, 0, 0, 0))]);
        let mut s = scripted_program(spec(), program);
        s.ready.send_at(3, ready(0));
        s.ready.send_at(4, ready(1));
        s.completions[0].send_at(20, of(first, first as u16));
        s.bench
            .expect_at(&s.done, 20, &KernelDone { kernel: first });
        s.completions[0].send_at(30, of(last, last as u16));
        s.bench.step(20);
        let told = s.dispatches[0].take_all();
        let dropped =
            |(_, dispatch): &&(Cycle, Dispatch)| matches!(dispatch, Dispatch::Invalidate { .. });
        let dropped: Vec<_> = told.iter().filter(dropped).collect();
        assert!(
            matches!(dropped[..], [(30, Dispatch::Invalidate { kernel, .. })] if *kernel == last)
        );
        s.completions[0].send_at(60, Completion::Invalidated { kernel: last });
        s.bench.expect_at(&s.done, 60, &KernelDone { kernel: last });
    }
}

#[test]
fn no_more_work_groups_than_stated_are_dispatched_per_cycle() {
    let spec = WorkGroupSchedulerSpec {
        dispatches_per_cycle: 1,
        ..spec::<GlobalRoundRobin>()
    };
    let mut s = scripted(spec, &[(4, 1, 0, 0)]);
    s.ready.send_at(5, ready(0));
    for unit in 0..4_u32 {
        let sink = s.dispatches[unit as usize].clone();
        s.bench
            .expect_at(&sink, 5 + Cycle::from(unit), &start(unit, 0));
    }
}

#[test]
fn the_next_kernel_starts_when_the_oldest_has_nothing_left_to_dispatch() {
    let mut s = scripted(spec::<GlobalRoundRobin>(), &[(6, 1, 0, 0), (2, 1, 0, 0)]);
    s.ready.send_at(5, ready(0));
    s.ready.send_at(6, ready(1));
    s.bench.step(10);
    let second = |work_group| Dispatch::Start {
        kernel: 1,
        work_group,
        slot: 1,
        hint: 0,
    };
    assert_eq!(
        s.dispatches[0].take_all(),
        [(5, start(0, 0)), (6, start(4, 1))]
    );
    assert_eq!(
        s.dispatches[1].take_all(),
        [(5, start(1, 0)), (6, start(5, 1))]
    );
    assert_eq!(
        s.dispatches[2].take_all(),
        [(5, start(2, 0)), (6, second(0))]
    );
    assert_eq!(
        s.dispatches[3].take_all(),
        [(5, start(3, 0)), (6, second(1))]
    );
}

#[test]
#[should_panic(
    expected = "work-group of kernel 0 (`nothing`) does not fit in a compute unit: it needs 49 wavefronts"
)]
fn a_work_group_that_never_fits_ends_the_run_with_the_numbers() {
    let mut s = scripted(spec::<GlobalRoundRobin>(), &[(1, 49, 0, 0)]);
    s.ready.send_at(5, ready(0));
    s.bench.step(10);
}

#[test]
#[should_panic(expected = "holds only one of kernel `nothing`, limited by WavefrontSlots")]
fn a_pair_that_never_fits_ends_the_run() {
    let mut s = scripted(spec::<DistributedBlock>(), &[(2, 30, 0, 0)]);
    s.ready.send_at(5, ready(0));
    s.bench.step(10);
}

#[test]
#[should_panic(expected = "which matches no request")]
fn a_completion_nobody_asked_for_ends_the_run() {
    let mut s = scripted(spec::<GlobalRoundRobin>(), &[(1, 1, 0, 0)]);
    s.completions[2].send_at(5, ended(0, 0));
    s.bench.step(10);
}

#[test]
fn a_machine_without_units_is_refused() {
    let mut environment = Environment::new("dut", 0);
    environment.provide(Arc::new(program(&[], Vec::new())));
    let none = WorkGroupSchedulerSpec {
        clusters: 0,
        ..spec::<GlobalRoundRobin>()
    };
    let error = WorkGroupScheduler::build(none, &environment).err().unwrap();
    assert_eq!(error.field, "clusters");
}

/// Chooses the same placement repeatedly, to provoke errors.
#[derive(Statistics)]
struct Always(Placement);

impl Stateful for Always {}

/// Placement that the policy makes; see `PLACEMENTS`.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct AlwaysSpec {
    kernel: u32,
    work_group: u32,
    unit: u32,
}

impl PolicyKind for Always {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Always";
    const SUMMARY: &'static str = "For tests";
    type Spec = AlwaysSpec;

    fn build(
        spec: AlwaysSpec,
        _: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(Box::new(Self(Placement {
            kernel: spec.kernel,
            work_group: spec.work_group,
            unit: spec.unit,
        })))
    }
}

impl PlacementPolicy for Always {
    fn arrived(&mut self, _: Kernel<'_>, _: &Machine) {}

    fn choose(
        &mut self,
        _: &Machine,
        _: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        PlacementChoice::Place(self.0)
    }

    fn placed(&mut self, _: Placement, _: &Machine) {}
}

#[test]
fn a_placement_that_cannot_be_made_ends_the_run_with_the_name_of_the_policy() {
    let shapes = [(2, 1, 0, 0), (1, 30, 0, 0)];
    for ((kernel, work_group, unit), problem) in [
        ((0, 0, 0), "it was already placed"),
        ((0, 2, 0), "it has 2 work-groups"),
        ((0, 0, 4), "there are 4 units"),
        ((2, 0, 0), "kernel 2 is not ready"),
        ((7, 0, 0), "kernel 7 is not ready"),
    ] {
        let policy = Policy::of::<Always>(&AlwaysSpec {
            kernel,
            work_group,
            unit,
        });
        let mut s = scripted(spec_of(policy), &shapes);
        s.ready.send_at(5, ready(0));
        let Outcome::Failed(message) = s.bench.run_for(20) else {
            panic!("{problem}");
        };
        let expected = format!(
            "the placement Always put work-group {work_group} of kernel {kernel} on unit {unit}: \
             {problem}"
        );
        assert!(message.contains(&expected), "{message}");
    }
}

/// Places every work-group on unit 0.
#[derive(Statistics)]
struct Everything(u32);

impl Stateful for Everything {}

impl PolicyKind for Everything {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Everything";
    const SUMMARY: &'static str = "For tests";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Self(0)))
    }
}

impl OneKernelPolicy for Everything {
    fn begin(&mut self, _: Kernel<'_>) {}

    fn update(&mut self, _: u32, _: u32, _: u32) {}

    fn choose(&mut self, _: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        PlacementChoice::Place(Assignment {
            work_group: self.0,
            unit: 0,
        })
    }

    fn placed(&mut self, _: Assignment) {
        self.0 += 1;
    }
}

/// A unit that was sent a message in this cycle is sent no more, regardless of the policy.
#[test]
#[should_panic(
    expected = "the placement Everything put work-group 2 of kernel 0 on unit 0: the unit has no room"
)]
fn a_unit_is_given_no_more_than_it_holds() {
    let mut s = scripted(spec::<Everything>(), &[(5, 1, 0, 0)]);
    s.ready.send_at(5, ready(0));
    s.bench.expect_at(&s.dispatches[0], 5, &start(0, 0));
    s.bench.expect_at(&s.dispatches[0], 6, &start(1, 1));
    s.bench.step(5);
}
