//! Families of instructions: each opcode is encoded by the functions of one file.

use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::Resolved;
use crate::lower::opcodes::{self, Group};
use crate::lower::{compare, control, convert, float, group, integer, memory, texture};
use crate::ops::{Decoded, Op, Pred};

/// Encodes the instruction at `index` of the function.
///
/// A form with a word that its instruction does not have here is unsupported, whatever its
/// operands are.
pub(crate) fn encode(encoder: &mut Encoder<'_, '_>, index: usize) -> Encoded<Decoded> {
    let function = encoder.function;
    let instruction = &function.body.instructions[index];
    encode_operands(encoder, instruction, index).map_err(|complaint| {
        match opcodes::foreign_word(instruction.opcode) {
            Some(word) if !complaint.is_unsupported => Form::new(instruction).foreign(word),
            _ => complaint,
        }
    })
}

fn encode_operands<'a>(
    encoder: &mut Encoder<'_, 'a>,
    instruction: &Resolved<'a>,
    index: usize,
) -> Encoded<Decoded> {
    let mut form = Form::new(instruction);
    let opcode = opcodes::entry(instruction.opcode);
    let op = match opcode.map_or(Group::Control, |opcode| opcode.group) {
        Group::Arithmetic => arithmetic(encoder, &mut form),
        Group::Carry => integer::carry(encoder, &mut form),
        Group::Integer => integer::integer(encoder, &mut form),
        Group::Compare => compare::compare(encoder, &mut form),
        Group::Convert => convert::convert(encoder, &mut form),
        Group::ConvertAddress => convert::convert_address(encoder, &mut form),
        Group::Move => convert::mov(encoder, &mut form),
        Group::Load => memory::load(encoder, &mut form),
        Group::LoadMatrix => memory::load_matrix(encoder, &mut form),
        Group::Store => memory::store(encoder, &mut form),
        Group::Atomic => memory::atomic(encoder, &mut form),
        Group::TextureRead => texture::texture_read(encoder, &mut form),
        Group::TextureQuery => texture::texture_query(encoder, &mut form),
        Group::IsSpace => convert::is_space(encoder, &mut form),
        Group::Shuffle => control::shuffle(encoder, &mut form),
        Group::Vote => control::vote(encoder, &mut form),
        Group::Match => group::match_value(encoder, &mut form),
        Group::Reduce => group::reduce(encoder, &mut form),
        Group::Elect => group::elect(encoder, &mut form),
        Group::CreatePolicy => group::create_policy(encoder, &mut form),
        Group::Control => control::control(encoder, &mut form, index),
    }?;
    form.finish()?;
    if !encoder.known_opcodes.contains(instruction.opcode) {
        if let Some(word) = opcodes::foreign_word(instruction.opcode) {
            return Err(form.foreign(word));
        }
        encoder.known_opcodes.insert(instruction.opcode);
    }
    let guard = match instruction.guard {
        None => Pred(Pred::TRUE),
        Some((register, negated)) => {
            Pred(encoder.number(register) | if negated { Pred::NEGATED } else { 0 })
        }
    };
    Ok(Decoded { op, guard })
}

/// Encodes addition, subtraction and similar opcodes, which floats and integers share.
fn arithmetic(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    if form.has("cc") {
        return integer::carry(encoder, form);
    }
    match form.last_type() {
        Some(ty) if ty.is_float() => float::float(encoder, form),
        _ => integer::integer(encoder, form),
    }
}
