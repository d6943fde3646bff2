//! Inputs of a host program: graphs, matrices and initial buffer contents.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_inputs::{
    ArrayGenerator, ColumnChoice, CooArray, CscArray, Csr, CsrArray, DenseOrder, ElementType,
    FileFormat, FileReading, GraphSource, MatrixArray, Name, Value,
};
use warpweave_params::Placed;

use super::{Argument, Element};

/// Source of a graph: described in the file, or built in memory.
#[derive(Clone, Debug)]
pub enum GraphInput {
    /// Graph from a file or a generator.
    Source(GraphSource),
    /// Graph that is already in memory.
    Ready(Csr),
}

impl GraphInput {
    /// Returns the file the graph is read from, if any.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Source(source) => source.file(),
            Self::Ready(_) => None,
        }
    }
}

/// Initial contents of a buffer, and its element type.
#[derive(Clone, Debug, Deserialize)]
pub enum Contents {
    /// Row offsets of a graph: `vertices + 1` integers.
    RowOffsets(Name),
    /// Columns of a graph: one integer for each arc.
    Columns(Name),
    /// Weights of a graph: one integer for each arc.
    Weights(Name),
    /// Array of a matrix in compressed sparse row form.
    Csr {
        /// Name of the matrix that is stored.
        matrix: Name,
        /// Array of the form that the buffer holds.
        array: CsrArray,
    },
    /// Array of a matrix in compressed sparse column form.
    Csc {
        /// Name of the matrix that is stored.
        matrix: Name,
        /// Array of the form that the buffer holds.
        array: CscArray,
    },
    /// Array of a matrix in coordinate form.
    Coo {
        /// Name of the matrix that is stored.
        matrix: Name,
        /// Array of the form that the buffer holds.
        array: CooArray,
    },
    /// All elements of a matrix, zeros included.
    Dense {
        /// Name of the matrix that is stored.
        matrix: Name,
        /// Type of the elements in the buffer.
        element: ElementType,
        /// Order of the elements in the buffer.
        #[serde(default)]
        order: DenseOrder,
    },
    /// Same value in every element of the buffer.
    Constant {
        /// Type of the elements in the buffer.
        element: ElementType,
        /// Number of elements in the buffer.
        length: Value,
        /// Value of each element, of that type.
        value: Value,
    },
    /// Zero in every element of the buffer.
    Zero {
        /// Element type, either a number or a structure.
        element: Element,
        /// Number of elements in the buffer.
        length: Value,
    },
    /// Values made by an array generator.
    Generated {
        /// Type of the elements in the buffer.
        element: ElementType,
        /// Number of elements in the buffer.
        length: Value,
        /// Generator that computes the element values.
        generator: ArrayGenerator,
    },
    /// Elements that are read from a file.
    File {
        /// Element type; structures take one column of a table for each field.
        element: Element,
        /// Path of the file; a relative path starts at the folder of the description.
        path: Placed<PathBuf>,
        /// File format; if absent, chosen by the file name's extension.
        #[serde(default)]
        format: Option<FileFormat>,
        /// Column of a table; if absent, every cell, row by row.
        #[serde(default)]
        column: Option<ColumnChoice>,
        /// True if the first line of a table names the columns. If absent, it does if none of its
        /// cells is a number.
        #[serde(default)]
        header: Option<bool>,
    },
    /// Device addresses, given as `Buffer` and `BufferAt` arguments. They are resolved when they
    /// are copied.
    Pointers(Vec<Placed<Argument>>),
    /// Explicit list of numbers, in element order.
    Values {
        /// Type of the elements in the buffer.
        element: ElementType,
        /// Values of the elements, in order.
        values: Vec<Value>,
    },
    /// Explicit list of structures, in element order.
    Rows {
        /// Name of the structure type of each element.
        structure: Name,
        /// One row per structure, with a number for each field.
        rows: Vec<Placed<Vec<Value>>>,
    },
    /// Memory words that hold the packed elements ([`ElementType::pack`]); from Rust code only.
    #[serde(skip)]
    Words {
        /// Type of the elements in the buffer.
        element: ElementType,
        /// Words of the buffer's memory, in order.
        words: Vec<u32>,
    },
}

impl Contents {
    /// Returns the file the contents are read from, if any.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(&path.value),
            _ => None,
        }
    }

    /// Returns the matrix and its array that the contents are, if they are one.
    pub(crate) fn matrix_array(&self) -> Option<(&Name, MatrixArray)> {
        match self {
            Self::Csr { matrix, array } => Some((matrix, MatrixArray::Csr(*array))),
            Self::Csc { matrix, array } => Some((matrix, MatrixArray::Csc(*array))),
            Self::Coo { matrix, array } => Some((matrix, MatrixArray::Coo(*array))),
            Self::Dense {
                matrix,
                element,
                order,
            } => Some((matrix, MatrixArray::Dense(*element, *order))),
            _ => None,
        }
    }

    /// Returns the file and its reading options, if there is one.
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

    /// Reads the elements of a file, in the format given by its extension.
    pub fn of_file(element: impl Into<Element>, path: impl Into<PathBuf>) -> Self {
        Self::File {
            element: element.into(),
            path: path.into().into(),
            format: None,
            column: None,
            header: None,
        }
    }

    /// Fills the buffer with zeros, as for a result buffer.
    pub fn zero(element: impl Into<Element>, length: impl Into<Value>) -> Self {
        Self::Zero {
            element: element.into(),
            length: length.into(),
        }
    }

    /// Fills the buffer with the same value.
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

    /// Fills the buffer with values from a generator.
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

    /// Fills the buffer with these 32-bit integers.
    pub fn u32s(values: impl Into<Vec<u32>>) -> Self {
        Self::Words {
            element: ElementType::U32,
            words: values.into(),
        }
    }

    /// Fills the buffer with these `f32` numbers.
    pub fn f32s(values: &[f32]) -> Self {
        let words = values.iter().map(|value| value.to_bits()).collect();
        Self::Words {
            element: ElementType::F32,
            words,
        }
    }
}
