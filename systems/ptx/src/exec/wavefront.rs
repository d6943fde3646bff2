//! State of one wavefront: registers as lane vectors, private memory, stack of paths.

use warpweave_files::{Budget, OverBudget};
use warpweave_trace::{Place, StreamWriter};

use crate::exec::LaunchConfig;
use crate::exec::nested::NestedMemory;
use crate::exec::registers::Registers;
use crate::exec::spin::Spin;
use crate::exec::stack::{Activation, Path};
use crate::kernel::Kernel;
use crate::ops::{Lanes32, NO_PC, Special};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Waiting { barrier: u32 },
    Done,
}

/// Facts about a launch that its wavefronts can ask for.
pub(super) struct Answers {
    /// Address of the workspace of grid-wide barriers; 0 without one.
    pub(super) workspace: u64,
    /// Placement of the launch, if the kernel asks for it.
    pub(super) place: Option<Place>,
}

/// Paths that have room from the start; most kernels need no more.
const PATHS_AT_FIRST: usize = 4;

pub(super) struct Wavefront {
    /// Linear number of the wavefront's work-group.
    pub(super) group: u32,
    /// Index of the wavefront in its work-group.
    pub(super) index: u32,
    pub(super) registers: Registers,
    pub(super) private: Private,
    pub(super) nested: NestedMemory,
    pub(super) activations: Vec<Activation>,
    pub(super) paths: Vec<Path>,
    /// Carry flags, one bit per lane.
    pub(super) carry: u32,
    pub(super) state: State,
    pub(super) writer: StreamWriter,
    /// Calls that ended since the observer last checked: (caller, callee). `None` if no observer
    /// asks for them.
    pub(super) ended: Option<Vec<(Activation, Activation)>>,
    pub(super) spin: Spin,
    /// Pending result of the barrier at which the wavefront waits: (destination, lanes).
    pub(super) barrier_result: Option<(crate::ops::Barrier, u32)>,
}

impl Wavefront {
    /// Creates a wavefront at the entry of the kernel; `keeps_ended` asks for the ended calls.
    pub(super) fn new(
        kernel: &Kernel,
        config: &LaunchConfig<'_>,
        mut registers: Registers,
        place: (u32, u32),
        budget: Budget,
        answers: &Answers,
        keeps_ended: bool,
    ) -> Self {
        let (group, index) = place;
        let frame = kernel.frames[0];
        let private_bytes = kernel.private_base + frame.bytes;
        let threads: u32 = config.block.iter().product();
        let lanes = (threads - index * 32).min(32);
        let mask = if lanes == 32 {
            u32::MAX
        } else {
            (1 << lanes) - 1
        };
        let specials = kernel.tables.specials.iter();
        let specials = specials.map(|&which| special(kernel, config, place, answers, which));
        registers.renew(frame, specials);
        let covered = registers.bytes() + private_bytes_of_wavefront(private_bytes);
        let activation = Activation {
            function: 0,
            site: 0,
            pc: NO_PC,
            mask,
            words: 0,
            doubles: 0,
            predicates: 0,
            private: kernel.private_base,
            private_end: private_bytes,
            paths: 0,
        };
        let mut paths = Vec::with_capacity(PATHS_AT_FIRST);
        paths.push(Path {
            pc: frame.entry,
            meet: NO_PC,
            mask,
        });
        Self {
            group,
            index,
            registers,
            private: Private {
                words: vec![0; private_bytes as usize / 4 * 32],
                bytes: private_bytes,
            },
            nested: NestedMemory::new(budget, covered),
            activations: vec![activation],
            paths,
            carry: 0,
            state: State::Running,
            writer: StreamWriter::new(),
            ended: keeps_ended.then(Vec::new),
            spin: Spin::default(),
            barrier_result: None,
        }
    }

    /// Charges the memory of the wavefront before its private memory ends at `private_end` and it
    /// has `registers` more bytes of registers.
    pub(super) fn cover(&mut self, private_end: u32, registers: u64) -> Result<(), OverBudget> {
        let registers = self.registers.bytes() + registers;
        let private = private_bytes_of_wavefront(private_end);
        self.nested.cover(registers + private)
    }

    /// Returns the index of the next instruction.
    pub(super) fn pc(&self) -> u32 {
        self.paths.last().map_or(0, |path| path.pc)
    }

    pub(super) fn active(&self) -> u32 {
        self.paths.last().map_or(0, |path| path.mask)
    }

    /// Returns the start of the current frame in private memory.
    pub(super) fn frame_base(&self) -> u32 {
        self.activations
            .last()
            .map_or(0, |activation| activation.private)
    }
}

/// Returns the private memory of 32 threads with `bytes` bytes each.
fn private_bytes_of_wavefront(bytes: u32) -> u64 {
    u64::from(bytes.next_multiple_of(4)) * 32
}

/// Private memory of 32 threads. It is interleaved word by word as in hardware, so that it can grow
/// with the call depth.
pub(super) struct Private {
    words: Vec<u32>,
    /// Current size in bytes for each thread.
    pub(super) bytes: u32,
}

impl Private {
    pub(super) fn resize(&mut self, bytes: u32) {
        self.bytes = bytes;
        let words = bytes.div_ceil(4) as usize * 32;
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
    }

    /// Reads up to eight naturally aligned bytes.
    pub(super) fn read(&self, lane: usize, offset: usize, bytes: u32) -> u64 {
        let at = offset / 4 * 32 + lane;
        let word = u64::from(self.words[at]);
        match bytes {
            8 => word | u64::from(self.words[at + 32]) << 32,
            4 => word,
            _ => word >> (8 * (offset % 4)) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Writes up to eight naturally aligned bytes.
    pub(super) fn write(&mut self, lane: usize, offset: usize, bytes: u32, value: u64) {
        let at = offset / 4 * 32 + lane;
        match bytes {
            8 => {
                self.words[at] = value as u32;
                self.words[at + 32] = (value >> 32) as u32;
            }
            4 => self.words[at] = value as u32,
            _ => {
                let shift = 8 * (offset % 4);
                let ones = ((1u32 << (8 * bytes)) - 1) << shift;
                self.words[at] = self.words[at] & !ones | ((value as u32) << shift) & ones;
            }
        }
    }
}

/// Returns the value of a special register in each lane.
fn special(
    kernel: &Kernel,
    config: &LaunchConfig<'_>,
    (group, index): (u32, u32),
    answers: &Answers,
    special: Special,
) -> Lanes32 {
    let lanes = |value: fn(u32) -> u32| std::array::from_fn(|lane| value(lane as u32));
    let of_place = |value: fn(&Place, u32) -> u32| {
        let place = answers.place.as_ref();
        place.map_or(0, |place| value(place, group))
    };
    let slots = |contexts: u32| contexts * config.wavefronts_per_group();
    let uniform = match special {
        Special::ThreadId(axis) => return thread_ids(config, index, axis),
        Special::LaneId => return lanes(|lane| lane),
        Special::MaskEq => return lanes(|lane| 1 << lane),
        Special::MaskLe => return lanes(|lane| u32::MAX >> (31 - lane)),
        Special::MaskLt => return lanes(|lane| (1 << lane) - 1),
        Special::MaskGe => return lanes(|lane| u32::MAX << lane),
        Special::MaskGt => return lanes(|lane| !(u32::MAX >> (31 - lane))),
        Special::BlockSize(axis) => config.block[axis],
        Special::GroupId(axis) => config.group_id(group)[axis],
        Special::GridSize(axis) => config.grid[axis],
        Special::DynamicSharedBytes => config.dynamic_local_bytes,
        Special::GridWorkspace { first_bit } => (answers.workspace >> first_bit) as u32,
        Special::TotalSharedBytes => config.dynamic_local_bytes + kernel.code().static_local_bytes,
        Special::Unit => of_place(Place::unit_of),
        Special::Units => of_place(|place, _| place.units),
        Special::WavefrontSlot => slots(of_place(Place::context_of)) + index,
        Special::WavefrontSlots => slots(of_place(|place, _| place.contexts)),
    };
    [uniform; 32]
}

/// Returns the coordinate along an axis of each thread of a wavefront.
fn thread_ids(config: &LaunchConfig<'_>, index: u32, axis: usize) -> Lanes32 {
    let [x, y, _] = config.block;
    std::array::from_fn(|lane| {
        let thread = index * 32 + lane as u32;
        [thread % x, thread / x % y, thread / x / y][axis]
    })
}
