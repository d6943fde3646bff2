//! Smoothing of an image that keeps its edges.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::{Name, Value};

/// Smoothed image, as computed by [`denoised`].
#[derive(Debug, Deserialize)]
pub struct Denoised {
    /// Buffer with the image, row by row.
    pub image: Name,
    /// Number of pixels in each row.
    pub width: Value,
    /// Factor of the squared distance in the exponent of a weight.
    pub space: Value,
    /// Factor of the squared difference in value, in the same exponent.
    pub value: Value,
}

impl Denoised {
    fn factors(&self, question: &Question<'_>) -> Result<[f32; 2], Diagnostic> {
        let factor = |value| question.single(value, "a factor");
        Ok([factor(&self.space)?, factor(&self.value)?])
    }
}

impl Reference for Denoised {
    const NAME: &'static str = "Denoised";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.factors(question)?;
        Ok(Shape::f32s(question.rows_of(&self.image, &self.width)?.0))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (_, width) = question.rows_of(&self.image, &self.width)?;
        let image = question.f32s(&self.image)?;
        let [space, value] = self.factors(question)?;
        Ok(bits(&denoised(&image, width, space, value)))
    }
}

/// Computes for each pixel the mean of the 7 x 7 pixels around it, with weights
/// `2^-(space * distance^2 + value * difference^2)`. The nearest pixel counts beyond the edge. Sums
/// are in double precision.
///
/// # Panics
/// Panics if the pixels do not fill whole rows.
pub fn denoised(image: &[f32], width: usize, space: f32, value: f32) -> Vec<f32> {
    assert!(width > 0 && image.len().is_multiple_of(width), "whole rows");
    let height = image.len() / width;
    let (space, value) = (f64::from(space), f64::from(value));
    let pixel = |at: usize| {
        let (x, y) = (at % width, at / width);
        let centre = f64::from(image[at]);
        let (mut weights, mut sum) = (0.0, 0.0);
        for (dx, dy) in (0..49_usize).map(|i| (i % 7, i / 7)) {
            let near_x = (x + dx).saturating_sub(3).min(width - 1);
            let near_y = (y + dy).saturating_sub(3).min(height - 1);
            let other = f64::from(image[near_y * width + near_x]);
            let far = dx.abs_diff(3).pow(2) + dy.abs_diff(3).pow(2);
            let away = space * far as f64 + value * (other - centre).powi(2);
            let weight = (-away).exp2();
            weights += weight;
            sum += weight * other;
        }
        (sum / weights) as f32
    };
    (0..image.len()).map(pixel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_image_stays_and_a_steep_edge_is_kept() {
        assert_eq!(denoised(&[5.0; 24], 6, 0.1, 1.0), [5.0; 24]);
        let edge = [0.0, 0.0, 9.0, 9.0];
        assert_eq!(denoised(&edge, 4, 0.0, 100.0), edge);
        let smooth = denoised(&edge, 4, 0.0, 0.0);
        assert_eq!(smooth[0], 9.0 * 2.0 / 7.0);
    }
}
