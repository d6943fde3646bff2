//! Symmetric rank-k and rank-2k updates of a matrix.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Matrix after a symmetric update, as computed by [`rank_k_update`] or [`rank_2k_update`].
#[derive(Debug, Deserialize)]
pub struct RankUpdate {
    /// Buffer with the square matrix before the update, row by row.
    pub c: Name,
    /// Buffer with the factor of n x m elements, row by row.
    pub a: Name,
    /// Buffer with the second factor, for a rank-2k update.
    #[serde(default)]
    pub b: Option<Name>,
    /// Number of rows of the factors, and of rows and columns of the matrix.
    pub n: Value,
    /// Number of columns of the factors.
    pub m: Value,
}

impl RankUpdate {
    fn sides(&self, question: &Question<'_>) -> Result<[usize; 2], Diagnostic> {
        let side = |value| question.count(value, "a side of a matrix", 0);
        Ok([side(&self.n)?, side(&self.m)?])
    }
}

impl Reference for RankUpdate {
    const NAME: &'static str = "RankUpdate";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let [n, m] = self.sides(question)?;
        question.expect_length(&self.c, F32, n * n)?;
        for factor in [Some(&self.a), self.b.as_ref()].into_iter().flatten() {
            question.expect_length(factor, F32, n * m)?;
        }
        Ok(Shape::f32s(n * n))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let [_, m] = self.sides(question)?;
        let (c, a) = (question.f32s(&self.c)?, question.f32s(&self.a)?);
        Ok(bits(&match &self.b {
            None => rank_k_update(&c, &a, m),
            Some(b) => rank_2k_update(&c, &a, &question.f32s(b)?, m),
        }))
    }
}

/// Computes `c + a * a^T` for `a` with `m` columns. The products are rounded and added to `c` in
/// ascending order of the columns. The kernel gives the same bits.
///
/// # Panics
/// Panics if `c` is not square with a row per row of `a`.
pub fn rank_k_update(c: &[f32], a: &[f32], m: usize) -> Vec<f32> {
    updated(c, a.len() / m.max(1), |mut sum, row, column| {
        for k in 0..m {
            sum += a[row * m + k] * a[column * m + k];
        }
        sum
    })
}

/// Computes `c + a * b^T + b * a^T` for factors with `m` columns. The products of a column are
/// added in this order, before those of the next. The kernel gives the same bits.
///
/// # Panics
/// Panics if `c` is not square with a row per row of `a`, or `b` is smaller than `a`.
pub fn rank_2k_update(c: &[f32], a: &[f32], b: &[f32], m: usize) -> Vec<f32> {
    updated(c, a.len() / m.max(1), |mut sum, row, column| {
        for k in 0..m {
            sum += a[row * m + k] * b[column * m + k];
            sum += b[row * m + k] * a[column * m + k];
        }
        sum
    })
}

fn updated(c: &[f32], n: usize, element: impl Fn(f32, usize, usize) -> f32) -> Vec<f32> {
    assert_eq!(c.len(), n * n, "a square matrix");
    let values = c.iter().enumerate();
    values.map(|(at, &c)| element(c, at / n, at % n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_meet_rows() {
        let (c, a, b) = (
            [1.0, 0.0, 0.0, 1.0],
            [1.0, 2.0, 3.0, 4.0],
            [0.0, 1.0, 1.0, 0.0],
        );
        assert_eq!(rank_k_update(&c, &a, 2), [6.0, 11.0, 11.0, 26.0]);
        assert_eq!(rank_2k_update(&c, &a, &b, 2), [5.0, 5.0, 5.0, 7.0]);
    }
}
