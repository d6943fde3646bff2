//! Actions of a host program so far, from which its trace is made.

use std::sync::Arc;

use warpweave_ptx::{Numbers, Printed};
use warpweave_trace::{HostCommand, KernelTrace};

/// Commands and launches that were executed, with the numbers of the next ones.
#[derive(Default)]
pub(in crate::host_program) struct Recorded {
    pub(super) commands: Vec<HostCommand>,
    pub(super) kernels: Vec<Arc<KernelTrace>>,
    /// Number of host launches started so far.
    pub(in crate::host_program) launches: u32,
    /// Numbers for the next kernels and streams.
    pub(super) numbers: Numbers,
    pub(super) printed: Printed,
    /// Number of refused launches from the device.
    pub(super) refused_launches: u64,
    /// True if something was launched since the host last waited.
    is_running: bool,
}

impl Recorded {
    /// Records a launch of the host.
    pub(super) fn launch(&mut self, kernel: u32, stream: u32) {
        self.commands.push(HostCommand::Launch { kernel, stream });
        self.is_running = true;
    }

    /// Records that the host waits for all launches.
    pub(super) fn synchronize(&mut self) {
        self.commands.push(HostCommand::Synchronize);
        self.is_running = false;
    }

    /// Records a wait if a launch may still be running.
    pub(super) fn wait(&mut self) {
        if self.is_running {
            self.synchronize();
        }
    }
}
