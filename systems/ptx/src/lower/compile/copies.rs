//! Removal of copies and of values that nothing reads.

use crate::lower::compile::blocks::{Blocks, Line};
use crate::lower::compile::values::{At, Values, register, rename_reads};
use crate::lower::names::Register;
use crate::lower::opcodes::{self, Group};

/// Removes copies of registers whose copy and original have the same value at every use.
///
/// This is copy propagation as for static single assignment (Cytron et al., TOPLAS 1991). Copy and
/// original have one line each; the original's dominates the copy's, and that every use.
pub(super) fn remove(blocks: &mut Blocks<'_>, registers: &[Register], outside: &[u32]) {
    let values = Values::of(blocks, registers.len(), outside);
    let mut originals: Vec<Option<(u32, At)>> = vec![None; registers.len()];
    for (block, lines) in blocks.list.iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            if let Some((copy, original)) = copied(line)
                && values.line(copy) == Some((block, at))
                && values.above(original, (block, at)).is_some()
                && registers[copy as usize].ty.bits() == registers[original as usize].ty.bits()
            {
                originals[copy as usize] = Some((original, (block, at)));
            }
        }
    }
    for (block, lines) in blocks.list.iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            for &read in &line.effects.reads {
                let place = originals[read as usize];
                if place.is_some_and(|(_, above)| !values.dominates(above, (block, at))) {
                    originals[read as usize] = None;
                }
            }
        }
    }
    let removed: Vec<At> = originals.iter().flatten().map(|(_, at)| *at).collect();
    if removed.is_empty() {
        return;
    }
    let original = |mut register: u32| {
        while let Some((above, _)) = originals[register as usize] {
            register = above;
        }
        register
    };
    for lines in &mut blocks.list {
        for line in lines {
            let is_copied = |read: &u32| originals[*read as usize].is_some();
            if line.effects.reads.iter().any(is_copied) {
                rename_reads(line, &original);
            }
        }
    }
    remove_lines(blocks, removed);
}

/// Returns the register that a line writes with the value of another one.
fn copied(line: &Line<'_>) -> Option<(u32, u32)> {
    let opcode = line.resolved.opcode;
    let is_copy = match opcodes::base(opcode) {
        "mov" => !opcode.contains(".v"),
        // A generic address of global memory is the address itself.
        "cvta" => opcodes::has(opcode, "global"),
        _ => false,
    };
    let [to, from] = &line.resolved.operands[..] else {
        return None;
    };
    if !is_copy || line.effects.guarded {
        return None;
    }
    register(to).zip(register(from))
}

/// Removes instructions without effect but a value that nothing reads.
pub(super) fn remove_unread(blocks: &mut Blocks<'_>, registers: usize) {
    let mut reads = vec![0_u32; registers];
    let mut writers: Vec<Vec<At>> = vec![Vec::new(); registers];
    for (block, lines) in blocks.list.iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            line.effects
                .reads
                .iter()
                .for_each(|&read| reads[read as usize] += 1);
            for &written in &line.effects.writes {
                writers[written as usize].push((block, at));
            }
        }
    }
    let is_unread = |line: &Line<'_>, reads: &[u32]| {
        let effects = &line.effects;
        let is_read = effects
            .writes
            .iter()
            .any(|&written| reads[written as usize] > 0);
        !effects.writes.is_empty() && !is_read && has_only_values(line.resolved.opcode)
    };
    let all = blocks.list.iter().enumerate().flat_map(|(block, lines)| {
        let places = (0..lines.len()).map(move |at| (block, at));
        places.filter(|&(_, at)| is_unread(&lines[at], &reads))
    });
    let mut open: Vec<At> = all.collect();
    let mut is_removed = std::collections::BTreeSet::new();
    while let Some((block, at)) = open.pop() {
        if !is_removed.insert((block, at)) {
            continue;
        }
        for &read in &blocks.list[block][at].effects.reads {
            reads[read as usize] -= 1;
            if reads[read as usize] == 0 {
                let unread = writers[read as usize].iter().copied();
                open.extend(unread.filter(|&(b, a)| is_unread(&blocks.list[b][a], &reads)));
            }
        }
    }
    remove_lines(blocks, is_removed.into_iter().collect());
}

/// True if an instruction changes nothing but its results.
fn has_only_values(opcode: &str) -> bool {
    let group = opcodes::entry(opcode).map(|opcode| opcode.group);
    match group {
        Some(
            Group::Arithmetic
            | Group::Integer
            | Group::Compare
            | Group::Convert
            | Group::ConvertAddress
            | Group::Move,
        ) => !opcodes::has(opcode, "cc"),
        // An argument is no traffic of its own on hardware.
        Some(Group::Load) => opcodes::has(opcode, "param"),
        _ => false,
    }
}

pub(super) fn remove_lines(blocks: &mut Blocks<'_>, mut removed: Vec<At>) {
    removed.sort_unstable();
    let mut left = removed.into_iter().peekable();
    for (block, lines) in blocks.list.iter_mut().enumerate() {
        let mut at = 0;
        lines.retain(|_| {
            let is_removed = left.next_if_eq(&(block, at)).is_some();
            at += 1;
            !is_removed
        });
    }
}
