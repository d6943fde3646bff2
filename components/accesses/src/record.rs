//! Access records and the header that describes the run.

use serde::{Deserialize, Serialize};
use warpweave_trace::Parent;

/// Header of a log, describing the program, clocks, kernels and ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub program: String,
    /// Content hash of the program's trace.
    pub trace_hash: String,
    /// Ticks per core clock cycle, at least 1.
    pub core_period: u64,
    /// Duration of a core clock cycle in seconds.
    pub core_cycle_s: f64,
    /// Kernel names, indexed by launch number.
    pub kernels: Vec<String>,
    /// Parent of each launch, indexed by launch number; `None` for host launches.
    pub parents: Vec<Option<Parent>>,
    /// Monitored ports, sorted by address.
    pub ports: Vec<Port>,
}

/// A monitored port of the machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Port {
    /// Address of the port: instance name and port name.
    pub address: String,
    pub tap: String,
}

/// Type of an access. The discriminants are the values stored in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Kind {
    Read = 0,
    Write = 1,
    /// Read-modify-write, performed where the line is shared.
    Atomic = 2,
    /// Read issued by a prefetcher ahead of demand.
    Prefetch = 3,
    /// Dirty line sent to the next lower level.
    CopyBack = 4,
}

impl Kind {
    /// All access kinds, indexed by their discriminant.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Atomic,
        Self::Prefetch,
        Self::CopyBack,
    ];

    /// Returns the name that tables show for this kind.
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

/// A request that passed a monitored port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time at which the request passed the port, in ticks.
    pub tick: u64,
    pub port: u32,
    /// Number of the launch that the request belongs to.
    pub kernel: u32,
    /// Linear index of the work-group within its grid.
    pub work_group: u32,
    /// Compute unit index, counted over the whole machine.
    pub compute_unit: u16,
    /// Wavefront slot within the compute unit.
    pub wavefront_slot: u8,
    /// Index of the instruction in the kernel's code.
    pub pc: u32,
    pub kind: Kind,
    /// Byte address of the line's first byte.
    pub line: u64,
    /// Mask of the 4-byte words accessed in the line; bit `w` covers bytes `4w .. 4w + 4`.
    pub words: u32,
}
