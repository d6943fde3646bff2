//! Compute-bound kernels run at the issue rate of the machine.

use super::harness::{Numbers, REGISTERS, Step, kernel, machine, program, run, scenario};

/// gtx480: every scheduler of every unit issues one instruction per cycle. The overhead of launch,
/// start-up and drain does not grow with the kernel.
#[test]
fn computation_issues_on_every_scheduler_in_every_cycle() {
    let scenario = scenario("systems/gtx480.ron", "vector_add.ron", &[]);
    let run_length = |length: u64| {
        let compute = |i: u64| Step::Compute((i % u64::from(REGISTERS)) as u16);
        let steps = (0..length).map(compute).chain([Step::Exit]);
        let steps: Vec<_> = steps.collect();
        let program = program(vec![kernel(15, 16, |_, _| steps.clone())]);
        let mut machine = machine(&scenario, &program);
        let numbers = Numbers(machine.system().resolved.to_node());
        let schedulers = numbers.of("unit[0].cu", "schedulers");
        let simulated = run(&mut machine);
        assert_eq!(simulated.wavefront_instructions, 15 * 16 * (length + 1));
        (simulated.cycles, schedulers)
    };
    let (short, schedulers) = run_length(500);
    let (long, _) = run_length(2_500);
    let issued = 16 * 2_000;
    eprintln!(
        "short {short} long {long}: {}",
        (15 * issued) as f64 / (long - short) as f64
    );
    assert_eq!(
        long - short,
        issued / schedulers,
        "16 wavefronts on {schedulers} schedulers"
    );
}
