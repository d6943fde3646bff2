//! Addresses of local memory in 32 bits.
//!
//! PTX computes them in 64 bits; hardware has 32-bit ones, in half as many registers. Sums and
//! products of 32 bits are the lower halves of those of 64, so an address inside the memory keeps
//! its value.

use crate::lower::compile::blocks::{Blocks, Line};
use crate::lower::compile::values::register;
use crate::lower::names::{Base, Operand, Register, Resolved, Value};
use crate::lower::opcodes;
use crate::site::Symbol;
use crate::types::ScalarType;

/// Sweeps until no register is left out any more; a function that needs more stays as it is.
const SWEEPS_MAX: usize = 16;

/// Opcodes of 64-bit values whose lower half depends on the lower halves of its operands alone,
/// with those for 32 bits.
const FORMS: [(&str, &str); 18] = [
    ("add.s64", "add.s32"),
    ("add.u64", "add.u32"),
    ("sub.s64", "sub.s32"),
    ("sub.u64", "sub.u32"),
    ("mov.b64", "mov.b32"),
    ("mov.s64", "mov.s32"),
    ("mov.u64", "mov.u32"),
    ("selp.b64", "selp.b32"),
    ("selp.s64", "selp.s32"),
    ("selp.u64", "selp.u32"),
    ("mad.wide.s32", "mad.lo.s32"),
    ("mad.wide.u32", "mad.lo.u32"),
    ("mul.wide.s32", "mul.lo.s32"),
    ("mul.wide.u32", "mul.lo.u32"),
    ("cvt.s64.s32", "mov.b32"),
    ("cvt.u64.u32", "mov.b32"),
    ("mul.lo.s64", "mul.lo.s32"),
    ("mul.lo.u64", "mul.lo.u32"),
];

/// Makes the addresses of local memory 32 bits wide where nothing else reads them.
pub(super) fn narrow(blocks: &mut Blocks<'_>, registers: &mut [Register], outside: &[u32]) {
    let is_integer = |register: &Register| register.ty.bits() == 64 && !register.ty.is_float();
    let mut narrow: Vec<bool> = registers.iter().map(is_integer).collect();
    for &register in outside {
        narrow[register as usize] = false;
    }
    let mut sweeps = 0;
    loop {
        let mut changes = false;
        let mut refuse = |register: u32, narrow: &mut Vec<bool>| {
            changes |= std::mem::replace(&mut narrow[register as usize], false);
        };
        for lines in blocks.list.iter().rev() {
            for line in lines.iter().rev() {
                for register in refused(line, registers, &narrow) {
                    refuse(register, &mut narrow);
                }
            }
        }
        sweeps += 1;
        if !changes {
            break;
        }
        if sweeps == SWEEPS_MAX {
            return;
        }
    }
    for line in blocks.list.iter_mut().flatten() {
        let mut written = line.effects.writes.iter();
        if !written.any(|&written| narrow[written as usize]) {
            continue;
        }
        if let Some((_, opcode)) = FORMS.iter().find(|(wide, _)| *wide == line.resolved.opcode) {
            let old = line.resolved.clone();
            line.replace(Resolved { opcode, ..old });
        }
    }
    for (register, _) in registers
        .iter_mut()
        .zip(narrow)
        .filter(|(_, narrow)| *narrow)
    {
        register.ty = ScalarType::U32;
    }
}

/// Returns the 64-bit registers that a line needs whole.
fn refused(line: &Line<'_>, registers: &[Register], narrow: &[bool]) -> Vec<u32> {
    let resolved = &line.resolved;
    let mut all: Vec<u32> = line.effects.reads.clone();
    all.extend(&line.effects.writes);
    all.retain(|&register| narrow[register as usize]);
    if all.is_empty() {
        return all;
    }
    if FORMS.iter().any(|(wide, _)| *wide == resolved.opcode) {
        let is_narrow = |operand: &Operand| match operand.value {
            Value::Register(register) => narrow[register as usize],
            _ => false,
        };
        let [to, from @ ..] = &resolved.operands[..] else {
            return all;
        };
        // Factors and extended numbers have 32 bits already, and a selection has a predicate.
        let wide: &[Operand] = match opcodes::base(resolved.opcode) {
            "mad" => from.get(2..).unwrap_or_default(),
            "mul" if opcodes::has(resolved.opcode, "wide") => &[],
            "cvt" => &[],
            "selp" => from.get(..2).unwrap_or_default(),
            _ => from,
        };
        let fits = |operand: &Operand| match operand.value {
            Value::Integer(_) | Value::Symbol(Symbol::Shared(_), _) => true,
            _ => is_narrow(operand),
        };
        // Only a register of 32 bits can be copied in place of its extension.
        let is_word = |operand: &Operand| match operand.value {
            Value::Register(register) => registers[register as usize].ty.bits() == 32,
            _ => false,
        };
        let copies = opcodes::base(resolved.opcode) != "cvt" || from.iter().all(is_word);
        if is_narrow(to) && wide.iter().all(fits) && copies {
            return Vec::new();
        }
        return all;
    }
    let is_access = matches!(opcodes::base(resolved.opcode), "ld" | "st" | "atom" | "red")
        && (opcodes::has(resolved.opcode, "shared")
            || opcodes::has(resolved.opcode, "shared::cta"));
    if is_access {
        let base = resolved
            .operands
            .iter()
            .find_map(|operand| match operand.value {
                Value::Address(Base::Register(register), _) => Some(register),
                _ => None,
            });
        // The same register may be stored as a number, too.
        let numbers = resolved.operands.iter().filter_map(register);
        let as_number: Vec<u32> = numbers.collect();
        all.retain(|register| Some(*register) != base || as_number.contains(register));
        let in_vector = |list: &[Operand]| list.iter().any(|operand| register(operand) == base);
        if resolved
            .operands
            .iter()
            .any(|operand| match &operand.value {
                Value::Vector(list) => in_vector(list),
                _ => false,
            })
        {
            all.extend(base);
        }
    }
    all
}
