//! Convolution with a window of 3 x 3.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::{Name, Value};

/// Convolved matrix, as computed by [`convolution_2d`].
#[derive(Debug, Deserialize)]
pub struct Convolution2d {
    /// Buffer with the matrix, row by row.
    pub input: Name,
    /// Number of cells in each row.
    pub width: Value,
}

impl Reference for Convolution2d {
    const NAME: &'static str = "Convolution2d";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let (cells, _) = question.rows_of(&self.input, &self.width)?;
        Ok(Shape::f32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (_, width) = question.rows_of(&self.input, &self.width)?;
        Ok(bits(&convolution_2d(&question.f32s(&self.input)?, width)))
    }
}

/// Weights of the window, row by row.
const WEIGHTS: [[f32; 3]; 3] = [
    [0.25, -0.5, 0.75],
    [0.375, 0.625, -0.875],
    [-0.125, 0.9, 0.1],
];

/// Computes weighted sums over windows of 3 x 3 of a row-major matrix with `width` cells per row.
/// The outermost ring is zero. The products are added row by row, left to right, each rounded to
/// single precision before the addition. The kernel gives the same bits.
///
/// # Panics
/// Panics if the cells do not fill whole rows.
pub fn convolution_2d(input: &[f32], width: usize) -> Vec<f32> {
    assert!(width > 0 && input.len().is_multiple_of(width), "whole rows");
    let height = input.len() / width;
    let mut output = vec![0.0; input.len()];
    for y in 1..height.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            let window = (0..9)
                .map(|i| WEIGHTS[i / 3][i % 3] * input[(y + i / 3 - 1) * width + x + i % 3 - 1]);
            output[y * width + x] = window.reduce(|sum, product| sum + product).unwrap_or(0.0);
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_one_spreads_the_window_turned_around() {
        let mut input = [0.0; 25];
        input[12] = 1.0;
        let output = convolution_2d(&input, 5);
        for y in 0..3 {
            for x in 0..3 {
                assert_eq!(output[(y + 1) * 5 + x + 1], WEIGHTS[2 - y][2 - x]);
            }
        }
    }

    #[test]
    fn the_outermost_ring_is_zero() {
        let output = convolution_2d(&[1.0; 20], 5);
        for (at, value) in output.iter().enumerate() {
            let inner = (1..4).contains(&(at % 5)) && (1..3).contains(&(at / 5));
            assert_eq!(*value != 0.0, inner, "{at}");
        }
        assert_eq!(convolution_2d(&[1.0; 6], 3), [0.0; 6]);
    }
}
