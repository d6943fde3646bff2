//! Convolution with a window of 3 x 3 x 3.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::{Name, Value};

/// Convolved volume, as computed by [`convolution_3d`].
#[derive(Debug, Deserialize)]
pub struct Convolution3d {
    /// Buffer with the volume, plane by plane and row by row.
    pub input: Name,
    /// Number of cells in each row.
    pub width: Value,
    /// Number of rows in each plane.
    pub height: Value,
}

impl Convolution3d {
    fn sides(&self, question: &Question<'_>) -> Result<[usize; 2], Diagnostic> {
        let (cells, width) = question.rows_of(&self.input, &self.width)?;
        let height = question.count(&self.height, "the height", 1)?;
        if !cells.is_multiple_of(width * height) {
            let message =
                format!("{cells} cells cannot be divided into planes of {width} x {height}");
            return Err(self.height.error(message));
        }
        Ok([width, height])
    }
}

impl Reference for Convolution3d {
    const NAME: &'static str = "Convolution3d";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.sides(question)?;
        Ok(Shape::f32s(question.tested().length))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let sides = self.sides(question)?;
        Ok(bits(&convolution_3d(&question.f32s(&self.input)?, sides)))
    }
}

/// Weights of cells that are 0, 1, 2 or 3 axes away from the centre.
const WEIGHTS: [f32; 4] = [0.5, 0.25, -0.125, 0.0625];

/// Computes weighted sums over windows of 3 x 3 x 3, given `[width, height]` of a plane. The
/// outermost cells are zero. Products are added in memory order, each rounded. The kernel gives the
/// same bits.
///
/// # Panics
/// Panics if the cells do not fill whole planes.
pub fn convolution_3d(input: &[f32], [width, height]: [usize; 2]) -> Vec<f32> {
    let plane = width * height;
    assert!(
        plane > 0 && input.len().is_multiple_of(plane),
        "whole planes"
    );
    let mut output = vec![0.0; input.len()];
    for z in 1..(input.len() / plane).saturating_sub(1) {
        for y in 1..height.saturating_sub(1) {
            for x in 1..width.saturating_sub(1) {
                let window = (0..27).map(|i| [i / 9, i / 3 % 3, i % 3]);
                let products = window.map(|[dz, dy, dx]: [usize; 3]| {
                    let away = dz.abs_diff(1) + dy.abs_diff(1) + dx.abs_diff(1);
                    WEIGHTS[away] * input[(z + dz - 1) * plane + (y + dy - 1) * width + x + dx - 1]
                });
                output[z * plane + y * width + x] =
                    products.fold(0.0, |sum, product| sum + product);
            }
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_one_spreads_the_window() {
        let mut input = [0.0; 125];
        input[62] = 1.0;
        let output = convolution_3d(&input, [5, 5]);
        assert_eq!(output[62], 0.5);
        assert_eq!((output[61], output[56], output[31]), (0.25, -0.125, 0.0625));
        assert_eq!(output[60], 0.0);
    }
}
