//! LU decomposition of a matrix without pivoting.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// LU decomposition in place, as computed by [`lu_decomposition`].
#[derive(Debug, Deserialize)]
pub struct LuDecomposition {
    /// Buffer with the matrix, row by row.
    pub matrix: Name,
    /// Number of rows and of columns.
    pub n: Value,
}

impl Reference for LuDecomposition {
    const NAME: &'static str = "LuDecomposition";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let n = question.count(&self.n, "the size of the matrix", 1)?;
        question.expect_length(&self.matrix, F32, n.saturating_mul(n))?;
        Ok(Shape::f32s(n * n))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let n = question.count(&self.n, "the size of the matrix", 1)?;
        let mut matrix = question.f32s(&self.matrix)?;
        lu_decomposition(&mut matrix, n);
        Ok(bits(&matrix))
    }
}

/// Decomposes a row-major n x n matrix without pivoting, in place. L is stored below the diagonal
/// without its ones, and U in the rest. Each product is rounded to single precision before the
/// subtraction. The kernels give the same bits.
///
/// # Panics
/// Panics if the matrix does not have n rows and columns.
pub fn lu_decomposition(matrix: &mut [f32], n: usize) {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    for step in 0..n {
        for row in step + 1..n {
            let factor = matrix[row * n + step] / matrix[step * n + step];
            matrix[row * n + step] = factor;
            for column in step + 1..n {
                matrix[row * n + column] -= factor * matrix[step * n + column];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decomposes_a_small_matrix() {
        #[rustfmt::skip]
        let mut matrix = [
            2.0, 1.0, 1.0,
            4.0, 3.0, 3.0,
            8.0, 7.0, 9.0,
        ];
        lu_decomposition(&mut matrix, 3);
        #[rustfmt::skip]
        let expected = [
            2.0, 1.0, 1.0,
            2.0, 1.0, 1.0,
            4.0, 3.0, 2.0,
        ];
        assert_eq!(matrix, expected);
    }

    #[test]
    fn the_factors_multiply_to_the_matrix() {
        let n = 9;
        let cell =
            |at: usize| (at * 7 % 5) as f32 + if at.is_multiple_of(n + 1) { 20.0 } else { 0.0 };
        let matrix: Vec<f32> = (0..n * n).map(cell).collect();
        let mut factors = matrix.clone();
        lu_decomposition(&mut factors, n);
        for row in 0..n {
            for column in 0..n {
                let lower = |k: usize| if k == row { 1.0 } else { factors[row * n + k] };
                let product: f32 = (0..=row.min(column))
                    .map(|k| lower(k) * factors[k * n + column])
                    .sum();
                assert!((product - matrix[row * n + column]).abs() < 1e-3);
            }
        }
    }
}
