//! Checks of results against references and against properties in expectations.

use std::collections::BTreeMap;
use std::path::PathBuf;

use warpweave_inputs::Name;
use warpweave_inputs::reference::{Question, Shape};
use warpweave_params::Diagnostic;

use super::HostProgram;
use super::compare::compare;
use super::description::{Demand, Expectation};
use super::structures::Column;

/// Requirements of a reference that only the whole program can fulfil.
pub(super) struct Needs {
    /// Files that it reads for the result.
    pub(super) files: Vec<PathBuf>,
    /// Other buffers that it is compared with.
    pub(super) computed: Vec<Name>,
}

/// Checks that a reference can be evaluated and that its answer matches the buffer's type and
/// length.
pub(super) fn check(program: &HostProgram, expectation: &Expectation) -> Result<Needs, Diagnostic> {
    let tested = tested(program, expectation)?;
    let gives = expectation.demand.name();
    let layout = tested.layout();
    let question = Question::new(gives, program, layout);
    let (shape, place) = match &expectation.demand {
        Demand::Equals(answer, _) => (answer.value.shape(&question)?, &answer.place),
        Demand::Holds(claim) => (claim.value.shape(&question)?, &claim.place),
    };
    let Shape { element, length } = shape;
    let name = &expectation.buffer.value;
    if let Some(element) = element.filter(|element| *element != layout.element) {
        return Err(expectation.buffer.error(format!(
            "{gives} returns {element:?} elements, but buffer `{name}` has {:?}",
            layout.element
        )));
    }
    if let Some(length) = length.filter(|length| *length != layout.length) {
        let message = format!(
            "{gives} returns {length} elements, but buffer `{name}` has {}",
            layout.length
        );
        return Err(Diagnostic {
            place: place.clone(),
            ..Diagnostic::error(message)
        });
    }
    let computed = question.computed_buffers();
    for other in &computed {
        let column = program.column(other)?;
        if (column.buffer, column.first) == (tested.buffer, tested.first) {
            let message = format!("buffer `{name}` would be compared with itself");
            return Err(other.error(message).hint("name another buffer"));
        }
    }
    Ok(Needs {
        files: question.files(),
        computed,
    })
}

/// Returns true if a buffer's words are as expected, with a message. [`check`] must have passed
/// before. `images` are the buffers that were copied to the host.
pub(super) fn judge(
    program: &HostProgram,
    expectation: &Expectation,
    found: &[u32],
    images: &BTreeMap<usize, Vec<u32>>,
) -> Result<(bool, String), Diagnostic> {
    let column = tested(program, expectation)?;
    let (tested, found) = (column.layout(), &column.gather(found)[..]);
    let find = |other: &Name| {
        let column = program.column(other)?;
        let image = images.get(&column.buffer).ok_or_else(|| {
            other.error(format!(
                "buffer `{}` was never copied to the host: no command that copies it was executed",
                other.value
            ))
        });
        Ok(column.gather(image?).into_owned())
    };
    let question = Question::new(expectation.demand.name(), program, tested).with_computed(&find);
    let (answer, tolerance) = match &expectation.demand {
        Demand::Equals(answer, tolerance) => (answer, *tolerance),
        Demand::Holds(claim) => {
            let judgement = claim.value.judge(&question, found)?;
            let holds = judgement.is_ok();
            return Ok((holds, judgement.unwrap_or_else(|fails| fails)));
        }
    };
    let words = answer.value.words(&question)?;
    let expected = tested.element.words_of(tested.length);
    if words.len() == expected {
        return Ok(compare(tested, found, &words, tolerance));
    }
    // Only a file can have changed since the check.
    Err(answer.error(format!(
        "the reference data now has {} words, expected {expected}",
        words.len()
    )))
}

fn tested(program: &HostProgram, expectation: &Expectation) -> Result<Column, Diagnostic> {
    program.column(&expectation.buffer)
}
