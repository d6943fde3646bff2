//! What a channel counts.

use serde::{Deserialize, Serialize};
use warpweave_framework::TimeWeighted;

/// Counts of accesses and commands, and the lengths of the queues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStats {
    /// Reads served by the devices.
    pub reads: u64,
    /// Writes served by the devices.
    pub writes: u64,
    /// Reads answered from a waiting write.
    pub forwarded: u64,
    /// Writes that replaced a waiting one.
    pub merged: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Accesses that found their bank closed.
    pub row_misses: u64,
    /// Accesses that had to close another row.
    pub row_conflicts: u64,
    /// Accesses whose command closed the bank, too (RDA, WRA).
    pub auto_precharges: u64,
    /// ACT commands.
    pub activates: u64,
    /// PRE commands.
    pub precharges: u64,
    /// PREA commands.
    pub precharges_all: u64,
    /// REF commands.
    pub refreshes: u64,
    /// REFpb commands.
    pub refreshes_bank: u64,
    /// Accesses that the command of another one served.
    pub paired: u64,
    /// Waiting reads, without active ones.
    pub read_queue: TimeWeighted,
    /// Waiting writes, without active ones.
    pub write_queue: TimeWeighted,
}
