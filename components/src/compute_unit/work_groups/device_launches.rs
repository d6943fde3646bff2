//! Device-side launches on their way to the launch unit.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, OutPort, Ports, State, Waits};

use crate::launch::DeviceLaunch;

/// A launch that has issued but has not been sent. Its wavefront waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingLaunch {
    /// Slot of the wavefront that has ended.
    pub(crate) slot: u8,
    /// Cycles from sending the launch to the wavefront's next instruction.
    pub(crate) latency: u32,
    /// None: no lane launches, which takes the latency alone.
    pub(crate) launch: Option<DeviceLaunch>,
}

/// Launches that wait for the wire, oldest first.
#[derive(Ports, State)]
pub(crate) struct LaunchQueue {
    #[port(optional, rename = "launches")]
    port: OutPort<DeviceLaunch>,
    queue: VecDeque<PendingLaunch>,
}

impl LaunchQueue {
    pub(crate) fn new() -> Self {
        Self {
            port: OutPort::new(),
            queue: VecDeque::new(),
        }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.port.is_connected()
    }

    pub(crate) fn push(&mut self, launch: PendingLaunch) {
        self.queue.push_back(launch);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sends the oldest launch; none when there is none, or no room.
    pub(crate) fn send(&mut self, ctx: &mut Context<'_>) -> Option<PendingLaunch> {
        let pending = *self.queue.front()?;
        if let Some(launch) = pending.launch {
            self.port.try_send(ctx, launch).ok()?;
        }
        self.queue.pop_front()
    }

    pub(crate) fn waits(&self, waits: &mut Waits<'_>) {
        if !self.queue.is_empty() {
            let count = self.queue.len();
            let what = format!("{count} device-side launches are not sent yet");
            waits.on_port("launches", what);
        }
    }
}
