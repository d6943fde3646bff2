//! Classes of programs by what their work-groups share (CTA-clustering paper, 3.2).

use super::SharingCounts;

/// Lowest inter share of reuses at which lines or words count as shared. Own choice.
pub const SHARED_FROM: f64 = 0.1;

/// Lowest coalescing degree of a streaming program. Own choice.
pub const COALESCED_FROM: f64 = 0.8;

/// Class of a program by what its work-groups share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingClass {
    /// Work-groups of a launch read the same words.
    Algorithm,
    /// Work-groups share lines, but not their words.
    CacheLine,
    /// Work-groups share little, and accesses are scattered.
    Data,
    /// Work-groups write lines that others read.
    Write,
    /// Work-groups share little, and accesses fill whole lines.
    Streaming,
}

impl SharingClass {
    /// Returns the letter of the class, A to E.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Algorithm => "A",
            Self::CacheLine => "B",
            Self::Data => "C",
            Self::Write => "D",
            Self::Streaming => "E",
        }
    }

    /// Returns the class of these counts, or `None` without accesses.
    pub fn of(counts: &SharingCounts) -> Option<Self> {
        let coalescing = counts.coalescing()?;
        let is_shared = |share: Option<f64>| share.is_some_and(|share| share >= SHARED_FROM);
        Some(if counts.contested_lines > 0 {
            Self::Write
        } else if is_shared(counts.words.inter_share()) {
            Self::Algorithm
        } else if is_shared(counts.lines.inter_share()) {
            Self::CacheLine
        } else if coalescing < COALESCED_FROM {
            Self::Data
        } else {
            Self::Streaming
        })
    }
}
