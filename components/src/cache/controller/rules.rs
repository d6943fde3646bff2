//! Rules for stores, atomics and bypassing requests.

use crate::cache::access::{is_clean, stores};
use crate::cache::line_layout::LineLayout;
use crate::cache::spec::{AllocatePolicy, AtomicPolicy, CacheSpec, PartialWrite, WritePolicy};
use crate::memory::{Level, MemRequest, RequestKind, flags};

/// The part of a specification that decides how a request is served.
#[derive(Clone, Copy, Debug)]
pub(in crate::cache) struct Rules {
    level: Level,
    write: WritePolicy,
    allocates_writes: bool,
    allocate: AllocatePolicy,
    atomics: AtomicPolicy,
    has_sectors: bool,
}

impl Rules {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        Self {
            level: (&spec.level).into(),
            write: spec.write,
            allocates_writes: spec.allocates_writes(),
            allocate: spec.allocate,
            atomics: spec.atomics,
            has_sectors: spec.sector_bytes.is_some(),
        }
    }

    /// True if the lines have sectors, which are counted.
    #[inline]
    pub(super) fn has_sectors(&self) -> bool {
        self.has_sectors
    }

    /// Level reported as supplier of hits.
    #[inline]
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// Tells whether a fetched line takes its slot when it comes.
    #[inline]
    pub(super) fn allocates_on_fill(&self) -> bool {
        self.allocate == AllocatePolicy::OnFill
    }

    /// Tells whether a store to an absent line brings it in.
    #[inline]
    pub(super) fn allocates_writes(&self) -> bool {
        self.allocates_writes
    }

    /// Tells whether the request stores into its line and goes down.
    #[inline]
    pub(in crate::cache) fn goes_through(&self, request: &MemRequest) -> bool {
        self.write == WritePolicy::WriteThrough && stores(request.kind)
    }

    /// Tells whether the request asked not to be served here.
    #[inline]
    pub(super) fn bypasses(&self, request: &MemRequest) -> bool {
        request.flags & flags::BYPASS_L1 != 0 && self.level == Level::L1
    }

    /// Tells whether the request counts as a write that was looked up, although it is handed down.
    #[inline]
    pub(super) fn counts_as_write(&self, request: &MemRequest) -> bool {
        stores(request.kind) && (self.write == WritePolicy::WriteEvict || !self.bypasses(request))
    }

    /// Tells whether the request is handed down instead of being served here; `is_absent` finds out
    /// whether its line is neither present nor in flight.
    #[inline]
    pub(in crate::cache) fn passes(
        &self,
        request: &MemRequest,
        is_absent: impl FnOnce() -> bool,
    ) -> bool {
        if self.bypasses(request) {
            return true;
        }
        match request.kind {
            RequestKind::Read | RequestKind::Prefetch => false,
            RequestKind::Atomic => self.atomics == AtomicPolicy::Forward,
            RequestKind::CopyBack if is_clean(request) => false,
            RequestKind::Write | RequestKind::CopyBack => match self.write {
                WritePolicy::WriteEvict => true,
                WritePolicy::WriteThrough => false,
                WritePolicy::WriteBack { .. } => !self.allocates_writes && is_absent(),
            },
        }
    }

    /// Returns the words to fetch for a request, given the words that the line already has.
    #[inline]
    pub(in crate::cache) fn wanted(
        &self,
        layout: &LineLayout,
        kind: RequestKind,
        words: u32,
        have: u32,
    ) -> u32 {
        if !stores(kind) {
            let missing = words & !have;
            return if missing == 0 {
                0
            } else {
                layout.sectors(missing) & !have
            };
        }
        match self.write {
            WritePolicy::WriteBack {
                partial: PartialWrite::Fetch,
            } => {
                // Sectors that the request covers need no fetch.
                let after = words | have;
                let cut_off = layout.sectors(words) & !after;
                layout.sectors(cut_off) & !have
            }
            _ => 0,
        }
    }
}
