//! Instructions of a kernel that ask for the place or for the number of its work-groups.

use crate::diagnostics::{Source, SpannedError};
use crate::kernel::Questions;
use crate::lower::encode::NumberedFunction;
use crate::lower::names::{Operand, Value};
use crate::lower::special::depends_on_placement;
use crate::ops::Special;

/// Returns what a kernel asks of its launch. `specials` are the special registers that it reads,
/// and `members` the functions that it reaches.
pub(super) fn questions<'p>(
    specials: &[Special],
    members: impl Iterator<Item = &'p NumberedFunction<'p>>,
    source: &Source<'_>,
) -> Questions {
    if !specials.iter().any(|special| special.is_place()) {
        return Questions::default();
    }
    let instructions = members.flat_map(|member| &member.body.instructions);
    let (mut places, mut numbers) = (Vec::new(), Vec::new());
    for operand in instructions.flat_map(|instruction| &instruction.operands) {
        visit(operand, &mut |operand, special| {
            if special.is_place() {
                places.push(operand.span);
            } else if matches!(special, Special::GroupId(_)) {
                numbers.push(operand.span);
            }
        });
    }
    places.sort_by_key(|span| span.start);
    numbers.sort_by_key(|span| span.start);
    // A vector of components is one name in the text.
    numbers.dedup();
    let both = places.first().map(|place| {
        let (name, line) = (source.slice(*place), source.line(place.start));
        move |number| {
            let message = format!(
                "the kernel asks for its number and its place: `{}` here and `{name}` in line {line}",
                source.slice(number)
            );
            SpannedError::unsupported(number, message).hint(
                "work-groups of a placed launch take their work from their place alone; let the kernel find it from `%smid` and its number on the unit",
            )
        }
    });
    let diagnostic = |error| source.diagnostic(error);
    let numbers = both.map(|both| numbers.iter().copied().map(both).map(diagnostic).collect());
    let unplaced = places.into_iter().map(|place| {
        let error = SpannedError::unsupported(place, depends_on_placement(source.slice(place)));
        diagnostic(error.hint(
            "launch the kernel with `place: (units: .., contexts: .., by: Slot)` or `by: Arrival`",
        ))
    });
    Questions {
        place: unplaced.collect(),
        number: numbers.unwrap_or_default(),
    }
}

/// Visits every special register of an operand.
fn visit(operand: &Operand, visitor: &mut impl FnMut(&Operand, Special)) {
    match &operand.value {
        Value::Special(special) => visitor(operand, *special),
        Value::Vector(parts) | Value::List(parts) => {
            for part in parts {
                visit(part, visitor);
            }
        }
        Value::Pair(first, second) => {
            visit(first, visitor);
            visit(second, visitor);
        }
        Value::Texture(_, coordinates) => visit(coordinates, visitor),
        _ => {}
    }
}
