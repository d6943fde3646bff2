//! Configuration of a channel and its controller policies.

use crate::dram::command_bus::CommandBus;
use crate::dram::drain::Drain;
use crate::dram::mapping::Geometry;
use crate::dram::page::Page;
use crate::dram::refresh::Refresh;
use crate::dram::timing::Timing;

/// Maximum capacity of a request queue.
pub(crate) const QUEUE_MAX: u32 = 4096;

/// Configuration of a channel and its controller policies, except for the request order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Numbers of banks, rows and columns.
    pub geometry: Geometry,
    pub timing: Timing,
    /// Capacity of the read queue: reads that wait for their first command or their row hit.
    pub reads: u32,
    /// Capacity of the write queue, counted like `reads`.
    pub writes: u32,
    /// Additional requests that each bank's own queue holds; `None` without per-bank queues.
    pub bank_queue: Option<u32>,
    /// Number of commands per cycle that the command bus takes.
    pub command_bus: CommandBus,
    /// Enables serving an access to an even column and one to an odd column with a single column
    /// command.
    pub column_pairs: bool,
    /// Page policy: how long rows stay open.
    pub page: Page,
    /// Drain policy: when writes are served.
    pub drain: Drain,
    /// Enables replacing a waiting write by a later write to the same access.
    pub merge_writes: bool,
    /// Refresh mode: when and how devices are refreshed.
    pub refresh: Refresh,
}

impl Config {
    /// Returns the configuration of the reference runs, to be used with FR-FCFS. It models
    /// Ramulator 2 with unified queues of 32 reads and 32 writes, open rows and refreshes that are
    /// never postponed.
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
