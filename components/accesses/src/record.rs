//! What a log says of an access, and of the run.

use serde::{Deserialize, Serialize};
use warpweave_trace::Parent;

/// What a log begins with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Name of the program.
    pub program: String,
    /// Content hash of the program's trace.
    pub trace_hash: String,
    /// Ticks of a cycle of the core clock, at least 1.
    pub core_period: u64,
    /// Seconds of a cycle of the core clock.
    pub core_cycle_s: f64,
    /// Name of the kernel by number of the launch.
    pub kernels: Vec<String>,
    /// By number of the launch: who launched it, if a kernel did.
    pub parents: Vec<Option<Parent>>,
    /// Where was listened, in the order of their addresses.
    pub ports: Vec<Port>,
}

/// Where was listened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Port {
    /// Address: instance and port.
    pub address: String,
    /// Name of the tap.
    pub tap: String,
}

/// What was asked for. The numbers are those of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// To read.
    Read = 0,
    /// To write.
    Write = 1,
    /// To read, modify and write where the line is shared.
    Atomic = 2,
    /// To read ahead of need.
    Prefetch = 3,
    /// A dirty line on its way down.
    CopyBack = 4,
}

impl Kind {
    /// Every kind, by its number.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Atomic,
        Self::Prefetch,
        Self::CopyBack,
    ];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic",
            Self::Prefetch => "prefetch",
            Self::CopyBack => "copy_back",
        }
    }
}

/// A request that passed a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When.
    pub tick: u64,
    /// Index into [`Head::ports`].
    pub port: u32,
    /// Number of the launch.
    pub kernel: u32,
    /// Linear index of the work-group within its grid.
    pub work_group: u32,
    /// Compute unit, counted over the whole machine.
    pub compute_unit: u16,
    /// Wavefront slot within the compute unit.
    pub wavefront_slot: u8,
    /// Index of the instruction in the kernel's code.
    pub pc: u32,
    /// What was asked for.
    pub kind: Kind,
    /// Byte address of the line's first byte.
    pub line: u64,
    /// Touched 4-byte words of the line, bit `w` for bytes `4w .. 4w + 4`.
    pub words: u32,
}
