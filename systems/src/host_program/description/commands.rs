//! Host commands of a program: copies, launches, loops and synchronization.

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use warpweave_inputs::{Name, Value};
use warpweave_params::{Condition, Entries, OneOrMore, Placed};

use warpweave_trace::PlacedBy;

use super::{Argument, Record};

/// Iteration limit of a loop that states none.
const ROUNDS_DEFAULT: u32 = 10_000;

/// Host command. Copies wait for all earlier launches, as blocking copies do.
#[derive(Clone, Debug, Deserialize)]
pub enum Command {
    /// Copies the host's contents of a buffer to the device.
    CopyToDevice(Name),
    /// Copies a buffer to the host, where checks and later copies see it.
    CopyToHost(Name),
    /// Copies some elements of the host's contents of a buffer to the device.
    CopyPartToDevice {
        /// Name of the buffer to copy from and to.
        buffer: Name,
        /// Index of the first element to copy.
        first: Value,
        /// Number of elements to be copied.
        length: Value,
    },
    /// Copies some elements of a buffer to the host; other elements there are unchanged.
    CopyPartToHost {
        /// Name of the buffer to copy from and to.
        buffer: Name,
        /// Index of the first element to copy.
        first: Value,
        /// Number of elements to be copied.
        length: Value,
    },
    /// Reads one integer of a buffer on the device; later commands refer to it by name.
    Read {
        /// Name of the buffer to read from.
        buffer: Name,
        /// Index of the element within the buffer.
        #[serde(default = "zero")]
        index: Value,
        /// Name of the value in later expressions.
        name: Name,
    },
    /// Writes values into a variable of the module, in global or constant memory.
    WriteVariable {
        /// Name of the variable to be written.
        variable: Name,
        /// Module that defines it; if absent, the only one that does.
        #[serde(default)]
        module: Option<Name>,
        /// Offset of the first written byte in the variable, in bytes.
        #[serde(default = "zero")]
        offset_bytes: Value,
        /// Values in order, laid out like the fields of a structure.
        values: Vec<Placed<Argument>>,
    },
    /// Copies the host's contents of a buffer into a variable of a module, starting at its first
    /// byte.
    CopyToVariable {
        /// Name of the buffer to copy from.
        buffer: Name,
        /// Name of the variable to be written.
        variable: Name,
        /// Module that defines it; if absent, the only one that does.
        #[serde(default)]
        module: Option<Name>,
    },
    /// Writes one element of a buffer on the device.
    Write {
        /// Name of the buffer to be written.
        buffer: Name,
        /// Index of the element within the buffer.
        index: Value,
        /// New value of the buffer's element.
        value: Value,
    },
    /// Swaps two buffers of equal size by swapping their pointers, without a copy. The host's
    /// contents are not swapped.
    Swap(Name, Name),
    /// Binds a texture to a texture reference of the module.
    BindTexture {
        /// Name of the module's texture reference.
        reference: Name,
        /// Name of the texture to be bound.
        texture: Name,
        /// Module that defines the reference; if absent, the only one that does.
        #[serde(default)]
        module: Option<Name>,
    },
    /// Launches a kernel on the device, asynchronously.
    Launch(Launch),
    /// Waits for all launches so far.
    Synchronize,
    /// Executes commands if a condition holds, and others if it does not.
    If {
        /// Condition, evaluated each time that the command is reached.
        condition: Placed<Condition>,
        /// Commands to execute if the condition holds.
        body: Vec<Placed<Command>>,
        /// Commands to execute if the condition does not hold.
        #[serde(default)]
        otherwise: Vec<Placed<Command>>,
    },
    /// Repeats commands a fixed number of times.
    Repeat {
        /// Number of iterations of the loop.
        times: Value,
        /// Name for the iteration number, from 0, in expressions of the body.
        #[serde(default)]
        counter: Option<Name>,
        /// Commands that form the loop body.
        body: Vec<Placed<Command>>,
    },
    /// Repeats commands until the first element of a buffer reads zero after an iteration. Reading
    /// it is a small copy to the host.
    RepeatUntilZero {
        /// Buffer whose first element is read after each iteration.
        flag: Name,
        /// Name for the iteration number, from 0, in expressions of the body.
        #[serde(default)]
        counter: Option<Name>,
        /// Number of iterations after which the program counts as stuck.
        #[serde(default = "rounds_default")]
        at_most: Value,
        /// Commands that form the loop body.
        body: Vec<Placed<Command>>,
    },
}

/// Kernel launch with its grid, stream and arguments.
#[derive(Clone, Debug, Deserialize)]
pub struct Launch {
    /// Name of the kernel to launch, or the parts that make it up.
    #[serde(deserialize_with = "joined")]
    pub kernel: Name,
    /// Module that defines the kernel; if absent, the only one that does.
    #[serde(default)]
    pub module: Option<Name>,
    /// Grid size in work-groups along x, y, z; missing axes are one.
    #[serde(deserialize_with = "axes")]
    pub grid: Vec<Value>,
    /// Threads per work-group along x, y, z; missing axes are one.
    #[serde(deserialize_with = "axes")]
    pub block: Vec<Value>,
    /// Bytes of local memory beyond the kernel's static declaration; the CUDA name is also
    /// accepted.
    #[serde(default = "zero", alias = "dynamic_shared_bytes")]
    pub dynamic_local_bytes: Value,
    /// Stream of the launch; launches of one stream run in order.
    #[serde(default = "zero")]
    pub stream: Value,
    /// True for a cooperative launch: its work-groups are resident all at once, so they may wait
    /// for each other.
    #[serde(default)]
    pub cooperative: bool,
    /// Registers per thread that the machine allocates, 1 to 255; absent: those of the kernel's
    /// code.
    #[serde(default)]
    pub registers_per_thread: Option<Value>,
    /// Placement of work-groups that ask where they run; launches of other kernels ignore it.
    #[serde(default)]
    pub place: Option<Box<LaunchPlace>>,
    /// Values by name for policies that know the name, such as `work_group_map`; 0 to 2^64 - 1.
    #[serde(default)]
    pub attributes: Entries<Value>,
    /// Arguments, one for each parameter of the kernel.
    pub arguments: Vec<Placed<Argument>>,
}

/// Declared placement of a launch whose work-groups ask where they run: work-group `n` is context
/// `n / units` of unit `n % units`.
#[derive(Clone, Debug, Deserialize)]
pub struct LaunchPlace {
    /// Number of compute units of the machine.
    pub units: Value,
    /// Number of work-groups that each unit receives: those that are resident at once.
    pub contexts: Value,
    /// Meaning of a context's number: `Slot` or `Arrival`.
    pub by: PlacedBy,
}

/// Joins the parts of a name; the first one gives its place.
fn joined<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
    let mut parts = OneOrMore::<Name>::deserialize(deserializer)?.0.into_iter();
    let first = parts.next();
    let mut name = first.ok_or_else(|| D::Error::custom("expected at least one part of a name"))?;
    name.value.extend(parts.map(|part| part.value));
    Ok(name)
}

fn rounds_default() -> Value {
    ROUNDS_DEFAULT.into()
}

fn zero() -> Value {
    0.into()
}

/// Reads one number, or a list of up to three.
fn axes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    let OneOrMore(axes) = OneOrMore::deserialize(deserializer)?;
    if (1..=3).contains(&axes.len()) {
        return Ok(axes);
    }
    let message = format!("expected 1 to 3 axes, found {}", axes.len());
    Err(D::Error::custom(message))
}

impl Launch {
    /// Creates a launch of one work-group of one thread, without arguments, in stream 0.
    pub fn new(kernel: impl Into<Name>) -> Self {
        Self {
            kernel: kernel.into(),
            module: None,
            grid: Vec::new(),
            block: Vec::new(),
            dynamic_local_bytes: zero(),
            stream: zero(),
            cooperative: false,
            registers_per_thread: None,
            place: None,
            attributes: Entries::default(),
            arguments: Vec::new(),
        }
    }

    /// Selects the module of the kernel if several define that name.
    pub fn of_module(mut self, name: impl Into<Name>) -> Self {
        self.module = Some(name.into());
        self
    }

    /// Sets the number of work-groups along x, y, z.
    pub fn grid<V: Into<Value>>(mut self, axes: impl IntoIterator<Item = V>) -> Self {
        self.grid = axes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the number of threads per work-group along x, y, z.
    pub fn block<V: Into<Value>>(mut self, axes: impl IntoIterator<Item = V>) -> Self {
        self.block = axes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the bytes of local memory beyond the kernel's static declaration.
    pub fn dynamic_local_bytes(mut self, bytes: impl Into<Value>) -> Self {
        self.dynamic_local_bytes = bytes.into();
        self
    }

    /// Sets the stream; launches of one stream run in order.
    pub fn stream(mut self, stream: impl Into<Value>) -> Self {
        self.stream = stream.into();
        self
    }

    /// Makes the launch cooperative: its work-groups are resident all at once.
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// Sets the registers per thread that the machine allocates.
    pub fn registers_per_thread(mut self, registers: impl Into<Value>) -> Self {
        self.registers_per_thread = Some(registers.into());
        self
    }

    /// Declares the placement of work-groups that ask where they run.
    pub fn place(mut self, place: LaunchPlace) -> Self {
        self.place = Some(Box::new(place));
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
