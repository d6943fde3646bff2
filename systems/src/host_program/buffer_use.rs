//! Buffers that were given contents which never reach the device.

use warpweave_inputs::Name;
use warpweave_params::{Diagnostic, Diagnostics};
use warpweave_ptx::Parameter;

use super::HostProgram;
use super::description::{Argument, Launch};
use super::textures;

/// What the commands of a program do with its buffers.
#[derive(Default)]
pub(super) struct BufferUse {
    /// Buffers that get contents of the host.
    pub(super) filled: Vec<usize>,
    /// Buffers that a kernel only writes.
    written: Vec<usize>,
    /// Buffers that a kernel may read, where they are passed, and the kernel.
    read: Vec<(usize, Name, String)>,
}

impl BufferUse {
    /// Notes the arguments of a launch.
    pub(super) fn note(
        &mut self,
        program: &HostProgram,
        launch: &Launch,
        parameters: &[Parameter],
    ) {
        for (argument, parameter) in launch.arguments.iter().zip(parameters) {
            let (name, may_be_read) = match &argument.value {
                Argument::Buffer(name) | Argument::BufferAt { buffer: name, .. } => {
                    (name, parameter.may_be_read)
                }
                Argument::Texture(name) => match textures::find(&program.textures, name) {
                    Ok(texture) => (
                        &program.buffers[program.textures[texture].buffer].name,
                        true,
                    ),
                    Err(_) => continue,
                },
                _ => continue,
            };
            let Ok(buffer) = program.buffer(name) else {
                continue;
            };
            if may_be_read {
                let kernel = launch.kernel.value.clone();
                self.read.push((buffer, name.clone(), kernel));
            } else {
                self.written.push(buffer);
            }
        }
    }

    /// A warning for each buffer whose contents were forgotten.
    pub(super) fn forgotten(&self, program: &HostProgram) -> Diagnostics {
        let mut warned = Vec::new();
        let mut warnings = Diagnostics::new();
        for (buffer, name, kernel) in &self.read {
            let has_contents = program.buffers[*buffer].has_contents();
            let others = [&self.filled, &self.written, &warned];
            if !has_contents || others.iter().any(|list| list.contains(buffer)) {
                continue;
            }
            warned.push(*buffer);
            let message = format!(
                "kernel `{kernel}` reads `{}`, whose contents are never copied to the device",
                name.value
            );
            let mut warning = Diagnostic::warning(message);
            if let Some(place) = &name.place {
                warning = warning.at(place);
            }
            let hint = format!("add CopyToDevice(\"{}\") before the launch", name.value);
            warnings.push(warning.hint(hint));
        }
        warnings
    }
}
