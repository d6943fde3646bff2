//! Tests of the compute unit as a component with scripted surroundings: [`issue`], [`memory`],
//! [`work_groups`], [`split`], [`mechanisms`], [`readonly_ports`], [`open_schedulers`],
//! [`cache_conscious`], [`programmed`], [`spare_registers`] and [`load_waits`]. [`differential`]
//! compares the unit with a [`naive`] one on [`random_kernels`], with a [`random_memory`] and a
//! [`random_cache`]. Prefetched loads are those of a [`loop_kernel`].
//!
//! With a dispatch for cycle 1 and the start latency of 2, the first instruction issues in cycle 3.

mod cache_conscious;
mod differential;
mod dispatcher;
mod issue;
mod load_waits;
mod loop_kernel;
mod mechanisms;
mod memory;
mod naive;
mod open_schedulers;
mod programmed;
mod random_cache;
mod random_kernels;
mod random_memory;
mod readonly_ports;
mod spare_registers;
mod split;
mod work_groups;

use std::collections::VecDeque;

use parking_lot::Mutex;
use warpweave_framework::{Cycle, Policy, Sink, Source as BenchSource, Stateful, TestBench, Value};
use warpweave_trace::{
    Class, Code, FrontEnd, Instruction, KernelTrace, KernelWriter, LANES, RegisterSet, Space,
    StreamWriter,
};

use super::*;
use crate::launch::{Completion, DispatchSlave};
use crate::memory::{CacheEvent, Level, MemMaster, MemRequest, MemResponse, RequestKind, Source};

const ALL: u32 = u32::MAX;

fn spec() -> ComputeUnitSpec {
    let mut classes = ClassTimings::uniform(ClassTiming {
        latency: 4,
        interval: 1,
    });
    classes.load.latency = 3;
    classes.store.latency = 3;
    classes.exit.latency = 1;
    ComputeUnitSpec {
        index: 7,
        wavefront_slots: 8,
        work_group_slots: 4,
        registers: 16384,
        register_partitions: None,
        register_granularity: None,
        schedulers: 1,
        issues_per_cycle: 1,
        issue_together: IssueTogether::Any,
        fetch: None,
        operand_latency: 0,
        register_banks: None,
        results_per_cycle: None,
        scheduler: Policy::plain::<Gto>(),
        start_latency: 2,
        classes,
        barrier_interval: 0,
        local_memory: LocalMemorySpec {
            bytes: 4096,
            banks: 32,
            latency: 10,
            conflict_latency: 1,
            wide: WideAccesses::Words,
            shared_with_cache: None,
        },
        constant_latency: 5,
        constants: None,
        textures: None,
        load_store: LoadStoreSpec {
            line_bytes: 128,
            queue_depth: 4,
            pipe: MemoryPipe::Separate,
            issues_per_cycle: None,
            atomics: AtomicLanes::Together,
            global_loads: GlobalLoads::Cached,
            requests_per_cycle: 1,
            bytes_per_cycle: None,
            outstanding_max: 64,
            writeback_latency: 1,
        },
        private_memory: PrivateMemorySpec {
            base: 1 << 40,
            bytes_per_thread: 64,
        },
        spare_registers: None,
        reuse_monitor: None,
        load_waits: false,
    }
}

fn set(registers: &[u16]) -> RegisterSet {
    registers.iter().copied().collect()
}

fn op(class: Class, writes: &[u16], reads: &[u16]) -> Instruction {
    Instruction {
        reads: set(reads),
        writes: set(writes),
        ..Instruction::new(class.name(), class)
    }
}

/// One step of a wavefront: instruction, mask, and lane addresses of a memory access.
#[derive(Clone, Debug)]
struct Step {
    instruction: Instruction,
    mask: u32,
    access: Option<(Space, [u64; LANES])>,
    continues: bool,
}

fn step(instruction: Instruction) -> Step {
    Step {
        instruction,
        mask: ALL,
        access: None,
        continues: false,
    }
}

fn strided(base: u64, step: u64) -> [u64; LANES] {
    std::array::from_fn(|lane| base + step * lane as u64)
}

fn access(class: Class, writes: &[u16], reads: &[u16], space: Space, at: [u64; LANES]) -> Step {
    Step {
        access: Some((space, at)),
        ..step(op(class, writes, reads).accessing(space, 4))
    }
}

fn exit() -> Step {
    step(op(Class::Exit, &[], &[]))
}

/// Creates a kernel whose wavefronts execute these steps, equal in each work-group. Each step has
/// its own instruction, except that a continued step shares it with the next one.
fn kernel(wavefronts: &[Vec<Step>], work_groups: u32, local_bytes: u32) -> KernelTrace {
    let mut instructions = Vec::new();
    let mut pcs = Vec::new();
    for steps in wavefronts {
        let mut of_wavefront = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            if i == 0 || !steps[i - 1].continues {
                instructions.push(step.instruction.clone());
            }
            of_wavefront.push(instructions.len() as u32 - 1);
        }
        pcs.push(of_wavefront);
    }
    let code = Arc::new(Code {
        name: "test".to_owned(),
        instructions,
        registers_per_thread: 16,
        ..Code::default()
    });
    let block = [32 * wavefronts.len() as u32, 1, 1];
    let mut writer = KernelWriter::new(code, [work_groups, 1, 1], block, local_bytes, Vec::new())
        .expect("the launch is not empty");
    for work_group in 0..work_groups {
        for (number, steps) in wavefronts.iter().enumerate() {
            let mut stream = StreamWriter::new();
            for (step, &pc) in steps.iter().zip(&pcs[number]) {
                match &step.access {
                    Some((space, at)) => stream.access(pc, step.mask, *space, step.continues, at),
                    None => stream.step(pc, step.mask),
                }
            }
            writer
                .finish_wavefront(work_group, number as u32, stream)
                .expect("the stream fits the kernel");
        }
    }
    writer.finish().expect("every wavefront is written")
}

fn program(kernels: Vec<KernelTrace>) -> Environment {
    let mut environment = Environment::new("cu", 1);
    environment.provide(Arc::new(Program {
        name: "test".to_owned(),
        allocations: Vec::new(),
        commands: Vec::new(),
        kernels: kernels.into_iter().map(Arc::new).collect(),
        front_end: FrontEnd::default(),
    }));
    environment
}

#[test]
fn a_unit_of_another_number_is_specified_as_if_it_were_read() {
    let number = |text: &str| {
        let source = warpweave_params::Source::new("index", text);
        warpweave_params::parse(&source).unwrap()
    };
    let mut varied = spec();
    assert!(ComputeUnit::vary(&mut varied, "index", &number("65535")));
    assert_eq!(
        varied,
        ComputeUnitSpec {
            index: 65535,
            ..spec()
        }
    );
    for (field, text) in [
        ("index", "-1"),
        ("index", "65536"),
        ("index", "1.0"),
        ("registers", "7"),
    ] {
        let mut kept = spec();
        assert!(
            !ComputeUnit::vary(&mut kept, field, &number(text)),
            "{field}: {text}"
        );
        assert_eq!(kept, spec());
    }
}

fn build(spec: ComputeUnitSpec, kernels: Vec<KernelTrace>) -> ComputeUnit {
    ComputeUnit::build(spec, &program(kernels)).expect("the specification is in range")
}

/// Compute unit in a test bench with scripted neighbors.
struct Bench {
    bench: TestBench,
    dispatch: BenchSource<Dispatch>,
    completion: Sink<Completion>,
    request: Sink<MemRequest>,
    response: BenchSource<MemResponse>,
}

impl Bench {
    fn new(spec: ComputeUnitSpec, kernels: Vec<KernelTrace>) -> Self {
        Self::around(build(spec, kernels))
    }

    fn around(unit: ComputeUnit) -> Self {
        let mut bench = TestBench::new();
        bench.add("cu", unit);
        Self {
            dispatch: bench.source("cu.dispatch.dispatch"),
            completion: bench.sink("cu.dispatch.completion"),
            request: bench.sink("cu.memory.request"),
            response: bench.source("cu.memory.response"),
            bench,
        }
    }

    fn start_at(&self, cycle: Cycle, kernel: u32, work_group: u32, slot: u16) {
        let start = Dispatch::Start {
            kernel,
            work_group,
            slot,
            hint: 0,
        };
        self.dispatch.send_at(cycle, start);
    }

    fn expect_completion(&mut self, cycle: Cycle, work_group: u32, slot: u16) {
        let completion = Completion::WorkGroup {
            kernel: 0,
            work_group,
            slot,
        };
        self.bench.expect_at(&self.completion, cycle, &completion);
    }

    fn counter(&mut self, name: &str) -> u64 {
        let statistics = self.bench.statistics("cu");
        statistics
            .counter(name)
            .unwrap_or_else(|| panic!("there is no counter {name}"))
    }

    /// Checks the completion cycle of one work-group of these wavefronts, dispatched for cycle 1.
    fn completes_at(spec: ComputeUnitSpec, wavefronts: &[Vec<Step>], cycle: Cycle) {
        let mut bench = Self::new(spec, vec![kernel(wavefronts, 1, 0)]);
        bench.start_at(1, 0, 0, 0);
        bench.expect_completion(cycle, 0, 0);
    }
}

/// Messages seen on a connection, with their cycles.
type Log<T> = Arc<Mutex<Vec<(Cycle, T)>>>;
