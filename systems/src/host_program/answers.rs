//! Right answers: asks the references of expectations.

use std::path::PathBuf;

use warpweave_inputs::reference::{Answer, Question, Shape};
use warpweave_params::Diagnostic;

use super::HostProgram;
use super::description::Expectation;
use super::inputs::Buffer;

/// Checks that a reference can be evaluated and that its answer looks like the buffer. Returns the
/// files that it reads.
pub(super) fn check(
    program: &HostProgram,
    expectation: &Expectation,
) -> Result<Vec<PathBuf>, Diagnostic> {
    let (answer, tested) = (&expectation.equals.value, tested(program, expectation)?);
    let question = question(program, answer, tested);
    let Shape { element, length } = answer.shape(&question)?;
    let name = &tested.name.value;
    if let Some(element) = element.filter(|element| *element != tested.element) {
        return Err(expectation.buffer.error(format!(
            "{} gives {element:?} elements, but buffer `{name}` has {:?}",
            answer.name(),
            tested.element
        )));
    }
    if let Some(length) = length.filter(|length| *length != tested.length) {
        return Err(expectation.equals.error(format!(
            "{} gives {length} elements, but buffer `{name}` has {}",
            answer.name(),
            tested.length
        )));
    }
    Ok(question.files())
}

/// The right answer as the words of a memory that holds it; [`check`] has passed.
pub(super) fn words(
    program: &HostProgram,
    expectation: &Expectation,
) -> Result<Vec<u32>, Diagnostic> {
    let (answer, tested) = (&expectation.equals.value, tested(program, expectation)?);
    let words = answer.words(&question(program, answer, tested))?;
    let expected = tested.element.words_of(tested.length);
    if words.len() == expected {
        return Ok(words);
    }
    // Only a file can have changed since the check.
    Err(expectation.equals.error(format!(
        "the answer now has {} words, expected {expected}",
        words.len()
    )))
}

fn tested<'p>(
    program: &'p HostProgram,
    expectation: &Expectation,
) -> Result<&'p Buffer, Diagnostic> {
    Ok(&program.buffers[program.buffer(&expectation.buffer)?])
}

fn question<'p>(program: &'p HostProgram, answer: &Answer, tested: &Buffer) -> Question<'p> {
    Question::new(answer.name(), program, tested.layout())
}
