//! Control-flow graph of one function: blocks, reconvergence points and loops.
//!
//! PTX has no reconvergence marks; lanes that diverge at a branch reconverge at its immediate
//! post-dominator (Fung et al., "Dynamic Warp Formation", MICRO 2007). Post-dominators are computed
//! towards a virtual exit that is the successor of every `ret`, `exit` and `trap`.
//!
//! Blocks that cannot reach the exit (endless loops) get a special rule. While there are any, the
//! textually last of them is given an edge to the virtual exit. Such an edge is never taken. It
//! only keeps the reconvergence points of branches in an endless loop inside the loop.

use petgraph::algo::dominators::{self, Dominators};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Reversed;

/// Control flow out of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    /// Jumps to an instruction; if `conditional`, it may also fall through.
    Branch {
        target: usize,
        conditional: bool,
    },
    /// Jumps to one of several instructions; if `conditional`, it may also fall through.
    Switch {
        targets: Vec<usize>,
        conditional: bool,
    },
    /// Leaves the function; if conditional, it may also fall through.
    Leave {
        conditional: bool,
    },
}

/// Basic block: a range of instructions without branches into or out of its middle.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) successors: Vec<usize>,
}

pub(crate) struct Graph {
    pub(crate) blocks: Vec<Block>,
    /// Index of the block that contains each instruction.
    pub(crate) block_of: Vec<usize>,
    /// First instruction of each block's immediate post-dominator; `None` is the exit.
    meets: Vec<Option<usize>>,
    /// First instruction of the innermost loop that contains each block.
    loop_heads: Vec<Option<usize>>,
}

impl Graph {
    pub(crate) fn new(flows: &[Flow]) -> Self {
        let (blocks, block_of) = blocks(flows);
        let meets = meeting_points(&blocks);
        let loop_heads = loop_heads(&blocks);
        Self {
            blocks,
            block_of,
            meets,
            loop_heads,
        }
    }

    /// Returns the reconvergence point of the branch at `instruction`; `None` is the end of the
    /// function.
    pub(crate) fn meet(&self, instruction: usize) -> Option<usize> {
        self.meets[self.block_of[instruction]]
    }

    /// Returns the first instruction of the innermost loop that contains `instruction`.
    pub(crate) fn loop_head(&self, instruction: usize) -> Option<usize> {
        self.loop_heads[self.block_of[instruction]]
    }
}

fn blocks(flows: &[Flow]) -> (Vec<Block>, Vec<usize>) {
    let mut leaders = vec![false; flows.len() + 1];
    leaders[0] = true;
    for (at, flow) in flows.iter().enumerate() {
        match flow {
            Flow::Next => {}
            Flow::Branch { target, .. } => {
                leaders[*target] = true;
                leaders[at + 1] = true;
            }
            Flow::Switch { targets, .. } => {
                for &target in targets {
                    leaders[target] = true;
                }
                leaders[at + 1] = true;
            }
            Flow::Leave { .. } => leaders[at + 1] = true,
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_of = vec![0; flows.len()];
    for at in 0..flows.len() {
        if leaders[at] {
            blocks.push(Block {
                start: at,
                end: at,
                successors: Vec::new(),
            });
        }
        block_of[at] = blocks.len() - 1;
        if let Some(block) = blocks.last_mut() {
            block.end = at + 1;
        }
    }
    for block in &mut blocks {
        let mut follow = |at: usize| {
            let successor = block_of[at];
            if !block.successors.contains(&successor) {
                block.successors.push(successor);
            }
        };
        match &flows[block.end - 1] {
            Flow::Branch {
                target,
                conditional,
            } => {
                if *conditional && block.end < flows.len() {
                    follow(block.end);
                }
                follow(*target);
            }
            Flow::Switch {
                targets,
                conditional,
            } => {
                if *conditional && block.end < flows.len() {
                    follow(block.end);
                }
                for &target in targets {
                    follow(target);
                }
            }
            Flow::Leave { conditional: false } => {}
            Flow::Next | Flow::Leave { conditional: true } => {
                if block.end < flows.len() {
                    follow(block.end);
                }
            }
        }
    }
    // A conditional leave falls through, and leaves; the exit edge is added with the virtual exit.
    (blocks, block_of)
}

fn meeting_points(blocks: &[Block]) -> Vec<Option<usize>> {
    let mut graph = DiGraph::<(), ()>::new();
    let nodes: Vec<NodeIndex> = blocks.iter().map(|_| graph.add_node(())).collect();
    let exit = graph.add_node(());
    for (from, block) in blocks.iter().enumerate() {
        for &to in &block.successors {
            graph.add_edge(nodes[from], nodes[to], ());
        }
        if block.successors.is_empty() {
            graph.add_edge(nodes[from], exit, ());
        }
    }
    let mut reaches = vec![false; blocks.len()];
    for block in (0..blocks.len()).filter(|&block| blocks[block].successors.is_empty()) {
        mark_sources(&graph, nodes[block], &mut reaches);
    }
    for stuck in (0..blocks.len()).rev() {
        if !reaches[stuck] {
            graph.add_edge(nodes[stuck], exit, ());
            mark_sources(&graph, nodes[stuck], &mut reaches);
        }
    }
    let tree = dominators::simple_fast(Reversed(&graph), exit);
    nodes
        .iter()
        .map(|&node| {
            let meet = tree.immediate_dominator(node)?;
            (meet != exit).then(|| blocks[meet.index()].start)
        })
        .collect()
}

/// Marks a node and all nodes from which it can be reached.
fn mark_sources(graph: &DiGraph<(), ()>, node: NodeIndex, marked: &mut [bool]) {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut marked[node.index()], true) {
            open.extend(graph.neighbors_directed(node, petgraph::Direction::Incoming));
        }
    }
}

/// Positions of the nodes of a dominator tree in a walk around it. One node dominates another if it
/// is entered before and left after it.
pub(crate) struct DominatorWalk {
    entered: Vec<usize>,
    left: Vec<usize>,
}

impl DominatorWalk {
    /// Walks around the dominator tree of blocks, of which the first is the entry.
    pub(crate) fn of(successors: &[Vec<usize>]) -> Self {
        let mut graph = DiGraph::<(), ()>::new();
        let nodes: Vec<NodeIndex> = successors.iter().map(|_| graph.add_node(())).collect();
        for (from, list) in successors.iter().enumerate() {
            for &to in list {
                graph.add_edge(nodes[from], nodes[to], ());
            }
        }
        Self::new(&dominators::simple_fast(&graph, nodes[0]), &nodes)
    }

    fn new(tree: &Dominators<NodeIndex>, nodes: &[NodeIndex]) -> Self {
        let mut children = vec![Vec::new(); nodes.len()];
        for (node, &index) in nodes.iter().enumerate() {
            if let Some(above) = tree.immediate_dominator(index) {
                children[above.index()].push(node);
            }
        }
        let mut walk = Self {
            entered: vec![0; nodes.len()],
            left: vec![0; nodes.len()],
        };
        let mut time = 1;
        walk.entered[tree.root().index()] = time;
        let mut path = vec![(tree.root().index(), 0)];
        while let Some((node, next)) = path.last_mut() {
            time += 1;
            if let Some(&child) = children[*node].get(*next) {
                *next += 1;
                walk.entered[child] = time;
                path.push((child, 0));
            } else {
                walk.left[*node] = time;
                path.pop();
            }
        }
        walk
    }

    /// True if control passes `above` on every way to `node`; a node that is never reached has no
    /// position.
    pub(crate) fn dominates(&self, above: usize, node: usize) -> bool {
        self.entered[above] > 0
            && self.entered[above] <= self.entered[node]
            && self.left[node] <= self.left[above]
    }
}

/// Finds natural loops: a back edge leads to a block that dominates its source.
fn loop_heads(blocks: &[Block]) -> Vec<Option<usize>> {
    let mut graph = DiGraph::<(), ()>::new();
    let nodes: Vec<NodeIndex> = blocks.iter().map(|_| graph.add_node(())).collect();
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for (from, block) in blocks.iter().enumerate() {
        for &to in &block.successors {
            graph.add_edge(nodes[from], nodes[to], ());
            predecessors[to].push(from);
        }
    }
    let mut heads = vec![None; blocks.len()];
    let mut sizes = vec![usize::MAX; blocks.len()];
    if blocks.is_empty() {
        return heads;
    }
    let tree = dominators::simple_fast(&graph, nodes[0]);
    let walk = DominatorWalk::new(&tree, &nodes);
    // Last loop in which each block was found.
    let mut found_in = vec![usize::MAX; blocks.len()];
    for head in 0..blocks.len() {
        let tails = predecessors[head].iter().copied();
        let mut open: Vec<usize> = tails.filter(|&tail| walk.dominates(head, tail)).collect();
        if open.is_empty() {
            continue;
        }
        found_in[head] = head;
        let mut members = vec![head];
        while let Some(block) = open.pop() {
            if std::mem::replace(&mut found_in[block], head) != head {
                members.push(block);
                open.extend_from_slice(&predecessors[block]);
            }
        }
        // The smallest loop around a block is the innermost one.
        let size = members.len();
        for block in members {
            if size < sizes[block] {
                sizes[block] = size;
                heads[block] = Some(blocks[head].start);
            }
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUMP: fn(usize) -> Flow = |target| Flow::Branch {
        target,
        conditional: false,
    };
    const SPLIT: fn(usize) -> Flow = |target| Flow::Branch {
        target,
        conditional: true,
    };
    const END: Flow = Flow::Leave { conditional: false };

    #[test]
    fn both_sides_of_an_if_meet_after_it() {
        let graph = Graph::new(&[SPLIT(3), Flow::Next, JUMP(4), Flow::Next, END]);
        assert_eq!(graph.meet(0), Some(4));
    }

    #[test]
    fn loop_exit_before_its_header_in_the_text_is_still_the_meeting_point() {
        // 0: jump header(2); 1: exit; 2: header; 3: back to 2 while p; 4: jump 1
        let graph = Graph::new(&[JUMP(2), END, Flow::Next, SPLIT(2), JUMP(1)]);
        assert_eq!(graph.meet(3), Some(4));
        assert_eq!(graph.loop_head(3), Some(2));
        assert_eq!(graph.loop_head(4), None);
    }

    #[test]
    fn branches_whose_sides_both_leave_meet_at_the_end() {
        let graph = Graph::new(&[SPLIT(2), END, END]);
        assert_eq!(graph.meet(0), None);
    }

    #[test]
    fn an_endless_loop_has_meeting_points_inside_it() {
        // 0: leave if p; 1: header, split to 3; 2: next; 3: jump 1
        let graph = Graph::new(&[SPLIT(4), SPLIT(3), Flow::Next, JUMP(1), END]);
        assert_eq!(graph.meet(1), Some(3));
        assert_eq!(graph.meet(0), None);
    }

    #[test]
    fn sides_of_an_indexed_branch_meet_after_the_last() {
        let targets = vec![1, 3, 5];
        let conditional = false;
        let switch = Flow::Switch {
            targets,
            conditional,
        };
        let graph = Graph::new(&[switch, Flow::Next, JUMP(5), Flow::Next, JUMP(5), END]);
        assert_eq!(graph.meet(0), Some(5));
    }

    #[test]
    fn inner_loops_win_over_outer_ones() {
        let graph = Graph::new(&[Flow::Next, Flow::Next, SPLIT(1), SPLIT(0), END]);
        assert_eq!(graph.loop_head(1), Some(1));
        assert_eq!(graph.loop_head(3), Some(0));
    }
}
