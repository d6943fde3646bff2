//! Tests of placed launches: units execute every context of the declared placement once.

use std::collections::BinaryHeap;

use insta::assert_snapshot;
use warpweave_framework::{NoFields, Outcome, PolicyContext, Source, Stateful};
use warpweave_trace::{Place, PlacedBy};

use super::fake_unit::{Duration, FakeUnit, Log};
use super::policies::placed as placement;
use super::scripted::{Scripted, ended, ready, scripted_program, start};
use super::*;
use crate::launch::{DispatchSlave, KernelReady};

/// Returns a program with launches of one-wavefront work-groups, placed alike.
fn placed_program(place: Place, work_groups: u32, launches: usize) -> Program {
    let mut program = program(&vec![(work_groups, 1, 0, 0); launches], Vec::new());
    for kernel in &mut program.kernels {
        let kernel = Arc::get_mut(kernel).expect("not shared yet");
        kernel.attributes.extend(place.attributes());
    }
    program
}

fn place(units: u32, contexts: u32, by: PlacedBy) -> Place {
    Place {
        units,
        contexts,
        by,
    }
}

/// Launch of agents (CCL-M7) that share tasks among the units.
#[derive(Clone, Debug)]
struct Agents {
    policy: Policy<WorkGroupPlacement>,
    place: Place,
    tasks: u32,
    /// Number of agents of a unit that take tasks; the others end at once.
    active: u32,
    launches: usize,
    dispatches_per_cycle: u32,
    seed: u64,
    /// Cycles that an agent with tasks runs at least.
    least: Cycle,
    /// True if agents without tasks run as long as the others.
    stay: bool,
}

impl Agents {
    fn duration(&self) -> Duration {
        let Self {
            place,
            active,
            least,
            stay,
            ..
        } = *self;
        Box::new(move |work_group, random| {
            if stay || place.context_of(work_group) < active {
                least + 1 + random % 23
            } else {
                1 + random % 3
            }
        })
    }

    fn bench(&self, log: &Log) -> (TestBench, Source<KernelReady>) {
        let units = self.place.units;
        let limits = UnitLimits {
            work_group_slots: self.place.contexts,
            ..LIMITS
        };
        let work_groups = units * self.place.contexts;
        let mut environment = Environment::new("dut", self.seed);
        environment.provide(Arc::new(placed_program(
            self.place,
            work_groups,
            self.launches,
        )));
        let spec = WorkGroupSchedulerSpec {
            clusters: 1,
            units_per_cluster: units,
            unit: limits.into(),
            dispatches_per_cycle: self.dispatches_per_cycle,
            ..spec_of(self.policy.clone())
        };
        let mut bench = TestBench::new();
        let scheduler = WorkGroupScheduler::build(spec, &environment).unwrap();
        bench.add("dut", scheduler);
        for number in 0..units {
            let unit = FakeUnit {
                scheduler: DispatchSlave::default(),
                number,
                seed: self.seed,
                duration: self.duration(),
                shapes: vec![(work_groups, 1, 0, 0); self.launches],
                limits,
                slots: vec![None; limits.work_group_slots as usize],
                due: BinaryHeap::new(),
                received: 0,
                log: log.clone(),
            };
            bench.add(&format!("unit{number}"), unit);
            bench.builder().connect(
                format!("dut.units[{number}]"),
                format!("unit{number}.scheduler"),
                Link::latency(1),
            );
        }
        let source = bench.source("dut.gmu.ready");
        for kernel in 0..self.launches {
            source.send_at(3 + kernel as Cycle, ready(kernel as u32));
        }
        let _: Sink<KernelDone> = bench.sink("dut.gmu.done");
        (bench, source)
    }

    /// Returns what each unit started, or why the run failed.
    fn run(&self, options: EngineOptions) -> Result<Vec<(Cycle, u32, Dispatch)>, String> {
        let log = Log::default();
        let (mut bench, _ready) = self.bench(&log);
        bench.set_options(options);
        match bench.run_for(40_000) {
            Outcome::Failed(message) => Err(message),
            outcome => {
                assert!(matches!(outcome, Outcome::Done), "{outcome:?}");
                let mut log = std::mem::take(&mut *log.lock());
                log.sort_by_key(|&(cycle, unit, _)| (cycle, unit));
                Ok(log)
            }
        }
    }

    /// Returns the tasks of a context of a unit, with the arithmetic of the agents.
    fn tasks_of(&self, unit: u32, context: u32) -> Vec<u32> {
        let Place { units, .. } = self.place;
        let (each, rest) = (self.tasks / units, self.tasks % units);
        let jobs = each + u32::from(unit < rest);
        let base = (each + 1) * unit - unit.saturating_sub(rest);
        if context >= self.active {
            return Vec::new();
        }
        let mine = (context..jobs).step_by(self.active as usize);
        mine.map(|position| base + position).collect()
    }

    /// Checks that each launch executed every task once, on the unit of its cluster.
    fn check(&self, log: &[(Cycle, u32, Dispatch)]) {
        for launch in 0..self.launches as u32 {
            let mut tasks = Vec::new();
            for &(_, unit, dispatch) in log {
                let Dispatch::Start {
                    kernel, work_group, ..
                } = dispatch
                else {
                    continue;
                };
                if kernel == launch {
                    assert_eq!(self.place.unit_of(work_group), unit, "{dispatch:?}");
                    let context = self.place.context_of(work_group);
                    tasks.extend(self.tasks_of(unit, context));
                }
            }
            tasks.sort_unstable();
            assert!(tasks.into_iter().eq(0..self.tasks), "{self:?}");
        }
    }
}

/// Returns the policies that give every unit as many work-groups, even when some end early.
fn even_policies() -> Vec<Policy<WorkGroupPlacement>> {
    vec![
        Policy::plain::<StrictRoundRobin>(),
        Policy::plain::<DemandRoundRobin>(),
        Policy::plain::<RandomRoundRobin>(),
    ]
}

fn agents() -> impl Strategy<Value = Agents> {
    let shape = (1..20_u32, 1..9_u32, any::<bool>(), 0..200_u32);
    let rest = (
        prop::sample::select(vec![1_u32, 2, 3, 8]),
        1..3_usize,
        1..9_u32,
        any::<u64>(),
    );
    (shape, rest).prop_map(
        |((units, contexts, by_slot, tasks), (active, launches, dispatches_per_cycle, seed))| {
            let by = if by_slot {
                PlacedBy::Slot
            } else {
                PlacedBy::Arrival
            };
            let contexts = contexts.max(active);
            Agents {
                policy: Policy::plain::<GlobalRoundRobin>(),
                place: place(units, contexts, by),
                tasks,
                active,
                launches,
                dispatches_per_cycle,
                seed,
                least: 0,
                stay: false,
            }
        },
    )
}

proptest! {
    #[test]
    fn agents_that_stay_until_all_are_placed_execute_every_task_once(
        agents in agents(),
        policy in prop::sample::select(every_policy()),
    ) {
        // A grid of one row goes to one unit.
        prop_assume!(policy.name() != "Mapped");
        prop_assume!(!places_pairs(&policy) || agents.place.contexts % 2 == 0);
        let least = Cycle::from(agents.place.work_groups() as u32) + 8;
        let agents = Agents { policy, least, stay: true, ..agents };
        let [sleepy, awake, shuffled] = engines().map(|options| agents.run(options));
        prop_assert_eq!(&sleepy, &awake);
        prop_assert_eq!(&sleepy, &shuffled);
        // A second launch begins in contexts that the first leaves.
        match sleepy {
            Ok(log) => agents.check(&log),
            Err(message) => prop_assert!(agents.launches > 1, "{}", message),
        }
    }

    #[test]
    fn even_policies_place_agents_that_end_early_by_arrival(
        agents in agents(),
        policy in prop::sample::select(even_policies()),
    ) {
        let by = PlacedBy::Arrival;
        let place = Place { by, ..agents.place };
        let agents = Agents { policy, place, launches: 1, ..agents };
        let log = agents.run(EngineOptions::default());
        agents.check(&log.unwrap());
    }

    #[test]
    fn any_policy_places_every_task_once_or_fails_with_the_reason(
        agents in agents(),
        policy in prop::sample::select(every_policy()),
    ) {
        prop_assume!(!places_pairs(&policy) || agents.place.contexts > 1);
        let agents = Agents { policy, ..agents };
        match agents.run(EngineOptions::default()) {
            Ok(log) => agents.check(&log),
            Err(message) => prop_assert!(message.contains("a GPU"), "{}", message),
        }
    }
}

#[test]
fn a_placed_launch_resumes_in_the_middle_with_the_same_bits() {
    for by in [PlacedBy::Slot, PlacedBy::Arrival] {
        let agents = Agents {
            policy: Policy::plain::<RandomRoundRobin>(),
            place: place(5, 4, by),
            tasks: 37,
            active: 3,
            launches: 2,
            dispatches_per_cycle: 1,
            seed: 9,
            least: 40,
            stay: true,
        };
        let build = || {
            let (bench, _) = agents.bench(&Log::default());
            bench
        };
        TestBench::check_state(build, &[0, 5, 12, 30, 70], 2000);
    }
}

/// Two units with two contexts, and tasks 0 to 5 for two agents on each (CCL-M7.7).
fn two_units<P: PolicyKind<Role = WorkGroupPlacement, Spec: Default>>(by: PlacedBy) -> Scripted {
    let spec = WorkGroupSchedulerSpec {
        clusters: 1,
        invalidate_at: InvalidateAt::Never,
        ..spec::<P>()
    };
    scripted_program(spec, placed_program(place(2, 2, by), 4, 1))
}

/// Places every work-group on unit 0, the last one first.
#[derive(Statistics)]
struct OnUnitZero {
    left: u32,
}

impl Stateful for OnUnitZero {}

impl PolicyKind for OnUnitZero {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "OnUnitZero";
    const SUMMARY: &'static str = "For tests";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(Box::new(Self { left: 4 }))
    }
}

impl PlacementPolicy for OnUnitZero {
    fn arrived(&mut self, _: Kernel<'_>, _: &Machine) {}

    fn choose(
        &mut self,
        machine: &Machine,
        _: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        match self.left.checked_sub(1) {
            Some(last) if machine.room(0, 0) > 0 => PlacementChoice::Place(placement(0, last)),
            _ => PlacementChoice::UnitsFull,
        }
    }

    fn placed(&mut self, placed: Placement, machine: &Machine) {
        assert_eq!(placed.work_group, self.left - 1);
        let held = machine.residents(0).map(|(_, work_group)| work_group);
        assert!(
            held.eq((placed.work_group..4).rev()),
            "numbers of the policy"
        );
        self.left -= 1;
    }

    fn finished(&mut self, finished: Placement, _: &Machine) {
        // Body 0 was the first one placed.
        assert_eq!(finished.work_group, 3);
    }
}

/// Lets unit 0 end its first work-group so that it receives a third one. Returns why that fails.
fn third_on_unit_zero(by: PlacedBy) -> String {
    let mut s = two_units::<OnUnitZero>(by);
    s.ready.send_at(5, ready(0));
    s.bench.expect_at(&s.dispatches[0], 5, &start(0, 0));
    s.bench.expect_at(&s.dispatches[0], 6, &start(2, 1));
    s.completions[0].send_at(20, ended(0, 0));
    match s.bench.run_for(100) {
        Outcome::Failed(message) => message,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn ccl_m7_7_a_third_agent_fails_and_says_what_a_gpu_would_repeat_or_lose() {
    assert_snapshot!(third_on_unit_zero(PlacedBy::Slot), @"the placement OnUnitZero put work-group 1 of kernel 0 on unit 0: it takes context 0 there, which another work-group of the launch has had; a GPU would repeat the work of that context and lose that of another");
    assert_snapshot!(third_on_unit_zero(PlacedBy::Arrival), @"the placement OnUnitZero put work-group 1 of kernel 0 on unit 0: it is number 2 there by arrival, but the launch is placed with 2 on each unit; on a GPU it would find no work, and the unit that has one less would lose that of a context");
}

#[test]
fn greedy_clustering_fails_when_agents_end_early() {
    let agents = Agents {
        policy: Policy::plain::<GreedyClustering>(),
        place: place(4, 3, PlacedBy::Arrival),
        tasks: 20,
        active: 1,
        launches: 1,
        dispatches_per_cycle: 1,
        seed: 1,
        least: 400,
        stay: false,
    };
    assert_snapshot!(agents.run(EngineOptions::default()).unwrap_err(), @"the placement GreedyClustering put work-group 10 of kernel 0 on unit 0: it is number 3 there by arrival, but the launch is placed with 3 on each unit; on a GPU it would find no work, and the unit that has one less would lose that of a context");
}

#[test]
fn a_launch_placed_unlike_the_machine_fails_with_both_numbers() {
    let said = |place: Place, work_groups| {
        let spec = WorkGroupSchedulerSpec {
            clusters: 1,
            ..spec::<GlobalRoundRobin>()
        };
        let mut s = scripted_program(spec, placed_program(place, work_groups, 1));
        s.ready.send_at(5, ready(0));
        match s.bench.run_for(100) {
            Outcome::Failed(message) => message,
            outcome => panic!("{outcome:?}"),
        }
    };
    let by = PlacedBy::Slot;
    let all = [
        said(place(3, 2, by), 6),
        said(place(2, 3, by), 6),
        said(place(2, 2, by), 5),
    ];
    assert_snapshot!(all.join("\n"), @"
    kernel 0 (`nothing`) is placed on 3 units, but the machine has 2; set `units` of its `place` to 2
    kernel 0 (`nothing`) is placed with 3 contexts on each unit, but a unit holds 2 of its work-groups, limited by WorkGroupSlots; set `contexts` of its `place` to 2
    kernel 0 (`nothing`) has 5 work-groups, but is placed on 2 units with 2 contexts each; launch 4 work-groups
    ");
}
