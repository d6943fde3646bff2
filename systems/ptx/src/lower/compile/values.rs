//! Writes of registers, and values that are therefore the same at two places.

use crate::cfg::DominatorWalk;
use crate::lower::compile::blocks::{Blocks, Line};
use crate::lower::names::{Base, Operand, Value};

pub(super) type At = (usize, usize);

/// Writes of the registers of a function.
///
/// A register that one unguarded line writes has one value at all places that the line dominates,
/// until control passes the line again.
pub(super) struct Values {
    /// The only line that writes each register, if it is unguarded.
    single: Vec<Option<At>>,
    walk: DominatorWalk,
}

impl Values {
    /// Looks up all writes. Registers in `outside` have a value from outside as well, or give one.
    pub(super) fn of(blocks: &Blocks<'_>, registers: usize, outside: &[u32]) -> Self {
        let mut counts = vec![0_u32; registers];
        let mut single = vec![None; registers];
        for (block, lines) in blocks.list.iter().enumerate() {
            for (at, line) in lines.iter().enumerate() {
                for &written in &line.effects.writes {
                    counts[written as usize] += if line.effects.guarded { 2 } else { 1 };
                    single[written as usize] = Some((block, at));
                }
            }
        }
        for &register in outside {
            counts[register as usize] += 2;
        }
        for (single, count) in single.iter_mut().zip(counts) {
            *single = single.filter(|_| count == 1);
        }
        Self {
            single,
            walk: DominatorWalk::of(&blocks.successors()),
        }
    }

    /// Returns the only line that writes a register.
    pub(super) fn line(&self, register: u32) -> Option<At> {
        self.single[register as usize]
    }

    /// True if control passes `above` on every way to `at`.
    pub(super) fn dominates(&self, above: At, at: At) -> bool {
        if above.0 == at.0 {
            return above.1 < at.1;
        }
        self.walk.dominates(above.0, at.0)
    }

    /// Returns the only line that writes a register, if it is on every way to `at`.
    pub(super) fn above(&self, register: u32, at: At) -> Option<At> {
        self.line(register).filter(|&line| self.dominates(line, at))
    }

    /// True if an operand has the same value at a line and wherever that line dominates.
    pub(super) fn is_settled(&self, operand: &Operand, at: At) -> bool {
        match operand.value {
            Value::Register(register) => self.above(register, at).is_some(),
            Value::Integer(_) => true,
            _ => false,
        }
    }
}

/// Returns the register that an operand is, if it is one.
pub(super) fn register(operand: &Operand) -> Option<u32> {
    match operand.value {
        Value::Register(register) => Some(register),
        _ => None,
    }
}

/// Changes every register that a line reads.
pub(super) fn rename_reads(line: &mut Line<'_>, to: &impl Fn(u32) -> u32) {
    let mut resolved = line.resolved.clone();
    if let Some((register, _)) = &mut resolved.guard {
        *register = to(*register);
    }
    for at in 0..resolved.operands.len() {
        if !resolved.writes(at) {
            rename(&mut resolved.operands[at].value, to);
        }
    }
    line.replace(resolved);
}

fn rename(value: &mut Value, to: &impl Fn(u32) -> u32) {
    match value {
        Value::Register(register)
        | Value::Not(register)
        | Value::Address(Base::Register(register), _) => *register = to(*register),
        Value::Texture(base, coordinates) => {
            if let Base::Register(register) = base {
                *register = to(*register);
            }
            rename(&mut coordinates.value, to);
        }
        Value::Vector(list) | Value::List(list) => {
            for operand in list {
                rename(&mut operand.value, to);
            }
        }
        Value::Pair(first, second) => {
            rename(&mut first.value, to);
            rename(&mut second.value, to);
        }
        _ => {}
    }
}
