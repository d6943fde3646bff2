//! Fusion of 64-bit address arithmetic to one multiplication with addition.
//!
//! Hardware has no 64-bit integer units. A wide product plus a 64-bit number is one instruction
//! there, and the extension of a 32-bit index costs nothing in it.

use crate::lower::compile::blocks::Blocks;
use crate::lower::compile::values::{At, Values, register};
use crate::lower::names::{Operand, Register, Resolved, Value};

/// A 64-bit value that is the product of two numbers of 32 bits.
struct Product {
    is_signed: bool,
    factors: [Operand; 2],
}

/// Fuses each 64-bit sum with a wide product among its summands, and each extended index that is
/// scaled. What nothing reads afterwards is left for [`super::copies::remove_unread`].
pub(super) fn fuse(blocks: &mut Blocks<'_>, registers: &[Register], outside: &[u32]) {
    let values = Values::of(blocks, registers.len(), outside);
    for block in 0..blocks.list.len() {
        for at in 0..blocks.list[block].len() {
            let place = (block, at);
            let fused = sum(blocks, &values, registers, place)
                .or_else(|| scaled(blocks, &values, registers, place));
            if let Some((opcode, operands)) = fused {
                let line = &mut blocks.list[block][at];
                let old = line.resolved.clone();
                line.replace(Resolved {
                    opcode,
                    operands,
                    ..old
                });
            }
        }
    }
}

/// Returns the product with addition that equals the 64-bit sum at a place.
fn sum(
    blocks: &Blocks<'_>,
    values: &Values,
    registers: &[Register],
    place: At,
) -> Option<(&'static str, Vec<Operand>)> {
    let line = &blocks.list[place.0][place.1];
    let [to, one, other] = &line.resolved.operands[..] else {
        return None;
    };
    if !matches!(line.resolved.opcode, "add.s64" | "add.u64") {
        return None;
    }
    for (factor, summand) in [(one, other), (other, one)] {
        let found = register(factor)
            .and_then(|register| product(blocks, values, registers, register, place));
        if let (Some(product), Some(_)) = (found, register(summand)) {
            let opcode = if product.is_signed {
                "mad.wide.s32"
            } else {
                "mad.wide.u32"
            };
            let [a, b] = product.factors;
            return Some((opcode, vec![to.clone(), a, b, summand.clone()]));
        }
    }
    None
}

/// Returns the wide product that equals the scaled 64-bit index at a place.
fn scaled(
    blocks: &Blocks<'_>,
    values: &Values,
    registers: &[Register],
    place: At,
) -> Option<(&'static str, Vec<Operand>)> {
    let line = &blocks.list[place.0][place.1];
    if line.resolved.opcode == "mul.wide.u32" || line.resolved.opcode == "mul.wide.s32" {
        return None;
    }
    let [to, ..] = &line.resolved.operands[..] else {
        return None;
    };
    let product = product_of(blocks, values, registers, place, place)?;
    // An extension by itself is no multiplication.
    if matches!(product.factors[1].value, Value::Integer(1)) {
        return None;
    }
    let opcode = if product.is_signed {
        "mul.wide.s32"
    } else {
        "mul.wide.u32"
    };
    let [a, b] = product.factors;
    Some((opcode, vec![to.clone(), a, b]))
}

/// Returns a register as a product whose factors have the same values at `place`.
fn product(
    blocks: &Blocks<'_>,
    values: &Values,
    registers: &[Register],
    register: u32,
    place: At,
) -> Option<Product> {
    let from = values.above(register, place)?;
    product_of(blocks, values, registers, from, place)
}

/// Returns the result of the line at `from` as a product whose factors have the same values at
/// `place`.
fn product_of(
    blocks: &Blocks<'_>,
    values: &Values,
    registers: &[Register],
    from: At,
    place: At,
) -> Option<Product> {
    let line = &blocks.list[from.0][from.1];
    if line.effects.guarded {
        return None;
    }
    let operands = &line.resolved.operands;
    let stays = |operand: &Operand| {
        let unchanged = || {
            let read = register(operand);
            let between = blocks.list[from.0].get(from.1 + 1..place.1);
            let writes = |line: &crate::lower::compile::blocks::Line<'_>| {
                line.effects
                    .writes
                    .iter()
                    .any(|&written| Some(written) == read)
            };
            from.0 == place.0 && between.is_some_and(|lines| !lines.iter().any(writes))
        };
        from == place || values.is_settled(operand, from) || unchanged()
    };
    let is_word = |operand: &Operand| match operand.value {
        Value::Register(register) => registers[register as usize].ty.bits() == 32,
        Value::Integer(_) => true,
        _ => false,
    };
    let scale = |operand: &Operand, most: u64| match operand.value {
        Value::Integer(factor) if factor <= most => Some(factor),
        _ => None,
    };
    let number = |factor: u64, like: &Operand| Operand {
        span: like.span,
        value: Value::Integer(factor),
    };
    match (line.resolved.opcode, &operands[..]) {
        (opcode @ ("mul.wide.u32" | "mul.wide.s32"), [_, a, b]) => {
            let fits = [a, b].into_iter().all(|x| stays(x) && is_word(x));
            fits.then(|| Product {
                is_signed: opcode.ends_with("s32"),
                factors: [a.clone(), b.clone()],
            })
        }
        (opcode @ ("cvt.u64.u32" | "cvt.s64.s32"), [_, a]) => {
            (stays(a) && register(a).is_some() && is_word(a)).then(|| Product {
                is_signed: opcode.ends_with("s32"),
                factors: [a.clone(), number(1, a)],
            })
        }
        (opcode @ ("shl.b64" | "mul.lo.s64" | "mul.lo.u64"), [_, a, b]) => {
            let index = register(a)?;
            let inner = product(blocks, values, registers, index, from)?;
            // The index may be read where the product is used only if it is still the same there.
            let above = values.above(index, from)?;
            let still = from == place || values.dominates(above, place);
            let factors = &inner.factors;
            let is_plain = matches!(factors[1].value, Value::Integer(1));
            let settled = from == place || values.is_settled(&factors[0], above);
            if !is_plain || !still || !settled {
                return None;
            }
            // A signed factor must stay positive as a number of 32 bits.
            let bits = if inner.is_signed { 31 } else { 32 };
            let by = match opcode {
                "shl.b64" => 1 << scale(b, bits - 1)?,
                _ => scale(b, (1 << bits) - 1)?,
            };
            let [a, like] = inner.factors;
            Some(Product {
                is_signed: inner.is_signed,
                factors: [a, number(by, &like)],
            })
        }
        _ => None,
    }
}
