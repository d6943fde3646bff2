//! Memory protocol used by every memory-side component, upstream and downstream.
//!
//! Requests travel downstream (compute unit → L1 → cluster port → crossbar → L2 → DRAM), responses
//! upstream. Each request that [`RequestKind::wants_response`] is answered; copy-backs are posted.
//! One response answers all words of a request, unless the sender of the request accepts partial
//! responses ([`PartBytes`]). Then several may arrive, in any order, and each word is in one of
//! them. Request ids are hop-local: each component issues its own and maps them back.
//!
//! Timing models hold no data. A request names one line and the 4-byte words of it that it touches;
//! payload integrity is checked through write-sequence tags, not contents.
//!
//! A response names the [`Level`] that answered. This is an open set of names: a component of
//! another crate answers as its own level. Every component in between passes the name on unchanged.

mod event;
mod facts;
mod level;
mod pending_words;
#[cfg(test)]
mod tests;

use std::any::Any;

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    FunctionalError, InPort, Message, Onward, OutPort, PortId, Ports, SpecError,
};
use warpweave_random::GAMMA;

pub use self::event::CacheEvent;
pub use self::facts::{AtomicService, LineBytes, NetworkPort, PartBytes, PrivateFrom, Slice};
pub(crate) use self::facts::{
    Slices, agree_on_lines, hold_whole_lines, is_request, leave_private_memory,
};
pub use self::level::Level;
pub(crate) use self::pending_words::PendingWords;

/// Bytes of the largest line that the protocol can express: one bit per 4-byte word in a 32-bit
/// mask.
pub const LINE_BYTES_MAX: u32 = 128;

/// Operation that a request performs on its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RequestKind {
    /// Reads the words; answered with their data.
    Read,
    /// Writes the words; answered by an acknowledgement when the write is ordered.
    Write,
    /// Reads, modifies and writes the words where the line is shared (at L2); answered with data.
    Atomic,
    /// Reads ahead of need; answered like a read.
    Prefetch,
    /// Dirty line on its way downstream; posted, never answered.
    CopyBack,
}

impl RequestKind {
    /// Every kind, in the order of counters.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Atomic,
        Self::Prefetch,
        Self::CopyBack,
    ];

    /// True if the request receives a response.
    pub fn wants_response(self) -> bool {
        self != Self::CopyBack
    }

    /// True if the request itself carries the data of its words.
    pub fn carries_data(self) -> bool {
        matches!(self, Self::Write | Self::CopyBack | Self::Atomic)
    }

    /// True if the response carries the data of its words.
    pub fn returns_data(self) -> bool {
        matches!(self, Self::Read | Self::Atomic | Self::Prefetch)
    }

    /// Returns the kind's name for reports.
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

/// Origin of a request. Carried unchanged through all hops of a request's life.
///
/// The source of a copy-back is that of the line's allocation in the cache that it leaves. This is
/// the request whose miss fetched it or, if nothing was fetched, the store or copy-back that
/// created it. Later uses by other sources do not change it. Below a cache of one compute unit it
/// therefore names that unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    /// Number of the launch in the program trace.
    pub kernel: u32,
    /// Linear index of the work-group within its grid.
    pub work_group: u32,
    /// Index of the instruction in the kernel's code.
    pub pc: u32,
    /// Compute unit, counted over the whole machine.
    pub compute_unit: u16,
    /// Wavefront slot within the compute unit.
    pub wavefront_slot: u8,
    /// Work-group slot within the compute unit.
    pub work_group_slot: u8,
}

/// Memory request for part of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemRequest {
    /// Byte address of the line's first byte.
    pub line: u64,
    /// Identifies the request between the two ends of one wire.
    pub id: u32,
    /// Touched 4-byte words of the line, bit `w` for bytes `4w .. 4w + 4`.
    pub words: u32,
    /// Origin of the request; see [`Source`] for details.
    pub source: Source,
    /// Number of the write, counted by the issuing compute unit; 0 where none applies. Checkers use
    /// it to prove freshness.
    pub write_sequence: u32,
    /// Operation that the request performs on its words.
    pub kind: RequestKind,
    /// Protocol and policy bits, see [`flags`] for the values.
    pub flags: u16,
}

/// Bits of [`MemRequest::flags`]. Bits from 8 up are reserved for policies, which agree on their
/// meaning; no component sets or reads those.
pub mod flags {
    /// The request must not be served from, or allocate in, a first-level cache.
    pub const BYPASS_L1: u16 = 1;
    /// Marks a copy-back whose data memory also holds, so that they may be dropped.
    pub const CLEAN: u16 = 2;
    /// A merge table has an entry for this read, which its response looks up (ICC paper, 6.2).
    pub const TRACKED: u16 = 4;
    /// Marks a load that its compute unit injected to fetch ahead; it trains no prefetcher.
    pub const INJECTED: u16 = 8;
}

const _: () = assert!(
    size_of::<MemRequest>() <= 40,
    "requests stay small: they are moved often"
);

/// Response to one request, or to a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemResponse {
    /// Line address, copied from the request.
    pub line: u64,
    /// Hop-local id, copied from the request.
    pub id: u32,
    /// Words supplied or acknowledged, all of the request's or a part.
    pub words: u32,
    /// Origin of the request, copied from it.
    pub source: Source,
    /// Highest write sequence of this line known where the data came from; 0 where none applies.
    pub write_sequence: u32,
    /// Kind of the request that is answered.
    pub kind: RequestKind,
    /// Flags of the request, copied from it.
    pub flags: u16,
    /// Level of the hierarchy that supplied the data.
    pub level: Level,
}

const _: () = assert!(
    size_of::<MemResponse>() <= 40,
    "responses stay small: they are moved often"
);

impl MemRequest {
    /// Creates a read request for these words.
    pub fn read(id: u32, line: u64, words: u32) -> Self {
        Self {
            line,
            id,
            words,
            source: Source::default(),
            write_sequence: 0,
            kind: RequestKind::Read,
            flags: 0,
        }
    }

    /// Creates a write request for these words.
    pub fn write(id: u32, line: u64, words: u32) -> Self {
        Self {
            kind: RequestKind::Write,
            ..Self::read(id, line, words)
        }
    }

    /// Creates the response to this request, supplied by `level`.
    pub fn answer(&self, level: Level) -> MemResponse {
        MemResponse {
            line: self.line,
            id: self.id,
            words: self.words,
            source: self.source,
            write_sequence: self.write_sequence,
            kind: self.kind,
            flags: self.flags,
            level,
        }
    }

    /// Bytes of data the request carries.
    pub fn data_bytes(&self) -> u32 {
        bytes_of(self.words, self.kind.carries_data())
    }
}

impl MemResponse {
    /// Bytes of data the response carries.
    pub fn data_bytes(&self) -> u32 {
        bytes_of(self.words, self.kind.returns_data())
    }
}

/// Returns the bytes of these words in a message: 0 unless the message carries their data.
#[inline]
fn bytes_of(words: u32, carried: bool) -> u32 {
    if carried { words.count_ones() * 4 } else { 0 }
}

/// Returns a key that groups the messages of one access in a timeline. Requests have no global
/// identity, but line and source stay the same over all hops. Accesses of one instruction and
/// wavefront to one line share the key.
pub(crate) fn transaction(line: u64, source: &Source) -> u64 {
    let Source {
        kernel,
        work_group,
        pc,
        compute_unit,
        wavefront_slot,
        work_group_slot: _,
    } = *source;
    let slot = u64::from(compute_unit) << 16 | u64::from(wavefront_slot);
    [
        u64::from(work_group) << 32 | u64::from(kernel),
        u64::from(pc) << 32 | slot,
    ]
    .into_iter()
    .fold(line, |mixed, word| {
        (mixed.rotate_left(23) ^ word).wrapping_mul(GAMMA)
    })
}

/// Bytes of routing and control in every packet on a wire (as in GPGPU-Sim).
pub const CONTROL_BYTES: u32 = 8;

impl Message for MemRequest {
    fn wire_bytes(&self) -> u32 {
        CONTROL_BYTES + self.data_bytes()
    }

    fn flow(&self) -> Option<u64> {
        Some(transaction(self.line, &self.source))
    }
}

impl Message for MemResponse {
    fn wire_bytes(&self) -> u32 {
        CONTROL_BYTES + self.data_bytes()
    }

    fn flow(&self) -> Option<u64> {
        Some(transaction(self.line, &self.source))
    }
}

/// Requesting end of a memory wire: sends requests, receives responses.
#[derive(Default, Ports)]
pub struct MemMaster {
    /// Port that sends requests to the next level.
    #[port]
    pub request: OutPort<MemRequest>,
    /// Port that receives responses from the next level.
    #[port]
    pub response: InPort<MemResponse>,
}

/// Answering end of a memory wire: receives requests, sends responses.
#[derive(Default, Ports)]
pub struct MemSlave {
    /// Port that receives requests from the upper level.
    #[port]
    pub request: InPort<MemRequest>,
    /// Port that sends responses to the upper level.
    #[port]
    pub response: OutPort<MemResponse>,
}

/// Forwards a functional request through port `onto`; for components that keep no state.
///
/// # Errors
/// Fails if the message is not a request.
pub fn forward_functional(
    port: PortId,
    message: &mut dyn Any,
    onto: PortId,
    onward: &mut Onward,
) -> Result<(), FunctionalError> {
    let request = message.downcast_ref::<MemRequest>();
    let request = request.ok_or(FunctionalError::UnexpectedMessage(port))?;
    onward.send(onto, *request);
    Ok(())
}

/// Returns the mask of the words of a line that bytes `offset .. offset + bytes` touch.
///
/// # Panics
/// Panics if the range is empty or leaves a line of [`LINE_BYTES_MAX`].
pub fn word_mask(offset: u32, bytes: u32) -> u32 {
    assert!(
        bytes > 0 && offset + bytes <= LINE_BYTES_MAX,
        "{offset} + {bytes} leaves the line"
    );
    let (first, last) = (offset / 4, (offset + bytes - 1) / 4);
    (u32::MAX >> (31 - (last - first))) << first
}

/// Checks that `bytes` is a valid length of a line, or of a part of one.
///
/// # Errors
/// Fails unless the number is a power of two from 4 to [`LINE_BYTES_MAX`]; the error names `field`.
pub(crate) fn check_line_bytes(field: &str, bytes: u32) -> Result<(), SpecError> {
    let fits = bytes.is_power_of_two() && (4..=LINE_BYTES_MAX).contains(&bytes);
    SpecError::require(fits, field, || {
        format!("{bytes} must be a power of two from 4 to {LINE_BYTES_MAX}")
    })
}

/// Returns the mask of all words of a line.
pub fn full_line(line_bytes: u32) -> u32 {
    word_mask(0, line_bytes)
}
