//! Mandelbrot set computed by subdivision (Mariani and Silver).

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::Value;

/// Iterations after which each pixel of a square picture escapes, as computed by [`mandelbrot`].
#[derive(Debug, Deserialize)]
pub struct Mandelbrot {
    /// Number of pixels per side, a power of two.
    pub width: Value,
    /// Real part at the left edge of the picture.
    pub left: Value,
    /// Imaginary part at the top edge of the picture.
    pub top: Value,
    /// Distance from one pixel to the next.
    pub step: Value,
    /// Maximum number of iterations for a pixel.
    pub limit: Value,
    /// Side length in pixels of squares that are not divided further.
    pub threshold: Value,
    /// Maximum depth of nested divisions of squares.
    pub depth: Value,
}

impl Mandelbrot {
    fn picture(&self, question: &Question<'_>) -> Result<Picture, Diagnostic> {
        let width = question.count(&self.width, "the width", 2)?;
        if !width.is_power_of_two() {
            let message = format!("a side length of {width} pixels, expected a power of two");
            return Err(self.width.error(message));
        }
        Ok(Picture {
            width,
            left: question.single(&self.left, "the left edge")?,
            top: question.single(&self.top, "the top")?,
            step: question.single(&self.step, "the step")?,
            limit: question.word(&self.limit, "the limit")?,
            threshold: question.count(&self.threshold, "the threshold", 2)?,
            depth: question.word(&self.depth, "the depth")?,
        })
    }
}

impl Reference for Mandelbrot {
    const NAME: &'static str = "Mandelbrot";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let width = self.picture(question)?.width;
        Ok(Shape::u32s(width * width))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(mandelbrot(&self.picture(question)?))
    }
}

/// Square section of the complex plane, with iteration limits.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Number of pixels per side, a power of two.
    pub width: usize,
    /// Real part at the left edge of the picture.
    pub left: f32,
    /// Imaginary part at the top edge of the picture.
    pub top: f32,
    /// Distance from one pixel to the next.
    pub step: f32,
    /// Maximum number of iterations for a pixel.
    pub limit: u32,
    /// Side length in pixels of squares that are not divided further.
    pub threshold: usize,
    /// Maximum depth of nested divisions of squares.
    pub depth: u32,
}

impl Picture {
    /// Returns the iterations of z² + c from 0 before |z| exceeds 2, in single precision without
    /// fused operations.
    fn dwell(&self, x: usize, y: usize) -> u32 {
        let cx = self.left + x as f32 * self.step;
        let cy = self.top + y as f32 * self.step;
        let (mut zx, mut zy) = (0.0_f32, 0.0_f32);
        let mut steps = 0;
        while steps < self.limit {
            let (xx, yy) = (zx * zx, zy * zy);
            if xx + yy > 4.0 {
                break;
            }
            zy = 2.0 * zx * zy + cy;
            zx = xx - yy + cx;
            steps += 1;
        }
        steps
    }
}

/// Computes the iterations of each pixel, row by row. If all border pixels of a square have the
/// same count, its inside is assumed to have it as well. Other squares are divided into quarters,
/// down to the threshold and the depth.
pub fn mandelbrot(picture: &Picture) -> Vec<u32> {
    let mut dwells = vec![0; picture.width * picture.width];
    let mut open = vec![(0, 0, picture.width, picture.depth)];
    while let Some((x, y, size, depth)) = open.pop() {
        let edge = size - 1;
        let border =
            (0..edge).flat_map(|at| [(at, 0), (edge, at), (edge - at, edge), (0, edge - at)]);
        let mut of_border = Vec::new();
        for (px, py) in border {
            let dwell = picture.dwell(x + px, y + py);
            dwells[(y + py) * picture.width + x + px] = dwell;
            of_border.push(dwell);
        }
        let is_even = of_border.iter().all(|dwell| *dwell == of_border[0]);
        if !is_even && size > picture.threshold && depth > 0 {
            let half = size / 2;
            for (dx, dy) in [(0, 0), (half, 0), (0, half), (half, half)] {
                open.push((x + dx, y + dy, half, depth - 1));
            }
            continue;
        }
        for py in y + 1..y + edge {
            for px in x + 1..x + edge {
                let dwell = if is_even {
                    of_border[0]
                } else {
                    picture.dwell(px, py)
                };
                dwells[py * picture.width + px] = dwell;
            }
        }
    }
    dwells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdivision_finds_what_every_pixel_alone_finds() {
        let picture = Picture {
            width: 64,
            left: -2.0,
            top: -1.25,
            step: 0.04,
            limit: 60,
            threshold: 8,
            depth: 6,
        };
        let found = mandelbrot(&picture);
        let different = (0..64 * 64).filter(|at| found[*at] != picture.dwell(at % 64, at / 64));
        assert!(
            different.count() <= 4,
            "a filament may pass between the pixels of a border"
        );
        assert!(found.contains(&60) && found.contains(&1));
    }
}
