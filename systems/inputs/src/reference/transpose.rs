//! Matrix with its rows and columns exchanged.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::{Name, Value};

/// Matrix with rows and columns exchanged, as computed by [`transposed`].
#[derive(Debug, Deserialize)]
pub struct Transposed {
    /// Buffer with the matrix, row by row.
    pub input: Name,
    /// Number of cells in each row.
    pub width: Value,
}

impl Reference for Transposed {
    const NAME: &'static str = "Transposed";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let (cells, _) = question.rows_of(&self.input, &self.width)?;
        Ok(Shape::f32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (_, width) = question.rows_of(&self.input, &self.width)?;
        Ok(bits(&transposed(&question.f32s(&self.input)?, width)))
    }
}

/// Returns the columns of a row-major matrix with `width` cells per row, one after the other.
///
/// # Panics
/// Panics if the width is 0.
pub fn transposed(input: &[f32], width: usize) -> Vec<f32> {
    let column = |x: usize| input.iter().skip(x).step_by(width).copied();
    (0..width.min(input.len())).flat_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows() {
        let input = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(transposed(&input, 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(transposed(&transposed(&input, 3), 2), input);
    }
}
