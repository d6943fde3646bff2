//! What a reference may ask of the program whose results it judges.

use std::cell::RefCell;
use std::path::PathBuf;

use warpweave_params::{Diagnostic, Env, Files, Placed};

use crate::csr::Csr;
use crate::element::ElementType;
use crate::read::{FileArray, FileReading, read_array};
use crate::{Name, Value};

/// Most rows, columns, work-groups or steps a reference accepts: as many as a program can have.
const COUNT_MAX: i128 = 1 << 24;

/// What a buffer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Type of the elements.
    pub element: ElementType,
    /// Number of elements.
    pub length: usize,
}

/// What a host holds before its program runs.
pub trait Inputs {
    /// What a buffer looks like.
    ///
    /// # Errors
    /// There is none of this name.
    fn layout(&self, buffer: &Name) -> Result<Layout, Diagnostic>;

    /// The initial contents of a buffer as the words of its memory.
    ///
    /// # Errors
    /// There is none of this name.
    fn contents(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic>;

    /// A graph.
    ///
    /// # Errors
    /// There is none of this name.
    fn graph(&self, name: &Name) -> Result<&Csr, Diagnostic>;

    /// What expressions may use.
    fn env(&self) -> &Env;

    /// How files are read.
    fn reading(&self) -> &Files;
}

/// A reference at work: the program it looks into, and the buffer it is to judge.
pub struct Question<'p> {
    /// Name of the reference, for messages.
    reference: &'static str,
    host: &'p dyn Inputs,
    tested: Layout,
    /// Files that were read for the answer.
    files: RefCell<Vec<PathBuf>>,
}

impl<'p> Question<'p> {
    /// What `reference` says of a buffer that looks like `tested`.
    pub fn new(reference: &'static str, host: &'p dyn Inputs, tested: Layout) -> Self {
        Self {
            reference,
            host,
            tested,
            files: RefCell::default(),
        }
    }

    /// What the buffer under test looks like.
    pub fn tested(&self) -> Layout {
        self.tested
    }

    /// The number of elements of a buffer, which must be of a type.
    ///
    /// # Errors
    /// There is no such buffer, or its elements are of another type.
    pub fn length(&self, buffer: &Name, element: ElementType) -> Result<usize, Diagnostic> {
        let layout = self.host.layout(buffer)?;
        if layout.element == element {
            return Ok(layout.length);
        }
        Err(buffer.error(format!(
            "{} works on {element:?} elements, but buffer `{}` has {:?}",
            self.reference, buffer.value, layout.element
        )))
    }

    /// Checks that a buffer has so many elements of a type.
    ///
    /// # Errors
    /// There is no such buffer, or it has others.
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
            "{} needs {wanted} elements, but buffer `{}` has {length}",
            self.reference, buffer.value
        )))
    }

    /// The number of cells of a matrix of numbers, row after row, and how many a row of it has.
    ///
    /// # Errors
    /// There is no such buffer, its elements are of another type, or they fill no whole rows.
    pub fn rows_of(&self, cells: &Name, width: &Value) -> Result<(usize, usize), Diagnostic> {
        let number = self.length(cells, ElementType::F32)?;
        let columns = self.count(width, "the width", 1)?;
        if number == 0 || !number.is_multiple_of(columns) {
            let message = format!("{number} cells do not fill rows of {columns}");
            return Err(width.error(message));
        }
        Ok((number, columns))
    }

    /// The contents of a buffer of any type, as the words of its memory.
    ///
    /// # Errors
    /// There is no such buffer.
    pub fn contents(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic> {
        self.host.contents(buffer)
    }

    /// The contents of a buffer of integers.
    ///
    /// # Errors
    /// There is no such buffer, or its elements are of another type.
    pub fn u32s(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic> {
        self.length(buffer, ElementType::U32)?;
        self.host.contents(buffer)
    }

    /// The contents of a buffer of numbers.
    ///
    /// # Errors
    /// There is no such buffer, or its elements are of another type.
    pub fn f32s(&self, buffer: &Name) -> Result<Vec<f32>, Diagnostic> {
        self.length(buffer, ElementType::F32)?;
        let words = self.host.contents(buffer)?;
        Ok(words.into_iter().map(f32::from_bits).collect())
    }

    /// A graph, and the vertex from which a search of it starts.
    ///
    /// # Errors
    /// There is none of this name, or it has no such vertex.
    pub fn search(&self, graph: &Name, source: &Value) -> Result<(&'p Csr, u32), Diagnostic> {
        let graph = self.host.graph(graph)?;
        let last = i128::from(graph.vertices()) - 1;
        let source = source.integer(self.host.env(), "the source vertex", 0..=last)?;
        Ok((graph, source as u32))
    }

    /// A graph.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn graph(&self, graph: &Name) -> Result<&'p Csr, Diagnostic> {
        self.host.graph(graph)
    }

    /// An unsigned number of 32 bits; `what` begins the message.
    ///
    /// # Errors
    /// It is none.
    pub fn word(&self, value: &Value, what: &str) -> Result<u32, Diagnostic> {
        Ok(value.integer(self.host.env(), what, 0..=u32::MAX.into())? as u32)
    }

    /// A number of things, at least `min`; `what` begins the message.
    ///
    /// # Errors
    /// It is no whole number of a program's size.
    pub fn count(&self, value: &Value, what: &str, min: u32) -> Result<usize, Diagnostic> {
        Ok(value.integer(self.host.env(), what, min.into()..=COUNT_MAX)? as usize)
    }

    /// A number in single precision; `what` begins the message.
    ///
    /// # Errors
    /// It is beyond the range.
    pub fn single(&self, value: &Value, what: &str) -> Result<f32, Diagnostic> {
        value.single(self.host.env(), what)
    }

    /// The bit pattern of an element of the buffer under test.
    ///
    /// # Errors
    /// It is no number of that type.
    pub fn element(&self, value: &Value) -> Result<u64, Diagnostic> {
        let element = self.tested.element;
        element.bits(value, self.host.env(), "the expected value")
    }

    /// The elements of a file, of the type of the buffer under test.
    ///
    /// # Errors
    /// The file cannot be read or holds no such elements.
    pub fn file(&self, path: &Placed<PathBuf>, how: &FileReading) -> Result<FileArray, Diagnostic> {
        let element = self.tested.element;
        let array = read_array(&path.value, self.host.reading(), element, how);
        let array = array.map_err(|error| path.blame(error))?;
        let file = self.host.reading().folder().join(&path.value);
        self.files.borrow_mut().push(file);
        Ok(array)
    }

    /// The files that were read for the answer so far.
    pub fn files(self) -> Vec<PathBuf> {
        self.files.into_inner()
    }
}
