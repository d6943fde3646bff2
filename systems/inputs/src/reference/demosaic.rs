//! Colour planes of a mosaic in which each cell knows one colour.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::U32;
use crate::{Name, Value};

/// One colour of every cell, as computed by [`demosaiced`].
#[derive(Debug, Deserialize)]
pub struct Demosaiced {
    /// Buffer with the mosaic, row by row, of numbers from 0 to 1023.
    pub mosaic: Name,
    /// Number of cells in each row.
    pub width: Value,
    /// Colour of the plane that the buffer holds.
    pub colour: Colour,
}

/// Colour of a cell in a mosaic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Colour {
    /// Known in even columns of even rows.
    Red,
    /// Known in all of the other cells.
    Green,
    /// Known in odd columns of odd rows.
    Blue,
}

/// Greatest value that a cell of a mosaic has.
const WHITE: i64 = 1023;

impl Demosaiced {
    fn columns(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        question.count(&self.width, "the width", 1)
    }
}

impl Reference for Demosaiced {
    const NAME: &'static str = "Demosaiced";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let cells = question.length(&self.mosaic, U32)?;
        let width = self.columns(question)?;
        if !cells.is_multiple_of(width) {
            let message = format!("{cells} cells cannot be divided into rows of {width}");
            return Err(self.width.error(message));
        }
        let values = question.u32s(&self.mosaic)?;
        if let Some(value) = values.iter().find(|value| i64::from(**value) > WHITE) {
            let message = format!("a cell of a mosaic is {value}, expected 0 to {WHITE}");
            return Err(self.mosaic.error(message));
        }
        Ok(Shape::u32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let width = self.columns(question)?;
        let mosaic = question.u32s(&self.mosaic)?;
        Ok(demosaiced(&mosaic, width, self.colour))
    }
}

/// Weights in sixteenths of the cell itself, of those beside, over and at the corners, and of those
/// at distance two beside and over.
type Weights = [i64; 6];

const GREEN: Weights = [8, 4, 4, 0, -2, -2];
const COLOUR_OF_ROW: Weights = [10, 8, 0, -2, -2, 1];
const COLOUR_OF_COLUMN: Weights = [10, 0, 8, -2, 1, -2];
const OPPOSITE: Weights = [12, 0, 0, 4, -3, -3];
const ITSELF: Weights = [16, 0, 0, 0, 0, 0];

fn weights(x: usize, y: usize, wanted: Colour) -> Weights {
    let own = match (x % 2, y % 2) {
        (0, 0) => Colour::Red,
        (1, 1) => Colour::Blue,
        _ => Colour::Green,
    };
    let is_of_row = wanted
        == if y.is_multiple_of(2) {
            Colour::Red
        } else {
            Colour::Blue
        };
    match (own, wanted) {
        _ if own == wanted => ITSELF,
        (_, Colour::Green) => GREEN,
        (Colour::Green, _) if is_of_row => COLOUR_OF_ROW,
        (Colour::Green, _) => COLOUR_OF_COLUMN,
        _ => OPPOSITE,
    }
}

/// Returns a colour of every cell of a row-major mosaic by gradient-corrected linear interpolation
/// (Malvar, He, Cutler, 2004). Sums of sixteenths are rounded down and limited to 0 to 1023. The
/// outermost two rings are 0. The kernel gives the same bits.
///
/// # Panics
/// Panics if the cells do not fill whole rows.
pub fn demosaiced(mosaic: &[u32], width: usize, colour: Colour) -> Vec<u32> {
    assert!(
        width > 0 && mosaic.len().is_multiple_of(width),
        "whole rows"
    );
    let height = mosaic.len() / width;
    let mut plane = vec![0; mosaic.len()];
    for y in 2..height.saturating_sub(2) {
        for x in 2..width.saturating_sub(2) {
            let around = |cells: &[(usize, usize)]| -> i64 {
                let cell = |(dx, dy)| i64::from(mosaic[(y + dy - 2) * width + x + dx - 2]);
                cells.iter().copied().map(cell).sum()
            };
            let sums = [
                around(&[(2, 2)]),
                around(&[(1, 2), (3, 2)]),
                around(&[(2, 1), (2, 3)]),
                around(&[(1, 1), (3, 1), (1, 3), (3, 3)]),
                around(&[(0, 2), (4, 2)]),
                around(&[(2, 0), (2, 4)]),
            ];
            let terms = sums.iter().zip(weights(x, y, colour));
            let sixteenths: i64 = terms.map(|(sum, weight)| sum * weight).sum();
            plane[y * width + x] = sixteenths.div_euclid(16).clamp(0, WHITE) as u32;
        }
    }
    plane
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOURS: [Colour; 3] = [Colour::Red, Colour::Green, Colour::Blue];

    #[test]
    fn a_grey_mosaic_is_grey_within_two_rings() {
        let mosaic = [500; 64];
        for colour in COLOURS {
            let plane = demosaiced(&mosaic, 8, colour);
            for (at, value) in plane.iter().enumerate() {
                let inner = (2..6).contains(&(at % 8)) && (2..6).contains(&(at / 8));
                assert_eq!(*value, if inner { 500 } else { 0 }, "{colour:?} {at}");
            }
        }
    }

    #[test]
    fn a_cell_keeps_the_colour_that_it_knows() {
        let mosaic: Vec<u32> = (0..64).map(|i| i * 37 % 1024).collect();
        let [red, green, blue] = COLOURS.map(|colour| demosaiced(&mosaic, 8, colour));
        for at in [2 * 8 + 2, 4 * 8 + 4] {
            assert_eq!(red[at], mosaic[at]);
        }
        for at in [2 * 8 + 3, 3 * 8 + 2] {
            assert_eq!(green[at], mosaic[at]);
        }
        assert_eq!(blue[3 * 8 + 3], mosaic[3 * 8 + 3]);
    }
}
