//! Test of a compute unit from outside this repository: a run finds its results by the roles of its
//! statistics.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_components::launch::{Completion, Dispatch, DispatchSlave};
use warpweave_components::roles;
use warpweave_framework::{
    Bundle, Component, Context, Cycle, Environment, Instrumented, Kind, Next, Ports, SpecError,
    Stateful, Statistics, TimeWeighted,
};
use warpweave_systems::report::{Host, Report};
use warpweave_systems::{Machine, Scenario, Simulated, Status, standard_registry};
use warpweave_trace::Program;

/// Compute unit that issues an instruction of the oldest work-group in every cycle, without memory
/// accesses.
struct Sequencer {
    scheduler: DispatchSlave,
    program: Arc<Program>,
    /// Completions with the earliest cycle in which each may be sent, in order.
    answers: VecDeque<(Cycle, Completion)>,
    resident: TimeWeighted,
    issued: u64,
    threads: u64,
    spec: SequencerSpec,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct SequencerSpec {
    /// Omits the last wavefront of each work-group if set.
    #[serde(default)]
    forgetful: bool,
}

impl Bundle for Sequencer {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("dispatch", &mut self.scheduler);
    }
}

impl Component for Sequencer {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while let Some(dispatch) = self.scheduler.dispatch.pop(ctx) {
            let before = self.answers.back().map_or(0, |(cycle, _)| *cycle);
            let answer = self.answer(dispatch, ctx.cycle().max(before));
            self.answers.extend(answer);
        }
        let Some((cycle, answer)) = self.answers.front().copied() else {
            self.resident.set(ctx.cycle(), 0);
            return Next::Message;
        };
        self.resident.set(ctx.cycle(), 1);
        if ctx.cycle() < cycle {
            return Next::Until(cycle);
        }
        if !self.scheduler.completion.can_send(ctx) {
            return Next::Credit;
        }
        self.scheduler.completion.send(ctx, answer);
        self.answers.pop_front();
        Next::Busy
    }
}

impl Stateful for Sequencer {}

impl Instrumented for Sequencer {
    fn statistics(&self, s: &mut Statistics<'_>) {
        let issued = s.role(roles::WAVEFRONT_INSTRUCTIONS);
        issued.counter("sequenced", "instructions", "issued", self.issued);
        let threads = s.role(roles::THREAD_INSTRUCTIONS);
        threads.counter("lanes", "instructions", "issued per lane", self.threads);
        let cycle = s.cycle();
        let busy = self.resident.integral(cycle);
        s.role(roles::OCCUPANCY)
            .ratio("in_use", "cycles", "cycles with a work-group", busy, cycle);
        let slots = s.role(roles::ISSUE_SLOTS);
        slots.counter("useful", "slots", "that issued", self.issued);
        let slots = s.role(roles::ISSUE_SLOTS);
        slots.counter("lost", "slots", "that did not", cycle - self.issued);
    }
}

impl Sequencer {
    /// Returns the completion of a dispatch whose work begins in cycle `start`, and its cycle.
    fn answer(&mut self, dispatch: Dispatch, start: Cycle) -> Option<(Cycle, Completion)> {
        match dispatch {
            Dispatch::Start {
                kernel,
                work_group,
                slot,
                ..
            } => {
                let trace = &self.program.kernels[kernel as usize];
                let wavefronts =
                    0..trace.wavefronts_per_work_group() - u32::from(self.spec.forgetful);
                let before = self.issued;
                for wavefront in wavefronts {
                    let counts = trace.wavefront_counts(work_group, wavefront);
                    self.issued += counts.instructions;
                    self.threads += counts.thread_instructions;
                }
                let done = Completion::WorkGroup {
                    kernel,
                    work_group,
                    slot,
                };
                Some((start + (self.issued - before), done))
            }
            Dispatch::Invalidate { kernel, .. } => {
                Some((start, Completion::Invalidated { kernel }))
            }
            Dispatch::ParentEnded { .. } | Dispatch::WorkGroupFamilyEnded { .. } => None,
        }
    }
}

impl Kind for Sequencer {
    const NAME: &'static str = "Sequencer";
    const SUMMARY: &'static str = "Issues the instructions of one work-group after another";
    type Spec = SequencerSpec;

    fn build(spec: SequencerSpec, environment: &Environment) -> Result<Self, SpecError> {
        let program = environment.resource::<Program>();
        Ok(Self {
            scheduler: DispatchSlave::default(),
            program: program.expect("a run provides its program"),
            answers: VecDeque::new(),
            resident: TimeWeighted::default(),
            issued: 0,
            threads: 0,
            spec,
        })
    }
}

const SYSTEM: &str = r#"System(
    clocks: { "core": "1 GHz" },
    core: "core",
    params: { "forgetful": false },
    for: { "u": 2 },
    parts: {
        "host": HostDriver(
            copy_latency_cycles: 50, copy_bytes_per_cycle: 16, launch_latency_cycles: 5),
        "gmu": Gmu(
            hardware_queues: 1, queue_depth: 32, pending_kernels: 64, dispatch_latency_cycles: 10),
        "scheduler": WorkGroupScheduler(
            clusters: 2,
            units_per_cluster: 1,
            policy: TwoLevelRoundRobin,
            unit: (
                wavefront_slots: 32, work_group_slots: 4, registers: 32768, register_partitions: 1,
                register_granularity: 64, local_memory_bytes: 16384,
            ),
            kernel_slots: 8,
            dispatches_per_cycle: 1,
            invalidate_at: KernelEnd,
        ),
        "unit[u]": Sequencer(forgetful: "=forgetful"),
    },
    wires: {
        "host.gmu <-> gmu.host": (latency: 1),
        "gmu.scheduler <-> scheduler.gmu": (latency: 1),
        "scheduler.units[u] <-> unit[u].dispatch": (latency: 1),
    },
)"#;

fn run(sets: &[&str]) -> Simulated {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workload =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/workloads/vector_add.ron");
    let scenario = format!(
        "Scenario(system: \"system.ron\", workload: \"{}\", overrides: {{ \"workload.n\": 1000 }})",
        workload.display()
    );
    let path = folder.path().join("scenario.ron");
    std::fs::write(folder.path().join("system.ron"), SYSTEM).expect("the folder can be written");
    std::fs::write(&path, scenario).expect("the folder can be written");
    let sets: Vec<_> = sets.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::load(&path, &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let mut registry = standard_registry();
    registry.register::<Sequencer>();
    let executed = scenario.emulate().expect("it can be emulated");
    let mut machine = Machine::of(&scenario, &registry, &executed.program)
        .unwrap_or_else(|problems| panic!("{problems}"));
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {})
}

#[test]
fn a_run_ends_with_what_a_compute_unit_of_any_kind_reports() {
    let simulated = run(&[]);
    assert_eq!(simulated.status, Status::Done);
    let kernel = &simulated.kernels[0];
    let issued = (
        simulated.wavefront_instructions,
        simulated.thread_instructions,
    );
    assert_eq!(
        issued,
        (kernel.wavefront_instructions, kernel.thread_instructions)
    );
    assert!(issued.0 > 0 && kernel.cycles().is_some());
    assert!(
        simulated
            .occupancy
            .is_some_and(|share| 0.0 < share && share < 1.0)
    );

    let report = Report {
        scenario: "foreign".to_owned(),
        summary: String::new(),
        overrides: Vec::new(),
        status: simulated.status.clone(),
        verified: None,
        checks: Vec::new(),
        simulated,
        host: Host::default(),
    };
    let page = report.to_full_text();
    assert!(
        page.contains("useful") && page.contains("issue slots of each compute unit"),
        "{page}"
    );
}

#[test]
fn a_compute_unit_of_any_kind_that_leaves_something_out_is_found_out() {
    let Status::Failed(reason) = run(&["params.forgetful=true"]).status else {
        panic!("the program did not run as a whole");
    };
    assert!(
        reason.contains("every work-group must run exactly once"),
        "{reason}"
    );
}
