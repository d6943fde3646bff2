//! Jacobi steps of the Laplace equation in three dimensions.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Volume after some steps, as computed by [`laplace_3d`].
#[derive(Debug, Deserialize)]
pub struct Laplace3d {
    /// Buffer with the volume before the first step.
    pub input: Name,
    /// Number of cells along x, outermost ones included.
    pub nx: Value,
    /// Number of cells along y, outermost ones included.
    pub ny: Value,
    /// Number of cells along z, outermost ones included.
    pub nz: Value,
    /// Number of steps to compute, 0 or more.
    pub steps: Value,
    /// Factor of the sum of the six neighbours.
    pub factor: Value,
}

impl Laplace3d {
    fn extent(&self, question: &Question<'_>) -> Result<[usize; 3], Diagnostic> {
        let sides = [&self.nx, &self.ny, &self.nz];
        let [x, y, z] = sides.map(|side| question.count(side, "the cells along an axis", 1));
        Ok([x?, y?, z?])
    }
}

impl Reference for Laplace3d {
    const NAME: &'static str = "Laplace3d";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let extent = self.extent(question)?;
        let cells = extent.into_iter().fold(1, usize::saturating_mul);
        question.expect_length(&self.input, F32, cells)?;
        question.count(&self.steps, "the number of steps", 0)?;
        question.single(&self.factor, "the factor")?;
        Ok(Shape::f32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let extent = self.extent(question)?;
        let factor = question.single(&self.factor, "the factor")?;
        let mut cells = question.f32s(&self.input)?;
        for _ in 0..question.count(&self.steps, "the number of steps", 0)? {
            cells = laplace_3d(&cells, extent, factor);
        }
        Ok(bits(&cells))
    }
}

/// Computes one step on a volume of `[nx, ny, nz]` cells:
/// `factor * (((((north + south) + west) + east) + below) + above)`, every operation rounded to
/// single precision. The outermost cells are unchanged. The kernel gives the same bits.
///
/// # Panics
/// Panics if the number of cells does not match the volume.
pub fn laplace_3d(input: &[f32], [nx, ny, nz]: [usize; 3], factor: f32) -> Vec<f32> {
    let plane = nx * ny;
    assert_eq!(input.len(), plane * nz, "the volume");
    let mut output = input.to_vec();
    for z in 1..nz.saturating_sub(1) {
        for y in 1..ny.saturating_sub(1) {
            for x in 1..nx.saturating_sub(1) {
                let here = z * plane + y * nx + x;
                let in_plane =
                    input[here - nx] + input[here + nx] + input[here - 1] + input[here + 1];
                output[here] = factor * (in_plane + input[here - plane] + input[here + plane]);
            }
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_one_reaches_its_six_neighbours() {
        let mut input = vec![0.0; 125];
        input[62] = 1.0;
        let output = laplace_3d(&input, [5, 5, 5], 0.5);
        let changed: Vec<usize> = (0..125).filter(|at| output[*at] == 0.5).collect();
        assert_eq!(changed, [37, 57, 61, 63, 67, 87]);
        assert_eq!(output[62], 0.0);
    }

    #[test]
    fn the_outermost_cells_stay_as_they_are() {
        let input: Vec<f32> = (0..27).map(|i| i as f32).collect();
        let output = laplace_3d(&input, [3, 3, 3], 1.0);
        let changed: Vec<usize> = (0..27).filter(|at| output[*at] != input[*at]).collect();
        assert_eq!(changed, [13]);
    }
}
