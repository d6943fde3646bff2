//! Conversion of short branches to predicates.
//!
//! Control enters a side from its branch alone and leaves it where the other side begins or ends.
//! All instructions of the side can be guarded. The rule is the triangle and diamond of Allen,
//! Kennedy, Porterfield and Warren, "Conversion of Control Dependence to Data Dependence", POPL
//! 1983, without nested guards.

use crate::cfg::Flow;
use crate::lower::compile::blocks::{Blocks, Line};
use crate::lower::compile::expand::is_expanded;
use crate::lower::opcodes::{self, Group};

/// Most instructions that become guarded. Source: the longest such sides in code that the
/// hardware's compiler made of the shipped workloads.
const LINES_MAX: usize = 9;
/// Sweeps over a function; each converts the innermost branches that are left.
const SWEEPS_MAX: usize = 8;

/// Converts the short branches of a function with so many registers. Those in `outside` have a
/// value from outside as well, or give one.
pub(super) fn convert(blocks: &mut Blocks<'_>, registers: usize, outside: &[u32]) {
    blocks.tidy();
    for _ in 0..SWEEPS_MAX {
        let homes = homes(blocks, registers, outside);
        if !sweep(blocks, &homes) {
            return;
        }
        blocks.tidy();
    }
}

/// Returns the only block that names each register, unless it is read there before it is written.
fn homes(blocks: &Blocks<'_>, registers: usize, outside: &[u32]) -> Vec<Option<usize>> {
    let mut homes: Vec<Option<Option<usize>>> = vec![None; registers];
    for (block, lines) in blocks.list.iter().enumerate() {
        for line in lines {
            for &read in &line.effects.reads {
                let home = &mut homes[read as usize];
                *home = Some(home.flatten().filter(|&home| home == block));
            }
            for &written in &line.effects.writes {
                let home = &mut homes[written as usize];
                let before = home.unwrap_or(Some(block));
                *home = Some(before.filter(|&home| home == block && !line.effects.guarded));
            }
        }
    }
    for &register in outside {
        homes[register as usize] = None;
    }
    homes.into_iter().map(Option::flatten).collect()
}

/// Converts branches once, from the last to the first; returns true if there were any.
fn sweep(blocks: &mut Blocks<'_>, homes: &[Option<usize>]) -> bool {
    let entries = blocks.entries();
    let mut is_changed = vec![false; blocks.list.len()];
    let mut converts = false;
    for block in (0..blocks.list.len().saturating_sub(1)).rev() {
        let Some(Flow::Branch {
            target,
            conditional: true,
        }) = blocks.list[block].last().map(|line| line.flow.clone())
        else {
            continue;
        };
        let next = block + 1;
        let side = |at: usize| {
            let is_own = at != block && entries[at] == 1 && !is_changed[at];
            Side::of(blocks, at).filter(|_| is_own)
        };
        let (falls, jumps) = (side(next), side(target));
        let ends = |side: &Option<Side>, place: usize| side.is_some_and(|s| s.end == place);
        let sides = if next == target {
            continue;
        } else if ends(&falls, target) {
            [Some(next), None]
        } else if ends(&jumps, next) {
            [None, Some(target)]
        } else if let (Some(one), Some(other)) = (falls, jumps)
            && one.end == other.end
            && one.lines + other.lines <= LINES_MAX
        {
            [Some(next), Some(target)]
        } else {
            continue;
        };
        if !is_changed[block] && guard(blocks, homes, block, sides) {
            converts = true;
            is_changed[block] = true;
            sides
                .into_iter()
                .flatten()
                .for_each(|at| is_changed[at] = true);
        }
    }
    converts
}

/// A block that can be guarded.
#[derive(Clone, Copy)]
struct Side {
    /// Instructions before the jump at its end, if it has one.
    lines: usize,
    end: usize,
}

impl Side {
    fn of(blocks: &Blocks<'_>, at: usize) -> Option<Self> {
        let lines = &blocks.list[at];
        let (end, count) = match &lines.last()?.flow {
            Flow::Next => (at + 1, lines.len()),
            &Flow::Branch {
                target,
                conditional: false,
            } => (target, lines.len() - 1),
            _ => return None,
        };
        let fits = count <= LINES_MAX && end < blocks.list.len();
        let can = lines[..count].iter().all(can_be_guarded);
        (fits && can).then_some(Self { lines: count, end })
    }
}

/// True if an instruction does the same under a guard, and needs no lanes but its own.
fn can_be_guarded(line: &Line<'_>) -> bool {
    let group = opcodes::entry(line.resolved.opcode).map(|opcode| opcode.group);
    let is_alone = matches!(
        group,
        Some(
            Group::Arithmetic
                | Group::Integer
                | Group::Compare
                | Group::Convert
                | Group::ConvertAddress
                | Group::Move
                | Group::Load
                | Group::Store
        )
    );
    let opcode = line.resolved.opcode;
    // What hardware does with branches is jumped over with the rest.
    let is_simple = !opcodes::is_ordered(opcode) && !is_expanded(opcode);
    is_alone && line.resolved.guard.is_none() && is_simple
}

/// Moves the sides of the branch at the end of a block into it, under its predicate. `sides` are
/// the block after the branch and its target. Returns false if a side writes the predicate.
fn guard(
    blocks: &mut Blocks<'_>,
    homes: &[Option<usize>],
    block: usize,
    sides: [Option<usize>; 2],
) -> bool {
    let branch = blocks.list[block]
        .last()
        .and_then(|line| line.resolved.guard);
    let Some((predicate, negated)) = branch else {
        return false;
    };
    let mut of_sides = sides.into_iter().flatten();
    let writes = |line: &Line<'_>| line.effects.writes.contains(&predicate);
    if of_sides.any(|side| blocks.list[side].iter().any(writes)) {
        return false;
    }
    blocks.list[block].pop();
    let mut jump = None;
    for (side, is_inverse) in sides.into_iter().zip([!negated, negated]) {
        for line in side.map_or_else(Vec::new, |side| std::mem::take(&mut blocks.list[side])) {
            if line.flow == Flow::Next {
                let mut resolved = line.resolved;
                resolved.guard = Some((predicate, is_inverse));
                let mut guarded = Line::plain(resolved);
                let mut written = guarded.effects.writes.iter();
                if written.all(|&written| homes[written as usize] == side) {
                    guarded.renew();
                }
                blocks.list[block].push(guarded);
            } else {
                jump = Some(line);
            }
        }
    }
    // Without a side that falls through, the block ends where the sides ended.
    let falls_there = sides[0].is_none();
    blocks.list[block].extend(jump.filter(|_| !falls_there));
    true
}
