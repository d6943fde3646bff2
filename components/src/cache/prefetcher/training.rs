//! Training of prefetchers with tables: which accesses train, and how lines are numbered.

use serde::{Deserialize, Serialize};

use super::PrefetchContext;
use crate::cache::policy::{CacheSite, TagLookup};
use crate::memory::{Level, RequestKind};

/// Turns accesses of a cache into training, and line numbers back into lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trainer {
    site: CacheSite,
    by_wavefront: bool,
}

/// One access that trains, in units of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Training {
    /// Address of the line in units of lines.
    pub(super) line: i64,
    /// Wavefront whose tables are trained; 0 if all wavefronts share them.
    pub(super) wavefront: u32,
    /// True if the access may make a table entry.
    pub(super) enters: bool,
    /// Part of the cache that holds the line.
    pub(super) part: u64,
}

/// Key of a table entry: a region of memory, and the wavefront if each has entries of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct RegionKey {
    region: i64,
    wavefront: u32,
}

impl Training {
    /// Returns the key of the line's region of `1 << line_bits` lines.
    pub(super) fn key(&self, line_bits: u32) -> RegionKey {
        RegionKey {
            region: self.line >> line_bits,
            wavefront: self.wavefront,
        }
    }
}

impl Trainer {
    pub(super) fn new(site: CacheSite, by_wavefront: bool) -> Self {
        Self { site, by_wavefront }
    }

    /// Returns the binary logarithm of the lines in a region of `1 << bits` bytes, at least a line.
    pub(super) fn line_bits(&self, bits: u32) -> u32 {
        bits.saturating_sub(self.site.line_bytes.ilog2())
    }

    /// Returns the training of an access: none for copy-backs and for prefetches of another cache.
    /// Below the first level, hits make no entries.
    fn training(&self, access: &TagLookup<'_>, hit: bool) -> Option<Training> {
        let request = access.request;
        if !matches!(
            request.kind,
            RequestKind::Read | RequestKind::Write | RequestKind::Atomic
        ) {
            return None;
        }
        let bytes = u64::from(self.site.line_bytes);
        let source = request.source;
        let wavefront =
            (u32::from(source.compute_unit) << 8 | u32::from(source.wavefront_slot)) + 1;
        Some(Training {
            line: (access.line / bytes) as i64,
            wavefront: if self.by_wavefront { wavefront } else { 0 },
            enters: !hit || self.site.level == Level::L1,
            part: access.line % bytes,
        })
    }

    /// Gives an access that trains to a table, and fetches the lines that the table sends.
    pub(super) fn train(
        &self,
        access: &TagLookup<'_>,
        hit: bool,
        context: &mut PrefetchContext<'_>,
        train: impl FnOnce(&Training, &mut dyn FnMut(i64)),
    ) {
        if let Some(training) = self.training(access, hit) {
            train(&training, &mut |line| self.fetch(&training, line, context));
        }
    }

    /// Requests a line by its number; nothing if there is no such line.
    fn fetch(&self, training: &Training, line: i64, context: &mut PrefetchContext<'_>) {
        let bytes = u64::from(self.site.line_bytes);
        let address = u64::try_from(line)
            .ok()
            .and_then(|line| line.checked_mul(bytes));
        if let Some(address) = address {
            context.fetch(address | training.part);
        }
    }
}

/// Trains a table of one wavefront with lines at a first-level cache; returns the sent lines.
#[cfg(test)]
pub(super) fn sent_by(
    lines: &[i64],
    mut train: impl FnMut(&Training, &mut dyn FnMut(i64)),
) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for &line in lines {
        let training = Training {
            line,
            wavefront: 0,
            enters: true,
            part: 0,
        };
        let mut sent = Vec::new();
        train(&training, &mut |line| sent.push(line));
        all.push(sent);
    }
    all
}
