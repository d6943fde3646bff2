//! Graphs and buffers.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_inputs::{ArrayGenerator, Csr, ElementType, GraphSource, Name, Value};
use warpweave_params::Placed;

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

/// Initial contents of a buffer; elements have four bytes.
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
        /// Type of the elements.
        element: ElementType,
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
    /// Little-endian words from a file.
    File {
        /// Type of the elements.
        element: ElementType,
        /// The file; a relative path starts at the folder of the description.
        path: Placed<PathBuf>,
    },
    /// Numbers in order.
    Values {
        /// Type of the elements.
        element: ElementType,
        /// The elements.
        values: Vec<Value>,
    },
    /// Bit patterns at hand; from Rust code only.
    #[serde(skip)]
    Words {
        /// Type of the elements.
        element: ElementType,
        /// The elements.
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

    /// Zeros: what a buffer for results starts with.
    pub fn zero(element: ElementType, length: impl Into<Value>) -> Self {
        Self::Zero {
            element,
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
