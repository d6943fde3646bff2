//! Contents of a buffer in ascending order.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::Name;
use crate::element::ElementType::U32;

/// Values of the named buffer in ascending order.
#[derive(Debug, Deserialize)]
pub struct Sorted(pub Name);

impl Reference for Sorted {
    const NAME: &'static str = "Sorted";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape::u32s(question.length(&self.0, U32)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let mut values = question.u32s(&self.0)?;
        values.sort_unstable();
        Ok(values)
    }
}
