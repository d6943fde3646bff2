//! Loops of a kernel as references see them: instructions, and symbols that count iterations.

use rustc_hash::FxHashMap;

use crate::cfg::Flow;
use crate::form::SymbolId;

/// Loop of a kernel, with the symbols that count its iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Instructions of the loop and those from which it is entered, by index in the kernel's code,
    /// in ascending order.
    pub instructions: Vec<u32>,
    /// Half-open ranges of instructions, without those from which the loop is entered.
    body: Vec<(u32, u32)>,
    /// Symbol for the number of iterations before the current one.
    pub(crate) counter: SymbolId,
    /// Counters of the loops around it, from the inside out.
    pub(crate) around: Vec<SymbolId>,
}

impl Loop {
    /// Returns the loops of a kernel; `counters` has the symbol of each that was evaluated.
    pub(crate) fn all(flow: &Flow, counters: &FxHashMap<usize, SymbolId>) -> Vec<Self> {
        let found = flow.loops.iter().enumerate().filter_map(|(number, found)| {
            let body: Vec<(u32, u32)> = found
                .blocks
                .iter()
                .map(|&at| (flow.blocks[at].start as u32, flow.blocks[at].end as u32))
                .collect();
            let before = flow.blocks[found.header].before.iter();
            let entries = before.filter(|from| !found.blocks.contains(from));
            let entries = entries.map(|&from| flow.blocks[from].end as u32 - 1);
            let mut instructions: Vec<u32> = body.iter().flat_map(|&(a, b)| a..b).collect();
            instructions.extend(entries);
            instructions.sort_unstable();
            instructions.dedup();
            let parents = std::iter::successors(found.parent, |&at| flow.loops[at].parent);
            Some(Self {
                instructions,
                body,
                counter: *counters.get(&number)?,
                around: parents
                    .filter_map(|at| counters.get(&at).copied())
                    .collect(),
            })
        });
        found.collect()
    }

    /// True if the instruction is repeated by the loop.
    pub(crate) fn contains(&self, pc: u32) -> bool {
        self.body
            .iter()
            .any(|&(start, end)| (start..end).contains(&pc))
    }

    /// True if the loop is inside the other.
    pub(crate) fn is_inside(&self, other: &Self) -> bool {
        self.around.contains(&other.counter)
    }
}
