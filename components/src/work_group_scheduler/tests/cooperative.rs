//! Tests of cooperative launches: all work-groups of a kernel are resident at once.

use warpweave_framework::Outcome;
use warpweave_trace::Attribute;

use super::scripted::{Scripted, ready, scripted_program};
use super::*;

/// Creates two units with two contexts each, and kernels of these numbers of work-groups; true
/// marks a cooperative launch.
fn machine(kernels: &[(u32, bool)]) -> Scripted {
    let shapes: Vec<_> = kernels
        .iter()
        .map(|&(groups, _)| (groups, 1, 0, 0))
        .collect();
    let mut program = program(&shapes, Vec::new());
    for (kernel, (_, is_cooperative)) in program.kernels.iter_mut().zip(kernels) {
        let kernel = Arc::get_mut(kernel).expect("not shared yet");
        let attribute = is_cooperative.then(|| Attribute::new(Attribute::COOPERATIVE, 1));
        kernel.attributes.extend(attribute);
    }
    let spec = WorkGroupSchedulerSpec {
        clusters: 1,
        invalidate_at: InvalidateAt::Never,
        ..spec::<GlobalRoundRobin>()
    };
    scripted_program(spec, program)
}

fn start(kernel: u32, work_group: u32, slot: u16) -> Dispatch {
    Dispatch::Start {
        kernel,
        work_group,
        slot,
        hint: 0,
    }
}

fn ended(kernel: u32, work_group: u32, slot: u16) -> Completion {
    Completion::WorkGroup {
        kernel,
        work_group,
        slot,
    }
}

#[test]
fn a_cooperative_kernel_begins_when_all_its_work_groups_fit_at_once() {
    let mut s = machine(&[(2, false), (4, true), (1, false)]);
    for (cycle, kernel) in [(5, 0), (6, 1), (7, 2)] {
        s.ready.send_at(cycle, ready(kernel));
    }
    s.bench.expect_at(&s.dispatches[0], 5, &start(0, 0, 0));
    s.bench.expect_at(&s.dispatches[1], 5, &start(0, 1, 0));
    // Two contexts are free, but four are needed.
    s.completions[0].send_at(20, ended(0, 0, 0));
    s.completions[1].send_at(25, ended(0, 1, 0));
    s.bench.expect_at(&s.dispatches[0], 25, &start(1, 0, 0));
    s.bench.expect_at(&s.dispatches[1], 25, &start(1, 1, 0));
    s.bench.expect_at(&s.dispatches[0], 26, &start(1, 2, 1));
    s.bench.expect_at(&s.dispatches[1], 26, &start(1, 3, 1));
    s.completions[1].send_at(40, ended(1, 1, 0));
    s.bench.expect_at(&s.dispatches[1], 40, &start(2, 0, 0));
}

#[test]
fn a_cooperative_kernel_that_never_fits_is_refused_with_the_numbers() {
    let mut s = machine(&[(5, true)]);
    s.ready.send_at(5, ready(0));
    let Outcome::Failed(message) = s.bench.run_for(100) else {
        panic!("it must be refused")
    };
    assert!(
        message.contains("(`nothing`) is a cooperative launch of 5 work-groups, which must all be resident at once; 2 compute units hold 2 each, 4 in all"),
        "{message}"
    );
}
