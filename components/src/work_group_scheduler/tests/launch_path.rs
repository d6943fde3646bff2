//! Tests of the whole launch path: every work-group of random programs runs once with each policy.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use warpweave_framework::{InstanceStatistics, Outcome, Policy, Tick, Value};

use super::fake_unit::{FakeUnit, Log, short};
use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::gmu::{Fcfs, Gmu, GmuSpec};
use crate::host_driver::{HostDriver, HostDriverSpec};
use crate::kernel_times::{KernelTime, KernelTimes};
use crate::launch::DispatchSlave;
use crate::occupancy::WorkGroupNeeds;

pub(super) struct Machinery {
    pub(super) kernels: Vec<KernelShape>,
    pub(super) commands: Vec<HostCommand>,
    pub(super) scheduler: WorkGroupSchedulerSpec,
    pub(super) gmu: GmuSpec,
    pub(super) seed: u64,
}

pub(super) type Observed = (
    Vec<(Cycle, u32, Dispatch)>,
    Vec<KernelTime>,
    Vec<InstanceStatistics>,
);

pub(super) fn gmu(hardware_queues: u32) -> GmuSpec {
    GmuSpec {
        hardware_queues,
        queue_depth: 2,
        pending_kernels: 2,
        dispatch_latency_cycles: 2,
        work_group_latency_cycles: 0,
        order: Policy::plain::<Fcfs>(),
    }
}

fn site(spec: &WorkGroupSchedulerSpec) -> PlacementSite {
    PlacementSite {
        clusters: spec.clusters,
        units_per_cluster: spec.units_per_cluster,
    }
}

pub(super) fn bench(machinery: &Machinery, times: &Arc<KernelTimes>, log: &Log) -> TestBench {
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
        flush_caches: false,
    };
    bench.add("host", HostDriver::build(host, &environment).unwrap());
    bench.add(
        "gmu",
        Gmu::build(machinery.gmu.clone(), &environment).unwrap(),
    );
    let spec = &machinery.scheduler;
    let scheduler = WorkGroupScheduler::build(spec.clone(), &environment).unwrap();
    bench.add("scheduler", scheduler);
    let limits = spec.unit.complete(None).expect("all is stated");
    for number in 0..spec.clusters * spec.units_per_cluster {
        let unit = FakeUnit {
            scheduler: DispatchSlave::default(),
            number,
            seed: machinery.seed,
            duration: short(),
            shapes: machinery.kernels.clone(),
            limits,
            slots: vec![None; limits.work_group_slots as usize],
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
    if spec
        .policy
        .build("policy", &environment, &site(spec), 0)
        .unwrap()
        .needs_memory()
    {
        let memory = EchoMemory::new(&EchoMemorySpec::latency(9)).unwrap();
        bench.add("memory", memory);
        let link = Link::latency(2);
        bench
            .builder()
            .connect("scheduler.memory", "memory.up", link);
    }
    bench
        .builder()
        .connect("host.gmu", "gmu.host", Link::latency(1));
    bench
        .builder()
        .connect("gmu.scheduler", "scheduler.gmu", Link::latency(1));
    bench
}

pub(super) fn run(machinery: &Machinery, options: EngineOptions) -> Observed {
    let times = Arc::new(KernelTimes::default());
    let log = Log::default();
    let mut bench = bench(machinery, &times, &log);
    bench.set_options(options);
    let outcome = bench.run_until_quiet();
    assert!(matches!(outcome, Outcome::Done), "{outcome:?}");
    let mut log = std::mem::take(&mut *log.lock());
    log.sort_by_key(|&(cycle, unit, _)| (cycle, unit));
    let kernels = 0..machinery.kernels.len() as u32;
    let times = kernels.map(|kernel| times.of(kernel)).collect();
    (log, times, bench.simulation().statistics())
}

fn stream_of(commands: &[HostCommand], number: u32) -> u32 {
    let of = |command: &HostCommand| match *command {
        HostCommand::Launch { kernel, stream } if kernel == number => Some(stream),
        _ => None,
    };
    commands.iter().find_map(of).unwrap()
}

pub(super) fn counter(statistics: &[InstanceStatistics], path: &str, name: &str) -> u64 {
    let instance = statistics.iter().find(|s| s.path == path).unwrap();
    match instance.get(name) {
        Some(&(Value::Counter(value) | Value::Number(value))) => value,
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
        policy in prop::sample::select(every_policy()),
        (clusters, units_per_cluster) in (1_u32..4, 1_u32..4),
        (work_group_slots, register_partitions) in (2_u32..9, prop::sample::select(vec![1_u32, 4])),
        (dispatches_per_cycle, kernel_slots) in (1_u32..5, 1_u32..4),
        (hardware_queues, queue_depth, pending_kernels) in (1_u32..4, 1_u32..3, 0_u32..3),
        invalidate_at in prop::sample::select(vec![InvalidateAt::KernelEnd, InvalidateAt::FamilyEnd, InvalidateAt::Never]),
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
        let pairs = places_pairs(&policy);
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
                unit: unit.into(),
                policy,
                dispatches_per_cycle,
                kernel_slots,
                invalidate_at,
                second_level: None,
                announce: Announce::FamilyComplete,
            },
            gmu: GmuSpec { queue_depth, pending_kernels, ..gmu(hardware_queues) },
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

pub(super) fn check_run(
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
    for (b, later) in (0_u32..).zip(times) {
        // A unit sees what is sent two cycles later; a tick is a cycle.
        let start = first_start[&b] - 2;
        prop_assert_eq!(later.started, Some(Tick(start)), "{:?}", later);
        prop_assert!(later.launched < later.started && later.started < later.completed);
        for (a, earlier) in (0..b).zip(times) {
            if stream_of(&machinery.commands, a) == stream_of(&machinery.commands, b) {
                // The later kernel of a stream starts after the earlier one is done.
                prop_assert!(later.started > earlier.completed, "{earlier:?} {later:?}");
            }
        }
    }
    let count = |path, name| counter(statistics, path, name);
    prop_assert_eq!(count("scheduler", "work_groups_dispatched"), u64::from(all));
    prop_assert_eq!(count("scheduler", "work_groups_completed"), u64::from(all));
    prop_assert_eq!(count("gmu", "kernels_completed"), times.len() as u64);
    prop_assert_eq!(count("host", "kernels_completed"), times.len() as u64);
    let activities = accounting::ACTIVITIES
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
