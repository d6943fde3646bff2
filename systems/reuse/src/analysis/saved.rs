//! Checkpoint form of an analysis, in canonical order and without derived tables.

use serde::{Deserialize, Serialize};
use warpweave_trace::Parent;

use super::{Analysis, Options};
use crate::{Distances, LruStack, Unit};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    options: Options,
    parents: Vec<Option<Parent>>,
    /// Line addresses, indexed by line number.
    lines: Vec<u64>,
    last: Vec<u32>,
    /// Touches of each unit, sorted by unit.
    units: Vec<(Unit, Vec<u32>)>,
    /// Lines in LRU order, the most recently touched last.
    stack: Vec<u64>,
    distances: Vec<Distances>,
}

impl From<Analysis> for Saved {
    fn from(analysis: Analysis) -> Self {
        let mut units: Vec<_> = analysis.units.into_iter().collect();
        units.sort_unstable_by_key(|(unit, _)| *unit);
        let mut lines: Vec<(u32, u64)> = analysis
            .numbers
            .into_iter()
            .map(|(line, number)| (number, line))
            .collect();
        lines.sort_unstable();
        Self {
            options: analysis.options,
            parents: analysis.parents,
            lines: lines.into_iter().map(|(_, line)| line).collect(),
            last: analysis.last,
            units,
            stack: analysis.stack.lines().collect(),
            distances: analysis.distances,
        }
    }
}

impl From<Saved> for Analysis {
    fn from(saved: Saved) -> Self {
        let mut stack = LruStack::new();
        for line in saved.stack {
            stack.touch(line);
        }
        Self {
            options: saved.options,
            parents: saved.parents,
            numbers: saved.lines.into_iter().zip(0..).collect(),
            last: saved.last,
            units: saved.units.into_iter().collect(),
            stack,
            distances: saved.distances,
        }
    }
}
