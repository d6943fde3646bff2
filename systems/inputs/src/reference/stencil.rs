//! Five-point stencil on a grid, computed in steps.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Grid after some steps of a five-point stencil, as computed by [`stencil_2d`].
#[derive(Debug, Deserialize)]
pub struct Stencil2d {
    /// Buffer with the cells before the first step.
    pub input: Name,
    /// Number of cells in each row.
    pub width: Value,
    /// Number of stencil steps to compute.
    #[serde(default = "one")]
    pub steps: Value,
    /// Factor of the centre cell in the sum.
    pub centre: Value,
    /// Factor of the sum of the four neighbours.
    pub neighbour: Value,
}

fn one() -> Value {
    1.into()
}

impl Stencil2d {
    fn columns(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        question.count(&self.width, "the width", 1)
    }

    fn step_count(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        question.count(&self.steps, "the number of steps", 0)
    }

    fn weights(&self, question: &Question<'_>) -> Result<StencilWeights, Diagnostic> {
        Ok(StencilWeights {
            centre: question.single(&self.centre, "a factor")?,
            neighbour: question.single(&self.neighbour, "a factor")?,
        })
    }
}

impl Reference for Stencil2d {
    const NAME: &'static str = "Stencil2d";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let cells = question.length(&self.input, F32)?;
        let columns = self.columns(question)?;
        self.step_count(question)?;
        self.weights(question)?;
        if !cells.is_multiple_of(columns) {
            let message = format!("{cells} cells cannot be divided into rows of {columns}");
            return Err(self.width.error(message));
        }
        Ok(Shape::f32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (columns, weights) = (self.columns(question)?, self.weights(question)?);
        let mut cells = question.f32s(&self.input)?;
        for _ in 0..self.step_count(question)? {
            cells = stencil_2d(&cells, columns, weights);
        }
        Ok(bits(&cells))
    }
}

/// Factors of a five-point stencil: centre and neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StencilWeights {
    /// Factor of the centre cell in the sum.
    pub centre: f32,
    /// Factor of the sum of the four neighbours.
    pub neighbour: f32,
}

/// Computes one step on a row-major grid with `width` cells per row:
/// `centre * cell + neighbour * (((north + south) + west) + east)`. Every operation is rounded to
/// single precision. The outermost ring of cells is unchanged. The kernel gives the same bits.
///
/// # Panics
/// Panics if the cells do not fill whole rows.
pub fn stencil_2d(input: &[f32], width: usize, weights: StencilWeights) -> Vec<f32> {
    if input.is_empty() {
        return Vec::new();
    }
    assert!(
        width > 0 && input.len().is_multiple_of(width),
        "{} cells cannot be divided into rows of {width}",
        input.len()
    );
    let height = input.len() / width;
    let mut output = input.to_vec();
    for y in 1..height.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            let cell = |x: usize, y: usize| input[y * width + x];
            let around = cell(x, y - 1) + cell(x, y + 1) + cell(x - 1, y) + cell(x + 1, y);
            output[y * width + x] = weights.centre * cell(x, y) + weights.neighbour * around;
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: StencilWeights = StencilWeights {
        centre: 0.5,
        neighbour: 0.125,
    };

    #[test]
    fn only_inner_cells_change() {
        #[rustfmt::skip]
        let input = [
            1.0, 2.0, 3.0, 4.0,
            5.0, 8.0, 0.0, 6.0,
            7.0, 9.0, 1.0, 2.0,
        ];
        #[rustfmt::skip]
        let expected = [
            1.0, 2.0, 3.0, 4.0,
            5.0, 4.0 + 0.125 * 16.0, 0.125 * 18.0, 6.0,
            7.0, 9.0, 1.0, 2.0,
        ];
        assert_eq!(stencil_2d(&input, 4, MEAN), expected);
    }

    #[test]
    fn a_grid_that_is_all_boundary_stays_as_it_is() {
        for (cells, width) in [(6, 3), (6, 2), (5, 1), (5, 5), (1, 1), (0, 0), (0, 7)] {
            let input: Vec<f32> = (0..cells).map(|i| i as f32).collect();
            assert_eq!(stencil_2d(&input, width, MEAN), input);
        }
    }
}
