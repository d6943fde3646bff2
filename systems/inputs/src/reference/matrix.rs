//! Products of two row-major matrices, square or not.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Product of square row-major matrices, as computed by [`matrix_multiply`].
#[derive(Debug, Deserialize)]
pub struct MatrixMultiply {
    /// Buffer with the left matrix, row by row.
    pub a: Name,
    /// Buffer with the right matrix, row by row.
    pub b: Name,
    /// Number of rows and columns of each matrix.
    pub n: Value,
}

impl MatrixMultiply {
    fn rows(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        question.count(&self.n, "the number of rows", 0)
    }
}

impl Reference for MatrixMultiply {
    const NAME: &'static str = "MatrixMultiply";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let n = self.rows(question)?;
        for matrix in [&self.a, &self.b] {
            question.expect_length(matrix, F32, n * n)?;
        }
        Ok(Shape::f32s(n * n))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (a, b) = (question.f32s(&self.a)?, question.f32s(&self.b)?);
        Ok(bits(&matrix_multiply(&a, &b, self.rows(question)?)))
    }
}

/// Product of matrices of any shape, as computed by [`matrix_product`].
#[derive(Debug, Deserialize)]
pub struct MatrixProduct {
    /// Buffer with the left matrix of m x k elements, row by row.
    pub a: Name,
    /// Buffer with the right matrix of k x n elements, row by row.
    pub b: Name,
    /// Number of rows of the product.
    pub m: Value,
    /// Number of columns of the product.
    pub n: Value,
    /// Number of columns of the left matrix.
    pub k: Value,
}

impl MatrixProduct {
    fn sides(&self, question: &Question<'_>) -> Result<[usize; 3], Diagnostic> {
        let side = |value| question.count(value, "a side of a matrix", 0);
        Ok([side(&self.m)?, side(&self.n)?, side(&self.k)?])
    }
}

impl Reference for MatrixProduct {
    const NAME: &'static str = "MatrixProduct";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let [m, n, k] = self.sides(question)?;
        question.expect_length(&self.a, F32, m * k)?;
        question.expect_length(&self.b, F32, k * n)?;
        Ok(Shape::f32s(m * n))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (a, b) = (question.f32s(&self.a)?, question.f32s(&self.b)?);
        Ok(bits(&matrix_product(&a, &b, self.sides(question)?)))
    }
}

/// Computes `a * b` in single precision. For each element the products are rounded and added one by
/// one with the inner index ascending, starting at +0. The tiled kernels give the same bits.
///
/// # Panics
/// Panics if a matrix does not have `n * n` elements.
pub fn matrix_multiply(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    check(a, b, n);
    matrix_product(a, b, [n; 3])
}

/// Computes `a * b` like [`matrix_multiply`] for `a` of m x k and `b` of k x n elements, given
/// `[m, n, k]`.
///
/// # Panics
/// Panics if a matrix has another number of elements.
pub fn matrix_product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    assert!(
        a.len() == m * k && b.len() == k * n,
        "matrices of {} and {} elements, expected {m} x {k} and {k} x {n}",
        a.len(),
        b.len()
    );
    let mut product = vec![0.0; m * n];
    // A row of sums grows at once: as many independent ones as compilers like.
    for (row, sums) in product.chunks_exact_mut(n.max(1)).enumerate() {
        for i in 0..k {
            let left = a[row * k + i];
            for (sum, right) in sums.iter_mut().zip(&b[i * n..]) {
                *sum += left * right;
            }
        }
    }
    product
}

/// Computes `a * b` with every sum in double precision. A kernel of any order must agree within `n`
/// times the single-precision epsilon of the sum of the absolute products.
///
/// # Panics
/// Panics if a matrix does not have `n * n` elements.
pub fn matrix_multiply_f64(a: &[f32], b: &[f32], n: usize) -> Vec<f64> {
    check(a, b, n);
    let product = |row: usize, k: usize, column: usize| {
        f64::from(a[row * n + k]) * f64::from(b[k * n + column])
    };
    (0..n * n)
        .map(|i| (0..n).map(|k| product(i / n, k, i % n)).sum())
        .collect()
}

fn check(a: &[f32], b: &[f32], n: usize) {
    assert!(
        a.len() == n * n && b.len() == n * n,
        "matrices of {} and {} elements, expected {n} x {n}",
        a.len(),
        b.len()
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArrayGenerator;

    #[test]
    fn rows_meet_columns() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        assert_eq!(matrix_multiply(&a, &b, 2), [19.0, 22.0, 43.0, 50.0]);
        assert_eq!(matrix_multiply_f64(&a, &b, 2), [19.0, 22.0, 43.0, 50.0]);
        assert!(matrix_multiply(&[], &[], 0).is_empty());
    }

    #[test]
    fn matrices_need_not_be_square() {
        let (a, b) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert_eq!(matrix_product(&a, &b, [1, 2, 3]), [40.0, 46.0]);
        assert_eq!(matrix_product(&a, &b[..1], [3, 1, 1]), [4.0, 8.0, 12.0]);
        assert!(matrix_product(&a, &[], [3, 0, 1]).is_empty());
    }

    /// (1 + 2^-12)^2 needs 25 bits. A fused multiply-add would keep the last one.
    #[test]
    fn products_are_rounded_before_they_are_added() {
        let x = 1.0 + 2.0_f32.powi(-12);
        let rounded = 1.0 + 2.0_f32.powi(-11);
        // Row (x, -rounded) times column (x, 1).
        let product = matrix_multiply(&[x, -rounded, 0.0, 0.0], &[x, 0.0, 1.0, 0.0], 2);
        assert_eq!(product, [0.0; 4]);
        let exact = matrix_multiply_f64(&[x, -rounded, 0.0, 0.0], &[x, 0.0, 1.0, 0.0], 2);
        assert_eq!(exact, [2.0_f64.powi(-24), 0.0, 0.0, 0.0]);
    }

    #[test]
    fn single_precision_stays_within_the_stated_distance_of_double() {
        let n = 33;
        let random = |seed| {
            ArrayGenerator::Uniform {
                seed,
                low: -1.0,
                high: 1.0,
            }
            .f32s(n * n)
            .unwrap()
        };
        let (a, b) = (random(1), random(2));
        let magnitude = |m: &[f32]| m.iter().map(|v| v.abs()).collect::<Vec<f32>>();
        let single = matrix_multiply(&a, &b, n);
        let double = matrix_multiply_f64(&a, &b, n);
        let bound = matrix_multiply_f64(&magnitude(&a), &magnitude(&b), n);
        for i in 0..n * n {
            let distance = (f64::from(single[i]) - double[i]).abs();
            assert!(distance <= n as f64 * f64::from(f32::EPSILON) * bound[i]);
        }
    }
}
