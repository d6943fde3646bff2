//! Streams of device launches: those of the runtime, and those that programs create.
//!
//! Source: CUDA C++ Programming Guide, "Streams, Events, and Concurrency" of the chapter on dynamic
//! parallelism.

use warpweave_trace::{Parent, TAIL_STREAMS};

use crate::exec::error::{Fault, FaultKind};
use crate::exec::external::thread;
use crate::exec::family::{DEVICE_STREAMS, Runtime};
use crate::exec::wavefront::Wavefront;

/// Stream handles that the runtime defines.
mod handle {
    /// Implicit stream of the launching work-group.
    pub(super) const NULL: u64 = 0;
    /// `cudaStreamLegacy`; on the device it is the implicit stream.
    pub(super) const LEGACY: u64 = 1;
    /// `cudaStreamPerThread`: a stream of the launching thread.
    pub(super) const PER_THREAD: u64 = 2;
    /// `cudaStreamTailLaunch`: after the launching grid and all else that it launched.
    pub(super) const TAIL_LAUNCH: u64 = 3;
    /// `cudaStreamFireAndForget`: a stream of its own for every launch.
    pub(super) const FIRE_AND_FORGET: u64 = 4;
    /// Streams of graph launches, by name.
    pub(super) const OF_GRAPHS: [(u64, &str); 3] = [
        (1 << 56, "cudaStreamGraphTailLaunch"),
        (2 << 56, "cudaStreamGraphFireAndForget"),
        (3 << 56, "cudaStreamGraphFireAndForgetAsSibling"),
    ];
}

impl Runtime {
    /// Returns the number in the trace of the stream that a lane launches into. `is_per_thread`
    /// makes the null stream that of the thread. Returns `None` for a handle that names no stream.
    pub(super) fn stream(
        &mut self,
        wavefront: &Wavefront,
        lane: usize,
        handle: u64,
        is_per_thread: bool,
    ) -> Result<Option<u32>, Fault> {
        if let Some((_, name)) = handle::OF_GRAPHS.iter().find(|(known, _)| *known == handle) {
            return Err(Fault::at(lane, FaultKind::GraphStream { name }));
        }
        // The implicit stream belongs to the work-group and has no thread.
        let owner = match handle {
            handle::NULL if is_per_thread => Some(thread(wavefront, lane)),
            handle::PER_THREAD => Some(thread(wavefront, lane)),
            handle::NULL | handle::LEGACY => None,
            handle::TAIL_LAUNCH => return Ok(Some(Parent::tail_stream(self.kernel))),
            handle::FIRE_AND_FORGET => return Ok(self.new_stream()),
            _ => {
                let named = u32::try_from(handle).ok();
                let known = DEVICE_STREAMS..self.next_stream;
                return Ok(named.filter(|stream| known.contains(stream)));
            }
        };
        let owner = (wavefront.group, owner.map(|(_, thread)| thread));
        if let Some(&stream) = self.default_streams.get(&owner) {
            return Ok(Some(stream));
        }
        let stream = self.new_stream();
        self.default_streams
            .extend(stream.map(|stream| (owner, stream)));
        Ok(stream)
    }

    /// True if events cannot be recorded in the stream of this handle, nor can it wait for them.
    pub(super) fn takes_no_events(stream: u64) -> bool {
        matches!(stream, handle::TAIL_LAUNCH | handle::FIRE_AND_FORGET)
            || handle::OF_GRAPHS.iter().any(|(known, _)| *known == stream)
    }

    /// Returns the number of a new stream; `None` if all are assigned.
    pub(super) fn new_stream(&mut self) -> Option<u32> {
        let stream = self.next_stream;
        let is_left = stream < TAIL_STREAMS;
        self.next_stream += u32::from(is_left);
        is_left.then_some(stream)
    }
}
