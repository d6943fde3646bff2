//! Promises of the scheduler, alone and with host driver and GMU in front of it.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use warpweave_framework::{
    Cycle, EngineOptions, InstanceStatistics, Link, Order, Outcome, Sink, TestBench, Value,
};
use warpweave_trace::{
    Class, Code, FrontEnd, HostCommand, Instruction, KernelTrace, KernelWriter, StreamWriter,
};

use super::*;
use crate::gmu::{Gmu, GmuSpec};
use crate::host_driver::{HostDriver, HostDriverSpec, KernelTimes};
use crate::launch::{DispatchSlave, KernelReady};

/// Work-groups, wavefronts, registers per thread, local bytes.
pub(crate) type KernelShape = (u32, u32, u32, u32);

pub(crate) fn program(kernels: &[KernelShape], commands: Vec<HostCommand>) -> Program {
    Program {
        name: "test".to_owned(),
        allocations: vec![warpweave_trace::Allocation {
            name: "data".to_owned(),
            base: 0,
            bytes: 1 << 20,
        }],
        commands,
        kernels: kernels
            .iter()
            .map(|&shape| Arc::new(kernel(shape)))
            .collect(),
        front_end: FrontEnd::default(),
    }
}

fn kernel((work_groups, wavefronts, registers, local_bytes): KernelShape) -> KernelTrace {
    let code = Arc::new(Code {
        name: "nothing".to_owned(),
        instructions: vec![Instruction::new("exit", Class::Exit)],
        registers_per_thread: registers,
        static_local_bytes: local_bytes,
        ..Code::default()
    });
    let mut writer = KernelWriter::new(
        code,
        [work_groups, 1, 1],
        [32 * wavefronts, 1, 1],
        0,
        Vec::new(),
    )
    .unwrap();
    for work_group in 0..work_groups {
        for wavefront in 0..wavefronts {
            let mut stream = StreamWriter::new();
            stream.step(0, u32::MAX);
            writer
                .finish_wavefront(work_group, wavefront, stream)
                .unwrap();
        }
    }
    writer.finish().unwrap()
}

/// The engine options under which results must be equal.
pub(crate) fn engines() -> [EngineOptions; 3] {
    [
        EngineOptions::default(),
        EngineOptions {
            sleeping: false,
            ..EngineOptions::default()
        },
        EngineOptions {
            order: Order::Shuffled { seed: 7 },
            ..EngineOptions::default()
        },
    ]
}

const POLICIES: [WorkGroupPolicy; 6] = [
    WorkGroupPolicy::TwoLevelRoundRobin,
    WorkGroupPolicy::GlobalRoundRobin,
    WorkGroupPolicy::GreedyClustering,
    WorkGroupPolicy::Distributed,
    WorkGroupPolicy::DistributedBlock,
    WorkGroupPolicy::DemandRoundRobin,
];

const LIMITS: UnitLimits = UnitLimits {
    wavefront_slots: 48,
    work_group_slots: 2,
    registers: 32768,
    register_partitions: 1,
    register_granularity: 64,
    local_memory_bytes: 16384,
};

fn spec(policy: WorkGroupPolicy) -> WorkGroupSchedulerSpec {
    WorkGroupSchedulerSpec {
        clusters: 2,
        units_per_cluster: 2,
        unit: LIMITS,
        policy,
        dispatches_per_cycle: 4,
        kernel_slots: 4,
        invalidate_at_kernel_end: true,
        keep_lines_beside_others: false,
    }
}

// ---------------------------------------------------------------------------------------------
// Policies alone

/// A machine of units that hold `contexts` work-groups each, driven by a policy.
struct Bare {
    policy: Box<dyn Policy>,
    contents: Vec<Vec<u32>>,
    contexts: usize,
    left: u32,
}

impl Bare {
    fn new(policy: WorkGroupPolicy, machine: Machine, contexts: usize, work_groups: u32) -> Self {
        let mut bare = Self {
            policy: policy.build(machine),
            contents: vec![Vec::new(); machine.units() as usize],
            contexts,
            left: work_groups,
        };
        bare.policy.begin(work_groups);
        for unit in 0..bare.contents.len() {
            bare.tell(unit);
        }
        bare
    }

    fn tell(&mut self, unit: usize) {
        let resident = self.contents[unit].len();
        let room = self.contexts - resident;
        self.policy
            .update(unit as u32, resident as u32, room as u32);
    }

    fn step(&mut self) -> Option<Placement> {
        if self.left == 0 {
            return None;
        }
        let Choice::Place(placement) = self.policy.choose(&mut |_| true) else {
            return None;
        };
        self.left -= 1;
        self.contents[placement.unit as usize].push(placement.work_group);
        self.policy.placed(placement);
        self.tell(placement.unit as usize);
        Some(placement)
    }

    fn end(&mut self, unit: usize, work_group: u32) {
        self.contents[unit].retain(|&w| w != work_group);
        self.tell(unit);
    }
}

const TWO_BY_TWO: Machine = Machine {
    clusters: 2,
    units_per_cluster: 2,
};

/// Intra-Cluster Coalescing, Fig. 6, with work-groups numbered from 0: ten of them, two clusters
/// of two units, two contexts per unit.
#[test]
fn the_published_example_is_met_by_every_policy() {
    use WorkGroupPolicy::*;
    let placed = |unit, work_group| Some(Placement { work_group, unit });
    let table = [
        (
            TwoLevelRoundRobin,
            [[0, 4], [2, 6], [1, 5], [3, 7]],
            placed(0, 8),
        ),
        (
            GlobalRoundRobin,
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            placed(0, 8),
        ),
        (
            GreedyClustering,
            [[0, 2], [1, 3], [4, 6], [5, 7]],
            placed(0, 8),
        ),
        (Distributed, [[0, 2], [1, 3], [5, 7], [6, 8]], placed(0, 4)),
        (DistributedBlock, [[0, 1], [2, 3], [5, 6], [7, 8]], None),
        (
            DemandRoundRobin,
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            placed(0, 8),
        ),
    ];
    for (policy, contents, next) in table {
        let mut bare = Bare::new(policy, TWO_BY_TWO, 2, 10);
        while bare.step().is_some() {}
        assert_eq!(bare.contents, contents, "{policy:?}");
        bare.end(0, 0);
        assert_eq!(bare.step(), next, "{policy:?}");
        if policy == DistributedBlock {
            assert_eq!(bare.policy.choose(&mut |_| true), Choice::HeldBack);
            bare.end(0, 1);
            assert_eq!(bare.step(), placed(0, 4));
        }
    }
}

#[test]
fn demand_round_robin_refills_the_unit_that_ended_first() {
    let two = Machine {
        clusters: 1,
        units_per_cluster: 2,
    };
    let mut bare = Bare::new(WorkGroupPolicy::DemandRoundRobin, two, 2, 8);
    while bare.step().is_some() {}
    assert_eq!(bare.contents, [[0, 2], [1, 3]]);
    bare.end(1, 1);
    assert_eq!(
        bare.step(),
        Some(Placement {
            work_group: 4,
            unit: 1
        })
    );
}

/// The order of contexts written out as nested loops, searched for the first that is the next of
/// its unit and open.
fn first_open(
    policy: WorkGroupPolicy,
    machine: Machine,
    bare: &Bare,
    only: Option<u32>,
) -> Option<u32> {
    use WorkGroupPolicy::*;
    let mut order: Vec<(usize, u32)> = Vec::new();
    let (clusters, units, contexts) = (machine.clusters, machine.units_per_cluster, bare.contexts);
    match policy {
        TwoLevelRoundRobin => {
            for k in 0..contexts {
                for s in 0..units {
                    for c in 0..clusters {
                        order.push((k, c * units + s));
                    }
                }
            }
        }
        GlobalRoundRobin => {
            for k in 0..contexts {
                for c in 0..clusters {
                    for s in 0..units {
                        order.push((k, c * units + s));
                    }
                }
            }
        }
        _ => {
            for c in (0..clusters).filter(|&c| only.is_none_or(|o| o == c)) {
                for k in 0..contexts {
                    for s in 0..units {
                        order.push((k, c * units + s));
                    }
                }
            }
        }
    }
    order
        .into_iter()
        .find(|&(k, unit)| bare.contents[unit as usize].len() == k)
        .map(|(_, unit)| unit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ordered_policies_follow_the_nested_loops(
        which in 0_usize..3,
        clusters in 1_u32..5,
        units_per_cluster in 1_u32..5,
        contexts in 1_usize..4,
        work_groups in 1_u32..80,
        ends in prop::collection::vec((0_usize..16, 0_usize..4, 0_u8..3), 0..80),
    ) {
        let policy = POLICIES[which];
        let machine = Machine { clusters, units_per_cluster };
        let mut bare = Bare::new(policy, machine, contexts, work_groups);
        let mut ends = ends.into_iter();
        let mut expected_work_group = 0;
        loop {
            // Several may end before anything is placed again.
            let expected = first_open(policy, machine, &bare, None).filter(|_| bare.left > 0);
            let got = bare.step();
            prop_assert_eq!(got.map(|p| p.unit), expected);
            if let Some(placement) = got {
                prop_assert_eq!(placement.work_group, expected_work_group);
                expected_work_group += 1;
                continue;
            }
            let mut more = false;
            for (unit, place, go_on) in ends.by_ref() {
                let unit = unit % bare.contents.len();
                if let Some(&work_group) = bare.contents[unit].get(place) {
                    bare.end(unit, work_group);
                    more = true;
                }
                if go_on == 0 { break; }
            }
            if !more { break; }
        }
    }

    #[test]
    fn distributed_clusters_fill_from_their_own_part_only(
        pairs in any::<bool>(),
        clusters in 1_u32..5,
        units_per_cluster in 1_u32..4,
        contexts in 2_usize..4,
        work_groups in 1_u32..60,
        seed in any::<u64>(),
    ) {
        let policy = if pairs { WorkGroupPolicy::DistributedBlock } else { WorkGroupPolicy::Distributed };
        let machine = Machine { clusters, units_per_cluster };
        let mut bare = Bare::new(policy, machine, contexts, work_groups);
        let mut seed = seed;
        let mut next: Vec<u32> = (0..clusters)
            .map(|c| (0..c).map(|c| work_groups / clusters + u32::from(c < work_groups % clusters)).sum())
            .collect();
        while bare.left > 0 || bare.contents.iter().any(|c| !c.is_empty()) {
            loop {
                let before: Vec<_> = bare.contents.iter().map(Vec::len).collect();
                let expected: Vec<_> = (0..clusters).map(|c| first_open(policy, machine, &bare, Some(c))).collect();
                let Some(placement) = bare.step() else { break };
                let cluster = machine.cluster(placement.unit) as usize;
                prop_assert_eq!(placement.work_group, next[cluster]);
                next[cluster] += 1;
                if !pairs {
                    prop_assert_eq!(Some(placement.unit), expected[cluster]);
                } else if before[placement.unit as usize] == contexts - 1 {
                    // The last context is filled only by the second of a pair.
                    let contents = &bare.contents[placement.unit as usize];
                    prop_assert!(contents.contains(&(placement.work_group - 1)));
                }
            }
            let busy: Vec<usize> = (0..bare.contents.len()).filter(|&u| !bare.contents[u].is_empty()).collect();
            prop_assert!(!busy.is_empty(), "work-groups left and an empty machine");
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let unit = busy[(seed >> 33) as usize % busy.len()];
            let work_group = bare.contents[unit][0];
            bare.end(unit, work_group);
        }
        let parts: u32 = (0..clusters).map(|c| next[c as usize]).max().unwrap();
        prop_assert_eq!(parts, work_groups);
    }
}

// ---------------------------------------------------------------------------------------------
// The scheduler with scripted neighbours

struct Scripted {
    bench: TestBench,
    ready: warpweave_framework::Source<KernelReady>,
    done: Sink<KernelDone>,
    completions: Vec<warpweave_framework::Source<Completion>>,
    dispatches: Vec<Sink<Dispatch>>,
}

fn scripted(spec: WorkGroupSchedulerSpec, kernels: &[KernelShape]) -> Scripted {
    let mut environment = Environment::new("dut", 0);
    environment.provide(Arc::new(program(kernels, Vec::new())));
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

fn start(work_group: u32, slot: u16) -> Dispatch {
    Dispatch::Start {
        kernel: 0,
        work_group,
        slot,
    }
}

fn ended(work_group: u32, slot: u16) -> Completion {
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
        ..spec(WorkGroupPolicy::GlobalRoundRobin)
    };
    let mut s = scripted(spec, &[(5, 1, 0, 0)]);
    s.ready.send_at(5, KernelReady { kernel: 0 });
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
        s.bench
            .expect_at(&s.dispatches[unit], 40, &Dispatch::Invalidate { kernel: 0 });
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
        invalidate_at_kernel_end: false,
        ..spec(WorkGroupPolicy::TwoLevelRoundRobin)
    };
    let mut s = scripted(spec, &[(1, 1, 0, 0)]);
    s.ready.send_at(3, KernelReady { kernel: 0 });
    s.bench.expect_at(&s.dispatches[0], 3, &start(0, 0));
    s.completions[0].send_at(9, ended(0, 0));
    s.bench.expect_at(&s.done, 9, &KernelDone { kernel: 0 });
}

/// A child that ends before its parent does not cost the parent its lines.
#[test]
fn lines_stay_while_another_kernel_runs_if_so_described() {
    let spec = WorkGroupSchedulerSpec {
        clusters: 1,
        units_per_cluster: 1,
        keep_lines_beside_others: true,
        ..spec(WorkGroupPolicy::GlobalRoundRobin)
    };
    let mut s = scripted(spec, &[(1, 1, 0, 0), (1, 1, 0, 0)]);
    s.ready.send_at(3, KernelReady { kernel: 0 });
    s.ready.send_at(4, KernelReady { kernel: 1 });
    s.bench.expect_at(&s.dispatches[0], 3, &start(0, 0));
    let child = Dispatch::Start {
        kernel: 1,
        work_group: 0,
        slot: 1,
    };
    s.bench.expect_at(&s.dispatches[0], 4, &child);
    let child_ended = Completion::WorkGroup {
        kernel: 1,
        work_group: 0,
        slot: 1,
    };
    s.completions[0].send_at(20, child_ended);
    s.bench.expect_at(&s.done, 20, &KernelDone { kernel: 1 });
    s.completions[0].send_at(30, ended(0, 0));
    s.bench
        .expect_at(&s.dispatches[0], 30, &Dispatch::Invalidate { kernel: 0 });
}

#[test]
fn no_more_work_groups_than_stated_are_dispatched_per_cycle() {
    let spec = WorkGroupSchedulerSpec {
        dispatches_per_cycle: 1,
        ..spec(WorkGroupPolicy::GlobalRoundRobin)
    };
    let mut s = scripted(spec, &[(4, 1, 0, 0)]);
    s.ready.send_at(5, KernelReady { kernel: 0 });
    for unit in 0..4_u32 {
        let sink = s.dispatches[unit as usize].clone();
        s.bench
            .expect_at(&sink, 5 + Cycle::from(unit), &start(unit, 0));
    }
}

#[test]
fn the_next_kernel_starts_when_the_oldest_has_nothing_left_to_dispatch() {
    let mut s = scripted(
        spec(WorkGroupPolicy::GlobalRoundRobin),
        &[(6, 1, 0, 0), (2, 1, 0, 0)],
    );
    s.ready.send_at(5, KernelReady { kernel: 0 });
    s.ready.send_at(6, KernelReady { kernel: 1 });
    s.bench.step(10);
    let second = |work_group| Dispatch::Start {
        kernel: 1,
        work_group,
        slot: 1,
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
    expected = "work-group of kernel 0 never fits a compute unit: it needs 49 wavefronts"
)]
fn a_work_group_that_never_fits_ends_the_run_with_the_numbers() {
    let mut s = scripted(spec(WorkGroupPolicy::GlobalRoundRobin), &[(1, 49, 0, 0)]);
    s.ready.send_at(5, KernelReady { kernel: 0 });
    s.bench.step(10);
}

#[test]
#[should_panic(expected = "holds only one of kernel 0, bounded by WavefrontSlots")]
fn a_pair_that_never_fits_ends_the_run() {
    let mut s = scripted(spec(WorkGroupPolicy::DistributedBlock), &[(2, 30, 0, 0)]);
    s.ready.send_at(5, KernelReady { kernel: 0 });
    s.bench.step(10);
}

#[test]
#[should_panic(expected = "which it was not asked for")]
fn a_completion_nobody_asked_for_ends_the_run() {
    let mut s = scripted(spec(WorkGroupPolicy::GlobalRoundRobin), &[(1, 1, 0, 0)]);
    s.completions[2].send_at(5, ended(0, 0));
    s.bench.step(10);
}

#[test]
fn a_machine_without_units_is_refused() {
    let mut environment = Environment::new("dut", 0);
    environment.provide(Arc::new(program(&[], Vec::new())));
    let none = WorkGroupSchedulerSpec {
        clusters: 0,
        ..spec(WorkGroupPolicy::GlobalRoundRobin)
    };
    let error = WorkGroupScheduler::build(none, &environment).err().unwrap();
    assert_eq!(error.field, "clusters");
}

// ---------------------------------------------------------------------------------------------
// The whole launch path

type Log = Arc<Mutex<Vec<(Cycle, u32, Dispatch)>>>;

/// A compute unit that runs work-groups for pseudo-random times and holds the scheduler to its
/// limits.
struct FakeUnit {
    scheduler: DispatchSlave,
    number: u32,
    seed: u64,
    shapes: Vec<KernelShape>,
    limits: UnitLimits,
    slots: Vec<Option<KernelShape>>,
    /// Answers by time; the larger of a heap comes first, so times are negated.
    due: BinaryHeap<(std::cmp::Reverse<Cycle>, std::cmp::Reverse<u64>, [u32; 4])>,
    received: u64,
    log: Log,
}

const INVALIDATED: u32 = u32::MAX;

impl FakeUnit {
    fn receive(&mut self, cycle: Cycle, dispatch: Dispatch) {
        self.received += 1;
        self.log
            .lock()
            .unwrap()
            .push((cycle, self.number, dispatch));
        let answer = match dispatch {
            Dispatch::Start {
                kernel,
                work_group,
                slot,
            } => {
                let place = &mut self.slots[usize::from(slot)];
                assert!(place.is_none(), "slot {slot} is taken");
                *place = Some(self.shapes[kernel as usize]);
                [kernel, work_group, u32::from(slot), 0]
            }
            Dispatch::Invalidate { kernel } => [kernel, 0, INVALIDATED, 0],
        };
        let resident = || self.slots.iter().flatten();
        assert!(resident().map(|s| s.1).sum::<u32>() <= self.limits.wavefront_slots);
        assert!(resident().map(|s| s.3).sum::<u32>() <= self.limits.local_memory_bytes);
        let registers = |s: &KernelShape| u64::from(s.1) * self.limits.registers_per_wavefront(s.2);
        assert!(resident().map(registers).sum::<u64>() <= u64::from(self.limits.registers));
        let mut z = self.seed ^ u64::from(self.number) << 40 ^ self.received;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let at = cycle + 1 + (z >> 32) % 23;
        self.due.push((
            std::cmp::Reverse(at),
            std::cmp::Reverse(self.received),
            answer,
        ));
    }
}

impl Component for FakeUnit {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("scheduler", &mut self.scheduler);
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.array("slots", &mut self.slots);
        state.field("due", &mut self.due);
        state.field("received", &mut self.received);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while let Some(dispatch) = self.scheduler.dispatch.pop(ctx) {
            self.receive(ctx.cycle(), dispatch);
        }
        while let Some(&(std::cmp::Reverse(at), _, [kernel, work_group, slot, _])) = self.due.peek()
        {
            if at > ctx.cycle() {
                return Next::Until(at);
            }
            let answer = if slot == INVALIDATED {
                Completion::Invalidated { kernel }
            } else {
                Completion::WorkGroup {
                    kernel,
                    work_group,
                    slot: slot as u16,
                }
            };
            if self.scheduler.completion.try_send(ctx, answer).is_err() {
                return Next::Credit;
            }
            if slot != INVALIDATED {
                self.slots[slot as usize] = None;
            }
            self.due.pop();
        }
        Next::Message
    }
}

struct Machinery {
    kernels: Vec<KernelShape>,
    commands: Vec<HostCommand>,
    scheduler: WorkGroupSchedulerSpec,
    gmu: GmuSpec,
    seed: u64,
}

type Observed = (
    Vec<(Cycle, u32, Dispatch)>,
    Vec<crate::host_driver::KernelTime>,
    Vec<InstanceStatistics>,
);

fn bench(machinery: &Machinery, times: &Arc<KernelTimes>, log: &Log) -> TestBench {
    let mut environment = Environment::new("gpu", 0);
    environment.provide(Arc::new(program(
        &machinery.kernels,
        machinery.commands.clone(),
    )));
    environment.provide(times.clone());
    let mut bench = TestBench::new();
    let host = HostDriverSpec {
        copy_latency_cycles: 3,
        copy_bytes_per_cycle: 64,
        launch_latency_cycles: 1,
    };
    bench.add("host", HostDriver::build(host, &environment).unwrap());
    bench.add(
        "gmu",
        Gmu::build(machinery.gmu.clone(), &environment).unwrap(),
    );
    let spec = &machinery.scheduler;
    let scheduler = WorkGroupScheduler::build(spec.clone(), &environment).unwrap();
    bench.add("scheduler", scheduler);
    for number in 0..spec.clusters * spec.units_per_cluster {
        let unit = FakeUnit {
            scheduler: DispatchSlave::default(),
            number,
            seed: machinery.seed,
            shapes: machinery.kernels.clone(),
            limits: spec.unit,
            slots: vec![None; spec.unit.work_group_slots as usize],
            due: BinaryHeap::new(),
            received: 0,
            log: log.clone(),
        };
        bench.add(&format!("unit{number}"), unit);
        // Too narrow for full rate, so that the scheduler meets back-pressure.
        let link = Link::latency(2).capacity(1);
        let port = format!("scheduler.units[{number}]");
        bench
            .builder()
            .connect(&port, format!("unit{number}.scheduler"), link);
    }
    bench
        .builder()
        .connect("host.gmu", "gmu.host", Link::latency(1));
    bench
        .builder()
        .connect("gmu.scheduler", "scheduler.gmu", Link::latency(1));
    bench
}

fn run(machinery: &Machinery, options: EngineOptions) -> Observed {
    let times = Arc::new(KernelTimes::default());
    let log = Log::default();
    let mut bench = bench(machinery, &times, &log);
    bench.set_options(options);
    let outcome = bench.run_until_quiet();
    assert!(matches!(outcome, Outcome::Done), "{outcome:?}");
    let mut log = std::mem::take(&mut *log.lock().unwrap());
    log.sort_by_key(|&(cycle, unit, _)| (cycle, unit));
    (log, times.to_vec(), bench.simulation().statistics())
}

fn stream_of(commands: &[HostCommand], number: u32) -> u32 {
    let of = |command: &HostCommand| match *command {
        HostCommand::Launch { kernel, stream } if kernel == number => Some(stream),
        _ => None,
    };
    commands.iter().find_map(of).unwrap()
}

fn counter(statistics: &[InstanceStatistics], path: &str, name: &str) -> u64 {
    let instance = statistics.iter().find(|s| s.path == path).unwrap();
    match instance.get(name) {
        Some(&Value::Counter(value)) => value,
        other => panic!("{path}.{name} is {other:?}"),
    }
}

fn shapes() -> impl Strategy<Value = Vec<KernelShape>> {
    prop::collection::vec((1_u32..30, 1_u32..12, 0_u32..64, 0_u32..9000), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_work_group_runs_once_and_every_kernel_completes(
        kernels in shapes(),
        streams in prop::collection::vec(0_u32..4, 8),
        waits in prop::collection::vec(0_u8..6, 8),
        policy in 0_usize..6,
        (clusters, units_per_cluster) in (1_u32..4, 1_u32..4),
        (work_group_slots, register_partitions) in (2_u32..9, prop::sample::select(vec![1_u32, 4])),
        (dispatches_per_cycle, kernel_slots) in (1_u32..5, 1_u32..4),
        (hardware_queues, queue_depth, pending_kernels) in (1_u32..4, 1_u32..3, 0_u32..3),
        (invalidate_at_kernel_end, keep_lines_beside_others) in (any::<bool>(), any::<bool>()),
        seed in any::<u64>(),
    ) {
        let mut commands = Vec::new();
        for kernel in 0..kernels.len() {
            match waits[kernel] {
                0 => commands.push(HostCommand::Synchronize),
                1 => commands.push(HostCommand::CopyToHost { allocation: 0, offset: 0, bytes: 1000 }),
                _ => {}
            }
            commands.push(HostCommand::Launch { kernel: kernel as u32, stream: streams[kernel] });
        }
        let unit = UnitLimits { work_group_slots, register_partitions, ..LIMITS };
        let policy = POLICIES[policy];
        // A pair needs room for two.
        let pairs = policy == WorkGroupPolicy::DistributedBlock;
        let fits = |&(_, wavefronts, registers_per_thread, local): &KernelShape| {
            let needs = WorkGroupNeeds { wavefronts, registers_per_thread, local_bytes: u64::from(local) };
            unit.occupancy(&needs).work_groups > u32::from(pairs)
        };
        prop_assume!(kernels.iter().all(fits));
        let machinery = Machinery {
            kernels,
            commands,
            scheduler: WorkGroupSchedulerSpec {
                clusters,
                units_per_cluster,
                unit,
                policy,
                dispatches_per_cycle,
                kernel_slots,
                invalidate_at_kernel_end,
                keep_lines_beside_others,
            },
            gmu: GmuSpec { hardware_queues, queue_depth, pending_kernels, dispatch_latency_cycles: 2 },
            seed,
        };
        let [sleepy, awake, shuffled] = engines().map(|options| run(&machinery, options));
        prop_assert_eq!(&sleepy, &awake);
        prop_assert_eq!(&sleepy, &shuffled);
        check_run(&machinery, &sleepy)?;
        if seed.is_multiple_of(8) {
            let build = || bench(&machinery, &Arc::default(), &Log::default());
            TestBench::check_state(build, &[0, 7, 60, 300], 2000);
        }
    }
}

fn check_run(
    machinery: &Machinery,
    (log, times, statistics): &Observed,
) -> Result<(), TestCaseError> {
    let mut started = BTreeSet::new();
    let mut first_start = BTreeMap::new();
    let mut per_cycle = BTreeMap::new();
    for &(cycle, _, dispatch) in log {
        if let Dispatch::Start {
            kernel, work_group, ..
        } = dispatch
        {
            prop_assert!(started.insert((kernel, work_group)), "started twice");
            first_start.entry(kernel).or_insert(cycle);
            *per_cycle.entry(cycle).or_insert(0) += 1;
        }
    }
    let all: u32 = machinery.kernels.iter().map(|k| k.0).sum();
    prop_assert_eq!(started.len(), all as usize);
    let most = per_cycle.values().max().copied().unwrap_or(0);
    prop_assert!(most <= machinery.scheduler.dispatches_per_cycle);
    let mut completed: Vec<u32> = times.iter().map(|t| t.kernel).collect();
    completed.sort_unstable();
    prop_assert_eq!(
        completed,
        (0..machinery.kernels.len() as u32).collect::<Vec<_>>()
    );
    for a in times {
        for b in times {
            let same = stream_of(&machinery.commands, a.kernel)
                == stream_of(&machinery.commands, b.kernel);
            if same && a.kernel < b.kernel {
                // The later kernel of a stream starts after the earlier one is done.
                prop_assert!(first_start[&b.kernel] > a.completed, "{a:?} {b:?}");
            }
        }
    }
    let count = |path, name| counter(statistics, path, name);
    prop_assert_eq!(count("scheduler", "work_groups_dispatched"), u64::from(all));
    prop_assert_eq!(count("scheduler", "work_groups_completed"), u64::from(all));
    prop_assert_eq!(count("gmu", "kernels_completed"), times.len() as u64);
    prop_assert_eq!(count("host", "kernels_completed"), times.len() as u64);
    let activities = ACTIVITIES
        .iter()
        .map(|(name, _)| count("scheduler", name))
        .sum::<u64>();
    let host = [
        "copy_cycles",
        "launch_cycles",
        "launch_blocked_cycles",
        "wait_cycles",
        "finished_cycles",
    ];
    prop_assert_eq!(
        activities,
        host.iter().map(|name| count("host", name)).sum::<u64>()
    );
    Ok(())
}
