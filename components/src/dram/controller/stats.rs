//! Counters and queue statistics of a channel.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Statistics, TimeWeighted};

/// Accesses by kind, and those that needed no command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Statistics)]
pub struct AccessCounts {
    #[statistic(unit = "accesses", meaning = "read bursts served by the devices")]
    pub reads: u64,
    #[statistic(unit = "accesses", meaning = "write bursts served by the devices")]
    pub writes: u64,
    #[statistic(unit = "accesses", meaning = "reads served from a queued write")]
    pub reads_forwarded: u64,
    #[statistic(
        unit = "accesses",
        meaning = "writes that replaced a queued write of the same access"
    )]
    pub writes_merged: u64,
}

/// Accesses by the state in which they found their bank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Statistics)]
pub struct RowCounts {
    #[statistic(
        ratio,
        name = "row_hits",
        meaning = "accesses that found their row open (row hits)",
        whole = self.all(),
        of = "accesses"
    )]
    pub hits: u64,
    #[statistic(
        ratio,
        name = "row_misses",
        meaning = "accesses that found their bank closed",
        whole = self.all(),
        of = "accesses"
    )]
    pub misses: u64,
    #[statistic(
        ratio,
        name = "row_conflicts",
        meaning = "accesses that had to close another row (row conflicts)",
        whole = self.all(),
        of = "accesses"
    )]
    pub conflicts: u64,
}

/// Row and refresh commands by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Statistics)]
pub struct CommandCounts {
    #[statistic(unit = "commands", meaning = "ACT commands")]
    pub activates: u64,
    #[statistic(unit = "commands", meaning = "PRE commands to a single bank")]
    pub precharges: u64,
    #[statistic(unit = "commands", meaning = "PREA commands")]
    pub precharges_all: u64,
    #[statistic(unit = "commands", meaning = "all-bank REF commands")]
    pub refreshes: u64,
    #[statistic(unit = "commands", meaning = "per-bank REFpb commands")]
    pub refreshes_bank: u64,
}

/// Access and command counters and queue lengths of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStats {
    pub accesses: AccessCounts,
    pub rows: RowCounts,
    /// Accesses whose command also closed the bank (RDA, WRA).
    pub auto_precharges: u64,
    pub commands: CommandCounts,
    /// Accesses served by the column command of another access.
    pub paired: u64,
    /// Number of waiting reads over time, excluding active ones.
    pub read_queue: TimeWeighted,
    /// Number of waiting writes over time, excluding active ones.
    pub write_queue: TimeWeighted,
}

impl RowCounts {
    /// Returns the number of accesses that the devices served.
    pub fn all(&self) -> u64 {
        self.hits + self.misses + self.conflicts
    }
}

impl CommandCounts {
    /// Returns the number of commands other than reads and writes.
    pub fn all(&self) -> u64 {
        let precharges = self.precharges + self.precharges_all;
        self.activates + precharges + self.refreshes + self.refreshes_bank
    }
}

impl AddAssign<&Self> for AccessCounts {
    fn add_assign(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.reads_forwarded += other.reads_forwarded;
        self.writes_merged += other.writes_merged;
    }
}

impl AddAssign<&Self> for RowCounts {
    fn add_assign(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.conflicts += other.conflicts;
    }
}

impl AddAssign<&Self> for CommandCounts {
    fn add_assign(&mut self, other: &Self) {
        self.activates += other.activates;
        self.precharges += other.precharges;
        self.precharges_all += other.precharges_all;
        self.refreshes += other.refreshes;
        self.refreshes_bank += other.refreshes_bank;
    }
}
