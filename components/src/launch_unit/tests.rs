//! Cycle-by-cycle tests of the launch unit.

use std::sync::Arc;

use warpweave_framework::{Sink, Source, TestBench};

use super::*;
use crate::launch::Predictions;
use crate::reuse_monitor::Prediction;
use crate::work_group_scheduler::tests::family;

const LASER: LaunchUnitSpec = LaunchUnitSpec {
    units: 2,
    base_cycles: 20210,
    cycles_per_kernel: 1721,
    arrival: LaunchArrival::InTurn,
    kernels_in_flight: 64,
};

struct Bench {
    bench: TestBench,
    units: [Source<DeviceLaunch>; 2],
    gmu: Sink<KernelLaunch>,
}

/// Creates a bench in which kernel 0 launches `width` kernels with each of two records.
fn bench(spec: LaunchUnitSpec, width: u32) -> Bench {
    let children = (0..2 * width).map(|n| Some((0, n / width, (n % width) as u8, 100 + n)));
    let kernels: Vec<_> = [None].into_iter().chain(children).collect();
    let mut environment = Environment::new("launcher", 0);
    environment.provide(Arc::new(family(&kernels)));
    let mut bench = TestBench::new();
    bench.add("launcher", LaunchUnit::build(spec, &environment).unwrap());
    Bench {
        units: [
            bench.source("launcher.units[0]"),
            bench.source("launcher.units[1]"),
        ],
        gmu: bench.sink("launcher.gmu"),
        bench,
    }
}

impl Bench {
    fn record_at(&self, unit: usize, cycle: Cycle, record: u32) {
        let launch = DeviceLaunch {
            kernel: 0,
            work_group: 0,
            wavefront: 0,
            record,
            predictions: Predictions::default(),
        };
        self.units[unit].send_at(cycle, launch);
    }

    fn kernel_at(&mut self, cycle: Cycle, kernel: u32) {
        let (at, launch) = self.bench.receive(&self.gmu);
        assert_eq!(
            (at, launch.kernel, launch.stream),
            (cycle, kernel, 99 + kernel)
        );
    }
}

#[test]
fn the_last_kernel_of_a_record_arrives_after_a_x_plus_b_cycles() {
    // LASER, section 2.
    for (width, last) in [
        (1, 21931),
        (2, 23652),
        (4, 27094),
        (8, 33978),
        (16, 47746),
        (32, 75282),
    ] {
        let mut b = bench(LASER, width);
        b.record_at(0, 5, 0);
        for lane in 1..=width {
            b.kernel_at(5 + 20210 + 1721 * Cycle::from(lane), lane);
        }
        assert_eq!(5 + 20210 + 1721 * Cycle::from(width), 5 + last);
    }
}

#[test]
fn kernels_that_arrive_together_leave_one_per_cycle_when_the_last_one_is_due() {
    let spec = LaunchUnitSpec {
        base_cycles: 10,
        cycles_per_kernel: 3,
        arrival: LaunchArrival::Together,
        ..LASER
    };
    let mut b = bench(spec, 3);
    b.record_at(0, 5, 0);
    for (cycle, kernel) in [(24, 1), (25, 2), (26, 3)] {
        b.kernel_at(cycle, kernel);
    }
    let statistics = b.bench.statistics("launcher");
    assert_eq!(statistics.counter("kernels_sent"), Some(3));
    assert_eq!(statistics.counter("kernels_in_flight_max"), Some(3));
}

#[test]
fn records_of_several_units_are_under_way_side_by_side() {
    let spec = LaunchUnitSpec {
        base_cycles: 10,
        cycles_per_kernel: 4,
        ..LASER
    };
    let mut b = bench(spec, 2);
    b.record_at(1, 5, 0);
    b.record_at(0, 7, 1);
    for (cycle, kernel) in [(19, 1), (21, 3), (23, 2), (25, 4)] {
        b.kernel_at(cycle, kernel);
    }
}

#[test]
fn a_record_waits_while_as_many_kernels_as_there_may_be_are_under_way() {
    let spec = LaunchUnitSpec {
        base_cycles: 10,
        cycles_per_kernel: 1,
        kernels_in_flight: 32,
        ..LASER
    };
    let mut b = bench(spec, 32);
    b.record_at(0, 5, 0);
    b.record_at(1, 5, 1);
    b.kernel_at(16, 1);
    // A kernel has left in cycle 16, so the other record is accepted in cycle 17 and its first
    // kernel is due in 28.
    for cycle in 17..=27 {
        b.kernel_at(cycle, cycle as u32 - 15);
    }
    b.kernel_at(28, 13);
    b.kernel_at(29, 33);
}

/// LSR-M12: a kernel has high priority if it is predicted to share lines with its parent or
/// siblings.
#[test]
fn launches_carry_what_their_unit_predicts() {
    let spec = LaunchUnitSpec {
        base_cycles: 10,
        cycles_per_kernel: 1,
        ..LASER
    };
    let mut b = bench(spec, 4);
    let relations = [
        None,
        Some(Relation::ParentChild),
        Some(Relation::Sibling),
        Some(Relation::Own),
    ];
    let mut predictions = Predictions::default();
    for (kernel, relation) in (0..).zip(relations) {
        let prediction = Prediction {
            relation,
            is_high_priority: false,
            is_bound: kernel == 1,
        };
        predictions.set(kernel, prediction);
    }
    let launch = DeviceLaunch {
        kernel: 0,
        work_group: 0,
        wavefront: 0,
        record: 0,
        predictions,
    };
    b.units[1].send_at(5, launch);
    for (relation, priority) in relations.into_iter().zip([0, 1, 1, 0]) {
        let (_, launch) = b.bench.receive(&b.gmu);
        let unit = Some(1);
        let hint = LaunchHint::from_word(launch.hint);
        let is_bound = relation == Some(Relation::ParentChild);
        let expected = LaunchHint {
            unit,
            relation,
            is_bound,
        };
        assert_eq!(hint, expected);
        assert_eq!(launch.priority, priority);
    }
}
