//! Heat conduction on a chip, computed in time steps.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Temperatures after some steps, as computed by [`hotspot`].
#[derive(Debug, Deserialize)]
pub struct Hotspot {
    /// Buffer with the temperatures before the first step.
    pub temperature: Name,
    /// Buffer with the power of each cell.
    pub power: Name,
    /// Number of cells in each row.
    pub width: Value,
    /// Number of time steps to compute.
    pub steps: Value,
    /// Length of a step divided by the heat capacity of a cell.
    pub step: Value,
    /// Conductance between neighbours in a row.
    pub rx: Value,
    /// Conductance between neighbours in a column.
    pub ry: Value,
    /// Conductance between a cell and the air.
    pub rz: Value,
    /// Temperature of the air around the chip.
    pub ambient: Value,
}

impl Hotspot {
    fn chip(&self, question: &Question<'_>) -> Result<Chip, Diagnostic> {
        let factor = |value| question.single(value, "a factor");
        Ok(Chip {
            step: factor(&self.step)?,
            rx: factor(&self.rx)?,
            ry: factor(&self.ry)?,
            rz: factor(&self.rz)?,
            ambient: question.single(&self.ambient, "the ambient temperature")?,
        })
    }
}

impl Reference for Hotspot {
    const NAME: &'static str = "Hotspot";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let cells = question.rows_of(&self.temperature, &self.width)?.0;
        question.expect_length(&self.power, F32, cells)?;
        question.count(&self.steps, "the number of steps", 0)?;
        self.chip(question)?;
        Ok(Shape::f32s(cells))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (_, width) = question.rows_of(&self.temperature, &self.width)?;
        let power = question.f32s(&self.power)?;
        let chip = self.chip(question)?;
        let mut cells = question.f32s(&self.temperature)?;
        for _ in 0..question.count(&self.steps, "the number of steps", 0)? {
            cells = hotspot(&cells, &power, width, chip);
        }
        Ok(bits(&cells))
    }
}

/// Thermal parameters of a chip and its environment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chip {
    /// Length of a step divided by the heat capacity of a cell.
    pub step: f32,
    /// Conductance between neighbours in a row.
    pub rx: f32,
    /// Conductance between neighbours in a column.
    pub ry: f32,
    /// Conductance between a cell and the air.
    pub rz: f32,
    /// Temperature of the air around the chip.
    pub ambient: f32,
}

/// Computes one step on a row-major grid with `width` cells per row:
/// `cell + step * (((power + vertical) + horizontal) + to_air)`. Every operation is rounded to
/// single precision. Neighbours outside the grid equal the cell itself. The kernel gives the same
/// bits.
///
/// # Panics
/// Panics if the cells do not fill whole rows, or `power` has another number of cells.
pub fn hotspot(cells: &[f32], power: &[f32], width: usize, chip: Chip) -> Vec<f32> {
    assert_eq!(cells.len(), power.len(), "power of every cell");
    assert!(width > 0 && cells.len().is_multiple_of(width), "whole rows");
    let height = cells.len() / width;
    let step = |at: usize| {
        let (x, y) = (at % width, at / width);
        let cell = cells[at];
        let north = cells[y.saturating_sub(1) * width + x];
        let south = cells[(y + 1).min(height - 1) * width + x];
        let west = cells[y * width + x.saturating_sub(1)];
        let east = cells[y * width + (x + 1).min(width - 1)];
        let vertical = ((north + south) - (cell + cell)) * chip.ry;
        let horizontal = ((east + west) - (cell + cell)) * chip.rx;
        let to_air = (chip.ambient - cell) * chip.rz;
        cell + chip.step * (((power[at] + vertical) + horizontal) + to_air)
    };
    (0..cells.len()).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHIP: Chip = Chip {
        step: 0.5,
        rx: 0.25,
        ry: 0.125,
        rz: 0.0,
        ambient: 80.0,
    };

    #[test]
    fn an_even_grid_without_power_or_air_stays_as_it_is() {
        assert_eq!(hotspot(&[3.0; 12], &[0.0; 12], 4, CHIP), [3.0; 12]);
    }

    #[test]
    fn heat_flows_to_the_four_neighbours() {
        #[rustfmt::skip]
        let cells = [
            0.0, 0.0, 0.0,
            0.0, 8.0, 0.0,
            0.0, 0.0, 0.0,
        ];
        #[rustfmt::skip]
        let expected = [
            0.0, 0.5, 0.0,
            1.0, 5.0, 1.0,
            0.0, 0.5, 0.0,
        ];
        assert_eq!(hotspot(&cells, &[0.0; 9], 3, CHIP), expected);
    }

    #[test]
    fn power_heats_and_air_draws_to_its_temperature() {
        let chip = Chip { rz: 0.5, ..CHIP };
        assert_eq!(hotspot(&[80.0], &[4.0], 1, chip), [82.0]);
        assert_eq!(hotspot(&[40.0], &[0.0], 1, chip), [50.0]);
    }
}
