//! Trace streams that are simulated while the program is still being emulated.
//!
//! ```text
//!   emulation ──► KernelWriter ──► streams that nobody began to read ──► Cursor ──► simulation
//!                     waits while they are many            waits until its stream has come
//! ```
//!
//! A stream is dropped once it was read to its end. A few streams are kept in memory and the others
//! in a temporary file, because a machine may begin with the last work-group. The emulation pauses
//! while too many bytes of streams are unread. It continues if the simulation waits for a missing
//! stream, which avoids a deadlock.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::arrivals::{Arrivals, FlowControl};
use crate::kernel::{Data, Launch};
use crate::{Code, KernelTrace, TraceError};

/// Coordinates the emulation of a program that runs ahead of its simulation.
#[derive(Debug)]
pub struct Ahead {
    flow: Arc<FlowControl>,
    /// Launches whose emulation ended before the simulation began.
    finished: Mutex<Vec<Arc<KernelTrace>>>,
}

impl Ahead {
    /// Creates an emulation that keeps up to `window` bytes of streams in memory and leads by up to
    /// eight times that. A program that fits in memory is emulated to its end first.
    pub fn of(window: u64) -> Arc<Self> {
        Arc::new(Self {
            flow: Arc::new(FlowControl::new(window)),
            finished: Mutex::default(),
        })
    }

    /// Creates a launch whose streams arrive while others are being simulated.
    ///
    /// # Errors
    /// Same as [`KernelWriter::new`](crate::KernelWriter::new).
    pub fn launch(
        &self,
        code: Arc<Code>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_local_bytes: u32,
        arguments: Vec<u8>,
    ) -> Result<KernelTrace, TraceError> {
        let launch = Launch::new(code, grid, block, dynamic_local_bytes, arguments)?;
        let streams = usize::try_from(launch.wavefronts()).unwrap_or(usize::MAX);
        let arrivals = Arc::new(Arrivals::new(&self.flow, streams));
        Ok(launch.with_data(Vec::new(), Data::Arriving(arrivals)))
    }

    /// Waits until the simulation can begin and returns the launches emulated before. Returns
    /// `None` if the emulation has ended.
    pub fn begun(&self) -> Option<Vec<Arc<KernelTrace>>> {
        let mut state = self.flow.locked();
        while !state.begun && !state.ended {
            self.flow.wait(&mut state);
        }
        let finished = self.finished.lock();
        state.begun.then(|| finished.clone())
    }

    /// Records that the emulation of a launch has ended.
    pub fn finished(&self, launch: &Arc<KernelTrace>) {
        let mut state = self.flow.locked();
        if !state.begun {
            state.kept += launch.stream_bytes();
            let mut finished = self.finished.lock();
            finished.push(Arc::clone(launch));
        }
    }

    /// Records that the emulation has ended, successfully or not. Missing streams will not arrive.
    pub fn end(&self) {
        self.flow.announce(|state| state.ended = true);
    }

    /// Records that no more streams are read. The emulation continues to its end without keeping
    /// any.
    pub fn release(&self) {
        self.flow.announce(|state| state.released = true);
    }
}
