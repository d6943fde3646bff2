//! What the host does.

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use warpweave_inputs::{Name, Value};
use warpweave_params::{OneOrMore, Placed};

use super::Record;

/// Rounds of a loop that states no limit.
const ROUNDS_DEFAULT: u32 = 10_000;

/// Something the host does. Copies wait for everything launched before, as blocking copies do.
#[derive(Clone, Debug, Deserialize)]
pub enum Command {
    /// Copies the host's contents of a buffer to the device.
    CopyToDevice(Name),
    /// Copies a buffer to the host, where checks and later copies see it.
    CopyToHost(Name),
    /// Copies some elements of the host's contents of a buffer to the device.
    CopyPartToDevice {
        /// The buffer.
        buffer: Name,
        /// Number of the first element.
        first: Value,
        /// Number of elements.
        length: Value,
    },
    /// Copies some elements of a buffer to the host; the others stay there as they are.
    CopyPartToHost {
        /// The buffer.
        buffer: Name,
        /// Number of the first element.
        first: Value,
        /// Number of elements.
        length: Value,
    },
    /// Reads one integer of a buffer on the device; what comes after knows it by name.
    Read {
        /// The buffer.
        buffer: Name,
        /// Number of the element.
        #[serde(default = "zero")]
        index: Value,
        /// The name in expressions.
        name: Name,
    },
    /// Writes values into a variable of the module, in global or constant memory.
    WriteVariable {
        /// The variable.
        variable: Name,
        /// The module that has it; absent: the only one that does.
        #[serde(default)]
        module: Option<Name>,
        /// Bytes from its first one.
        #[serde(default = "zero")]
        offset_bytes: Value,
        /// The values in order, laid out like the fields of a structure.
        values: Vec<Placed<Argument>>,
    },
    /// Copies the host's contents of a buffer into a variable of a module, from its first byte on.
    CopyToVariable {
        /// The buffer.
        buffer: Name,
        /// The variable.
        variable: Name,
        /// The module that has it; absent: the only one that does.
        #[serde(default)]
        module: Option<Name>,
    },
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
    /// Lets a texture reference of the module stand for a texture.
    BindTexture {
        /// The reference.
        reference: Name,
        /// The texture.
        texture: Name,
        /// The module that has the reference; absent: the only one that does.
        #[serde(default)]
        module: Option<Name>,
    },
    /// Launches a kernel.
    Launch(Launch),
    /// Waits for everything launched so far.
    Synchronize,
    /// Repeats commands a fixed number of times.
    Repeat {
        /// How often.
        times: Value,
        /// Name under which expressions in the body see the number of the round, from 0.
        #[serde(default)]
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
        #[serde(default)]
        counter: Option<Name>,
        /// Rounds after which the program counts as stuck.
        #[serde(default = "rounds_default")]
        at_most: Value,
        /// What is repeated.
        body: Vec<Placed<Command>>,
    },
}

/// A kernel launch.
#[derive(Clone, Debug, Deserialize)]
pub struct Launch {
    /// The kernel.
    pub kernel: Name,
    /// The module that has it; absent: the only one that does.
    #[serde(default)]
    pub module: Option<Name>,
    /// Work-groups along x, y, z; missing axes have one.
    #[serde(deserialize_with = "axes")]
    pub grid: Vec<Value>,
    /// Threads of a work-group along x, y, z; missing axes have one.
    #[serde(deserialize_with = "axes")]
    pub block: Vec<Value>,
    /// Bytes of local memory beyond what the kernel declares; CUDA's word for it is understood.
    #[serde(default = "zero", alias = "dynamic_shared_bytes")]
    pub dynamic_local_bytes: Value,
    /// Launches of one stream run in order.
    #[serde(default = "zero")]
    pub stream: Value,
    /// One for each parameter of the kernel.
    pub arguments: Vec<Placed<Argument>>,
}

/// An argument of a kernel: an address, a texture object, a number of the type in the name, or a structure.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs)] // The variants name their types.
pub enum Argument {
    /// The address of the first byte of a buffer.
    Buffer(Name),
    /// An address within a buffer, or just behind it.
    BufferAt {
        buffer: Name,
        /// Bytes from the first one of the buffer.
        offset_bytes: Value,
    },
    Texture(Name),
    U8(Value),
    U16(Value),
    U32(Value),
    U64(Value),
    S8(Value),
    S16(Value),
    S32(Value),
    S64(Value),
    F16(Value),
    BF16(Value),
    F32(Value),
    F64(Value),
    /// The `f32` of this bit pattern.
    F32Bits(Value),
    /// The `f64` of this bit pattern.
    F64Bits(Value),
    /// A structure or array by value: its fields in order, each at the next multiple of its size, as C lays
    /// them out.
    Struct(Vec<Placed<Argument>>),
    /// A structure by value, by the names of its fields.
    Record(Record),
}

fn rounds_default() -> Value {
    ROUNDS_DEFAULT.into()
}

fn zero() -> Value {
    0.into()
}

/// One number, or a list of up to three.
fn axes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    let OneOrMore(axes) = OneOrMore::deserialize(deserializer)?;
    if (1..=3).contains(&axes.len()) {
        return Ok(axes);
    }
    let message = format!("expected 1 to 3 axes, found {}", axes.len());
    Err(D::Error::custom(message))
}

impl Launch {
    /// A launch of one work-group of one thread without arguments, in stream 0.
    pub fn new(kernel: impl Into<Name>) -> Self {
        Self {
            kernel: kernel.into(),
            module: None,
            grid: Vec::new(),
            block: Vec::new(),
            dynamic_local_bytes: zero(),
            stream: zero(),
            arguments: Vec::new(),
        }
    }

    /// Says which module has the kernel, if several have one of the name.
    pub fn of_module(mut self, name: impl Into<Name>) -> Self {
        self.module = Some(name.into());
        self
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

    /// Adds a texture object as the next argument.
    pub fn texture(mut self, name: impl Into<Name>) -> Self {
        self.arguments.push(Argument::Texture(name.into()).into());
        self
    }

    /// Adds a structure by value as the next argument.
    pub fn record(mut self, record: Record) -> Self {
        self.arguments.push(Argument::Record(record).into());
        self
    }

    /// Adds a number as the next argument: `.scalar(Argument::U32, "=n")`.
    pub fn scalar(mut self, kind: fn(Value) -> Argument, value: impl Into<Value>) -> Self {
        self.arguments.push(kind(value.into()).into());
        self
    }
}
