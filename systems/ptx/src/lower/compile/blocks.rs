//! Editable form of a function: basic blocks whose jumps name blocks instead of instructions.

use crate::alloc::Effects;
use crate::cfg::{Flow, Graph};
use crate::lower::names::{Body, Resolved, Value, effects_of};

/// An instruction with its registers and its control flow, whose targets are numbers of blocks.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) resolved: Resolved<'a>,
    pub(super) effects: Effects,
    pub(super) flow: Flow,
    /// True if nothing reads the results in lanes that the guard leaves out, so no old value lives.
    pub(super) is_new: bool,
}

impl<'a> Line<'a> {
    /// Creates a line that control passes through.
    pub(super) fn plain(resolved: Resolved<'a>) -> Self {
        Self {
            effects: effects_of(&resolved),
            resolved,
            flow: Flow::Next,
            is_new: false,
        }
    }

    /// Notes that nothing reads the results in lanes that the guard leaves out.
    pub(super) fn renew(&mut self) {
        self.is_new = true;
        self.effects.guarded = false;
    }

    /// Replaces the instruction of a line; its control flow stays.
    pub(super) fn replace(&mut self, resolved: Resolved<'a>) {
        // A function that returns registers reads them where it leaves.
        let own = effects_of(&self.resolved).reads.len();
        let returned = self.effects.reads.split_off(own);
        self.effects = effects_of(&resolved);
        self.effects.guarded &= !self.is_new;
        self.effects.reads.extend(returned);
        self.resolved = resolved;
    }
}

/// Blocks of a function in text order. Control falls from a block into the next one unless its last
/// line jumps.
pub(super) struct Blocks<'a> {
    pub(super) list: Vec<Vec<Line<'a>>>,
    /// Targets of indexed branches, as numbers of blocks.
    tables: Vec<Vec<usize>>,
}

impl<'a> Blocks<'a> {
    /// Takes the instructions out of a function.
    pub(super) fn take(body: &mut Body<'a>) -> Self {
        let graph = Graph::new(&body.flows);
        let of = |instruction: usize| graph.block_of[instruction];
        let mut lines = std::mem::take(&mut body.instructions)
            .into_iter()
            .zip(std::mem::take(&mut body.effects))
            .zip(std::mem::take(&mut body.flows))
            .map(|((resolved, effects), flow)| Line {
                resolved,
                effects,
                flow,
                is_new: false,
            });
        let mut blocks = Self {
            list: Vec::with_capacity(graph.blocks.len()),
            tables: std::mem::take(&mut body.targets),
        };
        for block in &graph.blocks {
            blocks
                .list
                .push(lines.by_ref().take(block.end - block.start).collect());
        }
        blocks.retarget(of);
        blocks
    }

    pub(super) fn put(mut self, body: &mut Body<'a>) {
        let mut starts = Vec::with_capacity(self.list.len());
        let mut at = 0;
        for block in &self.list {
            starts.push(at);
            at += block.len();
        }
        self.retarget(|block| starts[block]);
        for line in self.list.into_iter().flatten() {
            body.instructions.push(line.resolved);
            body.effects.push(line.effects);
            body.flows.push(line.flow);
        }
        body.targets = self.tables;
    }

    /// Changes the target of every jump.
    fn retarget(&mut self, to: impl Fn(usize) -> usize) {
        for line in self.list.iter_mut().flatten() {
            match &mut line.flow {
                Flow::Branch { target, .. } => {
                    *target = to(*target);
                    for operand in &mut line.resolved.operands {
                        if let Value::Label(label) = &mut operand.value {
                            *label = *target;
                        }
                    }
                }
                Flow::Switch { targets, .. } => {
                    for target in targets {
                        *target = to(*target);
                    }
                }
                Flow::Next | Flow::Leave { .. } => {}
            }
        }
        for target in self.tables.iter_mut().flatten() {
            *target = to(*target);
        }
    }

    /// True if control may fall from a block into the next one.
    pub(super) fn falls(&self, block: usize) -> bool {
        match self.list[block].last().map(|line| &line.flow) {
            None | Some(Flow::Next) => true,
            Some(
                Flow::Branch { conditional, .. }
                | Flow::Switch { conditional, .. }
                | Flow::Leave { conditional },
            ) => *conditional,
        }
    }

    /// Returns the blocks that may follow each block.
    pub(super) fn successors(&self) -> Vec<Vec<usize>> {
        let following = |block: usize| {
            let mut list = match self.list[block].last().map(|line| &line.flow) {
                Some(Flow::Branch { target, .. }) => vec![*target],
                Some(Flow::Switch { targets, .. }) => targets.clone(),
                _ => Vec::new(),
            };
            if self.falls(block) && block + 1 < self.list.len() {
                list.push(block + 1);
            }
            list.sort_unstable();
            list.dedup();
            list
        };
        (0..self.list.len()).map(following).collect()
    }

    /// Returns the number of ways into each block, the start of the function among them.
    pub(super) fn entries(&self) -> Vec<usize> {
        let mut entries = vec![0; self.list.len()];
        entries[0] = 1;
        let successors = self.successors();
        let tables = self.tables.iter().flatten();
        for &to in successors.iter().flatten().chain(tables) {
            entries[to] += 1;
        }
        entries
    }

    /// Removes jumps to the next block and empty blocks, and joins blocks that always follow one
    /// another.
    pub(super) fn tidy(&mut self) {
        loop {
            let before = self.list.len();
            self.remove_empty();
            for block in 0..self.list.len() {
                let last = self.list[block].last().map(|line| &line.flow);
                if let Some(&Flow::Branch {
                    target,
                    conditional: false,
                }) = last
                    && target == block + 1
                {
                    self.list[block].pop();
                }
            }
            self.remove_empty();
            self.join();
            if self.list.len() == before {
                return;
            }
        }
    }

    fn remove_empty(&mut self) {
        let mut places = Vec::with_capacity(self.list.len());
        let mut kept = 0;
        for block in &self.list {
            // Control that enters an empty block continues in the next one that is left.
            places.push(kept);
            kept += usize::from(!block.is_empty());
        }
        if kept == self.list.len() {
            return;
        }
        self.retarget(|block| places[block]);
        self.list.retain(|block| !block.is_empty());
    }

    fn join(&mut self) {
        let mut is_target = vec![false; self.list.len()];
        for line in self.list.iter().flatten() {
            match &line.flow {
                Flow::Branch { target, .. } => is_target[*target] = true,
                Flow::Switch { targets, .. } => {
                    for &target in targets {
                        is_target[target] = true;
                    }
                }
                Flow::Next | Flow::Leave { .. } => {}
            }
        }
        for &target in self.tables.iter().flatten() {
            is_target[target] = true;
        }
        let goes_on = |block: &[Line<'_>]| {
            let last = block.last().map(|line| &line.flow);
            matches!(last, None | Some(Flow::Next))
        };
        let mut places = Vec::with_capacity(self.list.len());
        let mut joined: Vec<Vec<Line<'a>>> = Vec::with_capacity(self.list.len());
        for (block, lines) in std::mem::take(&mut self.list).into_iter().enumerate() {
            match joined.last_mut() {
                Some(before) if !is_target[block] && goes_on(before) => before.extend(lines),
                _ => joined.push(lines),
            }
            places.push(joined.len() - 1);
        }
        self.list = joined;
        self.retarget(|block| places[block]);
    }
}
