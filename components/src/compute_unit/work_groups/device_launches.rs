//! Launches from the device, on their way to the launch unit.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle};

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::pipes::wheel::Event;
use crate::launch::{DeviceLaunch, Predictions};

/// A launch that has issued and not left. Its wavefront waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Launching {
    pub(crate) slot: u8,
    /// Cycles from leaving to the next instruction of the wavefront.
    latency: u32,
    launch: DeviceLaunch,
}

impl ComputeUnit {
    /// Issues a launch record. One in which no lane launches takes its latency alone.
    pub(crate) fn launch(&mut self, slot: usize, latency: u32) {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.wavefronts[slot];
        let mut predictions = Predictions::default();
        if let Some(monitor) = &mut self.reuse_monitor {
            for kernel in 0..wavefront.record.mask.count_ones() {
                predictions.set(kernel, monitor.on_child_launch().relation);
            }
        }
        let group = &self.work_groups[usize::from(wavefront.work_group)];
        let launch = DeviceLaunch {
            kernel: wavefront.kernel,
            work_group: group.work_group,
            wavefront: u32::from(wavefront.number),
            record: wavefront.launches,
            predictions,
        };
        wavefront.launches += 1;
        self.masks.fetched &= !bit;
        self.masks.paused |= bit;
        self.launching.push_back(Launching {
            slot: slot as u8,
            latency,
            launch,
        });
    }

    /// Sends launches; a wavefront whose launch has left goes on after its latency.
    pub(crate) fn send_launches(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        while let Some(&Launching {
            slot,
            latency,
            launch,
        }) = self.launching.front()
        {
            let none = self.wavefronts[usize::from(slot)].record.mask == 0;
            if !none && self.launches.try_send(ctx, launch).is_err() {
                return;
            }
            self.launching.pop_front();
            let event = Event::Resume { slot };
            self.wheel.push(now, u64::from(latency), event);
        }
    }
}
