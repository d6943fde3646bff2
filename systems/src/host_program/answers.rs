//! Right answers: evaluates the references of expectations.

use std::path::PathBuf;

use warpweave_inputs::reference::{self, HISTOGRAM_BINS, StencilWeights};
use warpweave_inputs::{Csr, ElementType};
use warpweave_params::{Diagnostic, Span};

use super::HostProgram;
use super::description::{Expectation, Name, Placed, Reference, Value};
use super::inputs::{Buffer, read_words};
use super::number::{element, error_at, integer, single};

/// Most rows, columns, work-groups or steps a reference accepts: as many as a program can have.
const COUNT_MAX: i128 = 1 << 24;

/// Checks that a reference can be evaluated and has as many elements as the buffer.
pub(super) fn check(program: &HostProgram, expectation: &Expectation) -> Result<(), Diagnostic> {
    let answer = Answer {
        program,
        expectation,
    };
    let buffer = answer.buffer(&expectation.buffer)?;
    if let (Some(wanted), _) = answer.shape()?
        && wanted != buffer.element
    {
        let message = format!(
            "{} gives {wanted:?} elements, but buffer `{}` has {:?}",
            expectation.equals.value.name(),
            buffer.name,
            buffer.element
        );
        return Err(error_at(expectation.buffer.place.as_ref(), message));
    }
    match answer.shape()? {
        (_, Some(length)) if length != buffer.length => {
            let message = format!(
                "{} gives {length} elements, but buffer `{}` has {}",
                expectation.equals.value.name(),
                buffer.name,
                buffer.length
            );
            Err(error_at(expectation.equals.place.as_ref(), message))
        }
        _ => Ok(()),
    }
}

/// The right answer as bit patterns; [`check`] has passed.
pub(super) fn words(
    program: &HostProgram,
    expectation: &Expectation,
) -> Result<Vec<u32>, Diagnostic> {
    let answer = Answer {
        program,
        expectation,
    };
    let (words, tested) = (answer.words()?, answer.buffer(&expectation.buffer)?);
    if words.len() == tested.length {
        return Ok(words);
    }
    // Only a file can have changed since the check.
    let message = format!(
        "the answer now has {} elements, expected {}",
        words.len(),
        tested.length
    );
    Err(error_at(answer.place(), message))
}

struct Answer<'p> {
    program: &'p HostProgram,
    expectation: &'p Expectation,
}

impl Answer<'_> {
    fn place(&self) -> Option<&Span> {
        self.expectation.equals.place.as_ref()
    }

    fn buffer(&self, name: &Name) -> Result<&Buffer, Diagnostic> {
        Ok(&self.program.buffers[self.program.buffer(name)?])
    }

    /// A buffer that must have elements of a type.
    fn typed(&self, name: &Name, wanted: ElementType) -> Result<&Buffer, Diagnostic> {
        let buffer = self.buffer(name)?;
        if buffer.element == wanted {
            return Ok(buffer);
        }
        let message = format!(
            "{} works on {wanted:?} elements, but buffer `{}` has {:?}",
            self.expectation.equals.value.name(),
            buffer.name,
            buffer.element
        );
        Err(error_at(name.place.as_ref(), message))
    }

    fn u32s(&self, name: &Name) -> Result<Vec<u32>, Diagnostic> {
        self.typed(name, ElementType::U32)?
            .initial(&self.program.graphs)
    }

    fn f32s(&self, name: &Name) -> Result<Vec<f32>, Diagnostic> {
        let words = self
            .typed(name, ElementType::F32)?
            .initial(&self.program.graphs)?;
        Ok(words.into_iter().map(f32::from_bits).collect())
    }

    fn count(&self, value: &Value, what: &str, min: i128) -> Result<usize, Diagnostic> {
        Ok(integer(value, &self.program.env, what, (min, COUNT_MAX))? as usize)
    }

    fn graph(&self, graph: &Name, source: &Value) -> Result<(&Csr, u32), Diagnostic> {
        let graph = self.program.graph(graph)?;
        let range = (0, i128::from(graph.vertices()) - 1);
        let source = integer(source, &self.program.env, "the source vertex", range)?;
        Ok((graph, source as u32))
    }

    /// Element type and number of elements, where the reference decides them.
    fn shape(&self) -> Result<(Option<ElementType>, Option<usize>), Diagnostic> {
        let (u32s, f32s) = (Some(ElementType::U32), Some(ElementType::F32));
        Ok(match &self.expectation.equals.value {
            Reference::VectorAdd { a, b } => {
                let (a, other) = (self.typed(a, ElementType::F32)?, b);
                let b = self.typed(b, ElementType::F32)?;
                self.same_length(a.length, b, other)?;
                (f32s, Some(a.length))
            }
            Reference::MatrixMultiply { a, b, n } => {
                let n = self.count(n, "the number of rows", 0)?;
                for name in [a, b] {
                    let matrix = self.typed(name, ElementType::F32)?;
                    self.same_length(n * n, matrix, name)?;
                }
                (f32s, Some(n * n))
            }
            Reference::Stencil2d {
                input,
                width,
                steps,
                centre,
                neighbour,
            } => {
                let cells = self.typed(input, ElementType::F32)?.length;
                let columns = self.count(width, "the width", 1)?;
                self.count(steps, "the number of steps", 0)?;
                single(centre, &self.program.env, "a factor")?;
                single(neighbour, &self.program.env, "a factor")?;
                if !cells.is_multiple_of(columns) {
                    let message = format!("{cells} cells do not fill rows of {columns}");
                    return Err(error_at(width.place.as_ref(), message));
                }
                (f32s, Some(cells))
            }
            Reference::SumU32(values) => {
                self.typed(values, ElementType::U32)?;
                (u32s, Some(1))
            }
            Reference::SumF32(values) => {
                self.typed(values, ElementType::F32)?;
                (f32s, Some(1))
            }
            Reference::SumF32ByBlocks { values, blocks } => {
                self.typed(values, ElementType::F32)?;
                (f32s, Some(self.count(blocks, "the number of blocks", 1)?))
            }
            Reference::Histogram(values) => {
                self.typed(values, ElementType::U32)?;
                (u32s, Some(HISTOGRAM_BINS))
            }
            Reference::BfsLevels { graph, source } | Reference::ShortestPaths { graph, source } => {
                let (graph, _) = self.graph(graph, source)?;
                (u32s, Some(graph.vertices() as usize))
            }
            Reference::File(path) => (None, Some(self.file(path)?.len())),
            Reference::Constant(value) => {
                self.element(value)?;
                (None, None)
            }
            Reference::Values(values) => {
                for value in values {
                    self.element(value)?;
                }
                (None, Some(values.len()))
            }
        })
    }

    fn same_length(&self, wanted: usize, found: &Buffer, name: &Name) -> Result<(), Diagnostic> {
        if found.length == wanted {
            return Ok(());
        }
        let message = format!(
            "{} needs {wanted} elements, but buffer `{}` has {}",
            self.expectation.equals.value.name(),
            found.name,
            found.length
        );
        Err(error_at(name.place.as_ref(), message))
    }

    /// An element of the buffer under test.
    fn element(&self, value: &Value) -> Result<u32, Diagnostic> {
        let tested = self.buffer(&self.expectation.buffer)?;
        element(
            value,
            &self.program.env,
            "the expected value",
            tested.element,
        )
    }

    fn file(&self, path: &Placed<PathBuf>) -> Result<Vec<u32>, Diagnostic> {
        read_words(&self.program.folder.join(&path.value), path.place.as_ref())
    }

    fn words(&self) -> Result<Vec<u32>, Diagnostic> {
        let env = &self.program.env;
        let tested = self.buffer(&self.expectation.buffer)?;
        Ok(match &self.expectation.equals.value {
            Reference::VectorAdd { a, b } => {
                bits(&reference::vector_add(&self.f32s(a)?, &self.f32s(b)?))
            }
            Reference::MatrixMultiply { a, b, n } => {
                let n = self.count(n, "the number of rows", 0)?;
                bits(&reference::matrix_multiply(
                    &self.f32s(a)?,
                    &self.f32s(b)?,
                    n,
                ))
            }
            Reference::Stencil2d {
                input,
                width,
                steps,
                centre,
                neighbour,
            } => {
                let width = self.count(width, "the width", 1)?;
                let weights = StencilWeights {
                    centre: single(centre, env, "a factor")?,
                    neighbour: single(neighbour, env, "a factor")?,
                };
                let mut cells = self.f32s(input)?;
                for _ in 0..self.count(steps, "the number of steps", 0)? {
                    cells = reference::stencil_2d(&cells, width, weights);
                }
                bits(&cells)
            }
            Reference::SumU32(values) => vec![reference::sum_u32(&self.u32s(values)?)],
            Reference::SumF32(values) => bits(&[reference::sum_f64(&self.f32s(values)?) as f32]),
            Reference::SumF32ByBlocks { values, blocks } => {
                let blocks = self.count(blocks, "the number of blocks", 1)?;
                bits(&reference::sum_f32_by_blocks(&self.f32s(values)?, blocks))
            }
            Reference::Histogram(values) => reference::histogram(&self.u32s(values)?).to_vec(),
            Reference::BfsLevels { graph, source } => {
                let (graph, source) = self.graph(graph, source)?;
                reference::bfs_levels(graph, source)
            }
            Reference::ShortestPaths { graph, source } => {
                let (graph, source) = self.graph(graph, source)?;
                reference::sssp_distances(graph, source)
            }
            Reference::File(path) => self.file(path)?,
            Reference::Constant(value) => vec![self.element(value)?; tested.length],
            Reference::Values(values) => values
                .iter()
                .map(|value| self.element(value))
                .collect::<Result<_, _>>()?,
        })
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
