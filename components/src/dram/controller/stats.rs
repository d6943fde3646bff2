//! Counters and queue statistics of a channel.

use serde::{Deserialize, Serialize};
use warpweave_framework::TimeWeighted;

/// Access and command counters and queue lengths of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStats {
    /// Number of reads served by the devices.
    pub reads: u64,
    /// Number of writes served by the devices.
    pub writes: u64,
    /// Reads answered from a waiting write.
    pub forwarded: u64,
    /// Writes that replaced a waiting write.
    pub merged: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Accesses that found their bank closed.
    pub row_misses: u64,
    /// Accesses that first had to close another row.
    pub row_conflicts: u64,
    /// Accesses whose command also closed the bank (RDA, WRA).
    pub auto_precharges: u64,
    /// Number of ACT commands issued by the channel.
    pub activates: u64,
    /// Number of PRE commands issued by the channel.
    pub precharges: u64,
    /// Number of PREA commands issued by the channel.
    pub precharges_all: u64,
    /// Number of REF commands issued by the channel.
    pub refreshes: u64,
    /// Number of REFpb commands issued by the channel.
    pub refreshes_bank: u64,
    /// Accesses served by the column command of another access.
    pub paired: u64,
    /// Number of waiting reads over time, excluding active ones.
    pub read_queue: TimeWeighted,
    /// Number of waiting writes over time, excluding active ones.
    pub write_queue: TimeWeighted,
}
