//! Sums of elements that lie apart by a fixed distance.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::U32;
use crate::{Name, Value};

/// Sums of each element and the one `offset` after it, as computed by [`neighbour_sums`].
#[derive(Debug, Deserialize)]
pub struct NeighbourSums {
    /// Buffer of integers, `offset` longer than the result.
    pub input: Name,
    /// Distance of the two elements of a sum.
    pub offset: Value,
}

impl Reference for NeighbourSums {
    const NAME: &'static str = "NeighbourSums";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let offset = question.count(&self.offset, "the offset", 0)?;
        let length = question.tested().length;
        question.expect_length(&self.input, U32, length + offset)?;
        Ok(Shape::u32s(length))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let offset = question.count(&self.offset, "the offset", 0)?;
        Ok(neighbour_sums(&question.u32s(&self.input)?, offset))
    }
}

/// Returns `input[i] + input[i + offset]`, modulo 2^32, for all `i` that have both.
pub fn neighbour_sums(input: &[u32], offset: usize) -> Vec<u32> {
    let pairs = input.iter().zip(input.iter().skip(offset));
    pairs.map(|(a, b)| a.wrapping_add(*b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_elements_have_no_partner() {
        assert_eq!(neighbour_sums(&[1, 2, 4, u32::MAX], 2), [5, 1]);
        assert!(neighbour_sums(&[1, 2], 3).is_empty());
    }
}
