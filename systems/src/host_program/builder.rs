//! Builder for host programs in Rust, and the checks that all host programs pass.

use std::path::PathBuf;
use std::sync::Arc;

use warpweave_inputs::reference::{Answer, Claim};
use warpweave_inputs::{ElementType, Matrix, Name, ResultFormat, Value};
use warpweave_params::{Diagnostics, Entries, Env, Files, Placed};

use super::HostProgram;
use super::check;
use super::description::{
    Allow, Command, Contents, Demand, Expectation, GraphInput, Launch, Mistake, TextureInput,
    Tolerance,
};
use super::inputs::{self, Buffer, HeldInputs};
use super::modules::{self, ModuleText};
use super::origin::ProgramOrigin;
use super::structures::{self, Structure};
use super::textures::BufferTexture;

/// Builder for a host program, consumed by its `build` method.
#[derive(Clone, Debug)]
pub struct HostProgramBuilder {
    name: String,
    pub(super) summary: String,
    pub(super) modules: Vec<ModuleText>,
    pub(super) env: Env,
    pub(super) graphs: Vec<(Name, GraphInput)>,
    pub(super) matrices: Vec<(Name, Matrix)>,
    pub(super) structures: Vec<(Name, Entries<ElementType>)>,
    pub(super) buffers: Vec<(Name, Contents)>,
    pub(super) textures: Vec<(Name, TextureInput)>,
    pub(super) commands: Vec<Placed<Command>>,
    pub(super) expectations: Vec<Expectation>,
    pub(super) results: Vec<(Name, ResultFormat)>,
    pub(super) allowed: Vec<Placed<Allow>>,
    pub(super) reading: Files,
    pub(super) origin: ProgramOrigin,
}

impl HostProgramBuilder {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            summary: String::new(),
            modules: Vec::new(),
            env: Env::new(),
            graphs: Vec::new(),
            matrices: Vec::new(),
            structures: Vec::new(),
            buffers: Vec::new(),
            textures: Vec::new(),
            commands: Vec::new(),
            expectations: Vec::new(),
            results: Vec::new(),
            allowed: Vec::new(),
            reading: Files::default(),
            origin: ProgramOrigin::default(),
        }
    }

    /// Adds a PTX module; `file` is its name in messages and commands.
    pub fn module(mut self, file: impl Into<String>, text: impl Into<String>) -> Self {
        let file = file.into();
        self.modules.push(ModuleText {
            name: file.as_str().into(),
            file,
            text: text.into().into(),
            parsed: None,
            place: None,
        });
        self
    }

    /// Sets the base folder for relative paths of inputs.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.reading = self.reading.at(folder);
        self
    }

    /// Sets how files are read, and the limits charged for them and for execution.
    pub fn reading(mut self, files: Files) -> Self {
        self.reading = files;
        self
    }

    /// Defines an integer parameter for use in expressions.
    pub fn param(mut self, name: impl Into<String>, value: i64) -> Self {
        self.env.set(name.into(), value);
        self
    }

    /// Adds a graph under a name, from a file, generator or memory.
    pub fn graph(mut self, name: impl Into<Name>, input: GraphInput) -> Self {
        self.graphs.push((name.into(), input));
        self
    }

    /// Adds a matrix under a name.
    pub fn matrix(mut self, name: impl Into<Name>, matrix: Matrix) -> Self {
        self.matrices.push((name.into(), matrix));
        self
    }

    /// Declares a structure: its fields in order with their types.
    pub fn structure<N: Into<Name>>(
        mut self,
        name: impl Into<Name>,
        fields: impl IntoIterator<Item = (N, ElementType)>,
    ) -> Self {
        let fields = fields
            .into_iter()
            .map(|(name, element)| (name.into(), element));
        self.structures.push((name.into(), fields.collect()));
        self
    }

    /// Adds a buffer; device memory is allocated in the order of these calls.
    pub fn buffer(mut self, name: impl Into<Name>, contents: Contents) -> Self {
        self.buffers.push((name.into(), contents));
        self
    }

    /// Adds a texture over a buffer.
    pub fn texture(mut self, name: impl Into<Name>, texture: TextureInput) -> Self {
        self.textures.push((name.into(), texture));
        self
    }

    /// Sets the commands that the host executes.
    pub fn commands(mut self, commands: Commands) -> Self {
        self.commands = commands.list;
        self
    }

    /// Adds an expectation that must hold bit for bit.
    pub fn expect(self, buffer: impl Into<Name>, equals: impl Into<Answer>) -> Self {
        self.expect_within(buffer, equals, Tolerance::Exact)
    }

    /// Adds an expectation with a tolerance.
    pub fn expect_within(
        mut self,
        buffer: impl Into<Name>,
        equals: impl Into<Answer>,
        tolerance: Tolerance,
    ) -> Self {
        self.expectations.push(Expectation {
            buffer: buffer.into(),
            demand: Demand::Equals(equals.into().into(), tolerance),
        });
        self
    }

    /// Adds an expectation that a buffer has a property.
    pub fn expect_property(mut self, buffer: impl Into<Name>, holds: impl Into<Claim>) -> Self {
        self.expectations.push(Expectation {
            buffer: buffer.into(),
            demand: Demand::Holds(holds.into().into()),
        });
        self
    }

    /// Includes a buffer in the results that the program writes on request.
    pub fn result(mut self, buffer: impl Into<Name>, format: ResultFormat) -> Self {
        self.results.push((buffer.into(), format));
        self
    }

    /// Allows a finding of [`HostProgram::examine`] as intended, for `kernel` and `buffer`. Without
    /// a buffer it applies to any.
    pub fn allow(
        mut self,
        kernel: impl Into<Name>,
        finding: Mistake,
        buffer: Option<&str>,
        because: impl Into<String>,
    ) -> Self {
        let allow = Allow {
            kernel: kernel.into(),
            finding,
            buffer: buffer.map(Name::from),
            because: because.into().into(),
        };
        self.allowed.push(allow.into());
        self
    }

    /// Builds graphs, parses the modules and checks that everything fits together.
    ///
    /// # Errors
    /// Returns everything that does not fit together.
    pub fn build(self) -> Result<HostProgram, Diagnostics> {
        let mut problems = Diagnostics::new();
        let modules = problems.take(modules::parse(self.modules));
        let mut env = self.env;
        let mut held = HeldInputs::default();
        let mut origin = self.origin;
        let files_read = &mut origin.files_read;
        for (name, input) in self.graphs {
            files_read.extend(input.file().map(|path| self.reading.folder().join(path)));
            if let Some(graph) = problems.take(inputs::build_graph(&name, input, &self.reading)) {
                problems.take(inputs::check_graph_name(&name, &env, &held.graphs));
                inputs::define_properties(&mut env, &name.value, &graph);
                held.graphs.push((name.value, graph));
            }
        }
        let mut warnings = Diagnostics::new();
        for (name, matrix) in self.matrices {
            problems.take(inputs::check_matrix_name(&name, &env, &held.matrices));
            inputs::define_matrix(&mut env, &name.value, &matrix);
            if let Some(warning) = inputs::repeated_entries(&name, &matrix) {
                warnings.push(warning);
            }
            held.matrices.push((name.value, matrix));
        }
        let mut structures: Vec<Arc<Structure>> = Vec::new();
        for (name, fields) in self.structures {
            if structures
                .iter()
                .any(|known| known.name.value == name.value)
            {
                problems.push(name.error(format!("structure `{}` is defined twice", name.value)));
            }
            let structure = problems.take(Structure::new(name, fields));
            structures.extend(structure.map(Arc::new));
        }
        if problems.has_errors() {
            // Everything below would complain about structures that could not be laid out.
            return Err(problems);
        }
        let mut buffers: Vec<Buffer> = Vec::new();
        for (name, contents) in self.buffers {
            files_read.extend(contents.file().map(|path| self.reading.folder().join(path)));
            let buffer = Buffer::new(name, contents, &held, &structures, &env, &self.reading);
            if let Some(buffer) = problems.take(buffer) {
                problems.take(inputs::check_buffer(&buffer, &buffers));
                buffers.push(buffer);
            }
        }
        let mut textures: Vec<BufferTexture> = Vec::new();
        for (name, input) in self.textures {
            if textures
                .iter()
                .any(|earlier| earlier.name.value == name.value)
            {
                problems.push(name.error(format!("texture `{}` is defined twice", name.value)));
            }
            textures.extend(problems.take(BufferTexture::new(name, &input, &buffers, &env)));
        }
        let mut commands = self.commands;
        structures::lay_out(&mut commands, &structures, &mut problems);
        let Some(modules) = modules.filter(|_| !problems.has_errors()) else {
            return Err(problems);
        };
        let mut program = HostProgram {
            name: self.name,
            summary: self.summary,
            modules,
            held,
            structures,
            buffers,
            textures,
            commands,
            expectations: self.expectations,
            results: self.results,
            allowed: self.allowed,
            warnings: Diagnostics::new(),
            env,
            reading: self.reading,
            origin,
        };
        let checked = check::program(&program)?;
        program.origin.files_read.extend(checked.files);
        for forgotten in &checked.forgotten {
            warnings.push(forgotten.clone());
        }
        program.warnings = warnings;
        Ok(program)
    }
}

/// Sequence of host commands, in execution order.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    list: Vec<Placed<Command>>,
}

impl Commands {
    /// Creates an empty sequence of commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a command to the end of the sequence.
    pub fn then(mut self, command: Command) -> Self {
        self.list.push(command.into());
        self
    }

    /// Copies the host's contents of a buffer to the device.
    pub fn copy_to_device(self, buffer: impl Into<Name>) -> Self {
        self.then(Command::CopyToDevice(buffer.into()))
    }

    /// Copies a buffer from the device to the host.
    pub fn copy_to_host(self, buffer: impl Into<Name>) -> Self {
        self.then(Command::CopyToHost(buffer.into()))
    }

    /// Writes one element of a buffer on the device.
    pub fn write(
        self,
        buffer: impl Into<Name>,
        index: impl Into<Value>,
        value: impl Into<Value>,
    ) -> Self {
        let (buffer, index, value) = (buffer.into(), index.into(), value.into());
        self.then(Command::Write {
            buffer,
            index,
            value,
        })
    }

    /// Copies the host's contents of a buffer into a variable. Exactly one module must define the
    /// variable.
    pub fn copy_to_variable(self, buffer: impl Into<Name>, variable: impl Into<Name>) -> Self {
        self.then(Command::CopyToVariable {
            buffer: buffer.into(),
            variable: variable.into(),
            module: None,
        })
    }

    /// Swaps the pointers of two buffers of equal size.
    pub fn swap(self, one: impl Into<Name>, other: impl Into<Name>) -> Self {
        self.then(Command::Swap(one.into(), other.into()))
    }

    /// Binds a texture to a texture reference of the module.
    pub fn bind_texture(self, reference: impl Into<Name>, texture: impl Into<Name>) -> Self {
        let (reference, texture) = (reference.into(), texture.into());
        self.then(Command::BindTexture {
            reference,
            texture,
            module: None,
        })
    }

    /// Appends a kernel launch to the sequence.
    pub fn launch(self, launch: Launch) -> Self {
        self.then(Command::Launch(launch))
    }

    /// Waits for all launches so far.
    pub fn synchronize(self) -> Self {
        self.then(Command::Synchronize)
    }

    /// Repeats commands; expressions in the body see the iteration number as `counter`.
    pub fn repeat(self, times: impl Into<Value>, counter: impl Into<Name>, body: Commands) -> Self {
        let (times, counter) = (times.into(), Some(counter.into()));
        self.then(Command::Repeat {
            times,
            counter,
            body: body.list,
        })
    }

    /// Repeats commands until the first element of `flag` reads zero after an iteration.
    /// Expressions in the body see the iteration number as `counter`.
    pub fn repeat_until_zero(
        self,
        flag: impl Into<Name>,
        counter: impl Into<Name>,
        at_most: impl Into<Value>,
        body: Commands,
    ) -> Self {
        let (flag, counter, at_most) = (flag.into(), Some(counter.into()), at_most.into());
        self.then(Command::RepeatUntilZero {
            flag,
            counter,
            at_most,
            body: body.list,
        })
    }
}
