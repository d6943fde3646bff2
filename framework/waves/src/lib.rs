//! Waveforms and timelines from the instrumentation of a [`Simulation`](warpweave_framework::Simulation).
//!
//! ```text
//!   components, channels ── Probe ──► Recording ──┬──► Waveform ──► VCD or FST: levels over time
//!                                     (selection) └──► Timeline ──► Perfetto: who did what, why not
//! ```
//!
//! A [`Waveform`] shows the signals of the event world, how full every channel is, what every
//! component waits for and the levels it shows. A [`Timeline`] shows what is in components and why
//! it does not go on (kernels, work-groups, wavefronts, misses), every message in its channel,
//! transactions across components, what each component waited for, and counters. Both record only what a [`Selection`] asks for, decided per component
//! and channel before the run.
//!
//! Times are in picoseconds, rounded down from exact ticks.

mod file;
mod names;
mod perfetto;
mod recording;
mod rows;
mod selection;
mod timeline;
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

/// Units per second of all recorded times.
pub const PICOSECONDS: u64 = 1_000_000_000_000;

/// What a recording file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Waveform as text, for every viewer.
    Vcd,
    /// Waveform, compressed.
    Fst,
    /// Timeline for <https://ui.perfetto.dev>.
    Perfetto,
}

impl Format {
    /// Endings of file names and what they stand for.
    pub const ENDINGS: [(&'static str, Self); 4] = [
        ("vcd", Self::Vcd),
        ("fst", Self::Fst),
        ("pftrace", Self::Perfetto),
        ("perfetto-trace", Self::Perfetto),
    ];

    /// The format that the ending of `path` stands for.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        Self::ENDINGS
            .iter()
            .find(|(e, _)| ending == *e)
            .map(|(_, format)| *format)
    }
}
