//! Answers that are given and not computed.

use std::path::PathBuf;

use serde::Deserialize;
use warpweave_params::{Diagnostic, Placed};

use super::{Question, Reference, Shape};
use crate::Value;

/// The same value everywhere.
#[derive(Debug, Deserialize)]
pub struct Constant(pub Value);

/// The values in order.
#[derive(Debug, Deserialize)]
pub struct Values(pub Vec<Value>);

/// Little-endian words from a file, of the buffer's element type; a relative path starts at the
/// folder of the description.
#[derive(Debug, Deserialize)]
pub struct File(pub Placed<PathBuf>);

impl Reference for Constant {
    const NAME: &'static str = "Constant";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.element(&self.0)?;
        Ok(Shape {
            element: None,
            length: None,
        })
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(vec![question.element(&self.0)?; question.tested().length])
    }
}

impl Reference for Values {
    const NAME: &'static str = "Values";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.words(question)?;
        Ok(Shape {
            element: None,
            length: Some(self.0.len()),
        })
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        self.0.iter().map(|value| question.element(value)).collect()
    }
}

impl Reference for File {
    const NAME: &'static str = "File";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape {
            element: None,
            length: Some(question.file(&self.0)?.len()),
        })
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        question.file(&self.0)
    }
}
