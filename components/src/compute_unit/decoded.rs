//! Instructions decoded once per program into the form used by the issue stage.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use warpweave_framework::{Environment, SpecError};
use warpweave_trace::{
    CacheOperator, Child, Class, Code, Instruction, KernelTrace, LaunchGraph, Program, ReadPath,
    Space,
};

use crate::compute_unit::registers::{Numbering, Registers, Writes};
use crate::compute_unit::spec::{ClassTimings, ComputeUnitSpec, GlobalLoads};
use crate::compute_unit::unit_kind::UnitKind;
use crate::memory::{RequestKind, flags};
use crate::reuse_monitor::{Family, families};

/// Value for classes without a pipe, which can issue every cycle.
pub(crate) const NO_PIPE: u8 = u8::MAX;

/// Action of the issue stage for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Computes a result, available after the latency.
    Compute,
    /// Lets the wavefront continue after the latency.
    Branch,
    /// Lets the wavefront continue after the latency, or ends it if no record follows.
    Exit,
    /// Launches child kernels from the device.
    Launch,
    /// Waits for the other wavefronts of the work-group.
    Barrier,
    /// Waits for the wavefront's own stores.
    Fence,
    /// Accesses memory, if any lane is active.
    Memory,
}

/// The access of a memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryAccess {
    pub(crate) kind: RequestKind,
    /// Bytes accessed per lane, at least 1.
    pub(crate) bytes: u8,
    /// Cache policy flags of the instruction's memory requests.
    pub(crate) flags: u16,
    /// Read path that a load may use.
    pub(crate) path: ReadPath,
}

/// One instruction, decoded for the issue stage.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    /// Registers read or written, which the scoreboard checks.
    pub(crate) uses: Registers,
    pub(crate) writes: Writes,
    pub(crate) latency: u32,
    pub(crate) interval: u32,
    pub(crate) action: Action,
    pub(crate) has_writes: bool,
    /// True if it writes registers `latency` cycles after issue. False for accesses, which set
    /// their own time, and for fences and barriers.
    pub(crate) has_result: bool,
    /// The access of [`Action::Memory`].
    pub(crate) access: Option<MemoryAccess>,
    /// True if its only effect is to write registers.
    pub(crate) computes: bool,
    /// True if it depends on registers only, not on a pipe, a memory or earlier stores.
    pub(crate) is_free: bool,
    pub(crate) class: u8,
    /// Pipe of the scheduler, occupied by the instruction for `interval` cycles.
    pub(crate) pipe: u8,
    /// Bit of the kind of unit that executes it.
    pub(crate) unit: u8,
    /// Index of its first source register in the program's table, and their number.
    sources: (u32, u16),
}

/// Decoded instructions of a program, kernel after kernel.
#[derive(Clone)]
pub(crate) struct DecodedProgram {
    pub(crate) instructions: Arc<[Decoded]>,
    /// Index of each kernel's first instruction; launches of one code share it.
    pub(crate) bases: Arc<[u32]>,
    /// Source registers of all instructions in order, without predicates.
    sources: Arc<[u8]>,
    /// Largest number of registers and predicates of any kernel, with those of additions.
    pub(crate) registers: u32,
    /// Number of the first register that additions of a unit use.
    added_from: u16,
    /// Instruction of the program that each addition of a unit stands for, in order.
    stand_for: Arc<[u32]>,
    /// Largest number of registers that any instruction reads, without predicates.
    pub(crate) sources_max: u32,
    /// Upper bound of the cycles for which one access may occupy the local memory.
    pub(crate) conflicts_max: u32,
    /// Launch relations of the kernels, computed on first use.
    families: Arc<OnceLock<Arc<[Family]>>>,
    /// Kernels that each record launches, computed on first use.
    launches: Arc<OnceLock<Arc<LaunchGraph>>>,
}

/// Cache of decoded programs, shared through the environment by units with the same timings.
/// Without this resource each unit decodes for itself.
#[derive(Default)]
pub struct DecodedPrograms(Mutex<Vec<Known>>);

/// One decoded program with the parameters that it depends on.
struct Known {
    program: Arc<Program>,
    classes: ClassTimings,
    operand_latency: u32,
    global_loads: GlobalLoads,
    decoded: DecodedProgram,
}

impl Known {
    fn is_of(&self, program: &Arc<Program>, spec: &ComputeUnitSpec) -> bool {
        Arc::ptr_eq(&self.program, program)
            && self.classes == spec.classes
            && self.operand_latency == spec.operand_latency
            && self.global_loads == spec.load_store.global_loads
    }
}

impl DecodedProgram {
    /// Returns the decoded program for a unit, shared with other units of the same timings if
    /// possible.
    pub(crate) fn of(
        program: &Arc<Program>,
        spec: &ComputeUnitSpec,
        environment: &Environment,
    ) -> Self {
        let Some(shared) = environment.resource::<DecodedPrograms>() else {
            return Self::new(program, spec);
        };
        let mut shared = shared.0.lock();
        if let Some(known) = shared.iter().find(|known| known.is_of(program, spec)) {
            return known.decoded.clone();
        }
        let decoded = Self::new(program, spec);
        shared.push(Known {
            program: Arc::clone(program),
            classes: spec.classes.clone(),
            operand_latency: spec.operand_latency,
            global_loads: spec.load_store.global_loads,
            decoded: decoded.clone(),
        });
        decoded
    }

    fn new(program: &Program, spec: &ComputeUnitSpec) -> Self {
        let mut known = BTreeMap::new();
        let mut instructions = Vec::new();
        let mut sources = Vec::new();
        let mut bases = Vec::new();
        let mut registers = 0;
        for kernel in &program.kernels {
            // The address names the shared table; it only tells equal from different.
            let base = known.entry(Arc::as_ptr(&kernel.code)).or_insert_with(|| {
                let base = instructions.len() as u32;
                let numbering = Numbering::of(&kernel.code);
                registers = registers.max(numbering.count());
                let code = kernel.code.instructions.iter();
                let decoded = code.map(|i| decode(i, &numbering, &mut sources, spec));
                instructions.extend(decoded);
                base
            });
            bases.push(*base);
        }
        let counts = instructions
            .iter()
            .map(|i: &Decoded| u32::from(i.sources.1));
        let accesses = instructions.iter().filter_map(|i| i.access);
        let bytes = accesses.map(|access| u32::from(access.bytes));
        Self {
            sources_max: counts.max().unwrap_or(0),
            conflicts_max: 32 * (bytes.max().unwrap_or(1) / 4 + 2),
            instructions: instructions.into(),
            bases: bases.into(),
            sources: sources.into(),
            registers,
            added_from: 0,
            stand_for: Arc::default(),
            families: Arc::default(),
            launches: Arc::default(),
        }
    }

    /// Reserves so many registers for additions, behind those of each kernel with at most
    /// `registers_max` registers per thread.
    pub(crate) fn reserve(&mut self, program: &Program, registers_max: u32, count: u16) {
        let codes = program.kernels.iter().map(|kernel| &kernel.code);
        let small = codes.filter(|code| code.registers_per_thread <= registers_max);
        let counts = small.map(|code| Numbering::of(code).count());
        self.added_from = counts.max().unwrap_or(0) as u16;
        self.registers = self.registers.max(u32::from(self.added_from + count));
    }

    /// Adds instructions for the use of one unit behind those of the program.
    pub(crate) fn extend<R>(&mut self, build: impl FnOnce(&mut Additions) -> R) -> R {
        let mut additions = Additions {
            instructions: self.instructions.to_vec(),
            sources: self.sources.to_vec(),
            added_from: self.added_from,
            stand_for: self.stand_for.to_vec(),
        };
        let built = build(&mut additions);
        self.stand_for = additions.stand_for.into();
        self.instructions = additions.instructions.into();
        self.sources = additions.sources.into();
        built
    }

    /// Returns each kernel's launch relations: its launcher, and if it launches others.
    pub(crate) fn families(&self, program: &Program) -> Arc<[Family]> {
        let families = || families(&program.kernels);
        Arc::clone(self.families.get_or_init(families))
    }

    /// Returns the kernels that each record of the program launches.
    ///
    /// # Errors
    /// Returns an error at `field` if their list, made on first use, exceeds the memory budget.
    pub(crate) fn launch_graph(
        &self,
        program: &Program,
        environment: &Environment,
        field: &str,
    ) -> Result<Arc<LaunchGraph>, SpecError> {
        if self.launches.get().is_none() {
            let kernels = program.kernels.iter();
            let launched = kernels.filter(|kernel| kernel.parent.is_some()).count();
            let bytes = launched * size_of::<Child>() + program.kernels.len() * size_of::<u32>();
            environment.charge(field, bytes as u64)?;
        }
        let graph = || Arc::new(program.launch_graph());
        Ok(Arc::clone(self.launches.get_or_init(graph)))
    }

    /// Returns the registers that an instruction reads, without predicates.
    pub(crate) fn sources(&self, instruction: &Decoded) -> &[u8] {
        let (first, count) = instruction.sources;
        &self.sources[first as usize..][..usize::from(count)]
    }

    /// Returns the instruction of the program that an instruction is or stands for.
    pub(crate) fn original(&self, instruction: u32) -> u32 {
        let of_program = self.instructions.len() - self.stand_for.len();
        let addition = (instruction as usize).checked_sub(of_program);
        let original = addition.and_then(|number| self.stand_for.get(number));
        original.copied().unwrap_or(instruction)
    }

    /// Returns the index of the first instruction and the number of instructions of each kernel.
    pub(crate) fn codes(&self, program: &Program) -> Vec<(u32, u32)> {
        let length = |kernel: &Arc<KernelTrace>| kernel.code.instructions.len() as u32;
        let lengths = program.kernels.iter().map(length);
        self.bases.iter().copied().zip(lengths).collect()
    }
}

/// Instructions of a program, to which a unit adds some.
pub(crate) struct Additions {
    instructions: Vec<Decoded>,
    sources: Vec<u8>,
    added_from: u16,
    stand_for: Vec<u32>,
}

/// An instruction that a unit adds.
pub(crate) struct Addition<'a> {
    /// Execution resource and access, with the registers of the kernel that it reads and writes.
    pub(crate) instruction: &'a Instruction,
    /// Index of the decoded instruction of the program that it stands for or prepares.
    pub(crate) stands_for: u32,
    /// Reserved registers that it reads and writes, counted from 0.
    pub(crate) reads: Option<u16>,
    pub(crate) writes: Option<u16>,
    /// Flags of its memory requests, with those of the instruction.
    pub(crate) flags: u16,
}

impl Additions {
    /// Adds an instruction to a kernel, whose registers have these numbers. Returns its index.
    pub(crate) fn add(
        &mut self,
        addition: &Addition<'_>,
        code: &Code,
        numbering: &Numbering,
        spec: &ComputeUnitSpec,
    ) -> u32 {
        let mut decoded = decode(addition.instruction, numbering, &mut self.sources, spec);
        if let Some(access) = &mut decoded.access {
            access.flags |= addition.flags;
        }
        if let Some(register) = addition.reads {
            decoded.uses.insert(self.added_from + register);
            // In the register file it lies behind those of the kernel.
            let place = code.registers_per_thread + u32::from(register);
            self.sources.push(place as u8);
            decoded.sources.1 += 1;
        }
        if let Some(register) = addition.writes {
            decoded.uses.insert(self.added_from + register);
            let mut registers = decoded.writes.registers;
            registers.insert(self.added_from + register);
            decoded.writes = Writes::of(registers);
            decoded.has_writes = true;
            decoded.has_result = decoded.action == Action::Compute;
            decoded.computes = decoded.action == Action::Compute;
        }
        self.instructions.push(decoded);
        self.stand_for.push(addition.stands_for);
        (self.instructions.len() - 1) as u32
    }
}

fn decode(
    instruction: &Instruction,
    numbering: &Numbering,
    sources: &mut Vec<u8>,
    spec: &ComputeUnitSpec,
) -> Decoded {
    let first = sources.len();
    sources.extend(instruction.reads.iter().map_while(|r| u8::try_from(r).ok()));
    let class = instruction.class;
    let timing = spec.classes.of(class);
    let kind = match class {
        Class::Load => Some(RequestKind::Read),
        Class::Prefetch => Some(RequestKind::Prefetch),
        Class::Store => Some(RequestKind::Write),
        Class::Atomic => Some(RequestKind::Atomic),
        _ => None,
    };
    let action = match class {
        Class::Branch => Action::Branch,
        Class::Exit => Action::Exit,
        Class::Launch => Action::Launch,
        Class::Barrier => Action::Barrier,
        Class::Fence => Action::Fence,
        _ if kind.is_some() => Action::Memory,
        _ => Action::Compute,
    };
    Decoded {
        uses: numbering.apply(&instruction.reads.union(&instruction.writes)),
        writes: Writes::of(numbering.apply(&instruction.writes)),
        latency: match action {
            Action::Compute | Action::Memory => timing.latency + spec.operand_latency,
            _ => timing.latency,
        },
        interval: timing.interval,
        action,
        has_writes: !instruction.writes.is_empty(),
        has_result: !instruction.writes.is_empty()
            && matches!(
                action,
                Action::Compute | Action::Branch | Action::Exit | Action::Launch
            ),
        access: kind.map(|kind| MemoryAccess {
            kind,
            bytes: instruction.access_bytes.max(1),
            flags: if matches!(class, Class::Load | Class::Prefetch) && skips_l1(instruction, spec)
            {
                flags::BYPASS_L1
            } else {
                0
            },
            path: instruction.hints.path,
        }),
        computes: action == Action::Compute && !instruction.writes.is_empty(),
        is_free: timing.interval <= 1 && !matches!(action, Action::Memory | Action::Fence),
        class: class.index() as u8,
        pipe: if timing.interval > 1 {
            class.index() as u8
        } else {
            NO_PIPE
        },
        unit: UnitKind::of(class).bit(),
        sources: (first as u32, (sources.len() - first) as u16),
    }
}

/// True if loads of this instruction pass the first level.
fn skips_l1(instruction: &Instruction, spec: &ComputeUnitSpec) -> bool {
    let asks = instruction.hints.volatile
        || matches!(
            instruction.hints.cache,
            CacheOperator::GlobalLevel | CacheOperator::DontCache
        );
    let is_global =
        instruction.space == Space::Global && instruction.hints.path == ReadPath::Coherent;
    asks || is_global && spec.load_store.global_loads == GlobalLoads::Bypass
}
