//! Address slices: the instructions between a value and the address that depends on it (PRE-M5).

use serde::{Deserialize, Serialize};
use warpweave_trace::{Code, Instruction, Operand};

use super::tags::{Change, Form, Tags, address_register, general};

const SLICE_MAX: usize = 4;

/// One executed instruction of an iteration, and which of its operands did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Executed {
    pub(super) pc: u32,
    /// A bit for each operand that stays the same from iteration to iteration.
    consts: u32,
}

impl Executed {
    /// Notes an instruction before its effect on the tags.
    pub(super) fn new(pc: u32, instruction: &Instruction, tags: &Tags) -> Self {
        let is_const = |at: &usize| tags.operand(instruction, *at).change == Change::Const;
        let operands = 1..instruction.operands.len().min(32);
        Self {
            pc,
            consts: operands.filter(is_const).fold(0, |bits, at| bits | 1 << at),
        }
    }
}

/// Returns the instructions, in program order, that lead from the result of load `from` to the
/// address of a later load. None if they are too many, or if more than the result varies.
pub(super) fn tail_slice(
    executed: &[Executed],
    code: &Code,
    from: u32,
    load: &Instruction,
) -> Option<Vec<u32>> {
    let (slice, end) = trace_back(executed, code, load)?;
    (end? == from).then_some(slice)
}

/// Returns the instructions that compute a strided load's address within an iteration.
pub(super) fn head_slice(executed: &[Executed], code: &Code, load: &Instruction) -> Vec<u32> {
    trace_back(executed, code, load).map_or_else(Vec::new, |(slice, _)| slice)
}

/// Follows the one varying operand back from a load's address. Returns the arithmetic on the way
/// and the load that it begins with, if any.
fn trace_back(
    executed: &[Executed],
    code: &Code,
    load: &Instruction,
) -> Option<(Vec<u32>, Option<u32>)> {
    let mut wanted = address_register(load)?;
    let mut slice = Vec::new();
    for Executed { pc, consts } in executed.iter().rev() {
        let instruction = code.instructions.get(*pc as usize)?;
        if !general(&instruction.writes).any(|register| register == wanted) {
            continue;
        }
        let form = Form::of(instruction);
        if form == Form::Load {
            slice.reverse();
            return Some((slice, Some(*pc)));
        }
        if !form.is_address_arithmetic() || slice.len() == SLICE_MAX {
            return None;
        }
        let mut varying = None;
        for (at, operand) in instruction.operands.iter().enumerate().skip(1) {
            let Operand::Register(register) = operand else {
                continue;
            };
            if consts >> at & 1 != 0 || varying == Some(*register) {
                continue;
            }
            if varying.replace(*register).is_some() {
                return None;
            }
        }
        slice.push(*pc);
        wanted = varying?;
    }
    slice.reverse();
    Some((slice, None))
}

/// Returns the registers that an instruction of a slice reads from outside it. The slice begins
/// with the result of instruction `from`.
pub(super) fn outer_reads(code: &Code, slice: &[u32], from: u32, pc: u32) -> Vec<u16> {
    let Some(instruction) = code.instructions.get(pc as usize) else {
        return Vec::new();
    };
    let writes = |register: u16| {
        let mut all = slice.iter().chain([&from]);
        all.any(|pc| {
            let other = code.instructions.get(*pc as usize);
            other.is_some_and(|other| other.writes.contains(register))
        })
    };
    let reads = instruction.reads.iter();
    reads.filter(|register| !writes(*register)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::code;
    use super::*;

    /// Slice of the last line, a load, from the first load.
    fn slice(lines: &[&str]) -> Option<Vec<u32>> {
        let code = Code {
            instructions: code(lines),
            ..Code::default()
        };
        let mut tags = Tags::new(false);
        let mut executed = Vec::new();
        for _ in 0..2 {
            tags.begin_pass();
            executed.clear();
            for (pc, instruction) in (0..).zip(&code.instructions) {
                executed.push(Executed::new(pc, instruction, &tags));
                tags.step(instruction);
            }
        }
        let last = code.instructions.len() - 1;
        let load = &code.instructions[last];
        let first = code
            .instructions
            .iter()
            .position(|i| Form::of(i) == Form::Load)?;
        tail_slice(&executed[..last], &code, first as u32, load)
    }

    #[test]
    fn a_slice_leads_from_a_value_to_an_address() {
        let wide = [
            "ld.global.nc.u32 5 4",
            "mul.wide.u32 6,7 5 #4",
            "and.b32 20 21 #1",
            "add.s64 8,9 10,11 6,7",
            "ld.global.nc.u32 12 8,9",
        ];
        assert_eq!(slice(&wide), Some(vec![1, 3]));
        let direct = ["ld.global.nc.u32 5 4", "ld.global.nc.u32 12 5"];
        assert_eq!(slice(&direct), Some(vec![]));
    }

    #[test]
    fn a_slice_that_is_too_long_or_depends_on_more_is_none() {
        let long = [
            "ld.global.nc.u32 5 4",
            "add.u32 6 5 #1",
            "add.u32 6 6 #1",
            "add.u32 6 6 #1",
            "add.u32 6 6 #1",
            "add.u32 6 6 #1",
            "ld.global.nc.u32 12 6",
        ];
        assert_eq!(slice(&long), None);
        let varying = [
            "ld.global.nc.u32 5 4",
            "add.u32 28 28 #1",
            "add.u32 6 5 28",
            "ld.global.nc.u32 12 6",
        ];
        assert_eq!(slice(&varying), None);
        let other = [
            "ld.global.nc.u32 5 4",
            "xor.b32 6 5 #1",
            "ld.global.nc.u32 12 6",
        ];
        assert_eq!(slice(&other), None);
    }
}
