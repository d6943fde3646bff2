//! Compression of squares of pixels to two colours and choices among four.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::U32;
use crate::{Name, Value};

/// Compressed squares of 4 x 4 pixels, as computed by [`compressed_block`].
#[derive(Debug, Deserialize)]
pub struct CompressedBlocks {
    /// Buffer with the picture, row by row.
    pub picture: Name,
    /// Number of pixels in each row, a multiple of 4.
    pub width: Value,
}

impl CompressedBlocks {
    /// Returns the number of pixels and the width.
    fn size(&self, question: &Question<'_>) -> Result<(usize, usize), Diagnostic> {
        let pixels = question.length(&self.picture, U32)?;
        let width = question.count(&self.width, "the width", 4)?;
        if !width.is_multiple_of(4) || !pixels.is_multiple_of(4 * width) {
            let message = format!("{pixels} pixels of rows of {width} are no squares of 4 x 4");
            return Err(self.width.error(message));
        }
        Ok((pixels, width))
    }
}

impl Reference for CompressedBlocks {
    const NAME: &'static str = "CompressedBlocks";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape::u32s(self.size(question)?.0 / 8))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (pixels, width) = self.size(question)?;
        let picture = question.u32s(&self.picture)?;
        let across = width / 4;
        let blocks = (0..pixels / 16).flat_map(|block| {
            let corner = block / across * 4 * width + block % across * 4;
            compressed_block(std::array::from_fn(|i| {
                picture[corner + i / 4 * width + i % 4]
            }))
        });
        Ok(blocks.collect())
    }
}

/// Red, green and blue, each from 0 to 255.
type Colour = [u32; 3];

fn colour(pixel: u32) -> Colour {
    [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]
}

fn distance(a: Colour, b: Colour) -> u32 {
    let squares = a.iter().zip(b).map(|(a, b)| a.abs_diff(b).pow(2));
    squares.sum()
}

/// Returns the number of the nearest colour, the first of equally near ones, and its distance.
fn nearest(palette: &[Colour; 4], pixel: u32) -> (u32, u32) {
    let own = colour(pixel);
    let mut best = (0, u32::MAX);
    for (number, &other) in palette.iter().enumerate() {
        let distance = distance(own, other);
        if distance < best.1 {
            best = (number as u32, distance);
        }
    }
    best
}

/// Compresses 16 pixels, row by row, to two words. The first holds two colours of 5, 6 and 5 bits,
/// the greater in its lower half. The second holds the choice of each pixel among four colours:
/// these, and two a third of the way between them. The colours are those of the two pixels with the
/// least sum of squared distances, the first of equal pairs.
pub fn compressed_block(pixels: [u32; 16]) -> [u32; 2] {
    let mut best = ([0, 0], u32::MAX);
    for one in 0..15 {
        for other in one + 1..16 {
            let codes = [pixels[one], pixels[other]].map(|pixel| {
                let [red, green, blue] = colour(pixel);
                ((red / 8) << 11) | ((green / 4) << 5) | (blue / 8)
            });
            let (first, last) = (codes[0].max(codes[1]), codes[0].min(codes[1]));
            let [from, to] = [first, last].map(|code| {
                let [red, green, blue] = [code >> 11, (code >> 5) & 63, code & 31];
                [
                    (red << 3) | (red >> 2),
                    (green << 2) | (green >> 4),
                    (blue << 3) | (blue >> 2),
                ]
            });
            let towards = |a: Colour, b: Colour| [0, 1, 2].map(|i| (2 * a[i] + b[i]) / 3);
            let palette = [from, to, towards(from, to), towards(to, from)];
            let sum = pixels.iter().map(|&pixel| nearest(&palette, pixel).1).sum();
            if sum < best.1 {
                let choices = pixels.iter().enumerate();
                let choices = choices.map(|(i, &pixel)| nearest(&palette, pixel).0 << (2 * i));
                best = ([first | (last << 16), choices.sum()], sum);
            }
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_colours_are_kept_and_a_third_chooses_between() {
        // White, black, and two thirds of white.
        let mut pixels = [0; 16];
        pixels[0] = 0x00ff_ffff;
        pixels[2] = 0x00aa_aaaa;
        let found = compressed_block(pixels);
        // White is the first colour; black has number 1, the grey number 2.
        assert_eq!(found, [0xffff, 0x5555_5564]);
    }
}
