//! Discrete cosine transform of squares of 8 x 8 pixels, with quantisation.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::{Name, Value};

/// Quantised coefficients, as computed by [`dct_quantised`].
#[derive(Debug, Deserialize)]
pub struct DctQuantised {
    /// Buffer with the pixels, row by row.
    pub image: Name,
    /// Number of pixels in each row.
    pub width: Value,
}

/// Pixels restored from quantised coefficients, as computed by [`dct_inverse`].
#[derive(Debug, Deserialize)]
pub struct DctRestored {
    /// Buffer with the original pixels, row by row.
    pub image: Name,
    /// Number of pixels in each row.
    pub width: Value,
}

/// Returns the number of pixels and the row length of an image that consists of whole squares.
fn image_of(
    question: &Question<'_>,
    image: &Name,
    width: &Value,
) -> Result<(usize, usize), Diagnostic> {
    let (cells, columns) = question.rows_of(image, width)?;
    if !columns.is_multiple_of(8) || !(cells / columns).is_multiple_of(8) {
        let message = format!(
            "{} rows of {columns} pixels cannot be divided into squares of 8 x 8",
            cells / columns
        );
        return Err(width.error(message));
    }
    Ok((cells, columns))
}

impl Reference for DctQuantised {
    const NAME: &'static str = "DctQuantised";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape::f32s(image_of(question, &self.image, &self.width)?.0))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (_, width) = image_of(question, &self.image, &self.width)?;
        Ok(bits(&dct_quantised(&question.f32s(&self.image)?, width)))
    }
}

impl Reference for DctRestored {
    const NAME: &'static str = "DctRestored";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape::f32s(image_of(question, &self.image, &self.width)?.0))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (_, width) = image_of(question, &self.image, &self.width)?;
        let coefficients = dct_quantised(&question.f32s(&self.image)?, width);
        Ok(bits(&dct_inverse(&coefficients, width)))
    }
}

type Square = [[f32; 8]; 8];

/// sqrt(1/8), then cos(j pi / 16) / 2 for j = 1..=7, with the digits used in the kernel.
#[expect(
    clippy::excessive_precision,
    reason = "the same digits as in the kernel"
)]
const HALF_COSINES: [f32; 8] = [
    0.353_553_391,
    0.490_392_640,
    0.461_939_766,
    0.415_734_806,
    0.353_553_391,
    0.277_785_117,
    0.191_341_716,
    0.097_545_161_0,
];

/// Returns the matrix with entry (k, i) equal to weight(k) * cos((2 i + 1) k pi / 16).
fn cosines() -> Square {
    let entry = |k: usize, i: usize| match (2 * i + 1) * k % 32 {
        _ if k == 0 => HALF_COSINES[0],
        angle @ ..8 => HALF_COSINES[angle],
        angle @ 8..=16 => -HALF_COSINES[16 - angle],
        angle @ 17..24 => -HALF_COSINES[angle - 16],
        angle => HALF_COSINES[32 - angle],
    };
    std::array::from_fn(|k| std::array::from_fn(|i| entry(k, i)))
}

fn transposed(square: &Square) -> Square {
    std::array::from_fn(|row| std::array::from_fn(|column| square[column][row]))
}

/// Multiplies two squares, adding terms in ascending order from zero. Each product is rounded
/// before the addition.
fn product(left: &Square, right: &Square) -> Square {
    let entry = |row: usize, column: usize| {
        (0..8).fold(0.0, |sum, k| sum + left[row][k] * right[k][column])
    };
    std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)))
}

/// Applies a function to every square of an image.
fn by_squares(pixels: &[f32], width: usize, change: impl Fn(&Square) -> Square) -> Vec<f32> {
    assert!(
        width.is_multiple_of(8) && pixels.len().is_multiple_of(8 * width),
        "whole squares"
    );
    let mut output = vec![0.0; pixels.len()];
    for top in (0..pixels.len() / width).step_by(8) {
        for left in (0..width).step_by(8) {
            let at = |row: usize, column: usize| (top + row) * width + left + column;
            let square = std::array::from_fn(|r| std::array::from_fn(|c| pixels[at(r, c)]));
            let changed = change(&square);
            for (row, cells) in changed.iter().enumerate() {
                output[at(row, 0)..][..8].copy_from_slice(cells);
            }
        }
    }
    output
}

/// Transforms every square of 8 x 8 pixels of a row-major image. Each coefficient is rounded to the
/// nearest multiple of its step, 4 + 2 (u + v) for row v and column u. The kernels give the same
/// bits.
///
/// # Panics
/// Panics if the pixels do not fill whole squares.
pub fn dct_quantised(pixels: &[f32], width: usize) -> Vec<f32> {
    let forward = cosines();
    let back = transposed(&forward);
    by_squares(pixels, width, |square| {
        let mut coefficients = product(&product(&forward, square), &back);
        for (v, row) in coefficients.iter_mut().enumerate() {
            for (u, coefficient) in row.iter_mut().enumerate() {
                let step = (4 + 2 * (u + v)) as f32;
                let scaled = *coefficient / step;
                let rounded = (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32;
                *coefficient = rounded as f32 * step;
            }
        }
        coefficients
    })
}

/// Computes the inverse transform. The kernel gives the same bits.
///
/// # Panics
/// Panics if the coefficients do not fill whole squares.
pub fn dct_inverse(coefficients: &[f32], width: usize) -> Vec<f32> {
    let forward = cosines();
    let back = transposed(&forward);
    by_squares(coefficients, width, |square| {
        product(&product(&back, square), &forward)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_the_cosines() {
        for (k, row) in cosines().iter().enumerate() {
            for (i, found) in row.iter().enumerate() {
                let weight = if k == 0 { 0.125_f64.sqrt() } else { 0.5 };
                let angle = ((2 * i + 1) * k) as f64 * std::f64::consts::PI / 16.0;
                let wanted = weight * angle.cos();
                assert!(
                    (f64::from(*found) - wanted).abs() < 1e-7,
                    "{k} {i}: {found} {wanted}"
                );
            }
        }
    }

    #[test]
    fn an_even_square_has_one_coefficient() {
        let coefficients = dct_quantised(&[32.0; 64], 8);
        assert_eq!(coefficients[0], 256.0);
        assert!(coefficients[1..].iter().all(|c| *c == 0.0));
    }

    #[test]
    fn the_transform_back_is_near_the_start() {
        let image: Vec<f32> = (0..256).map(|i| (i * 37 % 101) as f32).collect();
        let restored = dct_inverse(&dct_quantised(&image, 16), 16);
        for (before, after) in image.iter().zip(&restored) {
            assert!((before - after).abs() < 40.0, "{before} {after}");
        }
    }
}
