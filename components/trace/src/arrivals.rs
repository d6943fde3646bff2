//! Streams that arrive while others are being simulated, and the flow control between both sides.

use std::io;
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::counts::WavefrontCounts;
use crate::encoding::PADDING;
use crate::spill::{SpilledStream, unreadable};
use crate::window::Windows;

/// Flow control between the emulation of a program and its simulation.
#[derive(Debug)]
pub(crate) struct FlowControl {
    state: Mutex<State>,
    changed: Condvar,
    /// Maximum number of stream bytes kept in memory.
    window: u64,
}

/// Maximum lead of the emulation, as a multiple of the bytes kept in memory.
const FURTHEST: u64 = 8;

/// State of an emulation and of the simulation that follows it.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// True once the program has more stream bytes than the window, so that the simulation begins.
    pub(crate) begun: bool,
    /// True once no more streams will arrive.
    pub(crate) ended: bool,
    /// True once the simulation reads no more streams.
    pub(crate) released: bool,
    /// Stream bytes of the launches that ended before the simulation began.
    pub(crate) kept: u64,
    /// Number of stream bytes held in memory.
    held: u64,
    /// Number of stream bytes that no reader has begun.
    unread: u64,
    /// True while the emulation is paused because too many bytes are unread.
    is_full: bool,
    /// Number of missing streams that readers are waiting for.
    wanted: u32,
}

impl FlowControl {
    pub(crate) fn new(window: u64) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            window,
        }
    }

    /// Changes the state and wakes the threads that wait for a change.
    pub(crate) fn announce(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.locked());
        self.changed.notify_all();
    }

    /// True if streams must be handed over, given the stream bytes of the launch being emulated.
    pub(crate) fn has_begun(&self, bytes: u64) -> bool {
        let mut state = self.locked();
        if !state.begun && state.kept + bytes > self.window {
            state.begun = true;
            self.changed.notify_all();
        }
        state.begun
    }

    pub(crate) fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn wait(&self, state: &mut MutexGuard<'_, State>) {
        self.changed.wait(state);
    }
}

/// Storage of a stream that has arrived.
#[derive(Debug)]
pub(crate) enum StreamStorage {
    /// In memory, including the padding after the end.
    Memory(Vec<u8>),
    /// In a temporary file, read through a window.
    Spilled(SpilledStream, Windows),
}

/// State of a stream that arrives while others are simulated.
#[derive(Debug, Default)]
pub(crate) enum Arrival {
    /// The stream has not arrived yet.
    #[default]
    Expected,
    /// The stream has not arrived, and a reader waits for it.
    Wanted,
    /// The stream has arrived and can be read.
    Here {
        bytes: StreamStorage,
        length: u64,
        counts: WavefrontCounts,
        /// True once a reader has begun the stream.
        begun: bool,
    },
    /// The stream was read to its end, or is not needed.
    Gone {
        length: u64,
        counts: WavefrontCounts,
    },
}

/// Streams of a launch that is simulated while it is emulated, indexed by number.
#[derive(Debug)]
pub(crate) struct Arrivals {
    flow: Arc<FlowControl>,
    streams: usize,
    slots: OnceLock<Box<[Mutex<Arrival>]>>,
    totals: Mutex<Totals>,
    /// Reason why a stream could not be read.
    failure: OnceLock<String>,
}

/// Totals over the streams that have arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) streams: usize,
    pub(crate) bytes: u64,
    pub(crate) counts: WavefrontCounts,
}

impl Arrivals {
    pub(crate) fn new(flow: &Arc<FlowControl>, streams: usize) -> Self {
        Self {
            flow: Arc::clone(flow),
            streams,
            slots: OnceLock::new(),
            totals: Mutex::default(),
            failure: OnceLock::new(),
        }
    }

    pub(crate) fn flow(&self) -> &FlowControl {
        &self.flow
    }

    /// Locks a stream. The holder must not take another lock of this launch.
    pub(crate) fn slot(&self, stream: u32) -> MutexGuard<'_, Arrival> {
        let slots = self
            .slots
            .get_or_init(|| (0..self.streams).map(|_| Mutex::default()).collect());
        slots[stream as usize].lock()
    }

    pub(crate) fn totals(&self) -> Totals {
        *self.totals.lock()
    }

    /// Waits until a stream of `length` bytes may be handed over. Returns true if it may stay in
    /// memory.
    pub(crate) fn has_room(&self, length: u64) -> bool {
        let mut state = self.flow.locked();
        while !state.released && state.wanted == 0 && state.is_full {
            self.flow.wait(&mut state);
        }
        state.released || state.held + length <= self.flow.window
    }

    /// Hands over a stream. Returns true if it had not arrived before.
    pub(crate) fn arrive(
        &self,
        stream: u32,
        counts: WavefrontCounts,
        (bytes, length): (StreamStorage, u64),
    ) -> bool {
        let mut state = self.flow.locked();
        let mut slot = self.slot(stream);
        let wanted = match *slot {
            Arrival::Expected => false,
            Arrival::Wanted => true,
            Arrival::Here { .. } | Arrival::Gone { .. } => return false,
        };
        if state.released || length == 0 {
            // A later reader finds an empty stream.
            *slot = Arrival::Gone { length: 0, counts };
        } else {
            if matches!(bytes, StreamStorage::Memory(_)) {
                state.held += length;
            }
            state.unread += length;
            *slot = Arrival::Here {
                bytes,
                length,
                counts,
                begun: false,
            };
        }
        drop(slot);
        state.is_full |= state.unread >= self.flow.window.saturating_mul(FURTHEST);
        let mut totals = self.totals.lock();
        totals.streams += 1;
        totals.bytes += length;
        totals.counts += counts;
        drop(totals);
        if wanted {
            state.wanted -= 1;
            self.flow.changed.notify_all();
        }
        true
    }

    /// Records that this number of bytes in memory was dropped.
    pub(crate) fn dropped(&self, bytes: u64) {
        self.flow.locked().held -= bytes;
    }

    /// Records that a stream could not be read from the temporary file.
    pub(crate) fn failed(&self, error: &io::Error) {
        self.failure.get_or_init(|| unreadable(error));
    }

    /// Returns the reason why a stream was cut short.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Waits until a stream has arrived and marks it as begun. Returns at once if it will never
    /// arrive.
    ///
    /// # Panics
    /// Panics if the stream was already read to its end.
    pub(crate) fn begin(&self, stream: u32) {
        let mut state = self.flow.locked();
        loop {
            let mut slot = self.slot(stream);
            match &mut *slot {
                Arrival::Here { begun: true, .. } | Arrival::Gone { length: 0, .. } => return,
                Arrival::Here { begun, length, .. } => {
                    *begun = true;
                    state.unread -= *length;
                    // Not at once, or the emulation would begin and stop again with every stream.
                    if state.is_full && state.unread <= self.flow.window * (FURTHEST / 2) {
                        state.is_full = false;
                        self.flow.changed.notify_all();
                    }
                    return;
                }
                Arrival::Gone { .. } => read_again(stream),
                Arrival::Expected | Arrival::Wanted if state.ended || state.released => return,
                Arrival::Expected => {
                    *slot = Arrival::Wanted;
                    state.wanted += 1;
                    self.flow.changed.notify_all();
                }
                Arrival::Wanted => {}
            }
            drop(slot);
            self.flow.wait(&mut state);
        }
    }
}

/// Panics, because a plain run does not keep streams that were already simulated.
#[cold]
pub(crate) fn read_again(stream: u32) -> ! {
    panic!("stream {stream} of a launch was read again after it had been consumed and dropped")
}

impl StreamStorage {
    /// Pads the bytes of a stream and keeps them in memory.
    pub(crate) fn padded(mut bytes: Vec<u8>) -> Self {
        bytes.reserve_exact(PADDING);
        bytes.extend_from_slice(&[0; PADDING]);
        bytes.shrink_to_fit();
        Self::Memory(bytes)
    }
}
