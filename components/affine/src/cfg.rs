//! Control flow of a kernel: blocks, dominators and natural loops.

use std::collections::BTreeMap;

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};
use warpweave_trace::Code;

use crate::cause::Cause;
use crate::decode::{Decoded, Kind};

/// Instructions beyond which a kernel is not analysed.
const INSTRUCTIONS_MAX: usize = 20_000;

/// Instructions that execute one after the other, without branches between.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Blocks that may follow; for a guarded branch the target is first.
    pub(crate) next: Vec<usize>,
    pub(crate) before: Vec<usize>,
    /// True if some threads may end at the last instruction.
    pub(crate) may_end: bool,
    /// Innermost loop around the block, by index in the graph.
    pub(crate) within: Option<usize>,
}

/// Natural loop: all blocks that reach a back edge without passing its header.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) header: usize,
    pub(crate) latches: Vec<usize>,
    /// Blocks of the loop and of those inside it, in order.
    pub(crate) blocks: Vec<usize>,
    pub(crate) parent: Option<usize>,
}

pub(crate) struct Flow {
    pub(crate) blocks: Vec<Block>,
    pub(crate) loops: Vec<Loop>,
    /// Reachable blocks in reverse post-order, without back edges.
    pub(crate) order: Vec<usize>,
    dominators: Dominators<NodeIndex>,
    post_dominators: Dominators<NodeIndex>,
}

impl Flow {
    /// Builds the graph of the instructions that the kernel reaches without calls.
    pub(crate) fn of(code: &Code, decoded: &[Decoded]) -> Result<Self, Cause> {
        if decoded.is_empty() || decoded.len() > INSTRUCTIONS_MAX {
            return Err(Cause::TooLarge);
        }
        let mut blocks = blocks(code, decoded)?;
        let order = reverse_post_order(&blocks);
        let mut graph = DiGraph::<(), ()>::new();
        for _ in 0..=blocks.len() {
            graph.add_node(());
        }
        for &from in &order {
            for &to in &blocks[from].next {
                graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
            }
        }
        let dominators = simple_fast(&graph, NodeIndex::new(0));
        let mut place = vec![usize::MAX; blocks.len()];
        for (at, &block) in order.iter().enumerate() {
            place[block] = at;
        }
        let mut headers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &from in &order {
            for &to in &blocks[from].next {
                if place[to] > place[from] {
                    continue;
                }
                if !dominates(&dominators, to, from) {
                    let line = code.instructions[blocks[to].start].line;
                    return Err(Cause::Irreducible { line });
                }
                headers.entry(to).or_default().push(from);
            }
        }
        let loops = loops(&mut blocks, headers);
        let post_dominators = post_dominators(&blocks, &loops, &order);
        Ok(Self {
            blocks,
            loops,
            order,
            dominators,
            post_dominators,
        })
    }

    /// True if every path to `block` passes `by`.
    pub(crate) fn dominates(&self, by: usize, block: usize) -> bool {
        dominates(&self.dominators, by, block)
    }

    /// Returns the block from which paths to `block` part, in the loop of `block`. Its condition is
    /// that of `block` if all these paths meet there.
    pub(crate) fn parting(&self, block: usize) -> Option<usize> {
        let within = self.blocks[block].within;
        let mut from = self.dominators.immediate_dominator(NodeIndex::new(block))?;
        while self.blocks[from.index()].within != within {
            let inner = self.child_of(within, from.index())?;
            from = NodeIndex::new(self.loops[inner].header);
            if self.blocks[from.index()].within != within {
                from = self.dominators.immediate_dominator(from)?;
            }
        }
        let mut after = self.post_dominators.dominators(from)?;
        after.any(|at| at.index() == block).then_some(from.index())
    }

    /// Returns the loop directly inside `outer` that has the block, if it is in one.
    pub(crate) fn child_of(&self, outer: Option<usize>, block: usize) -> Option<usize> {
        let mut at = self.blocks[block].within?;
        loop {
            if Some(at) == outer {
                return None;
            }
            match self.loops[at].parent {
                parent if parent == outer => return Some(at),
                Some(parent) => at = parent,
                None => return None,
            }
        }
    }
}

fn dominates(dominators: &Dominators<NodeIndex>, by: usize, block: usize) -> bool {
    let of = dominators.dominators(NodeIndex::new(block));
    of.is_some_and(|mut all| all.any(|at| at.index() == by))
}

fn blocks(code: &Code, decoded: &[Decoded]) -> Result<Vec<Block>, Cause> {
    let count = decoded.len();
    let mut starts = vec![false; count + 1];
    starts[0] = true;
    for (at, decoded) in decoded.iter().enumerate() {
        let instruction = &code.instructions[at];
        match decoded.kind {
            Kind::Branch => {
                let target = instruction.target.map_or(count, |target| target as usize);
                if target >= count {
                    let line = instruction.line;
                    return Err(Cause::ComputedBranch { line });
                }
                starts[target] = true;
                starts[at + 1] = true;
            }
            Kind::Exit | Kind::Computed => starts[at + 1] = true,
            _ => {}
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_at = vec![0; count];
    for (at, &starts_here) in starts[..count].iter().enumerate() {
        if starts_here {
            blocks.push(Block {
                start: at,
                end: at,
                next: Vec::new(),
                before: Vec::new(),
                may_end: false,
                within: None,
            });
        }
        block_at[at] = blocks.len() - 1;
        if let Some(last) = blocks.last_mut() {
            last.end = at + 1;
        }
    }
    for block in &mut blocks {
        let last = block.end - 1;
        let instruction = &code.instructions[last];
        let falls = instruction.guard.is_some() || !ends(decoded[last].kind);
        block.may_end = decoded[last].kind == Kind::Exit;
        if decoded[last].kind == Kind::Branch
            && let Some(target) = instruction.target
        {
            block.next.push(block_at[target as usize]);
        }
        if falls && last + 1 < count {
            block.next.push(block_at[last + 1]);
        }
    }
    for from in 0..blocks.len() {
        for to in blocks[from].next.clone() {
            blocks[to].before.push(from);
        }
    }
    Ok(blocks)
}

fn ends(kind: Kind) -> bool {
    matches!(kind, Kind::Branch | Kind::Exit | Kind::Computed)
}

fn reverse_post_order(blocks: &[Block]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.pop() {
        if let Some(&to) = blocks[block].next.get(next) {
            stack.push((block, next + 1));
            if !seen[to] {
                seen[to] = true;
                stack.push((to, 0));
            }
        } else {
            order.push(block);
        }
    }
    order.reverse();
    order
}

/// Finds the natural loop of every header, and the innermost loop of every block.
fn loops(blocks: &mut [Block], headers: BTreeMap<usize, Vec<usize>>) -> Vec<Loop> {
    let mut loops = Vec::new();
    for (header, latches) in headers {
        let mut inside = vec![header];
        let mut left = latches.clone();
        while let Some(block) = left.pop() {
            if !inside.contains(&block) {
                inside.push(block);
                left.extend(&blocks[block].before);
            }
        }
        inside.sort_unstable();
        loops.push(Loop {
            header,
            latches,
            blocks: inside,
            parent: None,
        });
    }
    // Outer loops are larger than those inside them.
    loops.sort_by_key(|found| std::cmp::Reverse(found.blocks.len()));
    for at in 0..loops.len() {
        loops[at].parent = blocks[loops[at].header].within;
        for &block in &loops[at].blocks {
            blocks[block].within = Some(at);
        }
    }
    loops
}

/// Post-dominators of the graph in which a loop, once entered, continues at its exits.
fn post_dominators(blocks: &[Block], loops: &[Loop], order: &[usize]) -> Dominators<NodeIndex> {
    let end = NodeIndex::new(blocks.len());
    let mut graph = DiGraph::<(), ()>::new();
    for _ in 0..=blocks.len() {
        graph.add_node(());
    }
    for &from in order {
        let mut is_last = true;
        for &to in &blocks[from].next {
            let back = loops
                .iter()
                .find(|found| found.header == to && found.latches.contains(&from));
            let Some(back) = back else {
                graph.add_edge(NodeIndex::new(to), NodeIndex::new(from), ());
                is_last = false;
                continue;
            };
            for &inside in &back.blocks {
                for &out in &blocks[inside].next {
                    if !back.blocks.contains(&out) {
                        graph.add_edge(NodeIndex::new(out), NodeIndex::new(from), ());
                        is_last = false;
                    }
                }
            }
        }
        if is_last || blocks[from].may_end {
            graph.add_edge(end, NodeIndex::new(from), ());
        }
    }
    simple_fast(&graph, end)
}
