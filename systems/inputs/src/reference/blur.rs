//! Blur with a window of 3 x 3.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::{Name, Value};

/// Blurred matrix, as computed by [`binomial_blur`].
#[derive(Debug, Deserialize)]
pub struct BinomialBlur {
    /// Buffer with the matrix, row by row.
    pub input: Name,
    /// Number of cells in each row.
    pub width: Value,
}

impl Reference for BinomialBlur {
    const NAME: &'static str = "BinomialBlur";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let (cells, _) = question.rows_of(&self.input, &self.width)?;
        Ok(Shape::f32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (_, width) = question.rows_of(&self.input, &self.width)?;
        Ok(bits(&binomial_blur(&question.f32s(&self.input)?, width)))
    }
}

/// Computes the mean of the means around the four corners of each cell of a row-major matrix with
/// `width` cells per row. The weights are 1 2 1 / 2 4 2 / 1 2 1 in sixteenths. Cells outside the
/// matrix equal the nearest edge cell. Each mean is rounded to single precision once, as in a
/// filtered texture fetch. The four are added left to right, upper row first, and each sum is
/// rounded. The kernel gives the same bits.
///
/// # Panics
/// Panics if the cells do not fill whole rows.
pub fn binomial_blur(input: &[f32], width: usize) -> Vec<f32> {
    assert!(width > 0 && input.len().is_multiple_of(width), "whole rows");
    let height = input.len() / width;
    // Corner (x, y) is the upper left one of cell (x, y).
    let corner = |x: usize, y: usize| {
        let (left, right) = (x.saturating_sub(1), x.min(width - 1));
        let (above, below) = (y.saturating_sub(1), y.min(height - 1));
        let cells = [(left, above), (right, above), (left, below), (right, below)];
        let quarters = cells.map(|(x, y)| 0.25 * f64::from(input[y * width + x]));
        quarters
            .into_iter()
            .reduce(|sum, quarter| sum + quarter)
            .unwrap_or(0.0) as f32
    };
    let cells = (0..input.len()).map(|cell| (cell % width, cell / width));
    let blurred = cells.map(|(x, y)| {
        let above = corner(x, y) + corner(x + 1, y);
        0.25 * (above + corner(x, y + 1) + corner(x + 1, y + 1))
    });
    blurred.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_one_spreads_in_sixteenths() {
        let mut input = [0.0; 25];
        input[12] = 16.0;
        let row = |y: usize| binomial_blur(&input, 5)[5 * y..5 * y + 5].to_vec();
        assert_eq!(row(0), [0.0; 5]);
        assert_eq!(row(1), [0.0, 1.0, 2.0, 1.0, 0.0]);
        assert_eq!(row(2), [0.0, 2.0, 4.0, 2.0, 0.0]);
        assert_eq!(row(3), row(1));
    }

    #[test]
    fn a_level_image_stays_as_it_is_up_to_its_edges() {
        assert_eq!(binomial_blur(&[3.0; 12], 4), [3.0; 12]);
        assert_eq!(binomial_blur(&[3.0], 1), [3.0]);
        assert!(binomial_blur(&[], 4).is_empty());
    }
}
