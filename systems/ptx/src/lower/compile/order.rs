//! List scheduling of basic blocks: loads first, while registers last.
//!
//! An in-order unit waits at the first instruction that needs a load. So the hardware's compiler
//! puts what loads need, and the loads, in front of all else. This file does the same. It follows
//! Gibbons and Muchnick, "Efficient Instruction Scheduling for a Pipelined Architecture", PLDI
//! 1986, under a limit of live registers. While a further load fits the limit, it comes next;
//! otherwise an instruction that uses what is loaded.

use std::collections::BTreeSet;

use crate::alloc::{self, File, Set};
use crate::cfg::{Block, Graph};
use crate::lower::compile::dependences::Region;
use crate::lower::names::{Body, Resolved};
use crate::lower::opcodes::{self, Group};

/// Most instructions that are reordered together.
const REGION_MAX: usize = 512;
/// Orders of a region that are tried.
const TRIALS: u32 = 8;

/// Reorders the instructions of every basic block. A block keeps its order if no other one fits
/// `limit` registers, or as many as the function needs in the order of the text.
pub(super) fn schedule(body: &mut Body<'_>, limit: u32) {
    let graph = Graph::new(&body.flows);
    let files = body.files();
    let out = alloc::live_out(&graph, &body.effects, files.len());
    // Regions are analysed twice instead of kept, as they take more memory than the text.
    let peak = |(_, region): (usize, Region)| {
        let order: Vec<usize> = (0..region.len()).collect();
        region.peak(&order)
    };
    let mut limit = limit;
    for (block, live) in graph.blocks.iter().zip(&out) {
        let regions = regions(body, &files, block, live.clone()).into_iter();
        limit = regions.map(peak).fold(limit, u32::max);
    }
    for (block, live) in graph.blocks.iter().zip(out) {
        for (start, region) in regions(body, &files, block, live) {
            if let Some(order) = best(&region, limit) {
                apply(body, start, &order);
            }
        }
    }
}

/// Returns the parts of a block within which instructions may move, each with its first one; `live`
/// holds the registers that live after the block.
fn regions(body: &Body<'_>, files: &[File], block: &Block, mut live: Set) -> Vec<(usize, Region)> {
    let mut regions = Vec::new();
    let mut add = |start: usize, end: usize, live: &Set| {
        if start < end {
            regions.push((start, Region::of(body, files, start..end, live)));
        }
    };
    let mut end = block.end;
    for at in (block.start..block.end).rev() {
        let is_fixed = is_fixed(&body.instructions[at]);
        if is_fixed || end - at >= REGION_MAX {
            add(if is_fixed { at + 1 } else { at }, end, &live);
            for effect in body.effects[at..end].iter().rev() {
                alloc::step_back(&mut live, effect);
            }
            end = at;
        }
    }
    add(block.start, end, &live);
    regions
}

/// Returns an order with loads first that keeps to the limit.
fn best(region: &Region, limit: u32) -> Option<Vec<usize>> {
    // The greedy choice may overshoot; a lower aim leaves it room.
    let aims = (0..TRIALS).map(|less| limit.saturating_sub(2 * less));
    let mut orders = aims.map(|aim| order(region, aim));
    orders.find(|order| region.peak(order) <= limit)
}

/// Returns one order of a region, whose loads begin while fewer than `aim` registers are live.
fn order(region: &Region, aim: u32) -> Vec<usize> {
    let count = region.len();
    let mut waits: Vec<usize> = (0..count).map(|at| region.before(at).len()).collect();
    let mut ready: BTreeSet<usize> = (0..count).filter(|&at| waits[at] == 0).collect();
    let mut times = vec![0; count];
    let mut pressure = region.pressure();
    let mut order = Vec::with_capacity(count);
    while !ready.is_empty() {
        let now = order.len() as u32;
        let mut all = ready.iter().copied();
        let load = all.find(|&at| region.feeds_load(at) && pressure.after(region, at) <= aim);
        let other = || {
            let others = ready.iter().copied().filter(|&at| !region.feeds_load(at));
            others.min_by_key(|&at| {
                let over = pressure.after(region, at).saturating_sub(aim);
                (over, times[at].max(now), at)
            })
        };
        let any = || {
            let all = ready.iter().copied();
            all.min_by_key(|&at| (pressure.after(region, at), at))
        };
        let Some(at) = load.or_else(other).or_else(any) else {
            break;
        };
        ready.remove(&at);
        pressure.issue(region, at);
        order.push(at);
        for &after in region.after(at) {
            times[after] = times[after].max(now + region.latency(at));
            waits[after] -= 1;
            if waits[after] == 0 {
                ready.insert(after);
            }
        }
    }
    order
}

/// Rearranges the instructions from `start` on.
fn apply(body: &mut Body<'_>, start: usize, order: &[usize]) {
    fn rearrange<T: Clone>(list: &mut [T], order: &[usize]) {
        let old = list.to_vec();
        for (new, &at) in list.iter_mut().zip(order) {
            *new = old[at].clone();
        }
    }
    let range = start..start + order.len();
    rearrange(&mut body.instructions[range.clone()], order);
    rearrange(&mut body.effects[range], order);
}

/// True if nothing moves across an instruction.
fn is_fixed(instruction: &Resolved<'_>) -> bool {
    match opcodes::entry(instruction.opcode).map(|opcode| opcode.group) {
        None
        | Some(
            Group::Control
            | Group::Shuffle
            | Group::Vote
            | Group::Match
            | Group::Reduce
            | Group::Elect
            | Group::LoadMatrix,
        ) => true,
        Some(_) => false,
    }
}
