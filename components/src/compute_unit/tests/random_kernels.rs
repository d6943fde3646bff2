//! Random kernels on random units: every instruction issues once, every slot is accounted for, and
//! a restored checkpoint behaves identically.

use proptest::prelude::*;
use warpweave_framework::{EngineOptions, InstanceStatistics, Link, Order};
use warpweave_random::nth;
use warpweave_trace::ReadPath;

use super::dispatcher::Dispatcher;
use super::open_schedulers::Capricious;
use super::random_cache::RandomCache;
use super::random_memory::RandomMemory;
use super::*;
use crate::ccws::{Ccws, CcwsSpec};
use crate::launch::DispatchMaster;

fn slots(statistics: &InstanceStatistics) -> u64 {
    let counters = statistics.values.iter().filter_map(|s| match &s.value {
        Value::Counter(n) if s.name.starts_with("slots_") => Some(*n),
        _ => None,
    });
    counters.sum()
}

/// Returns the sum of the counters whose names begin with `prefix`.
fn parts(statistics: &InstanceStatistics, prefix: &str) -> u64 {
    let of = |s: &warpweave_framework::Statistic| match &s.value {
        Value::Counter(n) if s.name.starts_with(prefix) => Some(*n),
        _ => None,
    };
    statistics.values.iter().filter_map(of).sum()
}

/// Observed results of one run, for comparison.
#[derive(Debug, PartialEq)]
struct Seen {
    completions: Vec<(Cycle, Completion)>,
    requests: [Vec<(Cycle, MemRequest)>; 3],
    statistics: InstanceStatistics,
    /// Activity record of the unit from the simulation.
    activity: Vec<u64>,
}

const RUN_CYCLES: Cycle = 30_000;

/// Logs of the requests for data, constants and textures.
pub(super) type Requests = [Log<MemRequest>; 3];

/// Connects the unit `cu` to a random memory and runs every work-group of a kernel on it, two at a
/// time.
pub(super) fn surround(
    bench: &mut TestBench,
    spec: &ComputeUnitSpec,
    kernel: &KernelTrace,
    (seed, delay_max): (u64, u64),
    (completions, requests): (&Log<Completion>, &Requests),
) {
    let [memory, constants, textures] = requests;
    bench.add("memory", RandomMemory::new(seed, delay_max, memory.clone()));
    let dispatcher = Dispatcher {
        down: DispatchMaster::default(),
        work_groups: kernel.work_groups(),
        next: 0,
        free: vec![0, 1],
        log: completions.clone(),
    };
    bench.add("dispatcher", dispatcher);
    let builder = bench.builder();
    builder.connect("cu.memory", "memory.up", Link::latency(1));
    builder.connect("dispatcher.down", "cu.dispatch", Link::latency(1));
    for (path, is_there, log) in [
        ("constants", spec.constants.is_some(), constants),
        ("textures", spec.textures.is_some(), textures),
    ] {
        if is_there {
            let memory = RandomMemory::new(seed ^ 2, delay_max, log.clone());
            bench.add(path, memory);
            let builder = bench.builder();
            let (from, to) = (format!("cu.{path}"), format!("{path}.up"));
            builder.connect(&from, &to, Link::latency(1));
        }
    }
    if spec.fetch.is_some_and(|fetch| fetch.latency == 1) {
        let memory = RandomMemory::new(seed ^ 1, delay_max, Arc::default());
        bench.add("code", memory);
        let builder = bench.builder();
        builder.connect("cu.instructions", "code.up", Link::latency(1));
    }
}

/// Creates a unit with its neighbors and random cache events.
fn bench(
    spec: &ComputeUnitSpec,
    kernel: &KernelTrace,
    memory: (u64, u64),
    logs: (&Log<Completion>, &Requests),
) -> TestBench {
    let mut bench = TestBench::new();
    bench.add("cu", build(spec.clone(), vec![kernel.clone()]));
    surround(&mut bench, spec, kernel, memory, logs);
    bench.add("cache", RandomCache::new(memory.0));
    let builder = bench.builder();
    builder.connect("cache.locality", "cu.locality", Link::latency(1));
    bench
}

fn run(
    spec: &ComputeUnitSpec,
    kernel: &KernelTrace,
    memory: (u64, u64),
    options: EngineOptions,
) -> Seen {
    let (completions, requests): (Log<Completion>, Requests) = Default::default();
    let mut bench = bench(spec, kernel, memory, (&completions, &requests));
    bench.set_options(options);
    bench.step(RUN_CYCLES);
    let statistics = bench.statistics("cu");
    let activity = bench.simulation().activity(0).to_vec();
    let take = |log: &mut Vec<_>| std::mem::take(log);
    let completions = take(&mut completions.lock());
    let requests = requests.map(|log| {
        let mut log = log.lock();
        std::mem::take(&mut *log)
    });
    Seen {
        completions,
        requests,
        statistics,
        activity,
    }
}

/// Generates a step without barrier or exit.
fn any_step() -> impl Strategy<Value = Step> {
    let compute = proptest::sample::select(vec![
        Class::IntAdd,
        Class::IntAdd,
        Class::FpMul,
        Class::Special,
        Class::Branch,
        Class::Fence,
    ]);
    let reads = proptest::collection::vec(0u16..12, 0..5);
    let compute = (compute, 0u16..6, reads).prop_map(|(class, write, reads)| {
        let writes: &[u16] = if matches!(class, Class::Branch | Class::Fence) {
            &[]
        } else {
            &[write]
        };
        step(op(class, writes, &reads))
    });
    let class =
        proptest::sample::select(vec![Class::Load, Class::Load, Class::Store, Class::Atomic]);
    let space = proptest::sample::select(vec![
        Space::Global,
        Space::Global,
        Space::Shared,
        Space::Local,
        Space::Const,
        Space::Param,
    ]);
    let path = proptest::sample::select(vec![
        ReadPath::Coherent,
        ReadPath::NonCoherent,
        ReadPath::Texture,
    ]);
    let at = prop_oneof![
        (0u64..4000).prop_map(|address| [address; LANES]),
        (0u64..4000, 0u64..80).prop_map(|(base, step)| strided(base, step)),
        (0u64..1000, any::<u64>()).prop_map(|(base, seed)| {
            std::array::from_fn(|lane| base + nth(seed, lane as u64) % 3000)
        }),
    ];
    let width = proptest::sample::select(vec![4u8, 4, 8, 16]);
    let memory = (class, (space, path), at, 0u16..6, 0u16..6, width).prop_map(
        |(class, (space, path), at, write, read, width)| {
            let at = if space == Space::Local {
                at.map(|offset| offset % 60)
            } else {
                at
            };
            let writes: &[u16] = if class == Class::Store { &[] } else { &[write] };
            let mut step = access(class, writes, &[read], space, at);
            step.instruction.hints.path = path;
            if space == Space::Shared && class != Class::Atomic {
                step.instruction.access_bytes = width;
            }
            step
        },
    );
    let mask = prop_oneof![Just(ALL), any::<u32>(), Just(0)];
    (prop_oneof![2 => compute, 3 => memory], mask).prop_map(|(step, mask)| Step { mask, ..step })
}

/// Generates kernels whose wavefronts meet at the same barriers, unless they have exited before.
pub(super) fn any_kernel() -> impl Strategy<Value = KernelTrace> {
    let phase = proptest::collection::vec(any_step(), 0..6);
    let wavefront = proptest::collection::vec(phase, 1..4);
    let wavefronts = proptest::collection::vec(wavefront, 1..5);
    (wavefronts, 1u32..6).prop_map(|(wavefronts, work_groups)| {
        let steps = |phases: Vec<Vec<Step>>| {
            let mut steps = phases.join(&step(op(Class::Barrier, &[], &[])));
            steps.push(exit());
            steps
        };
        let wavefronts: Vec<_> = wavefronts.into_iter().map(steps).collect();
        kernel(&wavefronts, work_groups, 1024)
    })
}

fn ccws(k_throttle: u32) -> Policy<WavefrontScheduling> {
    Policy::of::<Ccws>(&CcwsSpec {
        k_throttle,
        ..CcwsSpec::default()
    })
}

/// Optional mechanisms of a random unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mechanisms {
    issues: u32,
    together: IssueTogether,
    operands: u32,
    banks: Option<RegisterBanksSpec>,
    results: Option<u32>,
    atomics: AtomicLanes,
    pipe: MemoryPipe,
    accesses: Option<u32>,
    moved: Option<u32>,
    fetch: Option<FetchSpec>,
    constants: Option<ConstantsSpec>,
    textures: Option<TexturesSpec>,
}

impl Mechanisms {
    pub(super) fn set(self, spec: &mut ComputeUnitSpec) {
        spec.issues_per_cycle = self.issues;
        spec.issue_together = self.together;
        spec.operand_latency = self.operands;
        spec.register_banks = self.banks.map(|banks| {
            let parts = banks.parts(spec.schedulers);
            RegisterBanksSpec {
                banks: banks.banks * parts,
                collectors: banks.collectors * parts,
                ..banks
            }
        });
        spec.results_per_cycle = self.results;
        spec.load_store.atomics = self.atomics;
        spec.load_store.pipe = self.pipe;
        spec.load_store.issues_per_cycle = self.accesses;
        spec.load_store.bytes_per_cycle = self.moved;
        spec.fetch = self.fetch;
        spec.constants = self.constants;
        spec.textures = self.textures;
    }
}

/// Generates mechanisms that each have the default value more often than not. With a fetch latency
/// of 1, instructions come from a cache.
pub(super) fn any_mechanisms() -> impl Strategy<Value = Mechanisms> {
    let fetch = (0u32..4, 0u32..2, 1u32..4, 0u32..3).prop_map(|(bytes, line, latency, room)| {
        let fetched = 1 << bytes;
        FetchSpec {
            base: 1 << 50,
            instruction_bytes: 8,
            bytes: 8 * fetched,
            line_bytes: 64 << line,
            buffer: fetched + room,
            latency,
        }
    });
    let together = prop_oneof![
        Just(IssueTogether::Any),
        Just(IssueTogether::DifferentUnits)
    ];
    let pipe = prop_oneof![Just(MemoryPipe::Separate), Just(MemoryPipe::InOrder)];
    let accesses = (
        prop::option::weighted(0.3, 1u32..3),
        prop::option::weighted(0.3, 10u32..200),
    );
    let issues = prop_oneof![2 => Just(1u32), 1 => 2u32..4];
    let operands = prop_oneof![2 => Just(0u32), 1 => 1u32..5];
    let habits = prop::array::uniform3(any::<bool>());
    let banks = (1u32..6, 1u32..4, 1u32..5, habits).prop_map(
        |(banks, reads_per_cycle, collectors, [by_wavefront, one_by_one, by_scheduler])| {
            RegisterBanksSpec {
                banks,
                by_wavefront,
                reads_per_cycle,
                collectors,
                one_by_one,
                by_scheduler,
            }
        },
    );
    let registers = (
        operands,
        prop::option::weighted(0.5, banks),
        prop::option::weighted(0.4, 1u32..3),
    );
    let constants = (any_queue(), any::<bool>()).prop_map(|(queue, together)| {
        let [
            line,
            queue_depth,
            requests_per_cycle,
            outstanding_max,
            writeback_latency,
        ] = queue;
        ConstantsSpec {
            arguments: 1 << 44,
            lanes: if together {
                ConstantLanes::Together
            } else {
                ConstantLanes::Apart
            },
            line_bytes: line,
            queue_depth,
            requests_per_cycle,
            outstanding_max,
            writeback_latency,
        }
    });
    let textures = (any_queue(), any::<bool>(), any::<bool>()).prop_map(|(queue, all, ordered)| {
        let [
            line,
            queue_depth,
            requests_per_cycle,
            outstanding_max,
            writeback_latency,
        ] = queue;
        TexturesSpec {
            loads: if all {
                TextureLoads::NonCoherent
            } else {
                TextureLoads::Textures
            },
            answers: if ordered {
                TextureAnswers::InOrder
            } else {
                TextureAnswers::AsTheyCome
            },
            line_bytes: line,
            queue_depth,
            requests_per_cycle,
            outstanding_max,
            writeback_latency,
        }
    });
    let asides = (
        prop::option::weighted(0.4, constants),
        prop::option::weighted(0.4, textures),
    );
    let atomics = prop_oneof![2 => Just(AtomicLanes::Together), 1 => Just(AtomicLanes::Apart)];
    (
        issues,
        together,
        registers,
        (pipe, atomics),
        accesses,
        (prop::option::of(fetch), asides),
    )
        .prop_map(
            |(issues, together, registers, (pipe, atomics), (accesses, moved), (fetch, asides))| {
                let (constants, textures) = asides;
                let (operands, banks, results) = registers;
                Mechanisms {
                    issues,
                    together,
                    operands,
                    banks,
                    results,
                    atomics,
                    pipe,
                    accesses,
                    moved,
                    fetch,
                    constants,
                    textures,
                }
            },
        )
}

/// Generates line bytes, queue depth, requests per cycle, maximum outstanding requests and
/// write-back latency of a read path.
fn any_queue() -> impl Strategy<Value = [u32; 5]> {
    let line = proptest::sample::select(vec![32u32, 64, 128]);
    (line, 1u32..4, 1u32..4, 2u32..40, 0u32..3)
        .prop_map(|(line, depth, per_cycle, most, later)| [line, depth, per_cycle, most, later])
}

pub(super) fn any_spec() -> impl Strategy<Value = ComputeUnitSpec> {
    let policy = proptest::sample::select(vec![
        Policy::plain::<Gto>(),
        Policy::plain::<GtoLongLatency>(),
        Policy::plain::<Lrr>(),
        Policy::plain::<OldestFirst>(),
        Policy::of::<TwoLevel>(&TwoLevelSpec { group_size: 2 }),
        Policy::plain::<Capricious>(),
        ccws(1),
        ccws(8),
    ]);
    let numbers = (policy, 1u32..4, 1u32..4, 1u32..5, 2u32..40, 0u32..3);
    let inside = (1u32..4, any::<bool>(), 0u32..4);
    let parts = (numbers, any_mechanisms(), any::<bool>(), inside);
    parts.prop_map(|(numbers, mechanisms, load_waits, inside)| {
        let (conflict_latency, in_phases, barrier_interval) = inside;
        let (policy, schedulers, interval, queue, outstanding, writeback) = numbers;
        let mut spec = spec();
        spec.load_waits = load_waits;
        spec.local_memory.conflict_latency = conflict_latency;
        if in_phases {
            spec.local_memory.wide = WideAccesses::Phases;
        }
        spec.barrier_interval = barrier_interval;
        spec.scheduler = policy;
        spec.schedulers = schedulers;
        spec.classes.special.interval = 2 * interval;
        spec.classes.int_add.interval = interval;
        spec.classes.load.interval = interval;
        spec.load_store.queue_depth = queue;
        spec.load_store.outstanding_max = outstanding;
        spec.load_store.requests_per_cycle = interval;
        spec.load_store.writeback_latency = writeback;
        mechanisms.set(&mut spec);
        spec
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_instruction_issues_once_and_every_slot_is_accounted_for(
        spec in any_spec(), kernel in any_kernel(), seed in any::<u64>(), delay_max in 1u64..120,
    ) {
        let memory = (seed, delay_max);
        let seen = run(&spec, &kernel, memory, EngineOptions::default());
        let counter = |name: &str| seen.statistics.counter(name).expect("a counter of the unit");
        prop_assert_eq!(seen.completions.len() as u32, kernel.work_groups());
        prop_assert_eq!(counter("wavefront_instructions"), kernel.wavefront_instructions());
        prop_assert_eq!(counter("thread_instructions"), kernel.thread_instructions());
        if spec.issues_per_cycle == 1 {
            prop_assert_eq!(counter("slots_issued"), kernel.wavefront_instructions());
        }
        let settled = |name: &str| parts(&seen.statistics, name);
        prop_assert_eq!(settled("issued_slots_"), counter("slots_issued"));
        prop_assert_eq!(settled("memory_slots_"), counter("slots_memory"));
        prop_assert!(settled("no_wavefront_slots_") <= counter("slots_no_wavefront"));
        prop_assert_eq!(slots(&seen.statistics), u64::from(spec.schedulers) * (RUN_CYCLES + 1));
        let requests = ["read_requests", "write_requests", "atomic_requests"].map(counter);
        prop_assert_eq!(requests.iter().sum::<u64>(), seen.requests[0].len() as u64);
        for (name, log) in ["constant_requests", "texture_requests"].iter().zip(&seen.requests[1..]) {
            let count = seen.statistics.counter(name).unwrap_or(0);
            prop_assert_eq!(count, log.len() as u64);
        }

        let always_awake = EngineOptions { sleeping: false, ..EngineOptions::default() };
        prop_assert_eq!(&run(&spec, &kernel, memory, always_awake), &seen);
        let shuffled = EngineOptions {
            order: Order::Shuffled { seed },
            ..EngineOptions::default()
        };
        prop_assert_eq!(&run(&spec, &kernel, memory, shuffled), &seen);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn cache_conscious_scheduling_that_throttles_nothing_is_greedy_then_oldest(
        spec in any_spec(), kernel in any_kernel(), seed in any::<u64>(), delay_max in 1u64..120,
    ) {
        let with = |scheduler| {
            let spec = ComputeUnitSpec { scheduler, ..spec.clone() };
            let seen = run(&spec, &kernel, (seed, delay_max), EngineOptions::default());
            (seen.completions, seen.requests)
        };
        prop_assert_eq!(with(ccws(0)), with(Policy::plain::<Gto>()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_unit_saved_in_the_middle_goes_on_alike(
        spec in any_spec(), kernel in any_kernel(), seed in any::<u64>(),
        cuts in prop::collection::btree_set(0..1500u64, 3),
    ) {
        let build = || bench(&spec, &kernel, (seed, 60), (&Arc::default(), &Default::default()));
        TestBench::check_state(build, &cuts.into_iter().collect::<Vec<_>>(), 4000);
    }
}
