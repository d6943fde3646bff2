//! Variables of a kernel whose addresses its instructions name.

use warpweave_trace::{Instruction, Operand, Space};

use crate::decode::{Decoded, Kind};
use crate::form::Form;
use crate::symbol::Symbols;

/// Adds symbols for the variables whose addresses are copied to registers, and for those in local
/// memory that are accessed by name.
pub(crate) fn add(symbols: &mut Symbols, instructions: &[Instruction], decoded: &[Decoded]) {
    for (instruction, decoded) in instructions.iter().zip(decoded) {
        let is_local = instruction.space == Space::Shared;
        if decoded.kind != Kind::Copy && !is_local {
            continue;
        }
        for operand in &instruction.operands {
            if let Operand::Symbol(text) = operand
                && let Some((name, _)) = parsed(text)
            {
                symbols.add_variable(name);
            }
        }
    }
}

/// Returns the address that an operand such as `tile` or `[tile+4]` names.
pub(crate) fn address(symbols: &Symbols, text: &str) -> Option<Form> {
    let (name, offset) = parsed(text)?;
    let base = Form::symbol(symbols.variable_named(name)?);
    Some(base.shifted(offset.into()))
}

/// Splits an operand into the name of a variable and an offset.
fn parsed(text: &str) -> Option<(&str, i64)> {
    let inside = text.trim_start_matches('[').trim_end_matches(']');
    let end = inside.find(['+', '-']).unwrap_or(inside.len());
    let name = inside[..end].trim();
    let offset: String = inside[end..].split_whitespace().collect();
    let offset = match offset.strip_prefix('+').unwrap_or(&offset) {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    // Special registers begin with `%`, and those with parts have a point.
    let is_name = !name.is_empty() && !name.starts_with('%') && !name.contains('.');
    is_name.then_some((name, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_offsets_are_variables_and_special_registers_are_not() {
        assert_eq!(parsed("tile"), Some(("tile", 0)));
        assert_eq!(parsed("[tile+ 4]"), Some(("tile", 4)));
        assert_eq!(parsed("[tile-12]"), Some(("tile", -12)));
        assert_eq!(parsed("[tile+-8]"), Some(("tile", -8)));
        for text in ["%laneid", "%tid.x", "[]", "[tile+x]"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
