//! The launches of a program before they are emulated, so that its simulation can begin before its emulation ends.
//!
//! The launches are known when nothing depends on what kernels compute: no loop that ends when they say so, no value
//! read from the device, no launch from the device. Then the host goes through its commands with a device that holds
//! nothing.

use std::sync::Arc;

use warpweave_files::Ledger;
use warpweave_params::Placed;
use warpweave_trace::{Ahead, Class, KernelTrace, Program};

use super::host::Host;
use super::progress::EmulationProgress;
use crate::host_program::description::Command;
use crate::host_program::{EmulationSpec, HostProgram};

/// A program whose launches have no streams yet.
#[derive(Debug)]
pub(crate) struct StaticLaunches {
    /// All but the records; streams come with the emulation.
    pub(crate) program: Program,
    pub(crate) ahead: Arc<Ahead>,
}

/// What a host knows of launches before it has emulated them.
pub(in crate::host_program) enum Foresight<'p> {
    /// Nothing.
    None,
    /// It finds out: nothing is emulated, and the device holds nothing.
    All(Arc<Ahead>),
    /// Everything but their streams.
    Known(&'p StaticLaunches),
}

impl<'p> Foresight<'p> {
    /// Whether the device holds nothing.
    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All(_))
    }

    /// A launch that is about to be emulated.
    pub(super) fn launch(&self, number: u32) -> Option<&'p KernelTrace> {
        let Self::Known(foreseen) = *self else {
            return None;
        };
        let launch = foreseen.program.kernels.get(number as usize);
        launch.map(AsRef::as_ref)
    }

    /// A launch was emulated.
    pub(super) fn ended(&self, launch: &Arc<KernelTrace>) {
        if let Self::Known(foreseen) = self {
            foreseen.ahead.finished(launch);
        }
    }
}

impl HostProgram {
    /// The program without its streams, for a simulation that begins before its emulation ends, from `window` bytes of
    /// streams on; none if it depends on what kernels compute, or fails on the way.
    pub(crate) fn foresee(&self, emulation: &EmulationSpec, window: u64) -> Option<StaticLaunches> {
        let mut kernels = self.modules.iter().flat_map(|it| it.module().kernels());
        let launches = kernels.any(|kernel| {
            let mut instructions = kernel.code().instructions.iter();
            instructions.any(|instruction| instruction.class == Class::Launch)
        });
        if launches || depends_on_values(&self.commands) {
            return None;
        }
        let ahead = Ahead::of(window);
        let progress = EmulationProgress::default();
        let ledger = Ledger::new(&self.reading.ledger().budget());
        let mut host = Host::new(self, emulation, &progress);
        host.memory = host.memory.charged_to(&ledger);
        host.foresight = Foresight::All(Arc::clone(&ahead));
        host.run().ok()?;
        let program = Program {
            name: self.name.clone(),
            allocations: host.allocations(),
            commands: host.trace,
            kernels: host.kernels,
            front_end: emulation.front_end(),
        };
        program.check().ok()?;
        Some(StaticLaunches { program, ahead })
    }
}

/// Whether commands are chosen by what is in the memory of the device.
fn depends_on_values(commands: &[Placed<Command>]) -> bool {
    commands.iter().any(|command| match &command.value {
        Command::Read { .. } | Command::RepeatUntilZero { .. } => true,
        Command::Repeat { body, .. } => depends_on_values(body),
        _ => false,
    })
}
