//! Streams that are simulated while the program is still emulated.
//!
//! ```text
//!   emulation ──► KernelWriter ──► streams that nobody began to read ──► Cursor ──► simulation
//!                     waits while they are many            waits until its stream has come
//! ```
//!
//! A stream is dropped when it was read to its end. Few are in memory, those beyond them in a temporary file: a machine
//! may begin with the last work-group. Whoever emulates waits while many bytes of streams are there that nobody began to
//! read, unless somebody waits for one that has not come: so neither waits for the other.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::encoding::PADDING;
use crate::spill::{SpilledStream, unreadable};
use crate::window::Windows;
use crate::{KernelTrace, WavefrontCounts};

/// Lets the emulation of a program go ahead of its simulation.
#[derive(Debug)]
pub struct Ahead {
    state: Mutex<State>,
    changed: Condvar,
    /// Bytes of streams in memory at most.
    window: u64,
}

/// Times the bytes in memory of which an emulation is ahead of its simulation at most.
const FURTHEST: u64 = 8;

#[derive(Debug, Default)]
struct State {
    /// The program has more bytes of streams than the window: the simulation begins.
    begun: bool,
    /// No stream comes any more.
    ended: bool,
    /// Nobody reads any more.
    released: bool,
    /// Bytes of the launches that ended before the simulation began.
    kept: u64,
    /// Those launches.
    finished: Vec<Arc<KernelTrace>>,
    /// Bytes in memory.
    held: u64,
    /// Bytes that nobody began to read.
    unread: u64,
    /// The emulation goes on when there are fewer of them.
    is_full: bool,
    /// Streams that somebody waits for and that have not come.
    wanted: u32,
}

impl Ahead {
    /// An emulation that keeps so many bytes of streams in memory at most, and is eight times as many ahead. As long as
    /// a program has no more than fit in memory, it is emulated to its end.
    pub fn of(window: u64) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            window,
        })
    }

    /// Waits until the simulation can begin, and gives the launches emulated before; none: the emulation has
    /// ended.
    pub fn begun(&self) -> Option<Vec<Arc<KernelTrace>>> {
        let mut state = self.locked();
        while !state.begun && !state.ended {
            state = self.wait(state);
        }
        state.begun.then(|| state.finished.clone())
    }

    /// The emulation of a launch has ended.
    pub fn finished(&self, launch: &Arc<KernelTrace>) {
        let mut state = self.locked();
        if !state.begun {
            state.kept += launch.stream_bytes();
            state.finished.push(Arc::clone(launch));
        }
    }

    /// The emulation has ended, well or not: streams that are missing never come.
    pub fn end(&self) {
        self.locked().ended = true;
        self.changed.notify_all();
    }

    /// Nobody reads streams any more: the emulation goes on to its end and keeps none.
    pub fn release(&self) {
        self.locked().released = true;
        self.changed.notify_all();
    }

    /// Whether streams are to be handed over, given the bytes of those of the launch that is emulated.
    pub(crate) fn has_begun(&self, bytes: u64) -> bool {
        let mut state = self.locked();
        if !state.begun && state.kept + bytes > self.window {
            state.begun = true;
            self.changed.notify_all();
        }
        state.begun
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let state = self.changed.wait(state);
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a stream that has come.
#[derive(Debug)]
pub(crate) enum StreamStorage {
    /// With the padding.
    Memory(Vec<u8>),
    /// In a temporary file, read through a window.
    Spilled(SpilledStream, Windows),
}

/// A stream that comes while others are simulated.
#[derive(Debug, Default)]
pub(crate) enum Arrival {
    /// It has not come.
    #[default]
    Expected,
    /// Nor has it, and somebody waits for it.
    Wanted,
    /// It can be read.
    Here {
        bytes: StreamStorage,
        length: u64,
        counts: WavefrontCounts,
        /// Somebody began to read it.
        begun: bool,
    },
    /// It was read to its end, or nobody wanted it.
    Gone {
        length: u64,
        counts: WavefrontCounts,
    },
}

/// The streams of a launch that is simulated while it is emulated, by number.
#[derive(Debug)]
pub(crate) struct Arrivals {
    ahead: Arc<Ahead>,
    streams: usize,
    slots: OnceLock<Box<[Mutex<Arrival>]>>,
    totals: Mutex<Totals>,
    /// Why a stream could not be read.
    failure: OnceLock<String>,
}

/// Of the streams that have come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) streams: usize,
    pub(crate) bytes: u64,
    pub(crate) counts: WavefrontCounts,
}

impl Arrivals {
    pub(crate) fn new(ahead: &Arc<Ahead>, streams: usize) -> Self {
        Self {
            ahead: Arc::clone(ahead),
            streams,
            slots: OnceLock::new(),
            totals: Mutex::default(),
            failure: OnceLock::new(),
        }
    }

    pub(crate) fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    /// A stream; whoever has it asks for no other lock of this launch.
    pub(crate) fn slot(&self, stream: u32) -> MutexGuard<'_, Arrival> {
        let slots = self
            .slots
            .get_or_init(|| (0..self.streams).map(|_| Mutex::default()).collect());
        let slot = slots[stream as usize].lock();
        slot.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn totals(&self) -> Totals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a stream of so many bytes may come; whether it may stay in memory.
    pub(crate) fn has_room(&self, length: u64) -> bool {
        let mut state = self.ahead.locked();
        while !state.released && state.wanted == 0 && state.is_full {
            state = self.ahead.wait(state);
        }
        state.released || state.held + length <= self.ahead.window
    }

    /// Hands a stream over. Whether it had not come before.
    pub(crate) fn arrive(
        &self,
        stream: u32,
        counts: WavefrontCounts,
        (bytes, length): (StreamStorage, u64),
    ) -> bool {
        let mut state = self.ahead.locked();
        let mut slot = self.slot(stream);
        let wanted = match *slot {
            Arrival::Expected => false,
            Arrival::Wanted => true,
            Arrival::Here { .. } | Arrival::Gone { .. } => return false,
        };
        if state.released || length == 0 {
            // Whoever reads it all the same finds nothing.
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
        state.is_full |= state.unread >= self.ahead.window.saturating_mul(FURTHEST);
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.streams += 1;
        totals.bytes += length;
        totals.counts += counts;
        drop(totals);
        if wanted {
            state.wanted -= 1;
            self.ahead.changed.notify_all();
        }
        true
    }

    /// So many bytes in memory were dropped.
    pub(crate) fn dropped(&self, bytes: u64) {
        self.ahead.locked().held -= bytes;
    }

    /// A stream could not be read from the temporary file.
    pub(crate) fn failed(&self, error: &io::Error) {
        self.failure.get_or_init(|| unreadable(error));
    }

    /// Why a stream ended before its end.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Waits until a stream has come, which is read from now on, or never will.
    ///
    /// # Panics
    /// If it was read to its end.
    pub(crate) fn begin(&self, stream: u32) {
        let mut state = self.ahead.locked();
        loop {
            let mut slot = self.slot(stream);
            match &mut *slot {
                Arrival::Here { begun: true, .. } | Arrival::Gone { length: 0, .. } => return,
                Arrival::Here { begun, length, .. } => {
                    *begun = true;
                    state.unread -= *length;
                    // Not at once, or the emulation would begin and stop again with every stream.
                    if state.is_full && state.unread <= self.ahead.window * (FURTHEST / 2) {
                        state.is_full = false;
                        self.ahead.changed.notify_all();
                    }
                    return;
                }
                Arrival::Gone { .. } => read_again(stream),
                Arrival::Expected | Arrival::Wanted if state.ended || state.released => return,
                Arrival::Expected => {
                    *slot = Arrival::Wanted;
                    state.wanted += 1;
                    self.ahead.changed.notify_all();
                }
                Arrival::Wanted => {}
            }
            drop(slot);
            state = self.ahead.wait(state);
        }
    }
}

/// A plain run keeps no stream that was simulated; nobody else may want one of it.
#[cold]
pub(crate) fn read_again(stream: u32) -> ! {
    panic!("stream {stream} of a launch was read to its end and dropped, and is read again")
}

impl StreamStorage {
    /// Bytes of a stream in memory.
    pub(crate) fn padded(mut bytes: Vec<u8>) -> Self {
        bytes.reserve_exact(PADDING);
        bytes.extend_from_slice(&[0; PADDING]);
        bytes.shrink_to_fit();
        Self::Memory(bytes)
    }
}
