//! Training of one perceptron layer with 16 hidden units.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::Name;
use crate::element::ElementType::F32;

/// Number of hidden units, and of inputs that one work-group sums.
const HIDDEN: usize = 16;
/// Weights per input: a bias, then one for each hidden unit.
const PITCH: usize = HIDDEN + 1;

/// Sums over each 16 inputs, as computed by [`layer_forward`].
#[derive(Debug, Deserialize)]
pub struct LayerForward {
    /// Buffer with a bias, then the inputs, a multiple of 16.
    pub input: Name,
    /// Buffer with a row of 17 weights for each of them.
    pub weights: Name,
}

/// Weights after training, as computed by [`adjusted_weights`].
#[derive(Debug, Deserialize)]
pub struct AdjustedWeights {
    /// Buffer with a bias, then the errors of the 16 hidden units.
    pub delta: Name,
    /// Buffer with a bias, then the inputs, a multiple of 16.
    pub input: Name,
    /// Buffer with a row of 17 weights for each of them.
    pub weights: Name,
    /// Buffer with the previous changes of the weights.
    pub changes: Name,
}

/// Returns the number of inputs without the bias.
fn inputs(question: &Question<'_>, input: &Name, weights: &Name) -> Result<usize, Diagnostic> {
    let length = question.length(input, F32)?;
    if length % HIDDEN != 1 {
        let message = format!("{length} inputs, expected one bias and a multiple of {HIDDEN}");
        return Err(input.error(message));
    }
    question.expect_length(weights, F32, length * PITCH)?;
    Ok(length - 1)
}

impl Reference for LayerForward {
    const NAME: &'static str = "LayerForward";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape::f32s(inputs(question, &self.input, &self.weights)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (input, weights) = (question.f32s(&self.input)?, question.f32s(&self.weights)?);
        Ok(bits(&layer_forward(&input, &weights)))
    }
}

impl Reference for AdjustedWeights {
    const NAME: &'static str = "AdjustedWeights";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let rows = inputs(question, &self.input, &self.weights)? + 1;
        question.expect_length(&self.changes, F32, rows * PITCH)?;
        question.expect_length(&self.delta, F32, PITCH)?;
        Ok(Shape::f32s(rows * PITCH))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let mut weights = question.f32s(&self.weights)?;
        let (delta, input) = (question.f32s(&self.delta)?, question.f32s(&self.input)?);
        adjusted_weights(&delta, &input, &mut weights, &question.f32s(&self.changes)?);
        Ok(bits(&weights))
    }
}

/// Computes the sum of `weight * input` for each 16 inputs and each hidden unit, by halves at
/// distance 1, 2, 4 and 8, in this order. Row 0 of the weights and column 0 are the bias and are
/// not included. The kernel gives the same bits.
///
/// # Panics
/// Panics if there are fewer weights than the inputs need.
pub fn layer_forward(input: &[f32], weights: &[f32]) -> Vec<f32> {
    let groups = (input.len() - 1) / HIDDEN;
    let sum = |at: usize| {
        let (first, unit) = (at / HIDDEN * HIDDEN + 1, at % HIDDEN + 1);
        let product = |i: usize| weights[i * PITCH + unit] * input[i];
        pairwise(&(first..first + HIDDEN).map(product).collect::<Vec<_>>())
    };
    (0..groups * HIDDEN).map(sum).collect()
}

fn pairwise(values: &[f32]) -> f32 {
    if let [value] = values {
        return *value;
    }
    let (left, right) = values.split_at(values.len() / 2);
    pairwise(left) + pairwise(right)
}

/// Adds `0.3 * delta * input + 0.3 * change` to every weight, and `0.3 * delta + 0.3 * change` to
/// those of row 0. Column 0 is unchanged. The kernel gives the same bits.
///
/// # Panics
/// Panics if another array is too short for the weights.
pub fn adjusted_weights(delta: &[f32], input: &[f32], weights: &mut [f32], changes: &[f32]) {
    for (at, weight) in weights.iter_mut().enumerate() {
        let (row, unit) = (at / PITCH, at % PITCH);
        if unit == 0 {
            continue;
        }
        let mut gain = 0.3 * delta[unit];
        if row > 0 {
            gain *= input[row];
        }
        *weight += gain + 0.3 * changes[at];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_inputs_are_one_sum_for_each_unit() {
        let input = [1.0; 33];
        let weights: Vec<f32> = (0..33 * PITCH).map(|at| (at % PITCH) as f32).collect();
        let sums = layer_forward(&input, &weights);
        assert_eq!(sums.len(), 32);
        assert!(
            sums.iter()
                .enumerate()
                .all(|(at, sum)| *sum == 16.0 * (at % 16 + 1) as f32)
        );
    }

    #[test]
    fn weights_move_by_error_input_and_last_change() {
        let mut weights = vec![1.0; 17 * PITCH];
        let mut delta = [0.0; PITCH];
        delta[2] = 10.0;
        let mut changes = vec![0.0; 17 * PITCH];
        changes[3 * PITCH + 5] = 10.0;
        adjusted_weights(&delta, &[2.0; 17], &mut weights, &changes);
        let at = |row: usize, unit: usize| weights[row * PITCH + unit];
        assert_eq!((at(0, 2), at(1, 2), at(16, 2)), (4.0, 7.0, 7.0));
        assert_eq!((at(3, 5), at(3, 0), at(4, 5)), (4.0, 1.0, 1.0));
    }
}
