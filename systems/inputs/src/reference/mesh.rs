//! Meshes that are refined in regions of strong field variation.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Number of samples along a side of a square.
const SAMPLES: usize = 8;

/// Refinement level of each cell of a square mesh, as computed by [`refined_mesh`].
#[derive(Debug, Deserialize)]
pub struct RefinedMesh {
    /// Buffer with the heat sources: x and y as fractions of the width, strength.
    pub sources: Name,
    /// Number of cells per side, a power of two.
    pub width: Value,
    /// Field difference within a square above which it is divided.
    pub tolerance: Value,
    /// Factor of the squared distance in the field formula.
    pub focus: Value,
    /// Side length in cells of squares that are not divided further.
    pub threshold: Value,
    /// Maximum depth of nested divisions of squares.
    pub depth: Value,
}

impl RefinedMesh {
    fn mesh(&self, question: &Question<'_>) -> Result<Mesh, Diagnostic> {
        let width = question.count(&self.width, "the width", 1)?;
        if !width.is_power_of_two() {
            let message = format!("a side length of {width} cells, expected a power of two");
            return Err(self.width.error(message));
        }
        Ok(Mesh {
            width,
            tolerance: question.single(&self.tolerance, "the tolerance")?,
            focus: question.single(&self.focus, "the focus")?,
            threshold: question.count(&self.threshold, "the threshold", 1)?,
            depth: question.word(&self.depth, "the depth")?,
        })
    }
}

impl Reference for RefinedMesh {
    const NAME: &'static str = "RefinedMesh";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let length = question.length(&self.sources, F32)?;
        if !length.is_multiple_of(3) {
            let message = format!("{length} numbers, expected three for each source");
            return Err(self.sources.error(message));
        }
        let width = self.mesh(question)?.width;
        Ok(Shape::u32s(width * width))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let sources = question.f32s(&self.sources)?;
        Ok(refined_mesh(&self.mesh(question)?, &sources))
    }
}

/// Square mesh with its refinement parameters.
#[derive(Clone, Copy, Debug)]
pub struct Mesh {
    /// Number of cells per side, a power of two.
    pub width: usize,
    /// Field difference within a square above which it is divided.
    pub tolerance: f32,
    /// Factor of the squared distance in the field formula.
    pub focus: f32,
    /// Side length in cells of squares that are not divided further.
    pub threshold: usize,
    /// Maximum depth of nested divisions of squares.
    pub depth: u32,
}

impl Mesh {
    /// Computes the field: the sum over all sources of strength / (1 + squared distance × focus),
    /// in their order in single precision.
    fn field(&self, sources: &[f32], x: f32, y: f32) -> f32 {
        let width = self.width as f32;
        let mut value = 0.0_f32;
        for source in sources.chunks_exact(3) {
            let (dx, dy) = (x - source[0] * width, y - source[1] * width);
            value += source[2] / (1.0 + (dx * dx + dy * dy) * self.focus);
        }
        value
    }
}

/// Computes the level of each cell, row by row: the number of times the square around it was
/// divided. A square is divided if its 8 x 8 samples differ by more than the tolerance.
pub fn refined_mesh(mesh: &Mesh, sources: &[f32]) -> Vec<u32> {
    let mut levels = vec![0; mesh.width * mesh.width];
    let mut open = vec![(0, 0, mesh.width, 0)];
    while let Some((x, y, size, level)) = open.pop() {
        let cell = size as f32 / SAMPLES as f32;
        let samples = (0..SAMPLES * SAMPLES).map(|at| {
            let px = x as f32 + ((at % SAMPLES) as f32 + 0.5) * cell;
            let py = y as f32 + ((at / SAMPLES) as f32 + 0.5) * cell;
            mesh.field(sources, px, py)
        });
        let (low, high) = samples.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if high - low > mesh.tolerance && size > mesh.threshold && level < mesh.depth {
            let half = size / 2;
            for (dx, dy) in [(0, 0), (half, 0), (0, half), (half, half)] {
                open.push((x + dx, y + dy, half, level + 1));
            }
            continue;
        }
        for row in y..y + size {
            levels[row * mesh.width + x..][..size].fill(level);
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mesh_is_finest_at_the_source() {
        let mesh = Mesh {
            width: 64,
            tolerance: 0.2,
            focus: 0.05,
            threshold: 2,
            depth: 24,
        };
        let levels = refined_mesh(&mesh, &[0.25, 0.25, 1.0]);
        assert_eq!(levels[16 * 64 + 16], *levels.iter().max().unwrap());
        assert!(levels[60 * 64 + 60] < levels[16 * 64 + 16]);
        assert_eq!(refined_mesh(&mesh, &[]), vec![0; 64 * 64]);
    }
}
