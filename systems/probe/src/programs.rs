//! Programs of a measurement: instructions and streams, written without emulation.

use std::sync::{Arc, LazyLock};

use warpweave_files::Ledger;
use warpweave_trace::{
    CacheOperator, Class, Code, FrontEnd, HostCommand, Instruction, KernelTrace, KernelWriter,
    LANES, Program, RegisterSet, Space, StreamWriter, TraceError,
};

/// Bytes of the lines that accesses touch.
pub(crate) const LINE: u64 = 128;

/// Number of destination registers that independent instructions use in turn.
const REGISTERS: u16 = 16;

/// Classes of instructions whose latency and rate are measured.
pub(crate) const ARITHMETIC: [Class; 13] = [
    Class::IntAdd,
    Class::IntMul,
    Class::IntDiv,
    Class::FpAdd,
    Class::FpMul,
    Class::FpDiv,
    Class::DpAdd,
    Class::DpMul,
    Class::DpDiv,
    Class::Special,
    Class::Convert,
    Class::Shuffle,
    Class::Vote,
];

/// Instruction of a wavefront. Chained instructions read the register that they write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Loads a word in one lane, chained.
    Chase(u64),
    /// Updates a word of device memory in this many lanes, chained; lanes are this many bytes
    /// apart.
    Atomic(u64, usize, u64),
    /// Loads words of local memory in all lanes, this many banks apart, chained.
    Local(u64),
    /// Loads a line, independent of others.
    Load(u64),
    /// Loads a line past the first level, independent of others.
    LoadPast(u64),
    /// Stores a line.
    Store(u64),
    /// Executes an instruction of this class, an index in [`ARITHMETIC`], chained.
    Chain(usize),
    /// Executes an instruction of this class, independent of others.
    Free(usize),
    /// Waits for the work-group.
    Barrier,
}

const EXIT: u32 = 0;
const CHASE: u32 = 1;
const ATOMIC: u32 = 2;
const LOCAL: u32 = 3;
const STORE: u32 = 4;
const BARRIER: u32 = 5;
const LOAD: u32 = 6;
const PAST: u32 = LOAD + REGISTERS as u32;
const CHAIN: u32 = PAST + REGISTERS as u32;
const FREE: u32 = CHAIN + ARITHMETIC.len() as u32;

/// Instruction table of all programs.
static CODE: LazyLock<Arc<Code>> = LazyLock::new(|| {
    let registers = |numbers: &[u16]| {
        let mut set = RegisterSet::EMPTY;
        for number in numbers {
            set.insert(*number);
        }
        set
    };
    let instruction = |name: &str, class, reads: &[u16], writes: &[u16]| {
        let mut instruction = Instruction::new(name, class);
        instruction.reads = registers(reads);
        instruction.writes = registers(writes);
        instruction
    };
    let accessing = |name: &str, class, space, reads: &[u16], writes: &[u16]| {
        instruction(name, class, reads, writes).accessing(space, 4)
    };
    let mut instructions = vec![
        instruction("exit", Class::Exit, &[], &[]),
        accessing("ld.global.u32", Class::Load, Space::Global, &[1], &[1]),
        accessing(
            "atom.global.add.u32",
            Class::Atomic,
            Space::Global,
            &[1],
            &[1],
        ),
        accessing("ld.shared.u32", Class::Load, Space::Shared, &[1], &[1]),
        accessing("st.global.u32", Class::Store, Space::Global, &[], &[]),
        instruction("bar.sync", Class::Barrier, &[], &[]),
    ];
    let load = |r: u16| accessing("ld.global.u32", Class::Load, Space::Global, &[], &[16 + r]);
    instructions.extend((0..REGISTERS).map(load));
    instructions.extend((0..REGISTERS).map(|r| {
        let mut past = load(r);
        "ld.global.cg.u32".clone_into(&mut past.opcode);
        past.hints.cache = CacheOperator::GlobalLevel;
        past
    }));
    instructions.extend(ARITHMETIC.map(|class| instruction(class.name(), class, &[1], &[1])));
    for class in ARITHMETIC {
        instructions
            .extend((0..REGISTERS).map(|r| instruction(class.name(), class, &[], &[16 + r])));
    }
    Arc::new(Code {
        name: "probe".to_owned(),
        instructions,
        registers_per_thread: 32,
        static_local_bytes: 4096,
        ..Code::default()
    })
});

/// Lane addresses from `base` on, `apart` bytes apart; lanes beyond the first `lanes` are inactive.
fn lanes(base: u64, apart: u64) -> [u64; LANES] {
    std::array::from_fn(|lane| base + apart * lane as u64)
}

/// Returns the mask of the first lanes.
fn first(lanes: usize) -> u32 {
    u32::MAX >> (LANES - lanes)
}

impl Step {
    /// Appends the `number`-th instruction of a wavefront.
    fn write(self, number: usize, stream: &mut StreamWriter) {
        let turn = (number % usize::from(REGISTERS)) as u32;
        let mut access = |pc, mask, space, addresses: &[u64; LANES]| {
            stream.access(pc, mask, space, false, addresses);
        };
        match self {
            Self::Chase(address) => access(CHASE, 1, Space::Global, &lanes(address, 0)),
            Self::Atomic(address, count, apart) => {
                access(ATOMIC, first(count), Space::Global, &lanes(address, apart));
            }
            Self::Local(banks) => {
                let addresses = std::array::from_fn(|lane| lane as u64 * banks * 4 % 4096);
                access(LOCAL, u32::MAX, Space::Shared, &addresses);
            }
            Self::Load(address) => access(LOAD + turn, u32::MAX, Space::Global, &lanes(address, 4)),
            Self::LoadPast(address) => {
                access(PAST + turn, u32::MAX, Space::Global, &lanes(address, 4));
            }
            Self::Store(address) => access(STORE, u32::MAX, Space::Global, &lanes(address, 4)),
            Self::Chain(class) => stream.step(CHAIN + class as u32, u32::MAX),
            Self::Free(class) => {
                let table = FREE + class as u32 * u32::from(REGISTERS);
                stream.step(table + turn, u32::MAX);
            }
            Self::Barrier => stream.step(BARRIER, u32::MAX),
        }
    }
}

/// Shape of a launch: work-groups, and wavefronts in each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) work_groups: u32,
    pub(crate) wavefronts: u32,
}

impl Grid {
    /// One wavefront.
    pub(crate) const SINGLE: Self = Self {
        work_groups: 1,
        wavefronts: 1,
    };

    /// Returns the number of wavefronts.
    pub(crate) fn all(self) -> u64 {
        u64::from(self.work_groups) * u64::from(self.wavefronts)
    }

    /// Returns a number of lines from one access of a wavefront to its next, at least one for each
    /// wavefront. It is odd, so that the lines of a wavefront lie in all sets of a cache.
    pub(crate) fn stride(self) -> u64 {
        self.all() | 1
    }
}

/// Returns a kernel whose wavefronts, counted over the grid, execute `steps` and end. Its streams
/// are charged to `ledger`.
///
/// # Errors
/// Returns an error if the streams cannot be kept.
pub(crate) fn kernel<S: IntoIterator<Item = Step>>(
    ledger: &Ledger,
    grid: Grid,
    steps: impl Fn(u64) -> S,
) -> Result<KernelTrace, TraceError> {
    let Grid {
        work_groups,
        wavefronts,
    } = grid;
    let block = [LANES as u32 * wavefronts, 1, 1];
    let code = Arc::clone(&CODE);
    let writer = KernelWriter::new(code, [work_groups, 1, 1], block, 0, Vec::new())?;
    let mut writer = writer.charged_to(ledger);
    for work_group in 0..work_groups {
        for wavefront in 0..wavefronts {
            let mut stream = StreamWriter::new();
            let number = u64::from(work_group) * u64::from(wavefronts) + u64::from(wavefront);
            for (place, step) in steps(number).into_iter().enumerate() {
                step.write(place, &mut stream);
            }
            stream.step(EXIT, u32::MAX);
            writer.finish_wavefront(work_group, wavefront, stream)?;
        }
    }
    writer.finish()
}

/// Returns a program that launches these kernels in order and copies nothing.
pub(crate) fn program(kernels: Vec<KernelTrace>) -> Arc<Program> {
    let launch = |kernel| HostCommand::Launch { kernel, stream: 0 };
    Arc::new(Program {
        name: "probe".to_owned(),
        allocations: Vec::new(),
        commands: (0..kernels.len() as u32).map(launch).collect(),
        kernels: kernels.into_iter().map(Arc::new).collect(),
        front_end: FrontEnd::default(),
    })
}
