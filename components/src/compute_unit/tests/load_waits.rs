//! The meter of waits for loads, in cases whose cycles are known.

use super::*;

fn metered() -> ComputeUnitSpec {
    ComputeUnitSpec {
        load_waits: true,
        ..spec()
    }
}

fn load(register: u16, line: u64) -> Step {
    access(Class::Load, &[register], &[], Space::Global, [line; LANES])
}

fn reader(registers: &[u16]) -> Step {
    step(op(Class::IntAdd, &[9], registers))
}

/// Answers the requests of a kernel with one wavefront in these cycles. Returns the waits for its
/// instructions, if they are of a load, and the sum of all.
fn waits(spec: ComputeUnitSpec, steps: Vec<Step>, answers: &[Cycle]) -> (Vec<u64>, u64) {
    let count = steps.len();
    let mut bench = Bench::new(spec, vec![kernel(&[steps], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    let requests = answers
        .iter()
        .map(|at| (*at, bench.bench.receive(&bench.request).1));
    let mut requests: Vec<_> = requests.collect();
    requests.sort_by_key(|(at, _)| *at);
    for (at, request) in requests {
        bench.response.send_at(at, request.answer(Level::L2));
    }
    bench.bench.run_until_quiet();
    let statistics = bench.bench.statistics("cu");
    let of = |pc: usize| statistics.counter(&format!("load_wait_test_pc[{pc}]"));
    let all = statistics.counter("load_wait").unwrap();
    ((0..count).filter_map(of).collect(), all)
}

#[test]
fn a_wait_lasts_from_the_cycle_after_the_last_issue_to_the_value() {
    let steps = vec![load(1, 0), reader(&[1]), exit()];
    // The load issues in 3. Its value comes in 30 and is written in 31.
    assert_eq!(waits(metered(), steps, &[30]), (vec![31 - 4], 31 - 4));
    let busy = vec![load(1, 0), reader(&[2]), reader(&[3]), reader(&[1]), exit()];
    // All write register 9, 4 cycles apart: the second in 8, the third in 12.
    assert_eq!(waits(metered(), busy, &[30]), (vec![31 - 12], 31 - 12));
}

#[test]
fn an_instruction_that_needs_no_loaded_value_does_not_wait() {
    let steps = vec![load(1, 0), reader(&[2]), exit()];
    assert_eq!(waits(metered(), steps, &[30]), (vec![0], 0));
}

#[test]
fn of_two_loads_the_one_that_comes_last_has_the_wait() {
    let steps = || vec![load(1, 0), load(2, 128), reader(&[1, 2]), exit()];
    assert_eq!(waits(metered(), steps(), &[20, 30]), (vec![0, 10], 10));
    assert_eq!(waits(metered(), steps(), &[30, 20]), (vec![10, 0], 10));
    let apart = vec![load(1, 0), load(2, 128), reader(&[1]), reader(&[2]), exit()];
    // The first reader issues in 21, and the second could in 25, when register 9 is written.
    assert_eq!(
        waits(metered(), apart, &[20, 30]),
        (vec![21 - 5, 31 - 25], 22)
    );
}

#[test]
fn a_result_that_comes_after_the_value_leaves_no_wait() {
    let mut spec = metered();
    spec.classes.special.latency = 100;
    let steps = vec![
        load(1, 0),
        step(op(Class::Special, &[2], &[])),
        reader(&[1, 2]),
        exit(),
    ];
    assert_eq!(waits(spec.clone(), steps.clone(), &[30]), (vec![0], 0));
    spec.classes.special.latency = 20;
    // The special function issues in 4, and its result is there in 24.
    assert_eq!(waits(spec, steps, &[30]), (vec![31 - 24], 31 - 24));
}

#[test]
fn a_unit_without_the_meter_reports_no_waits() {
    let steps = vec![load(1, 0), reader(&[1]), exit()];
    let mut unit = Bench::new(spec(), vec![kernel(&[steps], 1, 0)]);
    let statistics = unit.bench.statistics("cu");
    let mut names = statistics.values.iter().map(|it| it.name.to_string());
    assert!(names.all(|name| !name.starts_with("load_wait")));
}

#[test]
fn loads_are_named_by_their_lines_where_these_are_known() {
    let mut of_line = load(1, 0);
    of_line.instruction.line = 88;
    let mut local = access(Class::Load, &[2], &[], Space::Shared, [0; LANES]);
    local.instruction.line = 89;
    let steps = vec![of_line, load(3, 0), local, exit()];
    let mut unit = Bench::new(metered(), vec![kernel(&[steps], 1, 0)]);
    let statistics = unit.bench.statistics("cu");
    let names = statistics.values.iter().map(|it| it.name.to_string());
    let names: Vec<_> = names.filter(|name| name.starts_with("load_wait")).collect();
    assert_eq!(
        names,
        [
            "load_wait",
            "load_wait_test_line[88]",
            "load_wait_test_pc[1]"
        ]
    );
}
