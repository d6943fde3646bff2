//! Speckle-reducing anisotropic diffusion of an image.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::{Name, Value};

/// Image after some steps, as computed by [`srad`].
#[derive(Debug, Deserialize)]
pub struct Srad {
    /// Buffer with the image before the first step.
    pub image: Name,
    /// Number of pixels in each row.
    pub width: Value,
    /// Number of diffusion steps to compute.
    pub steps: Value,
    /// Squared coefficient of variation of the speckle.
    pub q0_squared: Value,
    /// Update rate, which scales the change in each step.
    pub rate: Value,
}

impl Srad {
    fn numbers(&self, question: &Question<'_>) -> Result<(f32, f32), Diagnostic> {
        let q0_squared = question.single(&self.q0_squared, "the speckle variation")?;
        Ok((q0_squared, question.single(&self.rate, "the rate")?))
    }
}

impl Reference for Srad {
    const NAME: &'static str = "Srad";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let (cells, _) = question.rows_of(&self.image, &self.width)?;
        question.count(&self.steps, "the number of steps", 0)?;
        self.numbers(question)?;
        Ok(Shape::f32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (_, width) = question.rows_of(&self.image, &self.width)?;
        let (q0_squared, rate) = self.numbers(question)?;
        let mut image = question.f32s(&self.image)?;
        for _ in 0..question.count(&self.steps, "the number of steps", 0)? {
            image = srad(&image, width, q0_squared, rate);
        }
        Ok(bits(&image))
    }
}

/// Computes one step on a row-major image with `width` pixels per row. Every operation is rounded
/// to single precision, and sums are in the order north, south, west, east. Neighbours outside the
/// image equal the pixel itself. The kernels give the same bits.
///
/// # Panics
/// Panics if the pixels do not fill whole rows.
pub fn srad(image: &[f32], width: usize, q0_squared: f32, rate: f32) -> Vec<f32> {
    assert!(width > 0 && image.len().is_multiple_of(width), "whole rows");
    let height = image.len() / width;
    let south = |at: usize| {
        if at / width + 1 < height {
            at + width
        } else {
            at
        }
    };
    let east = |at: usize| if at % width + 1 < width { at + 1 } else { at };
    let differences = |at: usize| {
        let north = if at < width { at } else { at - width };
        let west = if at.is_multiple_of(width) { at } else { at - 1 };
        [north, south(at), west, east(at)].map(|neighbour| image[neighbour] - image[at])
    };
    let coefficient = |at: usize| {
        let ([n, s, w, e], cell) = (differences(at), image[at]);
        let gradient = (n * n + s * s + w * w + e * e) / (cell * cell);
        let laplacian = (n + s + w + e) / cell;
        let root = 1.0 + 0.25 * laplacian;
        let q_squared = (0.5 * gradient - 0.0625 * (laplacian * laplacian)) / (root * root);
        let deviation = (q_squared - q0_squared) / (q0_squared * (1.0 + q0_squared));
        (1.0 / (1.0 + deviation)).clamp(0.0, 1.0)
    };
    let coefficients: Vec<f32> = (0..image.len()).map(coefficient).collect();
    let update = |at: usize| {
        let ([n, s, w, e], own) = (differences(at), coefficients[at]);
        let (below, right) = (coefficients[south(at)], coefficients[east(at)]);
        image[at] + (0.25 * rate) * (own * n + below * s + own * w + right * e)
    };
    (0..image.len()).map(update).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_image_stays_as_it_is() {
        assert_eq!(srad(&[2.0; 12], 4, 0.05, 0.5), [2.0; 12]);
        assert_eq!(srad(&[1.5], 1, 0.05, 0.5), [1.5]);
    }

    #[test]
    fn small_differences_are_smoothed_and_the_sum_is_kept() {
        let image: Vec<f32> = (0..64).map(|i| 1.0 + 0.01 * (i % 3) as f32).collect();
        let after = srad(&image, 8, 0.05, 0.5);
        let spread = |image: &[f32]| {
            let mean = image.iter().sum::<f32>() / image.len() as f32;
            image
                .iter()
                .map(|pixel| (pixel - mean).powi(2))
                .sum::<f32>()
        };
        assert!(spread(&after) < spread(&image));
        let sum = |image: &[f32]| image.iter().map(|pixel| f64::from(*pixel)).sum::<f64>();
        assert!((sum(&after) - sum(&image)).abs() < 1e-4);
    }
}
