//! What a host program is made of, as plain data: the form that RON files and Rust code share.

use std::path::PathBuf;

use warpweave_inputs::{ArrayGenerator, Csr, EdgeWeights, ElementType, GraphSource};
use warpweave_params::Span;

/// A value and where it was written; values from Rust code have no place.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it stands in a description file.
    pub place: Option<Span>,
}

/// The name of a buffer, graph, kernel or counter.
pub type Name = Placed<String>;

/// A number or an integer expression, evaluated when the command that holds it is executed.
pub type Value = Placed<Number>;

/// How a number is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Int(i128),
    /// Any number.
    Float(f64),
    /// An expression over parameters, properties of graphs (`g_vertices`, `g_arcs`, `g_source`)
    /// and counters of loops, without the `=` that marks it in files.
    Expression(String),
}

/// A graph under a name.
#[derive(Clone, Debug)]
pub struct GraphEntry {
    /// Its name.
    pub name: Name,
    /// Where it comes from.
    pub input: GraphInput,
}

/// Where a graph comes from.
#[derive(Clone, Debug)]
pub enum GraphInput {
    /// A file or generator.
    Source {
        /// Which one.
        source: GraphSource,
        /// The weights it gets.
        weights: EdgeWeights,
    },
    /// A graph at hand.
    Ready(Csr),
}

/// A buffer under a name: an allocation of device memory and what the host copies there.
#[derive(Clone, Debug)]
pub struct BufferEntry {
    /// Its name.
    pub name: Name,
    /// What the host holds before the program runs.
    pub contents: Contents,
}

/// Initial contents of a buffer; elements have four bytes.
#[derive(Clone, Debug)]
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
    /// Bit patterns at hand.
    Words {
        /// Type of the elements.
        element: ElementType,
        /// The elements.
        words: Vec<u32>,
    },
}

/// Something the host does. Copies wait for everything launched before, as blocking copies do.
#[derive(Clone, Debug)]
pub enum Command {
    /// Copies the host's contents of a buffer to the device.
    CopyToDevice(Name),
    /// Copies a buffer to the host, where checks and later copies see it.
    CopyToHost(Name),
    /// Writes one element of a buffer on the device.
    Write {
        /// The buffer.
        buffer: Name,
        /// Number of the element.
        index: Value,
        /// Its new value.
        value: Value,
    },
    /// Exchanges two buffers of equal size by exchanging their pointers; nothing is copied. What
    /// the host holds stays where it is.
    Swap(Name, Name),
    /// Launches a kernel.
    Launch(Launch),
    /// Waits for everything launched so far.
    Synchronize,
    /// Repeats commands a fixed number of times.
    Repeat {
        /// How often.
        times: Value,
        /// Name under which expressions in the body see the number of the round, from 0.
        counter: Option<Name>,
        /// What is repeated.
        body: Vec<Placed<Command>>,
    },
    /// Repeats commands until the first element of a buffer reads zero after a round. Reading it
    /// is a small copy to the host.
    RepeatUntilZero {
        /// The buffer read after each round.
        flag: Name,
        /// Name under which expressions in the body see the number of the round, from 0.
        counter: Option<Name>,
        /// Rounds after which the program counts as stuck.
        at_most: Value,
        /// What is repeated.
        body: Vec<Placed<Command>>,
    },
}

/// A kernel launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: Name,
    /// Work-groups along x, y, z; missing axes have one.
    pub grid: Vec<Value>,
    /// Threads of a work-group along x, y, z; missing axes have one.
    pub block: Vec<Value>,
    /// Bytes of local memory beyond what the kernel declares.
    pub dynamic_local_bytes: Value,
    /// Launches of one stream run in order.
    pub stream: Value,
    /// One for each parameter of the kernel.
    pub arguments: Vec<Placed<Argument>>,
}

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The address of a buffer.
    Buffer(Name),
    /// A number of a given type.
    Scalar(ScalarKind, Value),
}

/// Types of kernel arguments other than addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The variants name their types.
pub enum ScalarKind {
    U8,
    U16,
    U32,
    U64,
    S32,
    S64,
    F32,
    F64,
}

/// What a buffer must hold on the host when the program has ended.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The buffer; it must have been copied to the host.
    pub buffer: Name,
    /// Where the right answer comes from.
    pub equals: Placed<Reference>,
    /// How near the answer must come.
    pub tolerance: Placed<Tolerance>,
}

/// How near an answer must come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tolerance {
    /// Bit for bit.
    #[default]
    Exact,
    /// Within this fraction of the expected value.
    Relative(f64),
    /// Within this distance of the expected value.
    Absolute(f64),
}

/// A right answer. Buffers named here stand for their initial contents.
#[derive(Clone, Debug)]
pub enum Reference {
    /// Element-wise sum.
    VectorAdd {
        /// One addend.
        a: Name,
        /// The other.
        b: Name,
    },
    /// Product of square row-major matrices.
    MatrixMultiply {
        /// Left matrix.
        a: Name,
        /// Right matrix.
        b: Name,
        /// Rows of a matrix.
        n: Value,
    },
    /// Steps of a five-point stencil.
    Stencil2d {
        /// The cells before the first step.
        input: Name,
        /// Cells in a row.
        width: Value,
        /// Number of steps.
        steps: Value,
        /// Factor of the cell itself.
        centre: Value,
        /// Factor of the sum of the four neighbours.
        neighbour: Value,
    },
    /// One integer: the sum modulo 2^32.
    SumU32(Name),
    /// One number: the sum in double precision, rounded; to be met within a tolerance.
    SumF32(Name),
    /// The sum of each work-group of the kernel `reduction_f32`, bit for bit.
    SumF32ByBlocks {
        /// The addends.
        values: Name,
        /// Number of work-groups.
        blocks: Value,
    },
    /// Counts of the values 0 to 254 and of all above.
    Histogram(Name),
    /// Breadth-first levels, 4294967295 for vertices out of reach.
    BfsLevels {
        /// The graph.
        graph: Name,
        /// The vertex of level 0.
        source: Value,
    },
    /// Lengths of shortest paths, 4294967295 for vertices out of reach.
    ShortestPaths {
        /// The graph; without weights every arc has length 1.
        graph: Name,
        /// The vertex of distance 0.
        source: Value,
    },
    /// Little-endian words from a file, of the buffer's element type.
    File(Placed<PathBuf>),
    /// The same value everywhere.
    Constant(Value),
    /// The values in order.
    Values(Vec<Value>),
}

impl<T> From<T> for Placed<T> {
    fn from(value: T) -> Self {
        Self { value, place: None }
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

/// An expression, with or without a leading `=`.
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        let expression = text.strip_prefix('=').unwrap_or(text);
        Number::Expression(expression.to_owned()).into()
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Number::Int(value.into()).into()
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Number::Int(value.into()).into()
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Number::Int(value.into()).into()
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Self {
        Number::Float(value.into()).into()
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Number::Float(value).into()
    }
}

impl<T> Placed<T> {
    /// A value and its place.
    pub fn at(value: T, place: &Span) -> Self {
        Self {
            value,
            place: Some(place.clone()),
        }
    }
}

impl Contents {
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

impl Launch {
    /// A launch of one work-group of one thread without arguments, in stream 0.
    pub fn new(kernel: impl Into<Name>) -> Self {
        Self {
            kernel: kernel.into(),
            grid: Vec::new(),
            block: Vec::new(),
            dynamic_local_bytes: 0.into(),
            stream: 0.into(),
            arguments: Vec::new(),
        }
    }

    /// Sets the number of work-groups along x, y, z.
    pub fn grid<V: Into<Value>>(mut self, axes: impl IntoIterator<Item = V>) -> Self {
        self.grid = axes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the number of threads of a work-group along x, y, z.
    pub fn block<V: Into<Value>>(mut self, axes: impl IntoIterator<Item = V>) -> Self {
        self.block = axes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the bytes of local memory beyond what the kernel declares.
    pub fn dynamic_local_bytes(mut self, bytes: impl Into<Value>) -> Self {
        self.dynamic_local_bytes = bytes.into();
        self
    }

    /// Sets the stream.
    pub fn stream(mut self, stream: impl Into<Value>) -> Self {
        self.stream = stream.into();
        self
    }

    /// Adds the address of a buffer as the next argument.
    pub fn buffer(mut self, name: impl Into<Name>) -> Self {
        self.arguments.push(Argument::Buffer(name.into()).into());
        self
    }

    /// Adds a number as the next argument.
    pub fn scalar(mut self, kind: ScalarKind, value: impl Into<Value>) -> Self {
        self.arguments
            .push(Argument::Scalar(kind, value.into()).into());
        self
    }
}

impl Reference {
    /// Name of the reference in files and reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::VectorAdd { .. } => "VectorAdd",
            Self::MatrixMultiply { .. } => "MatrixMultiply",
            Self::Stencil2d { .. } => "Stencil2d",
            Self::SumU32(_) => "SumU32",
            Self::SumF32(_) => "SumF32",
            Self::SumF32ByBlocks { .. } => "SumF32ByBlocks",
            Self::Histogram(_) => "Histogram",
            Self::BfsLevels { .. } => "BfsLevels",
            Self::ShortestPaths { .. } => "ShortestPaths",
            Self::File(_) => "File",
            Self::Constant(_) => "Constant",
            Self::Values(_) => "Values",
        }
    }
}
