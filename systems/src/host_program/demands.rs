//! Demands of a host program on the machine, as known without emulation.

use warpweave_components::demands::{BufferDemand, Demands, KernelDemand};
use warpweave_framework::Origin;
use warpweave_params::{Placed, Span};
use warpweave_ptx::{DEVICE_BASE, allocation_bytes};
use warpweave_trace::Program;

use super::description::Command;
use super::modules::{self, SymbolKind};
use super::{EmulationSpec, HostProgram};

/// Demands of a program, and the locations that its origins refer to.
pub(crate) struct ProgramDemands {
    pub(crate) demands: Demands,
    pub(crate) places: Vec<Option<Span>>,
}

impl HostProgram {
    /// Returns the program's demands on the machine. They come from `emulated`, or from the
    /// description if `emulated` holds no launches and no data.
    pub(crate) fn demands(&self, emulated: &Program, emulation: &EmulationSpec) -> ProgramDemands {
        let mut asked = ProgramDemands {
            demands: Demands::default(),
            places: Vec::new(),
        };
        self.ask_for_launches(&self.commands, &mut asked);
        let described = &mut asked.demands.kernels;
        if !emulated.kernels.is_empty() {
            let places: Vec<KernelDemand> = std::mem::take(described);
            for kernel in &emulated.kernels {
                let code = &kernel.code;
                if described.iter().any(|known| known.name == code.name) {
                    continue;
                }
                let place = places.iter().find(|place| place.name == code.name);
                described.push(KernelDemand {
                    name: code.name.clone(),
                    private_bytes: code.private_bytes,
                    origin: place.and_then(|place| place.origin),
                });
            }
        }
        let mut base = DEVICE_BASE + emulation.allocation_offset_bytes.get();
        for buffer in &self.buffers {
            let origin = asked.origin(buffer.name.place.clone());
            asked.demands.buffers.push(BufferDemand {
                name: buffer.name.value.clone(),
                base,
                bytes: buffer.bytes(),
                origin: Some(origin),
            });
            base = base.saturating_add(allocation_bytes(buffer.bytes()));
        }
        if !emulated.allocations.is_empty() {
            let described = std::mem::take(&mut asked.demands.buffers);
            for allocation in &emulated.allocations {
                let same = described.iter().find(|b| b.name == allocation.name);
                asked.demands.buffers.push(BufferDemand {
                    name: allocation.name.clone(),
                    base: allocation.base,
                    bytes: allocation.bytes,
                    origin: same.and_then(|buffer| buffer.origin),
                });
            }
        }
        asked
    }

    fn ask_for_launches(&self, commands: &[Placed<Command>], asked: &mut ProgramDemands) {
        for command in commands {
            match &command.value {
                Command::Launch(launch) => {
                    let name = &launch.kernel;
                    // That there is no such kernel is said where the program is checked.
                    let chosen = launch.module.as_ref();
                    let Ok(module) = modules::find(&self.modules, chosen, SymbolKind::Kernel, name)
                    else {
                        continue;
                    };
                    let Ok(kernel) = self.modules[module].module().kernel(&name.value) else {
                        continue;
                    };
                    let private_bytes = kernel.code().private_bytes;
                    let known =
                        |k: &KernelDemand| k.name == name.value && k.private_bytes == private_bytes;
                    if asked.demands.kernels.iter().any(known) {
                        continue;
                    }
                    let origin = asked.origin(name.place.clone());
                    asked.demands.kernels.push(KernelDemand {
                        name: name.value.clone(),
                        private_bytes,
                        origin: Some(origin),
                    });
                }
                Command::Repeat { body, .. } | Command::RepeatUntilZero { body, .. } => {
                    self.ask_for_launches(body, asked);
                }
                _ => {}
            }
        }
    }
}

impl ProgramDemands {
    fn origin(&mut self, place: Option<Span>) -> Origin {
        self.places.push(place);
        Origin(self.places.len() as u32 - 1)
    }
}
