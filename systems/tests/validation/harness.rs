//! Hand-written programs on machines from files, and access to the numbers of the machines as
//! built.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use warpweave_framework::{EngineOptions, InstanceStatistics, Value};
use warpweave_params::{Kind, Node};
use warpweave_systems::{Machine, Scenario, Simulated, Status, standard_registry};
use warpweave_trace::{
    Attribute, CacheOperator, Class, Code, FrontEnd, HostCommand, Instruction, KernelTrace,
    KernelWriter, LANES, Program, RegisterSet, Space, StreamWriter,
};

/// Number of independent destination registers for streaming loads and computations.
pub(super) const REGISTERS: u16 = 16;

/// One record of a wavefront; accesses touch one word per lane, starting at the address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Loads the value for [`Step::Use`], from an address that [`Step::Use`] computes.
    Load(u64),
    Use,
    Store(u64),
    Atomic(u64),
    /// Loads into this register (below [`REGISTERS`]) without dependencies.
    Stream(u16, u64),
    /// Loads into this register and bypasses the first level.
    StreamPast(u16, u64),
    /// Computes this register (below [`REGISTERS`]) without dependencies.
    Compute(u16),
    /// Computes this register on another kind of unit.
    ComputeFloat(u16),
    /// Executes an instruction of this class, an index in [`CLASSES`], that depends on the previous
    /// one.
    Chain(usize),
    /// Executes such an instruction with this many source registers (1 to [`OPERANDS`]), whose
    /// numbers differ by multiples of 64.
    Gather(usize),
    /// Loads like [`Step::Load`], with lane `l` at the `l`-th place, and lanes beyond the last
    /// place at the first one.
    Spread(Places),
    /// Loads from these places in local memory.
    Local(Places),
    /// Stores to these places in memory.
    Put(Places),
    /// Performs an atomic update at these places.
    Change(Places),
    Exit,
}

/// Instruction classes without memory accesses, with their names in descriptions.
pub(super) const CLASSES: [(Class, &str); 16] = [
    (Class::IntAdd, "int_add"),
    (Class::IntMul, "int_mul"),
    (Class::IntDiv, "int_div"),
    (Class::FpAdd, "fp_add"),
    (Class::FpMul, "fp_mul"),
    (Class::FpDiv, "fp_div"),
    (Class::DpAdd, "dp_add"),
    (Class::DpMul, "dp_mul"),
    (Class::DpDiv, "dp_div"),
    (Class::Special, "special"),
    (Class::Convert, "convert"),
    (Class::Shuffle, "shuffle"),
    (Class::Vote, "vote"),
    (Class::Branch, "branch"),
    (Class::Barrier, "barrier"),
    (Class::Fence, "fence"),
];

/// Lane addresses of an access: the first `distinct` lanes are `apart` bytes apart, starting at
/// `base`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Places {
    pub(super) base: u64,
    pub(super) apart: u64,
    pub(super) distinct: usize,
}

impl Places {
    fn lanes(self) -> [u64; LANES] {
        std::array::from_fn(|lane| match lane {
            lane if lane < self.distinct => self.base + self.apart * lane as u64,
            _ => self.base,
        })
    }

    fn access(self, stream: &mut StreamWriter, pc: u32, space: Space) {
        stream.access(pc, u32::MAX, space, false, &self.lanes());
    }
}

/// Index of the instruction that loads from local memory.
const LOCAL: u32 = 5 + 2 * REGISTERS as u32;

/// Index of the first load that bypasses the first level.
const PAST: u32 = LOCAL + 1 + REGISTERS as u32 + CLASSES.len() as u32;

/// Index of the first instruction that reads several registers; `OPERANDS` is their maximum number.
const GATHER: u32 = PAST + REGISTERS as u32;
pub(super) const OPERANDS: usize = 3;

fn registers(numbers: &[u16]) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    for &number in numbers {
        set.insert(number);
    }
    set
}

/// Code of all kernels here, which are launches of one function.
static CODE: LazyLock<Arc<Code>> = LazyLock::new(code);

fn code() -> Arc<Code> {
    let instruction = |name: &str, class, reads: &[u16], writes: &[u16]| {
        let mut instruction = Instruction::new(name, class);
        if matches!(class, Class::Load | Class::Store | Class::Atomic) {
            instruction = instruction.accessing(Space::Global, 4);
        }
        instruction.reads = registers(reads);
        instruction.writes = registers(writes);
        instruction
    };
    let mut instructions = vec![
        instruction("exit", Class::Exit, &[], &[]),
        instruction("ld.global.u32", Class::Load, &[2], &[1]),
        instruction("add.u32", Class::IntAdd, &[1], &[2]),
        instruction("st.global.u32", Class::Store, &[2], &[]),
        instruction("atom.global.add.u32", Class::Atomic, &[2], &[1]),
    ];
    instructions
        .extend((0..REGISTERS).map(|r| instruction("ld.global.u32", Class::Load, &[], &[16 + r])));
    instructions
        .extend((0..REGISTERS).map(|r| instruction("add.u32", Class::IntAdd, &[], &[48 + r])));
    let mut local = instruction("ld.shared.u32", Class::Load, &[2], &[1]);
    local = local.accessing(Space::Shared, 4);
    instructions.push(local);
    instructions
        .extend((0..REGISTERS).map(|r| instruction("add.f32", Class::FpAdd, &[], &[80 + r])));
    instructions.extend(CLASSES.map(|(class, name)| match class {
        Class::Branch | Class::Barrier | Class::Fence => instruction(name, class, &[], &[]),
        _ => instruction(name, class, &[3], &[3]),
    }));
    instructions.extend((0..REGISTERS).map(|r| {
        let mut past = instruction("ld.global.cg.u32", Class::Load, &[], &[16 + r]);
        past.hints.cache = CacheOperator::GlobalLevel;
        past
    }));
    instructions.extend((1..=OPERANDS).map(|count| {
        let operands = [3, 3 + 64, 3 + 128];
        instruction("gather", Class::IntAdd, &operands[..count], &[3])
    }));
    Arc::new(Code {
        name: "validation".to_owned(),
        instructions,
        registers_per_thread: 16,
        ..Code::default()
    })
}

impl Step {
    fn write(self, stream: &mut StreamWriter) {
        let (pc, address) = match self {
            Self::Exit => (0, None),
            Self::Load(address) => (1, Some(address)),
            Self::Use => (2, None),
            Self::Store(address) => (3, Some(address)),
            Self::Atomic(address) => (4, Some(address)),
            Self::Stream(register, address) => (5 + u32::from(register), Some(address)),
            Self::StreamPast(register, address) => (PAST + u32::from(register), Some(address)),
            Self::Compute(register) => (5 + u32::from(REGISTERS + register), None),
            Self::ComputeFloat(register) => (LOCAL + 1 + u32::from(register), None),
            Self::Chain(class) => (LOCAL + 1 + u32::from(REGISTERS) + class as u32, None),
            Self::Gather(count) => (GATHER + count as u32 - 1, None),
            Self::Spread(places) => return places.access(stream, 1, Space::Global),
            Self::Put(places) => return places.access(stream, 3, Space::Global),
            Self::Change(places) => return places.access(stream, 4, Space::Global),
            Self::Local(places) => return places.access(stream, LOCAL, Space::Shared),
        };
        match address {
            Some(base) => {
                let lanes: [u64; LANES] = std::array::from_fn(|lane| base + 4 * lane as u64);
                stream.access(pc, u32::MAX, Space::Global, false, &lanes);
            }
            None => stream.step(pc, u32::MAX),
        }
    }
}

/// Returns a kernel whose wavefronts execute `steps(work-group, wavefront)`.
pub(super) fn kernel(
    work_groups: u32,
    wavefronts: u32,
    steps: impl Fn(u32, u32) -> Vec<Step>,
) -> KernelTrace {
    kernel_with(work_groups, wavefronts, 0, Vec::new(), steps)
}

/// Like [`kernel`], with bytes of local memory for each work-group and attributes of the launch.
pub(super) fn kernel_with(
    work_groups: u32,
    wavefronts: u32,
    local_bytes: u32,
    attributes: Vec<Attribute>,
    steps: impl Fn(u32, u32) -> Vec<Step>,
) -> KernelTrace {
    let (grid, block) = ([work_groups, 1, 1], [32 * wavefronts, 1, 1]);
    let writer = KernelWriter::new(Arc::clone(&CODE), grid, block, local_bytes, Vec::new());
    let writer = writer.expect("a valid launch");
    let mut writer = attributes.into_iter().fold(writer, KernelWriter::saying);
    for work_group in 0..work_groups {
        for wavefront in 0..wavefronts {
            let mut stream = StreamWriter::new();
            for step in steps(work_group, wavefront) {
                step.write(&mut stream);
            }
            writer
                .finish_wavefront(work_group, wavefront, stream)
                .expect("the stream fits");
        }
    }
    writer.finish().expect("every wavefront is written")
}

/// Returns a program that launches these kernels in order and copies nothing.
pub(super) fn program(kernels: Vec<KernelTrace>) -> Arc<Program> {
    let launch = |kernel| HostCommand::Launch { kernel, stream: 0 };
    Arc::new(Program {
        name: "validation".to_owned(),
        allocations: Vec::new(),
        commands: (0..kernels.len() as u32).map(launch).collect(),
        kernels: kernels.into_iter().map(Arc::new).collect(),
        front_end: FrontEnd::default(),
    })
}

/// Returns the path of the scenarios folder.
pub(super) fn scenarios() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "scenarios"]
        .iter()
        .collect()
}

/// Returns a scenario of a repository system file and a workload, with overrides.
pub(super) fn scenario(system: &str, workload: &str, sets: &[&str]) -> Scenario {
    let text = std::fs::read_to_string(scenarios().join(system)).expect("the system file exists");
    scenario_of_text(&text, workload, sets)
}

/// Like [`scenario`], for a system that needs other files next to it.
pub(super) fn scenario_beside_others(system: &str, sets: &[&str]) -> Scenario {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("scenario.ron");
    let workload = scenarios().join("workloads/vector_add.ron");
    let text = format!(
        "Scenario(system: {:?}, workload: {:?}, limits: (cycles: 20000000))",
        scenarios().join(system).to_str().expect("it is text"),
        workload.to_str().expect("it is text")
    );
    std::fs::write(&path, text).expect("the folder can be written");
    let sets: Vec<_> = sets.iter().map(|&set| set.to_owned()).collect();
    Scenario::load(&path, &sets).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Like [`scenario`], for a system given as text.
pub(super) fn scenario_of_text(system: &str, workload: &str, sets: &[&str]) -> Scenario {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("scenario.ron");
    std::fs::write(folder.path().join("system.ron"), system).expect("the folder can be written");
    let workload = scenarios().join("workloads").join(workload);
    let text = format!(
        "Scenario(system: \"system.ron\", workload: \"{}\", limits: (cycles: 20000000))",
        workload.display()
    );
    std::fs::write(&path, text).expect("the folder can be written");
    let sets: Vec<_> = sets.iter().map(|&set| set.to_owned()).collect();
    Scenario::load(&path, &sets).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the machine of a scenario, with a program loaded.
pub(super) fn machine(scenario: &Scenario, program: &Arc<Program>) -> Machine {
    Machine::of(scenario, &standard_registry(), program)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// Runs the machine to the end and returns its results.
pub(super) fn run(machine: &mut Machine) -> Simulated {
    let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    assert_eq!(simulated.status, Status::Done);
    simulated
}

/// Runs a program on a scenario's machine with these engine options.
pub(super) fn run_with(
    scenario: &Scenario,
    program: &Arc<Program>,
    options: EngineOptions,
) -> Simulated {
    let mut machine = machine(scenario, program);
    machine.set_options(options);
    run(&mut machine)
}

/// Numbers of a system as built.
pub(super) struct Numbers(pub(super) Node);

impl Numbers {
    /// Returns the field `path` (with dots for nesting) of the part `part`.
    pub(super) fn of(&self, part: &str, path: &str) -> u64 {
        let parts = self.0.field("parts").expect("a system has parts").entries();
        let (_, mut node) = parts
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .find(|(key, _)| *key == Some(part))
            .unwrap_or_else(|| panic!("no part {part}"));
        for field in path.split('.') {
            // What may be left out is written `Some(..)`.
            if let Kind::Option(Some(inner)) = &node.kind {
                node = inner;
            }
            // A variant with a struct inside, such as `Switch((..))`.
            if let (Kind::Tuple(_), [inner]) = (&node.kind, node.items()) {
                node = inner;
            }
            node = node
                .field(field)
                .unwrap_or_else(|| panic!("no {path} in {part}"));
        }
        if let Kind::Option(Some(inner)) = &node.kind {
            node = inner;
        }
        let value = node
            .as_int()
            .unwrap_or_else(|| panic!("{part}.{path} is no number"));
        u64::try_from(value).expect("numbers of descriptions are positive")
    }

    /// Returns the latency of the wire at the port `end`.
    pub(super) fn wire(&self, end: &str) -> u64 {
        self.find_wire(end)
            .unwrap_or_else(|| panic!("no wire at {end}"))
    }

    /// Like `wire`, but `None` if there is no such wire.
    pub(super) fn find_wire(&self, end: &str) -> Option<u64> {
        let wires = self.0.field("wires").expect("a system has wires").entries();
        let ends_here = |key: &str| key.split(" <-> ").any(|e| e == end);
        let mut wires = wires.iter();
        let (_, wire) = wires.find(|(key, _)| key.as_str().is_some_and(ends_here))?;
        let latency = wire.field("latency").and_then(Node::as_int);
        let latency = latency.expect("wires have a latency");
        Some(u64::try_from(latency).expect("latencies are positive"))
    }
}

/// Returns the instances whose path ends in `part`, ignoring its index.
pub(super) fn named<'a>(simulated: &'a Simulated, part: &'a str) -> Vec<&'a InstanceStatistics> {
    let last = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
    let name = |path: &'a str| last(path).split('[').next().unwrap_or(path);
    let all = simulated.statistics.iter();
    all.filter(|s| name(&s.path) == part).collect()
}

/// Returns the sum of a counter over the instances.
pub(super) fn sum(instances: &[&InstanceStatistics], counter: &str) -> u64 {
    let value = |s: &&InstanceStatistics| {
        s.counter(counter)
            .unwrap_or_else(|| panic!("{} has no counter {counter}", s.path))
    };
    instances.iter().map(value).sum()
}

/// Returns count and sum of a histogram, added over the instances.
pub(super) fn histogram(instances: &[&InstanceStatistics], name: &str) -> (u64, u64) {
    let one = |s: &&InstanceStatistics| match s.get(name) {
        Some(Value::Histogram(h)) => (h.count(), h.sum()),
        other => panic!("{}.{name} is {other:?}", s.path),
    };
    instances
        .iter()
        .map(one)
        .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}
