//! Snapshots of the cumulative statistics of a system, and the changes between successive ones.
//!
//! Snapshots are frequent, so they copy numbers and no names. Each instance writes a row of words
//! (`packed.rs`), which is compared with its previous row. Words are numbered over the whole
//! system. An instance has a block of words for every shape that its rows ever had. Few instances
//! have more than one shape, and instances of one kind share them, so names are rarely compared.

use std::collections::BTreeMap;
use std::mem::take;

use serde::{Deserialize, Serialize};

use crate::observe::statistics::packed::{Layout, Row};
use crate::observe::statistics::{InstanceStatistics, Statistic, Statistics};
use crate::time::{Cycle, Tick};

/// Number of words that are compared at once.
const CHUNK: usize = 8;

/// Accumulated state of all snapshots of a system so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StatisticSnapshots {
    pub(super) instances: Vec<Instance>,
    pub(super) shapes: Vec<Shape>,
    /// Values of the last snapshot, by word.
    pub(super) seen: Vec<u64>,
    /// Shapes by the hash of their rows. Not stored in checkpoints, because names have other
    /// addresses in another process.
    #[serde(skip)]
    known: BTreeMap<u64, u32>,
    /// Buffers for a row and for the changes.
    #[serde(skip)]
    row: Row,
    #[serde(skip)]
    changed: (Vec<u32>, Vec<u64>),
}

/// An instance with its blocks; the most recently used block is last.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Instance {
    pub(super) path: String,
    pub(super) blocks: Vec<Block>,
}

/// Words of one instance for one shape of its rows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) shape: u32,
    pub(super) start: u32,
    /// Hash of its rows, if a row was seen.
    #[serde(skip)]
    hash: Option<u64>,
}

/// Meaning of the words of a row, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shape {
    pub(super) parts: Vec<Part>,
    words: u32,
}

/// Words of one statistic within a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) sort: Layout,
    /// Index in the row at which the words begin.
    pub(super) start: u32,
}

impl Part {
    pub(super) fn range(&self, block: Block) -> std::ops::Range<usize> {
        let start = (block.start + self.start) as usize;
        start..start + self.sort.words()
    }
}

/// Words that changed from one snapshot to the next, and their growth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    words: Box<[u32]>,
    by: Box<[u64]>,
}

impl Changes {
    /// Iterates over the changed words and their growth; counts wrap around.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let words = self.words.iter().map(|word| *word as usize);
        words.zip(self.by.iter().copied())
    }
}

impl Shape {
    /// Creates the shape of rows with these statistics.
    fn of(statistics: &[Statistic]) -> Self {
        let mut words = 0;
        let growing = statistics.iter().filter(|statistic| statistic.grows);
        let parts = growing.filter_map(|statistic| {
            let part = Part {
                name: statistic.name.to_string(),
                sort: Layout::of(&statistic.value)?,
                start: words,
            };
            words += part.sort.words() as u32;
            Some(part)
        });
        Self {
            parts: parts.collect(),
            words,
        }
    }

    /// Returns the part that continues `wanted`; it is at `expected` unless statistics were added
    /// or removed.
    fn find(&self, expected: usize, wanted: &Part) -> Option<usize> {
        let continues = |part: &Part| part.sort.is_like(wanted.sort) && part.name == wanted.name;
        if self.parts.get(expected).is_some_and(continues) {
            return Some(expected);
        }
        self.parts.iter().position(continues)
    }
}

impl StatisticSnapshots {
    /// Begins a snapshot, which ends with [`Look::end`].
    pub fn look(&mut self) -> Look<'_> {
        Look {
            row: take(&mut self.row),
            changed: take(&mut self.changed),
            looks: self,
            next: 0,
        }
    }

    /// Returns the number of an instance; it is `expected` unless instances were added or removed.
    fn instance(&mut self, expected: usize, path: &str) -> usize {
        let is_it = |instance: &Instance| instance.path == path;
        if self.instances.get(expected).is_some_and(is_it) {
            return expected;
        }
        let known = self.instances.iter().position(is_it);
        known.unwrap_or_else(|| {
            self.instances.push(Instance {
                path: path.to_owned(),
                blocks: Vec::new(),
            });
            self.instances.len() - 1
        })
    }

    fn shape(&mut self, statistics: &[Statistic]) -> u32 {
        let shape = Shape::of(statistics);
        let known = self.shapes.iter().position(|known| *known == shape);
        let number = known.unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        });
        number as u32
    }

    /// Returns the first word of an instance's block for rows of a shape. Its growth continues from
    /// the last values seen, in any block of the instance.
    fn block(&mut self, instance: usize, shape: u32, hash: Option<u64>) -> usize {
        let blocks = &mut self.instances[instance].blocks;
        let used = blocks.iter().position(|block| block.shape == shape);
        let start = self.seen.len() as u32;
        let mut block = used.map_or(Block { shape, start, hash }, |used| blocks.remove(used));
        block.hash = hash.or(block.hash);
        blocks.push(block);
        let shape = &self.shapes[shape as usize];
        if used.is_none() {
            self.seen.resize((start + shape.words) as usize, 0);
        }
        // Those that were used after it, the newest first.
        let newer = &blocks[used.unwrap_or(0)..blocks.len() - 1];
        let mut expected = 0;
        for part in &shape.parts {
            let found = newer.iter().rev().find_map(|&other| {
                let shape = &self.shapes[other.shape as usize];
                let at = shape.find(expected, part)?;
                Some((at, shape.parts[at].range(other)))
            });
            let Some((at, from)) = found else { continue };
            expected = at + 1;
            let to = part.range(block);
            let words = from.len().min(to.len());
            self.seen
                .copy_within(from.start..from.start + words, to.start);
        }
        block.start as usize
    }
}

/// A snapshot of the cumulative statistics of a system, taken instance by instance.
#[derive(Debug)]
pub struct Look<'l> {
    looks: &'l mut StatisticSnapshots,
    row: Row,
    /// Indices of the changed words, and their growth.
    changed: (Vec<u32>, Vec<u64>),
    /// Number of the instance after the last one read.
    next: usize,
}

impl Look<'_> {
    /// Reads the instance at `path`, whose clock is at `cycle`. `report` reports all its
    /// statistics; it is called again if they differ in shape from the previous snapshot.
    pub fn at(
        &mut self,
        path: &str,
        cycle: Cycle,
        now: Tick,
        report: impl Fn(&mut Statistics<'_>),
    ) {
        self.row.clear();
        report(&mut Statistics::in_row(cycle, now, &mut self.row));
        let instance = self.looks.instance(self.next, path);
        self.next = instance + 1;
        let hash = self.row.shape();
        let block = self.looks.instances[instance].blocks.last();
        let start = match block {
            Some(block) if block.hash == Some(hash) => block.start as usize,
            _ => self.move_to(instance, hash, || {
                let mut statistics = Vec::new();
                report(&mut Statistics::new(cycle, now, &mut statistics));
                statistics
            }),
        };
        self.take(start);
    }

    /// Reads an instance whose statistics were already collected.
    pub fn at_collected(&mut self, instance: &InstanceStatistics) {
        self.row.clear();
        for statistic in instance.values.iter().filter(|s| s.grows) {
            self.row.push(&statistic.value);
        }
        let shape = self.looks.shape(&instance.values);
        let instance = self.looks.instance(self.next, &instance.path);
        self.next = instance + 1;
        let start = self.looks.block(instance, shape, None);
        self.take(start);
    }

    /// Returns the changes since the previous snapshot, or since the start of the run if there was
    /// none.
    pub fn end(self) -> Changes {
        let (words, by) = self.changed;
        let changes = Changes {
            words: words.as_slice().into(),
            by: by.as_slice().into(),
        };
        self.looks.changed = (words, by);
        self.looks.changed.0.clear();
        self.looks.changed.1.clear();
        self.looks.row = self.row;
        changes
    }

    /// Returns the first word of the block of an instance whose rows have a new shape.
    #[cold]
    fn move_to(
        &mut self,
        instance: usize,
        hash: u64,
        statistics: impl FnOnce() -> Vec<Statistic>,
    ) -> usize {
        let looks = &mut *self.looks;
        let shape = looks.known.get(&hash).copied().unwrap_or_else(|| {
            let shape = looks.shape(&statistics());
            looks.known.insert(hash, shape);
            shape
        });
        looks.block(instance, shape, Some(hash))
    }

    /// Compares the row with the words from `start` on and stores it there.
    fn take(&mut self, start: usize) {
        let row = self.row.words();
        let seen = &mut self.looks.seen[start..start + row.len()];
        let ((now, last_now), (then, last_then)) =
            (row.as_chunks::<CHUNK>(), seen.as_chunks_mut::<CHUNK>());
        let mut at = start;
        for (now, then) in now.iter().zip(then) {
            let pairs = now.iter().zip(&*then);
            if pairs.fold(0, |all, (now, then)| all | (now ^ then)) != 0 {
                note(&mut self.changed, at, now, then);
            }
            at += CHUNK;
        }
        note(&mut self.changed, at, last_now, last_then);
    }
}

/// Records the growth of the words from `start` on and updates the values seen.
fn note(changed: &mut (Vec<u32>, Vec<u64>), start: usize, now: &[u64], then: &mut [u64]) {
    for (word, (now, then)) in (start..).zip(now.iter().zip(then)) {
        let by = now.wrapping_sub(*then);
        if by != 0 {
            *then = *now;
            changed.0.push(word as u32);
            changed.1.push(by);
        }
    }
}
