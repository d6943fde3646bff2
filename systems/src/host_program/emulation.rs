//! Emulation settings of a program, as a scenario describes them.

use serde::{Deserialize, Serialize};
use warpweave_ptx::{CodeForm, EmulationOptions, Order};
use warpweave_trace::{FrontEnd, WorkGroupOrder};

/// Version of the emulator's output. It increases whenever the trace of any program changes, so
/// that stored traces of older versions are not reused. A test compares the traces of the shipped
/// workloads with those of this version.
pub const EMULATOR_VERSION: u32 = 4;

/// Interleaving of work-groups in emulation, and its limits. Part of the identity of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EmulationSpec {
    /// Number of work-groups that are emulated concurrently.
    pub resident_work_groups: u32,
    /// Instructions a wavefront executes before the next one runs.
    pub quantum: u32,
    /// Order in which work-groups and wavefronts are emulated.
    pub order: EmulationOrder,
    /// Maximum number of wavefront instructions a launch may execute.
    pub step_limit: u64,
    /// Number of wavefront instructions without effect after which a launch counts as spinning.
    pub stall_limit: u64,
    /// Maximum depth of nested device-function calls per thread.
    pub call_depth: u32,
    /// Maximum size of a launch's records, in bytes.
    pub stream_bytes: u64,
    /// Size in bytes of the heap from which kernels allocate memory (`malloc`).
    pub heap_bytes: u64,
    /// Offset of the first buffer from the start of device memory.
    pub allocation_offset_bytes: AllocationOffset,
    /// Form of the instructions that are executed and recorded.
    // Runs of before this field existed keep their identity.
    #[serde(skip_serializing_if = "EmulatedCode::is_default")]
    pub code: EmulatedCode,
}

/// Form of the instructions that are executed and recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum EmulatedCode {
    /// Instructions and order of the PTX text.
    #[default]
    AsWritten,
    /// Instructions and order that a compiler for hardware makes of the text.
    AsCompiled,
}

impl EmulatedCode {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde asks for"
    )]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn form(self) -> CodeForm {
        match self {
            Self::AsWritten => CodeForm::AsWritten,
            Self::AsCompiled => CodeForm::AsCompiled,
        }
    }
}

/// Bytes of device memory before the first buffer: a multiple of 256, like allocations, up to 16
/// MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct AllocationOffset(u64);

impl AllocationOffset {
    /// Alignment of allocations in device memory, in bytes.
    const GRANULE: u64 = 256;
    /// Largest allowed offset in bytes, 16 MiB.
    const MAX: u64 = 16 << 20;

    /// Returns the offset as a number of bytes.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for AllocationOffset {
    type Error = String;

    fn try_from(bytes: u64) -> Result<Self, String> {
        if bytes > Self::MAX || !bytes.is_multiple_of(Self::GRANULE) {
            return Err(format!(
                "expected a multiple of {} up to {}, found {bytes}",
                Self::GRANULE,
                Self::MAX
            ));
        }
        Ok(Self(bytes))
    }
}

impl From<AllocationOffset> for u64 {
    fn from(offset: AllocationOffset) -> Self {
        offset.0
    }
}

/// Order in which work-groups and wavefronts are emulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum EmulationOrder {
    /// Ascending order of their linear numbers.
    #[default]
    Linear,
    /// Descending order of their linear numbers.
    Reversed,
    /// Pseudo-random permutation of their linear numbers.
    Shuffled {
        /// Seed of the permutation; equal seeds give equal permutations.
        seed: u64,
    },
}

impl Default for EmulationSpec {
    fn default() -> Self {
        let options = EmulationOptions::default();
        Self {
            resident_work_groups: options.resident_work_groups,
            quantum: options.quantum,
            order: EmulationOrder::Linear,
            step_limit: options.step_limit,
            stall_limit: options.stall_limit,
            call_depth: options.call_depth,
            stream_bytes: options.stream_bytes,
            heap_bytes: options.heap_bytes,
            allocation_offset_bytes: AllocationOffset::default(),
            code: EmulatedCode::default(),
        }
    }
}

impl EmulationSpec {
    pub(super) fn options(&self) -> EmulationOptions {
        EmulationOptions {
            resident_work_groups: self.resident_work_groups,
            quantum: self.quantum,
            order: match self.order {
                EmulationOrder::Linear => Order::Linear,
                EmulationOrder::Reversed => Order::Reversed,
                EmulationOrder::Shuffled { seed } => Order::Shuffled(seed),
            },
            step_limit: self.step_limit,
            stall_limit: self.stall_limit,
            call_depth: self.call_depth,
            stream_bytes: self.stream_bytes,
            heap_bytes: self.heap_bytes,
            is_cooperative: false,
            place: None,
        }
    }

    pub(super) fn front_end(&self) -> FrontEnd {
        let (order, seed) = match self.order {
            EmulationOrder::Linear => (WorkGroupOrder::Linear, 0),
            EmulationOrder::Reversed => (WorkGroupOrder::Reversed, 0),
            EmulationOrder::Shuffled { seed } => (WorkGroupOrder::Shuffled, seed),
        };
        FrontEnd {
            name: match self.code {
                EmulatedCode::AsWritten => "ptx".to_owned(),
                EmulatedCode::AsCompiled => "ptx as compiled".to_owned(),
            },
            version: env!("CARGO_PKG_VERSION").to_owned(),
            resident_work_groups: self.resident_work_groups,
            quantum: self.quantum,
            order,
            seed,
        }
    }
}
