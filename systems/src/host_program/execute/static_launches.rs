//! Launches known before emulation, so that simulation can begin before emulation ends.
//!
//! Launches are known in advance if nothing depends on values computed by kernels. This excludes
//! loops that kernels end, values read from the device, and launches from the device. The host then
//! executes its commands with an empty device.

use std::sync::Arc;

use warpweave_files::Ledger;
use warpweave_params::Placed;
use warpweave_trace::{Ahead, Class, Program};

use super::EMULATED_COPIES;
use super::emulated::Emulated;
use super::foresight::{Foresight, StaticLaunches};
use super::host::Host;
use super::progress::EmulationProgress;
use crate::host_program::description::Command;
use crate::host_program::{EmulationSpec, HostProgram};

impl StaticLaunches {
    /// Returns a program without its streams, so that simulation can start once `window` bytes of
    /// streams exist. Returns `None` if the program depends on values computed by kernels, or if it
    /// fails.
    pub(crate) fn of(
        program: &HostProgram,
        emulation: &EmulationSpec,
        window: u64,
    ) -> Option<Self> {
        let mut kernels = program.modules.iter().flat_map(|it| it.module().kernels());
        let launches = kernels.any(|kernel| {
            let mut instructions = kernel.code().instructions.iter();
            instructions.any(|instruction| instruction.class == Class::Launch)
        });
        if launches || depends_on_values(&program.commands) {
            return None;
        }
        let ahead = Ahead::of(window);
        let progress = EmulationProgress::default();
        let ledger = Ledger::new(&program.reading.ledger().budget());
        let mut device = Emulated::new(program, emulation, &progress).ok()?;
        device.memory = device.memory.charged_to(&ledger);
        device.foresight = Foresight::All(Arc::clone(&ahead));
        let mut host = Host::new(program, &mut device, EMULATED_COPIES).ok()?;
        host.run().ok()?;
        device.recorded.wait();
        let program = Program {
            name: program.name.clone(),
            allocations: device.allocations(),
            commands: device.recorded.commands,
            kernels: device.recorded.kernels,
            front_end: emulation.front_end(),
        };
        program.check().ok()?;
        Some(Self { program, ahead })
    }
}

/// True if device memory contents decide which commands run, or a launch states attributes, which
/// its trace receives after the emulation.
fn depends_on_values(commands: &[Placed<Command>]) -> bool {
    commands.iter().any(|command| match &command.value {
        Command::Read { .. } | Command::RepeatUntilZero { .. } => true,
        Command::Launch(launch) => {
            launch.cooperative
                || launch.registers_per_thread.is_some()
                || launch.place.is_some()
                || !launch.attributes.is_empty()
        }
        Command::Repeat { body, .. } => depends_on_values(body),
        Command::If {
            body, otherwise, ..
        } => depends_on_values(body) || depends_on_values(otherwise),
        _ => false,
    })
}
