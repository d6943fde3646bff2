//! Detection of buffers whose initial contents never reach the device.

use warpweave_inputs::Name;
use warpweave_params::{Diagnostic, Diagnostics};
use warpweave_ptx::Parameter;

use super::HostProgram;
use super::description::{Argument, Launch};
use super::textures;

/// Uses of a program's buffers by its commands.
#[derive(Default)]
pub(super) struct BufferUse {
    /// Buffers that receive contents from the host.
    pub(super) filled: Vec<usize>,
    /// Buffers that a kernel only writes.
    written: Vec<usize>,
    /// Buffers that a kernel may read, with the location of the argument and the kernel.
    read: Vec<(usize, Name, String)>,
}

impl BufferUse {
    /// Records the buffers that a launch's arguments use.
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

    /// Returns a warning for each buffer whose copy was forgotten.
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
