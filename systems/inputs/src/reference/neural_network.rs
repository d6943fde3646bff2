//! Inference with a small convolutional neural network.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Side length of an image in pixels, and of the first and second layer in cells.
const SIDES: [usize; 3] = [29, 13, 5];
/// Number of cells in a window, 5 x 5.
const WINDOW: usize = 25;

/// Outputs of the last layer for each image, as computed by [`neural_network`].
#[derive(Debug, Deserialize)]
pub struct NeuralNetwork {
    /// Buffer with images of 29 x 29 pixels.
    pub images: Name,
    /// Buffers with the weights of each layer. The bias of each map or neuron comes first.
    pub weights: [Name; 4],
    /// Number of maps in the first and the second layer, and of neurons in the third and the
    /// fourth.
    pub layers: [Value; 4],
}

impl NeuralNetwork {
    fn neurons(&self, question: &Question<'_>) -> Result<[usize; 4], Diagnostic> {
        let mut neurons = [0; 4];
        for (number, value) in neurons.iter_mut().zip(&self.layers) {
            *number = question.count(value, "the number of maps or neurons", 1)?;
        }
        Ok(neurons)
    }
}

impl Reference for NeuralNetwork {
    const NAME: &'static str = "NeuralNetwork";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let neurons = self.neurons(question)?;
        let pixels = question.length(&self.images, F32)?;
        let image = SIDES[0] * SIDES[0];
        if !pixels.is_multiple_of(image) {
            let message = format!("{pixels} pixels are not a multiple of the image size {image}");
            return Err(self.images.error(message));
        }
        let inputs = [WINDOW, neurons[0] * WINDOW, neurons[1] * WINDOW, neurons[2]];
        for ((name, inputs), neurons) in self.weights.iter().zip(inputs).zip(neurons) {
            question.expect_length(name, F32, (1 + inputs).saturating_mul(neurons))?;
        }
        Ok(Shape::f32s(pixels / image * neurons[3]))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let neurons = self.neurons(question)?;
        let mut weights: [Vec<f32>; 4] = Default::default();
        for (numbers, name) in weights.iter_mut().zip(&self.weights) {
            *numbers = question.f32s(name)?;
        }
        let images = question.f32s(&self.images)?;
        Ok(bits(&neural_network(&images, &weights, neurons)))
    }
}

/// Computes the outputs of the last layer, image by image. Two layers have windows of 5 x 5 at
/// every second cell, and two are fully connected. The output of a neuron is `x / (1 + |x|)` of the
/// bias and `weight * input`, added in ascending order. Each operation is rounded to single
/// precision. The kernels give the same bits.
///
/// # Panics
/// Panics if there are fewer weights than the layers need.
pub fn neural_network(images: &[f32], weights: &[Vec<f32>; 4], neurons: [usize; 4]) -> Vec<f32> {
    let of_image = |image: &[f32]| {
        let first = windows(image, 1, SIDES[0], SIDES[1], &weights[0], neurons[0]);
        let second = windows(
            &first,
            neurons[0],
            SIDES[1],
            SIDES[2],
            &weights[1],
            neurons[1],
        );
        let third = full(&second, &weights[2], neurons[2]);
        full(&third, &weights[3], neurons[3])
    };
    images
        .chunks(SIDES[0] * SIDES[0])
        .flat_map(of_image)
        .collect()
}

fn windows(
    cells: &[f32],
    maps: usize,
    side: usize,
    side_after: usize,
    weights: &[f32],
    maps_after: usize,
) -> Vec<f32> {
    let mut output = Vec::new();
    for own in weights.chunks(1 + maps * WINDOW).take(maps_after) {
        for at in 0..side_after * side_after {
            let (x, y) = (2 * (at % side_after), 2 * (at / side_after));
            let input = |i: usize| {
                let (map, in_window) = (i / WINDOW, i % WINDOW);
                cells[(map * side + y + in_window / 5) * side + x + in_window % 5]
            };
            output.push(neuron(own, (0..maps * WINDOW).map(input)));
        }
    }
    output
}

fn full(cells: &[f32], weights: &[f32], neurons: usize) -> Vec<f32> {
    let rows = weights.chunks(1 + cells.len()).take(neurons);
    rows.map(|own| neuron(own, cells.iter().copied())).collect()
}

fn neuron(weights: &[f32], inputs: impl Iterator<Item = f32>) -> f32 {
    let terms = weights[1..].iter().zip(inputs);
    let x = terms.fold(weights[0], |sum, (weight, input)| sum + weight * input);
    x / (1.0 + x.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neuron_adds_its_bias_and_stays_below_one() {
        assert_eq!(neuron(&[1.0, 2.0, 3.0], [4.0, -3.0].into_iter()), 0.0);
        assert_eq!(neuron(&[-1.0, 2.0], [2.0].into_iter()), 0.75);
        assert_eq!(neuron(&[-3.0], std::iter::empty()), -0.75);
    }

    #[test]
    fn windows_lie_at_every_second_cell() {
        let mut cells = vec![0.0; 29 * 29];
        cells[2 * 29 + 4] = 1.0;
        let mut weights = vec![0.0; 26];
        weights[1] = 1.0; // the corner of the window
        let output = windows(&cells, 1, 29, 13, &weights, 1);
        let hit: Vec<_> = (0..169).filter(|at| output[*at] != 0.0).collect();
        assert_eq!(hit, [13 + 2]);
    }

    #[test]
    fn every_image_has_its_answers() {
        let weights = [26, 2 * 26, 51, 2 * 2].map(|length| vec![0.5; length]);
        let images = [vec![0.0; 841], vec![1.0; 841]].concat();
        let output = neural_network(&images, &weights, [1, 2, 1, 2]);
        assert_eq!(output.len(), 4);
        assert_eq!((output[0], output[2]), (output[1], output[3]));
        assert!(output[0] < output[2]);
    }
}
