//! Regional maxima of an image, found by flooding.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::U32;
use crate::{Name, Value};

/// 1 for cells of regional maxima and 0 for others, as computed by [`regional_maxima`].
#[derive(Debug, Deserialize)]
pub struct RegionalMaxima {
    /// Buffer with the image, row by row.
    pub image: Name,
    /// Number of cells in each row.
    pub width: Value,
}

impl RegionalMaxima {
    fn columns(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        question.count(&self.width, "the width", 1)
    }
}

impl Reference for RegionalMaxima {
    const NAME: &'static str = "RegionalMaxima";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let cells = question.length(&self.image, U32)?;
        let width = self.columns(question)?;
        if !cells.is_multiple_of(width) {
            let message = format!("{cells} cells cannot be divided into rows of {width}");
            return Err(self.width.error(message));
        }
        Ok(Shape::u32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let width = self.columns(question)?;
        Ok(regional_maxima(&question.u32s(&self.image)?, width))
    }
}

/// Marks connected cells of one value whose other neighbours are all lower; cells have eight
/// neighbours. The outermost ring is marked as a whole and limits others by its values.
///
/// A flood from cells with a higher neighbour clears the rest of their plateaus.
///
/// # Panics
/// Panics if the cells do not fill whole rows.
pub fn regional_maxima(image: &[u32], width: usize) -> Vec<u32> {
    assert!(width > 0 && image.len().is_multiple_of(width), "whole rows");
    let height = image.len() / width;
    let is_inner = |at: usize| {
        let (x, y) = (at % width, at / width);
        x > 0 && y > 0 && x + 1 < width && y + 1 < height
    };
    let around = |at: usize| {
        let rows = [at - width, at, at + width];
        rows.into_iter().flat_map(|row| row - 1..=row + 1)
    };
    let mut marks = vec![1; image.len()];
    let inner = (0..image.len()).filter(|at| is_inner(*at));
    let mut cleared: Vec<usize> = inner
        .filter(|at| around(*at).any(|n| image[n] > image[*at]))
        .collect();
    for &at in &cleared {
        marks[at] = 0;
    }
    while let Some(at) = cleared.pop() {
        for n in around(at) {
            if marks[n] == 1 && image[n] == image[at] && is_inner(n) {
                marks[n] = 0;
                cleared.push(n);
            }
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plateau_is_a_maximum_as_a_whole_or_not_at_all() {
        #[rustfmt::skip]
        let image = [
            0, 0, 0, 0, 0, 0, 0,
            0, 5, 5, 0, 3, 3, 0,
            0, 0, 5, 0, 0, 0, 3,
            0, 1, 0, 0, 3, 4, 0,
            0, 0, 0, 0, 0, 0, 0,
        ];
        #[rustfmt::skip]
        let expected = [
            1, 1, 1, 1, 1, 1, 1,
            1, 1, 1, 0, 1, 1, 1,
            1, 0, 1, 0, 0, 0, 1,
            1, 0, 0, 0, 0, 1, 1,
            1, 1, 1, 1, 1, 1, 1,
        ];
        assert_eq!(regional_maxima(&image, 7), expected);
    }

    #[test]
    fn an_image_without_inner_cells_is_all_ring() {
        assert_eq!(regional_maxima(&[1, 2, 3, 4], 2), [1; 4]);
        assert!(regional_maxima(&[], 3).is_empty());
    }
}
