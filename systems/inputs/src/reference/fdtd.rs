//! 3-D finite-difference stencil of radius 4.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Number of padding cells on each side.
const RADIUS: usize = 4;

/// Volume after some steps, as computed by [`fdtd_3d`].
#[derive(Debug, Deserialize)]
pub struct Fdtd3d {
    /// Buffer with the volume before the first step, including its padding.
    pub input: Name,
    /// Number of cells along x, without padding.
    pub nx: Value,
    /// Number of cells along y, without padding.
    pub ny: Value,
    /// Number of cells along z, without padding.
    pub nz: Value,
    /// Number of time steps to compute.
    pub steps: Value,
    /// Factors of the cell and of those at distance 1, 2, 3 and 4.
    pub factors: [Value; RADIUS + 1],
}

impl Fdtd3d {
    fn extent(&self, question: &Question<'_>) -> Result<[usize; 3], Diagnostic> {
        let sides = [&self.nx, &self.ny, &self.nz];
        let [x, y, z] = sides.map(|side| question.count(side, "the cells along an axis", 1));
        Ok([x?, y?, z?])
    }

    fn numbers(&self, question: &Question<'_>) -> Result<[f32; RADIUS + 1], Diagnostic> {
        let mut numbers = [0.0; RADIUS + 1];
        for (number, value) in numbers.iter_mut().zip(&self.factors) {
            *number = question.single(value, "a factor")?;
        }
        Ok(numbers)
    }
}

impl Reference for Fdtd3d {
    const NAME: &'static str = "Fdtd3d";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let padded = self.extent(question)?.map(|side| side + 2 * RADIUS);
        let cells = padded.into_iter().fold(1, usize::saturating_mul);
        question.expect_length(&self.input, F32, cells)?;
        question.count(&self.steps, "the number of steps", 0)?;
        self.numbers(question)?;
        Ok(Shape::f32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (extent, factors) = (self.extent(question)?, self.numbers(question)?);
        let mut cells = question.f32s(&self.input)?;
        for _ in 0..question.count(&self.steps, "the number of steps", 0)? {
            cells = fdtd_3d(&cells, extent, factors);
        }
        Ok(bits(&cells))
    }
}

/// Computes one step on a volume of `[nx, ny, nz]` cells with 4 cells of padding on each side,
/// which is unchanged. The result is `f0 * cell`, then for r = 1..=4
/// `+ f[r] * (((((north + south) + west) + east) + above) + below)`. Every operation is rounded to
/// single precision. The kernel gives the same bits.
///
/// # Panics
/// Panics if the number of cells does not match the volume with its padding.
pub fn fdtd_3d(input: &[f32], [nx, ny, nz]: [usize; 3], factors: [f32; 5]) -> Vec<f32> {
    let row = nx + 2 * RADIUS;
    let plane = row * (ny + 2 * RADIUS);
    assert_eq!(input.len(), plane * (nz + 2 * RADIUS), "the padded volume");
    let mut output = input.to_vec();
    for z in RADIUS..RADIUS + nz {
        for y in RADIUS..RADIUS + ny {
            for x in RADIUS..RADIUS + nx {
                let here = z * plane + y * row + x;
                let mut value = factors[0] * input[here];
                for (r, factor) in factors.iter().enumerate().skip(1) {
                    let in_plane = input[here - r * row]
                        + input[here + r * row]
                        + input[here - r]
                        + input[here + r];
                    value +=
                        factor * (in_plane + input[here + r * plane] + input[here - r * plane]);
                }
                output[here] = value;
            }
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTORS: [f32; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

    #[test]
    fn a_single_one_reaches_four_cells_in_each_direction() {
        let mut input = vec![0.0; 17 * 17 * 17];
        let at = |x: usize, y: usize, z: usize| (z * 17 + y) * 17 + x;
        input[at(8, 8, 8)] = 1.0;
        let output = fdtd_3d(&input, [9, 9, 9], FACTORS);
        for (r, factor) in FACTORS.into_iter().enumerate() {
            for cell in [at(8 + r, 8, 8), at(8, 8 - r, 8), at(8, 8, 8 + r)] {
                assert_eq!(output[cell], factor);
            }
        }
        assert_eq!(
            output.iter().filter(|cell| **cell != 0.0).count(),
            1 + 6 * 4
        );
    }

    #[test]
    fn the_padding_stays_as_it_is() {
        let input: Vec<f32> = (0..9 * 9 * 10).map(|i| i as f32).collect();
        let output = fdtd_3d(&input, [1, 1, 2], FACTORS);
        let changed = (0..input.len()).filter(|at| input[*at] != output[*at]);
        assert_eq!(changed.collect::<Vec<_>>(), [4 * 81 + 40, 5 * 81 + 40]);
    }
}
