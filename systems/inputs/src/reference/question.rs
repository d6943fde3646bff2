//! Interface of references to the program whose results they check.

use std::cell::RefCell;
use std::path::PathBuf;

use warpweave_params::{Diagnostic, Env, Files, Placed};

use crate::csr::Csr;
use crate::element::ElementType;
use crate::matrix::Matrix;
use crate::read::{FileArray, FileReading, read_array};
use crate::{Name, Value};

/// Maximum number of rows, columns, work-groups or steps, equal to the largest that a program can
/// have.
const COUNT_MAX: i128 = 1 << 24;

/// Element type and length of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub element: ElementType,
    pub length: usize,
}

/// Buffers, graphs and parameters of a host program before it runs.
pub trait Inputs {
    /// Returns the element type and length of a buffer.
    ///
    /// # Errors
    /// Returns an error if there is no buffer of this name.
    fn layout(&self, buffer: &Name) -> Result<Layout, Diagnostic>;

    /// Returns the initial contents of a buffer as the words of its memory.
    ///
    /// # Errors
    /// Returns an error if there is no buffer of this name.
    fn contents(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic>;

    /// Returns the graph of this name.
    ///
    /// # Errors
    /// Returns an error if there is no graph of this name.
    fn graph(&self, name: &Name) -> Result<&Csr, Diagnostic>;

    /// Returns the matrix of this name.
    ///
    /// # Errors
    /// Returns an error if there is no matrix of this name.
    fn matrix(&self, name: &Name) -> Result<&Matrix, Diagnostic>;

    /// Returns the names and values that expressions may use.
    fn env(&self) -> &Env;

    /// Returns the access rules for reading input files.
    fn reading(&self) -> &Files;
}

/// Returns the error that the weights of a graph are needed and cannot be used.
pub fn unusable_weights(graph: &Name, reason: &str) -> Diagnostic {
    let message = format!("graph `{}` has no usable weights: {reason}", graph.value);
    graph.error(message).hint(
        "draw weights: Graph(source: .., weights: Uniform(low: 1, high: 100, seed: 1)), or read \
         the numbers as a matrix under `matrices`",
    )
}

/// Finds the words of a buffer when the program has ended.
pub type FindComputed<'p> = &'p dyn Fn(&Name) -> Result<Vec<u32>, Diagnostic>;

/// Context for evaluating a reference: the program's inputs, and the buffer under test.
pub struct Question<'p> {
    /// Name of the reference, for messages.
    reference: &'static str,
    host: &'p dyn Inputs,
    tested: Layout,
    /// Access to other buffers once the program has ended.
    find_computed: Option<FindComputed<'p>>,
    /// Files read so far for computing the result.
    files: RefCell<Vec<PathBuf>>,
    /// Buffers whose computed contents the result consists of.
    computed: RefCell<Vec<Name>>,
}

impl<'p> Question<'p> {
    /// Creates the context for `reference` and a buffer with the layout `tested`.
    pub fn new(reference: &'static str, host: &'p dyn Inputs, tested: Layout) -> Self {
        Self {
            reference,
            host,
            tested,
            find_computed: None,
            files: RefCell::default(),
            computed: RefCell::default(),
        }
    }

    /// Adds access to the buffers of a program that has ended.
    pub fn with_computed(self, find: FindComputed<'p>) -> Self {
        Self {
            find_computed: Some(find),
            ..self
        }
    }

    /// Returns the layout of the buffer under test.
    pub fn tested(&self) -> Layout {
        self.tested
    }

    /// Returns the number of elements of a buffer, which must have this type.
    ///
    /// # Errors
    /// Returns an error if there is no such buffer, or its elements are of another type.
    pub fn length(&self, buffer: &Name, element: ElementType) -> Result<usize, Diagnostic> {
        let layout = self.host.layout(buffer)?;
        if layout.element == element {
            return Ok(layout.length);
        }
        Err(buffer.error(format!(
            "{} requires {element:?} elements, but buffer `{}` has {:?}",
            self.reference, buffer.value, layout.element
        )))
    }

    /// Checks that a buffer has this many elements of a type.
    ///
    /// # Errors
    /// Returns an error if there is no such buffer, or its layout differs.
    pub fn expect_length(
        &self,
        buffer: &Name,
        element: ElementType,
        wanted: usize,
    ) -> Result<(), Diagnostic> {
        let length = self.length(buffer, element)?;
        if length == wanted {
            return Ok(());
        }
        Err(buffer.error(format!(
            "{} requires {wanted} elements, but buffer `{}` has {length}",
            self.reference, buffer.value
        )))
    }

    /// Returns the number of cells in a row-major matrix of numbers, and in each of its rows.
    ///
    /// # Errors
    /// Returns an error if there is no such buffer, its elements are of another type, or they do
    /// not fill whole rows.
    pub fn rows_of(&self, cells: &Name, width: &Value) -> Result<(usize, usize), Diagnostic> {
        let number = self.length(cells, ElementType::F32)?;
        let columns = self.count(width, "the width", 1)?;
        if number == 0 || !number.is_multiple_of(columns) {
            let message = format!("{number} cells cannot be divided into rows of {columns}");
            return Err(width.error(message));
        }
        Ok((number, columns))
    }

    /// Returns the contents of a buffer of any type, as the words of its memory.
    ///
    /// # Errors
    /// Returns an error if there is no such buffer.
    pub fn contents(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic> {
        self.host.contents(buffer)
    }

    /// Returns the contents of a buffer of integers.
    ///
    /// # Errors
    /// Returns an error if there is no such buffer, or its elements are of another type.
    pub fn u32s(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic> {
        self.length(buffer, ElementType::U32)?;
        self.host.contents(buffer)
    }

    /// Returns the contents of a buffer of single-precision numbers.
    ///
    /// # Errors
    /// Returns an error if there is no such buffer, or its elements are of another type.
    pub fn f32s(&self, buffer: &Name) -> Result<Vec<f32>, Diagnostic> {
        self.length(buffer, ElementType::F32)?;
        let words = self.host.contents(buffer)?;
        Ok(words.into_iter().map(f32::from_bits).collect())
    }

    /// Returns a graph, and the source vertex of a search.
    ///
    /// # Errors
    /// Returns an error if there is no graph of this name, or it has no such vertex.
    pub fn search(&self, graph: &Name, source: &Value) -> Result<(&'p Csr, u32), Diagnostic> {
        let graph = self.host.graph(graph)?;
        let last = i128::from(graph.vertices()) - 1;
        let source = source.integer(self.host.env(), "the source vertex", 0..=last)?;
        Ok((graph, source as u32))
    }

    /// Returns the graph of this name.
    ///
    /// # Errors
    /// Returns an error if there is no graph of this name.
    pub fn graph(&self, graph: &Name) -> Result<&'p Csr, Diagnostic> {
        self.host.graph(graph)
    }

    /// Checks that the weights of a graph can be used, if its file stores numbers with the arcs.
    ///
    /// # Errors
    /// Returns an error if there is no graph of this name, or the numbers are no weights.
    pub fn check_weights(&self, graph: &Name) -> Result<(), Diagnostic> {
        match self.host.graph(graph)?.unusable_weights() {
            None => Ok(()),
            Some(reason) => Err(unusable_weights(graph, reason)),
        }
    }

    /// Returns the matrix of this name.
    ///
    /// # Errors
    /// Returns an error if there is no matrix of this name.
    pub fn matrix(&self, matrix: &Name) -> Result<&'p Matrix, Diagnostic> {
        self.host.matrix(matrix)
    }

    /// Evaluates an unsigned number of 32 bits. `what` is the beginning of error messages.
    ///
    /// # Errors
    /// Returns an error if it is not an unsigned number of 32 bits.
    pub fn word(&self, value: &Value, what: &str) -> Result<u32, Diagnostic> {
        Ok(value.integer(self.host.env(), what, 0..=u32::MAX.into())? as u32)
    }

    /// Evaluates a count of at least `min`. `what` is the beginning of error messages.
    ///
    /// # Errors
    /// Returns an error if it is not a whole number, or exceeds the size of a program.
    pub fn count(&self, value: &Value, what: &str, min: u32) -> Result<usize, Diagnostic> {
        Ok(value.integer(self.host.env(), what, min.into()..=COUNT_MAX)? as usize)
    }

    /// Evaluates a number in single precision. `what` is the beginning of error messages.
    ///
    /// # Errors
    /// Returns an error if it is out of range.
    pub fn single(&self, value: &Value, what: &str) -> Result<f32, Diagnostic> {
        value.single(self.host.env(), what)
    }

    /// Returns the bit pattern of a value for the buffer under test.
    ///
    /// # Errors
    /// Returns an error if it is not a number of that type.
    pub fn element(&self, value: &Value) -> Result<u64, Diagnostic> {
        let element = self.tested.element;
        element.bits(value, self.host.env(), "the expected value")
    }

    /// Reads the elements of a file, of the type of the buffer under test.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or does not contain such elements.
    pub fn file(&self, path: &Placed<PathBuf>, how: &FileReading) -> Result<FileArray, Diagnostic> {
        let element = self.tested.element;
        let array = read_array(&path.value, self.host.reading(), element, how);
        let array = array.map_err(|error| path.blame(error))?;
        let file = self.host.reading().folder().join(&path.value);
        self.files.borrow_mut().push(file);
        Ok(array)
    }

    /// Returns the layout of another buffer that the program computes, and notes that its contents
    /// are needed.
    ///
    /// # Errors
    /// Returns an error if there is no such buffer.
    pub fn computed_layout(&self, buffer: &Name) -> Result<Layout, Diagnostic> {
        let layout = self.host.layout(buffer)?;
        self.computed.borrow_mut().push(buffer.clone());
        Ok(layout)
    }

    /// Returns the contents of another buffer when the program has ended.
    ///
    /// # Errors
    /// Returns an error if the program has not ended, or never copied the buffer to the host.
    pub fn computed(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic> {
        match self.find_computed {
            Some(find) => find(buffer),
            None => Err(buffer.error(format!(
                "the contents of buffer `{}` are known when the program has ended",
                buffer.value
            ))),
        }
    }

    /// Returns the buffers whose computed contents the result needs.
    pub fn computed_buffers(&self) -> Vec<Name> {
        self.computed.borrow().clone()
    }

    /// Returns the files that were read for the result so far.
    pub fn files(self) -> Vec<PathBuf> {
        self.files.into_inner()
    }
}
