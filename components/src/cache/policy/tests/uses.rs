//! Naive record of the sub-blocks that requests touch of each line, for models of policies.

use std::collections::BTreeMap;

use super::given::{sectors, words};
use super::replay::{Asked, Traffic};
use super::*;

/// Use of a line: sub-blocks that came, sub-blocks touched, and the policy's note of its miss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use<N> {
    pub(super) came: u32,
    pub(super) touched: u32,
    pub(super) note: Option<N>,
}

/// Uses of all lines, by line.
#[derive(Debug)]
pub(super) struct Uses<N> {
    has_sectors: bool,
    coming: BTreeMap<u64, (u32, N)>,
    present: BTreeMap<u64, Use<N>>,
}

impl<N: Copy> Uses<N> {
    pub(super) fn of(traffic: &Traffic) -> Self {
        Self {
            has_sectors: traffic.has_sectors,
            coming: BTreeMap::new(),
            present: BTreeMap::new(),
        }
    }

    /// Sub-blocks that hold any of these words.
    pub(super) fn blocks(&self, words: u32) -> u32 {
        if self.has_sectors {
            sectors(words)
        } else {
            u32::from(words != 0)
        }
    }

    /// Words that these sub-blocks consist of.
    pub(super) fn words(&self, blocks: u32) -> u32 {
        match (self.has_sectors, blocks) {
            (true, _) => words(blocks) * 0xff,
            (false, 0) => 0,
            (false, _) => u32::MAX,
        }
    }

    pub(super) fn count(&self) -> u32 {
        if self.has_sectors { 4 } else { 1 }
    }

    pub(super) fn touch(&mut self, asked: &Asked) {
        let blocks = self.blocks(asked.words);
        if asked.kind == RequestKind::CopyBack {
        } else if let Some(line) = self.present.get_mut(&asked.line) {
            line.touched |= blocks;
        } else if let Some((touched, _)) = self.coming.get_mut(&asked.line) {
            *touched |= blocks;
        } else if asked.is_placed {
            let line = Use {
                came: 0,
                touched: blocks,
                note: None,
            };
            self.present.insert(asked.line, line);
        }
    }

    pub(super) fn miss(&mut self, asked: &Asked, note: N) {
        if !asked.is_placed {
            self.coming
                .insert(asked.line, (self.blocks(asked.words), note));
        }
    }

    pub(super) fn pass(&mut self, asked: &Asked) {
        self.coming.remove(&asked.line);
    }

    pub(super) fn fill(&mut self, fill: &Fill) {
        if fill.closed {
            return;
        }
        let came = self.coming.remove(&fill.line);
        let blocks = self.blocks(fill.words);
        if fill.slot.is_some() {
            let line = self.present.entry(fill.line).or_insert(Use {
                came: 0,
                touched: 0,
                note: None,
            });
            line.came |= blocks;
            if let Some((touched, note)) = came {
                line.touched |= touched;
                line.note = Some(note);
            }
        }
    }

    pub(super) fn leave(&mut self, eviction: &Eviction) -> Option<Use<N>> {
        self.present.remove(&eviction.line)
    }

    pub(super) fn present(&self) -> impl Iterator<Item = &Use<N>> {
        self.present.values()
    }
}
