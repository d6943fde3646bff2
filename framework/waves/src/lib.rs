//! Waveforms and timelines recorded from the instrumentation of a
//! [`Simulation`](warpweave_framework::Simulation).
//!
//! ```text
//!   components, channels ── Probe ──► Recording ──┬──► Waveform ──► VCD or FST: levels over time
//!                                     (selection) └──► Timeline ──► Perfetto: who did what, why not
//! ```
//!
//! A [`Waveform`] shows the signals of the event world, the occupancy of every channel, the wait
//! reason of every component and the levels it reports. A [`Timeline`] shows the contents of
//! components and their wait reasons (kernels, work-groups, wavefronts, misses), and the messages
//! in every channel. It also shows transactions across components, what each component waited for,
//! and counters. Both record only the parts in a [`Selection`], decided per component and channel
//! before the run.
//!
//! Times are in picoseconds, rounded down from exact ticks.

mod file;
mod names;
mod perfetto;
mod recording;
mod rows;
mod selection;
mod timeline;
mod tracks;
mod vcd_fst;
mod waits;
mod waveform;

use std::path::Path;

pub use file::record_to;
pub use names::Names;
pub use recording::Recording;
pub use selection::{Selection, SelectionError};
pub use timeline::Timeline;
pub use waits::{SeenKernel, Sum, TimelineError, Waited, Waiting};
pub use waveform::Waveform;

/// Time units per second in all recordings.
pub const PICOSECONDS: u64 = 1_000_000_000_000;

/// File format of a recording, chosen by ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Waveform as text (VCD), readable by every viewer.
    Vcd,
    /// Compressed waveform in the FST format.
    Fst,
    /// Timeline in Perfetto's format, for <https://ui.perfetto.dev>.
    Perfetto,
}

impl Format {
    /// File-name endings and the formats they select.
    pub const ENDINGS: [(&'static str, Self); 4] = [
        ("vcd", Self::Vcd),
        ("fst", Self::Fst),
        ("pftrace", Self::Perfetto),
        ("perfetto-trace", Self::Perfetto),
    ];

    /// Returns the format selected by the ending of `path`.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        Self::ENDINGS
            .iter()
            .find(|(e, _)| ending == *e)
            .map(|(_, format)| *format)
    }
}
