//! A channel and the policies of its controller.

use crate::dram::command_bus::CommandBus;
use crate::dram::drain::Drain;
use crate::dram::mapping::Geometry;
use crate::dram::page::Page;
use crate::dram::refresh::Refresh;
use crate::dram::timing::Timing;

/// The most requests a queue can hold.
pub(crate) const QUEUE_MAX: u32 = 4096;

/// A channel and the policies of its controller, but for the order of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Banks, rows and columns.
    pub geometry: Geometry,
    /// Timing of the devices.
    pub timing: Timing,
    /// Reads that may wait for their first command or their row hit.
    pub reads: u32,
    /// Writes, likewise.
    pub writes: u32,
    /// Requests each bank's own queue holds beyond these; none without such queues.
    pub bank_queue: Option<u32>,
    /// Commands that fit into a cycle.
    pub command_bus: CommandBus,
    /// Whether a column command serves an access to an even column and one to an odd one.
    pub column_pairs: bool,
    /// How long rows stay open.
    pub page: Page,
    /// When writes are served.
    pub drain: Drain,
    /// Whether a write to an access that waits already replaces it.
    pub merge_writes: bool,
    /// When devices are refreshed.
    pub refresh: Refresh,
}

impl Config {
    /// The controller of the reference runs, which goes with FR-FCFS: Ramulator 2 with unified queues of 32 reads and 32 writes, open rows, refreshes never postponed.
    pub fn reference(geometry: Geometry, timing: Timing) -> Self {
        Self {
            geometry,
            timing,
            reads: 32,
            writes: 32,
            bank_queue: None,
            command_bus: CommandBus::Shared,
            column_pairs: false,
            page: Page::Open,
            drain: Drain::Watermarks { high: 25, low: 7 },
            merge_writes: true,
            refresh: Refresh::AllBank { postponed_max: 0 },
        }
    }
}
