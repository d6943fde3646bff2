//! Differences between the squares of two pictures.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::U32;
use crate::{Name, Value};

/// Sums of absolute differences, as computed by [`picture_differences`].
#[derive(Debug, Deserialize)]
pub struct PictureDifferences {
    /// Buffer with the picture, row by row.
    pub picture: Name,
    /// Buffer with the picture that is moved.
    pub reference: Name,
    /// Number of pixels in each row, a multiple of 16.
    pub width: Value,
}

impl PictureDifferences {
    fn width(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        let pixels = question.length(&self.picture, U32)?;
        let width = question.count(&self.width, "the width", 16)?;
        if pixels == 0 || !width.is_multiple_of(16) || !pixels.is_multiple_of(16 * width) {
            let message = format!("{pixels} pixels of rows of {width} are no squares of 16 x 16");
            return Err(self.width.error(message));
        }
        Ok(width)
    }
}

impl Reference for PictureDifferences {
    const NAME: &'static str = "PictureDifferences";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.width(question)?;
        let pixels = question.length(&self.picture, U32)?;
        question.expect_length(&self.reference, U32, pixels)?;
        Ok(Shape::u32s(pixels / 256 * MOVES * 16))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let width = self.width(question)?;
        let picture = question.u32s(&self.picture)?;
        Ok(picture_differences(
            &picture,
            &question.u32s(&self.reference)?,
            width,
        ))
    }
}

/// Greatest distance of a move along an axis.
const REACH: usize = 4;
/// Number of moves, the one that rests included.
const MOVES: usize = (2 * REACH + 1) * (2 * REACH + 1);

/// Computes the sums of absolute differences modulo 2^32. There is one for each square of 16 x 16
/// pixels, each of 9 x 9 moves, and each square of 4 x 4. All of these are numbered row by row. The
/// nearest pixel counts beyond the edge.
///
/// # Panics
/// Panics if the pictures differ in size, or are not made of whole squares.
pub fn picture_differences(picture: &[u32], reference: &[u32], width: usize) -> Vec<u32> {
    assert_eq!(picture.len(), reference.len(), "pictures of one size");
    assert!(width.is_multiple_of(16) && picture.len().is_multiple_of(16 * width));
    let height = picture.len() / width;
    let near =
        |at: usize, moved: usize, size: usize| (at + moved).saturating_sub(REACH).min(size - 1);
    let sum = |number: usize| {
        let (square, move_number, small) = (number / 16 / MOVES, number / 16 % MOVES, number % 16);
        let (dx, dy) = (move_number % 9, move_number / 9);
        let x = square % (width / 16) * 16 + small % 4 * 4;
        let y = square / (width / 16) * 16 + small / 4 * 4;
        let pixels = (0..16).map(|i| (x + i % 4, y + i / 4));
        let differences = pixels.map(|(x, y)| {
            let other = reference[near(y, dy, height) * width + near(x, dx, width)];
            picture[y * width + x].abs_diff(other)
        });
        differences.fold(0_u32, u32::wrapping_add)
    };
    (0..picture.len() / 256 * MOVES * 16).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_equals_itself_without_a_move() {
        let picture: Vec<u32> = (0..256).map(|i| i % 16 * 10).collect();
        let found = picture_differences(&picture, &picture, 16);
        assert_eq!(found.len(), MOVES * 16);
        let rest = REACH * 9 + REACH;
        assert_eq!(found[rest * 16..][..16], [0; 16]);
        // One to the right: 16 pixels differ by 10, except at the right edge.
        assert_eq!(found[(rest + 1) * 16..][..4], [160, 160, 160, 120]);
    }
}
