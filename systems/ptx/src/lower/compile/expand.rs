//! Divisions and exact roots as the instructions that hardware has for them.
//!
//! Hardware approximates a reciprocal, refines it, and tests for the rare operands that need more.
//! Here the steps in front are executed for their issue slots and latency only. Their results are
//! dropped, and the last step computes the exact result. The slow path of rare operands is not
//! modelled.

use warpweave_trace::Class;

use crate::lower::compile::blocks::{Blocks, Line};
use crate::lower::compile::values::register;
use crate::lower::names::{Operand, Register, Resolved, Value};
use crate::lower::opcodes;
use crate::types::ScalarType;

/// Instructions of an expansion, each of which waits for the one before in its chain. Chains begin
/// with the divisor.
struct Step {
    opcode: &'static str,
    chain: Chain,
    times: u32,
}

#[derive(Clone, Copy)]
enum Chain {
    /// From the divisor to the result.
    Result,
    /// Test of the operands, and the way around the slow path.
    Test,
}

const fn step(opcode: &'static str, chain: Chain, times: u32) -> Step {
    Step {
        opcode,
        chain,
        times,
    }
}

/// Ten instructions for a quotient of singles: reciprocal, test of the operands in the same unit,
/// and five multiply-adds. Three more lead around the slow path.
const SINGLE: [Step; 4] = [
    step("rcp.approx.ftz.f32", Chain::Result, 1),
    step("rcp.approx.ftz.f32", Chain::Test, 1),
    step("fma.rn.f32", Chain::Result, 4),
    step("and.b32", Chain::Test, 3),
];
/// Seven for a reciprocal or a root of a single: approximation, three multiply-adds, and three for
/// the way around the slow path.
const ROOT: [Step; 3] = [
    step("rcp.approx.ftz.f32", Chain::Result, 1),
    step("fma.rn.f32", Chain::Result, 2),
    step("and.b32", Chain::Test, 3),
];
/// Eighteen for a quotient or remainder of 32-bit integers: conversion, reciprocal and conversion
/// back (in one unit), four products and the corrections.
const INTEGER: [Step; 4] = [
    step("rcp.approx.ftz.f32", Chain::Result, 3),
    step("mad.lo.s32", Chain::Result, 4),
    step("and.b32", Chain::Result, 6),
    step("and.b32", Chain::Test, 4),
];

/// Returns the steps before an instruction, and the resource of the instruction itself.
fn steps(opcode: &str) -> Option<(&'static [Step], Class)> {
    let has = |word: &str| opcodes::has(opcode, word);
    let is_exact = has("f32") && ["rn", "rz", "rm", "rp"].into_iter().any(has);
    match opcodes::base(opcode) {
        "div" if is_exact => Some((&SINGLE, Class::FpMul)),
        "rcp" | "sqrt" if is_exact => Some((&ROOT, Class::FpMul)),
        "div" | "rem" if has("u32") || has("s32") => Some((&INTEGER, Class::IntAdd)),
        _ => None,
    }
}

/// True if hardware has no single instruction for this one.
pub(super) fn is_expanded(opcode: &str) -> bool {
    steps(opcode).is_some()
}

/// Puts the steps of divisions and roots by registers in front of them.
pub(super) fn expand(blocks: &mut Blocks<'_>, registers: &mut Vec<Register>) {
    for lines in &mut blocks.list {
        if !lines.iter().any(|line| is_expanded(line.resolved.opcode)) {
            continue;
        }
        for mut line in std::mem::take(lines) {
            let divisor = line.resolved.operands.last().and_then(register);
            if let (Some((steps, class)), Some(divisor)) = (steps(line.resolved.opcode), divisor) {
                let first = registers.len() as u32;
                let ty = ScalarType::F32;
                registers.extend([Register { ty }, Register { ty }]);
                let mut last = [divisor; 2];
                for step in steps {
                    let (to, from) = match step.chain {
                        Chain::Result => (first, &mut last[0]),
                        Chain::Test => (first + 1, &mut last[1]),
                    };
                    for _ in 0..step.times {
                        lines.push(slot(&line, step.opcode, to, std::mem::replace(from, to)));
                    }
                }
                line.resolved.class = Some(class);
                line.effects.reads.extend([first, first + 1]);
            }
            lines.push(line);
        }
    }
}

/// Returns an instruction at the place of a line that reads one register.
fn slot<'a>(line: &Line<'a>, opcode: &'static str, to: u32, from: u32) -> Line<'a> {
    let operand = |register: u32| Operand {
        span: line.resolved.span,
        value: Value::Register(register),
    };
    let sources = match opcodes::base(opcode) {
        "fma" | "mad" => 3,
        "and" => 2,
        _ => 1,
    };
    let mut operands = vec![operand(to)];
    operands.extend((0..sources).map(|_| operand(from)));
    Line::plain(Resolved {
        opcode,
        operands,
        // Under a guard the old value of its result would live on.
        guard: None,
        ..line.resolved.clone()
    })
}
