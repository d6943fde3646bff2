//! Knowledge of the launches before they are emulated.

use std::sync::Arc;

use warpweave_trace::{Ahead, KernelTrace, Program};

/// Program with known launches but without their instruction streams.
#[derive(Debug)]
pub(crate) struct StaticLaunches {
    /// Program without records; the emulation supplies the streams later.
    pub(crate) program: Program,
    pub(crate) ahead: Arc<Ahead>,
}

/// Knowledge of the host about launches before their emulation.
pub(in crate::host_program) enum Foresight<'p> {
    /// Nothing is known before the emulation.
    None,
    /// Launches are being determined: nothing is emulated, and the device is empty.
    All(Arc<Ahead>),
    /// Everything is known except for the streams.
    Known(&'p StaticLaunches),
}

impl<'p> Foresight<'p> {
    /// True if the device is empty and nothing is emulated.
    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All(_))
    }

    /// Returns the known launch of this number, which is about to be emulated.
    pub(super) fn launch(&self, number: u32) -> Option<&'p KernelTrace> {
        let Self::Known(foreseen) = *self else {
            return None;
        };
        let launch = foreseen.program.kernels.get(number as usize);
        launch.map(AsRef::as_ref)
    }

    /// Reports that the emulation of a launch has ended.
    pub(super) fn ended(&self, launch: &Arc<KernelTrace>) {
        if let Self::Known(foreseen) = self {
            foreseen.ahead.finished(launch);
        }
    }
}
