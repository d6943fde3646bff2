//! Texture reads and queries (PTX ISA, "Texture Instructions").

use crate::diagnostics::{Span, SpannedError};
use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::{Base, Operand, Value};
use crate::ops::{Constant, NO_REGISTER, Op, Src, TextureQuery, TextureRead};
use crate::site::Symbol;
use crate::types::ScalarType;

/// Encodes the texture reads `tex` and `tld4`.
pub(crate) fn texture_read(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let gathers = match form.base {
        "tld4" => Some(
            form.take_one(|name| ["r", "g", "b", "a"].iter().position(|known| *known == name))
                .ok_or_else(|| form.unsupported("missing colour channel"))?,
        ),
        _ => None,
    };
    if form.take("grad") {
        return Err(form.unsupported("level selection by gradients is not supported"));
    }
    // Textures have one level, to which every level is clamped.
    let has_level = gathers.is_none() && form.take("level");
    form.take("base");
    let (axes, is_layered) = form
        .take_one(|name| match name {
            "1d" => Some((1, false)),
            "2d" => Some((2, false)),
            "3d" => Some((3, false)),
            "a1d" => Some((1, true)),
            "a2d" => Some((2, true)),
            _ => None,
        })
        .ok_or_else(|| form.unsupported("cubes and multisampled textures are not supported"))?;
    if !form.take("v4") {
        return Err(form.unsupported("texture reads must return four values"));
    }
    let ty = form.take_type()?;
    let coordinate = form.take_type()?;
    let gives_floats = match ty {
        ScalarType::F32 => true,
        ScalarType::U32 | ScalarType::S32 => false,
        _ => return Err(form.unsupported("textures give f32, u32 or s32")),
    };
    let is_real = match coordinate {
        ScalarType::F32 => true,
        ScalarType::S32 => false,
        _ => return Err(form.unsupported("coordinates are f32 or s32")),
    };
    if gathers.is_some() && (axes != 2 || !is_real) {
        return Err(form.unsupported("a gather requires two f32 coordinates"));
    }
    if form.operands.len() > 2 + usize::from(has_level) {
        return Err(form.unsupported("offsets and depth comparisons are not supported"));
    }
    form.count(2 + usize::from(has_level))?;
    if let Some(level) = form.operands.get(2) {
        encoder.any_word(level, coordinate)?;
    }
    let Value::Texture(base, coordinates) = &form.operands[1].value else {
        let message = "expected a texture and its coordinates: `[texture, {x, y}]`";
        return Err(SpannedError::new(form.operands[1].span, message));
    };
    let texture = texture(encoder, *base, form.operands[1].span)?;
    let list = elements(coordinates);
    let wanted = axes + usize::from(is_layered);
    // Compilers pad to four.
    if list.len() < wanted || list.len() > 4 {
        let message = format!("expected {wanted} coordinates, found {}", list.len());
        return Err(SpannedError::new(coordinates.span, message));
    }
    let (layer, along) = list.split_at(usize::from(is_layered));
    let layer = match layer.first() {
        Some(layer) => Some(encoder.any_word(layer, ScalarType::U32)?),
        None => None,
    };
    let mut read = TextureRead {
        texture,
        axes,
        layer,
        coordinates: [Src(0); 3],
        is_real,
        gives_floats,
        gathers,
        registers: [NO_REGISTER; 4],
    };
    for (to, operand) in read.coordinates.iter_mut().zip(&along[..axes]) {
        *to = encoder.word(operand, coordinate)?;
    }
    let results = match &form.operands[0].value {
        Value::Pair(..) => {
            return Err(form.unsupported("residency queries are not supported"));
        }
        _ => elements(&form.operands[0]),
    };
    if results.len() != 4 {
        return Err(form.unsupported("the number of registers does not match the vector length"));
    }
    for (to, operand) in read.registers.iter_mut().zip(results) {
        *to = encoder.optional_destination(operand, ty)?;
    }
    encoder.tables.textures.push(read);
    Ok(Op::Texture(encoder.tables.textures.len() as u32 - 1))
}

/// Encodes the texture query instruction `txq`.
pub(crate) fn texture_query(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let query = form
        .take_one(|name| match name {
            "width" => Some(TextureQuery::Width),
            "height" => Some(TextureQuery::Height),
            "depth" => Some(TextureQuery::Depth),
            "array_size" => Some(TextureQuery::Layers),
            "normalized_coords" => Some(TextureQuery::NormalizedCoordinates),
            _ => None,
        })
        .ok_or_else(|| {
            form.unsupported(
                "textures tell `.width`, `.height`, `.depth`, `.array_size` and `.normalized_coords`",
            )
        })?;
    let ty = form.take_type()?;
    form.count(2)?;
    let d = encoder.destination(&form.operands[0], ty)?;
    let Value::Address(base, 0) = form.operands[1].value else {
        let message = "expected a texture in brackets";
        return Err(SpannedError::new(form.operands[1].span, message));
    };
    let texture = texture(encoder, base, form.operands[1].span)?;
    Ok(Op::TextureQuery { query, d, texture })
}

/// Returns the source of a texture's number.
fn texture(encoder: &mut Encoder<'_, '_>, base: Base, span: Span) -> Encoded<Src> {
    match base {
        Base::Register(register) if encoder.ty(register).bits() == 64 => {
            Ok(Src(encoder.number(register)))
        }
        Base::Symbol(Symbol::Module(index)) => {
            Ok(encoder.constant64(Constant::Variable { index, offset: 0 }))
        }
        Base::Symbol(Symbol::Argument(_)) => {
            let message = "load the parameter into a register to read its texture";
            Err(SpannedError::new(span, message))
        }
        _ => {
            let message = "a texture must be a `.texref` variable or a 64-bit register";
            Err(SpannedError::new(span, message))
        }
    }
}

fn elements(operand: &Operand) -> &[Operand] {
    match &operand.value {
        Value::Vector(list) => list,
        _ => std::slice::from_ref(operand),
    }
}
