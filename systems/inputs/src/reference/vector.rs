//! Element-wise addition of two buffers.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::Name;
use crate::element::ElementType::F32;

/// Element-wise sum of two buffers in single precision.
#[derive(Debug, Deserialize)]
pub struct VectorAdd {
    /// Name of the buffer with the first addend.
    pub a: Name,
    /// Name of the buffer with the second addend.
    pub b: Name,
}

impl Reference for VectorAdd {
    const NAME: &'static str = "VectorAdd";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let length = question.length(&self.a, F32)?;
        question.expect_length(&self.b, F32, length)?;
        Ok(Shape::f32s(length))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (a, b) = (question.f32s(&self.a)?, question.f32s(&self.b)?);
        Ok(bits(&vector_add(&a, &b)))
    }
}

/// Computes `a[i] + b[i]` in single precision.
///
/// # Panics
/// Panics if the lengths differ.
pub fn vector_add(a: &[f32], b: &[f32]) -> Vec<f32> {
    assert_eq!(a.len(), b.len(), "vectors of different lengths have no sum");
    a.iter().zip(b).map(|(x, y)| x + y).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_in_single_precision() {
        assert_eq!(
            vector_add(&[1.0, 16_777_216.0], &[2.0, 1.0]),
            [3.0, 16_777_216.0]
        );
    }
}
