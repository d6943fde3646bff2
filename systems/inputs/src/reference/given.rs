//! Expected results that are stated in the description, or that the program computes otherwise.

use std::path::PathBuf;

use serde::Deserialize;
use warpweave_params::{Diagnostic, Placed};

use super::{Question, Reference, Shape};
use crate::read::{ColumnChoice, FileFormat, FileReading};
use crate::{Name, Value};

/// Expected value that is the same for all elements.
#[derive(Debug, Deserialize)]
pub struct Constant(pub Value);

/// Expected values of all elements, in order.
#[derive(Debug, Deserialize)]
pub struct Values(pub Vec<Value>);

/// Elements of a file, of the buffer's element type, in the format that [`FileFormat`] derives from
/// its name. A relative path starts at the folder of the description.
#[derive(Debug, Deserialize)]
pub struct File(pub Placed<PathBuf>);

/// Column of a file of comma-separated values.
#[derive(Debug, Deserialize)]
pub struct Column {
    /// Path of the file. A relative path starts at the folder of the description.
    pub path: Placed<PathBuf>,
    /// Name of the column, or its number from 0.
    pub column: ColumnChoice,
}

/// Contents of another buffer of the same run, as last copied to the host.
#[derive(Debug, Deserialize)]
pub struct Computed(pub Name);

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
        let (element, length) = (question.tested().element, question.tested().length);
        Ok(element.pack(std::iter::repeat_n(question.element(&self.0)?, length)))
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
        let patterns = self.0.iter().map(|value| question.element(value));
        let patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        Ok(question.tested().element.pack(patterns))
    }
}

impl Reference for File {
    const NAME: &'static str = "File";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape {
            element: None,
            length: Some(question.file(&self.0, &FileReading::default())?.length),
        })
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(question.file(&self.0, &FileReading::default())?.words)
    }
}

impl Column {
    fn reading(&self) -> FileReading {
        FileReading {
            format: Some(FileFormat::Csv),
            column: Some(self.column.clone()),
            ..FileReading::default()
        }
    }
}

impl Reference for Column {
    const NAME: &'static str = "Column";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape {
            element: None,
            length: Some(question.file(&self.path, &self.reading())?.length),
        })
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(question.file(&self.path, &self.reading())?.words)
    }
}

impl Reference for Computed {
    const NAME: &'static str = "Computed";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        let layout = question.computed_layout(&self.0)?;
        Ok(Shape {
            element: Some(layout.element),
            length: Some(layout.length),
        })
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        question.computed(&self.0)
    }
}
