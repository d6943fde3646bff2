//! Graphs and buffers.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_inputs::{
    ArrayGenerator, ColumnChoice, Csr, ElementType, FileFormat, FileReading, GraphSource, Name,
    Value,
};
use warpweave_params::Placed;

use super::{Argument, Element};

/// Where a graph comes from.
#[derive(Clone, Debug)]
pub enum GraphInput {
    /// A file or generator.
    Source(GraphSource),
    /// A graph at hand.
    Ready(Csr),
}

impl GraphInput {
    /// The file it is read from, if any.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Source(source) => source.file(),
            Self::Ready(_) => None,
        }
    }
}

/// Initial contents of a buffer.
#[derive(Clone, Debug, Deserialize)]
pub enum Contents {
    /// Row offsets of a graph: `vertices + 1` integers.
    RowOffsets(Name),
    /// Columns of a graph: one integer for each arc.
    Columns(Name),
    /// Weights of a graph: one integer for each arc.
    Weights(Name),
    /// The same value everywhere.
    Constant {
        /// Type of the elements.
        element: ElementType,
        /// Number of elements.
        length: Value,
        /// The value.
        value: Value,
    },
    /// Zeros.
    Zero {
        /// What the elements are.
        element: Element,
        /// Number of elements.
        length: Value,
    },
    /// Generated values.
    Generated {
        /// Type of the elements.
        element: ElementType,
        /// Number of elements.
        length: Value,
        /// What makes them.
        generator: ArrayGenerator,
    },
    /// The elements of a file.
    File {
        /// What the elements are; structures take a column of a table for each field.
        element: Element,
        /// The file; a relative path starts at the folder of the description.
        path: Placed<PathBuf>,
        /// Its format; absent: by the end of its name.
        #[serde(default)]
        format: Option<FileFormat>,
        /// Of a table, the column; absent: every cell, row after row.
        #[serde(default)]
        column: Option<ColumnChoice>,
        /// Of a table, whether its first line names the columns; absent: if no cell of it is a number.
        #[serde(default)]
        header: Option<bool>,
    },
    /// Addresses on the device: `Buffer` and `BufferAt`, as arguments have them. Known when they are copied.
    Pointers(Vec<Placed<Argument>>),
    /// Numbers in order.
    Values {
        /// Type of the elements.
        element: ElementType,
        /// The elements.
        values: Vec<Value>,
    },
    /// Structures in order.
    Rows {
        /// The structure.
        structure: Name,
        /// Of each, a number for each field.
        rows: Vec<Placed<Vec<Value>>>,
    },
    /// The words of a memory that holds the elements ([`ElementType::pack`]); from Rust code only.
    #[serde(skip)]
    Words {
        /// Type of the elements.
        element: ElementType,
        /// The words.
        words: Vec<u32>,
    },
}

impl Contents {
    /// The file they are read from, if any.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(&path.value),
            _ => None,
        }
    }

    /// How the file is read, if there is one.
    pub(crate) fn reading(&self) -> Option<(&Placed<PathBuf>, FileReading)> {
        let Self::File {
            path,
            format,
            column,
            header,
            ..
        } = self
        else {
            return None;
        };
        let how = FileReading {
            format: *format,
            column: column.clone(),
            header: *header,
        };
        Some((path, how))
    }

    /// The elements of a file, in the format that the end of its name stands for.
    pub fn of_file(element: impl Into<Element>, path: impl Into<PathBuf>) -> Self {
        Self::File {
            element: element.into(),
            path: path.into().into(),
            format: None,
            column: None,
            header: None,
        }
    }

    /// Zeros: what a buffer for results starts with.
    pub fn zero(element: impl Into<Element>, length: impl Into<Value>) -> Self {
        Self::Zero {
            element: element.into(),
            length: length.into(),
        }
    }

    /// The same value everywhere.
    pub fn constant(
        element: ElementType,
        length: impl Into<Value>,
        value: impl Into<Value>,
    ) -> Self {
        Self::Constant {
            element,
            length: length.into(),
            value: value.into(),
        }
    }

    /// Generated values.
    pub fn generated(
        element: ElementType,
        length: impl Into<Value>,
        generator: ArrayGenerator,
    ) -> Self {
        Self::Generated {
            element,
            length: length.into(),
            generator,
        }
    }

    /// Integers at hand.
    pub fn u32s(values: impl Into<Vec<u32>>) -> Self {
        Self::Words {
            element: ElementType::U32,
            words: values.into(),
        }
    }

    /// Numbers at hand.
    pub fn f32s(values: &[f32]) -> Self {
        let words = values.iter().map(|value| value.to_bits()).collect();
        Self::Words {
            element: ElementType::F32,
            words,
        }
    }
}
