//! Product of a transposed matrix, the matrix and a vector.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits, matrix_product};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Product `a^T * (a * x)`, as computed by [`gram_product`].
#[derive(Debug, Deserialize)]
pub struct GramProduct {
    /// Buffer with the matrix, row by row.
    pub a: Name,
    /// Buffer with the vector, one element per column.
    pub x: Name,
    /// Number of rows of the matrix.
    pub rows: Value,
    /// Number of columns of the matrix.
    pub columns: Value,
}

impl GramProduct {
    fn sides(&self, question: &Question<'_>) -> Result<[usize; 2], Diagnostic> {
        let side = |value| question.count(value, "a side of a matrix", 0);
        Ok([side(&self.rows)?, side(&self.columns)?])
    }
}

impl Reference for GramProduct {
    const NAME: &'static str = "GramProduct";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let [rows, columns] = self.sides(question)?;
        question.expect_length(&self.a, F32, rows * columns)?;
        question.expect_length(&self.x, F32, columns)?;
        Ok(Shape::f32s(columns))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (a, x) = (question.f32s(&self.a)?, question.f32s(&self.x)?);
        Ok(bits(&gram_product(&a, &x, self.sides(question)?)))
    }
}

/// Computes `a^T * (a * x)` for `a` of `[rows, columns]`. Both sums ascend and round each product.
/// The two kernels give the same bits.
///
/// # Panics
/// Panics if the matrix or the vector has another number of elements.
pub fn gram_product(a: &[f32], x: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
    let products = matrix_product(a, x, [rows, 1, columns]);
    matrix_product(&products, a, [1, columns, rows])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_weighted_by_the_products_of_rows() {
        // Rows (1, 2) and (3, 4) times (1, 1) are 3 and 7.
        let found = gram_product(&[1.0, 2.0, 3.0, 4.0], &[1.0, 1.0], [2, 2]);
        assert_eq!(found, [24.0, 34.0]);
    }
}
