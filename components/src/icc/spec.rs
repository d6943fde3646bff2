//! Specification of a coalescing unit, and its storage cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Policy, SpecError};

use crate::cache::replacement::Replacement;
use crate::memory::check_line_bytes;

/// Maximum number of units of a cluster: one bit each in the lists of the merge table.
const UP_PORTS_MAX: u32 = 64;
/// Maximum number of entries of a table or queue.
const ENTRIES_MAX: u32 = 1 << 16;
/// Maximum latency of a look-up in cycles.
const CYCLES_MAX: u32 = 1 << 10;
/// Bits of a byte address (ICC paper, 6.1).
const ADDRESS_BITS: u32 = 48;

/// Specification of an intra-cluster coalescing unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IccSpec {
    /// Compute units of the cluster, 1 to 64. Source: 5, ICC paper, Table 2.
    pub up_ports: u32,
    /// Bytes of a line: a power of two from 4 to 128. Source: 128, ICC paper, Table 2.
    pub line_bytes: u32,
    /// Entries of the merge table, one per tracked line. Source: 48, ICC paper, 6.2; more than 160
    /// (5 units of 32 MSHRs) are of no use. With 0 every read is looked up and none is merged,
    /// which requires `table_full: Untracked`.
    pub table_entries: u32,
    /// Cycles of a downstream look-up in the merge table; 0 hides it behind the wire. Source: 1,
    /// ICC paper, 6.2 (CACTI: below a cycle of 1.4 GHz at 40 nm).
    pub table_cycles: u32,
    /// Cycles from a response becoming readable to the arrival of the line at the units, the wire
    /// included; at least 1. Source: 1, own choice.
    pub reply_cycles: u32,
    /// Delivery of a line to several units. Source: `Broadcast`, own choice.
    pub delivery: Delivery,
    /// Outstanding requests of the cluster. Source: 512 as the port, own choice.
    pub outstanding: u32,
    /// First byte address beyond global memory: reads from there on are not looked up. Absent: all
    /// addresses are global. Source: 2^40, where private memory of the machine begins.
    #[serde(default)]
    pub global_end: Option<u64>,
    /// Handling of a read whose line is not outstanding while every entry is taken. Source: ICC
    /// paper, 6.1: it is sent on.
    #[serde(default)]
    pub table_full: TableFull,
    /// Reads that join a line in flight. Source: the ICC paper's reads are whole lines, all equal.
    #[serde(default)]
    pub joins: Joins,
    /// Cycles after a line was requested in which other reads join, at least 1; absent: until it
    /// arrives. Source: absent, ICC paper, 6.1.
    #[serde(default)]
    pub window_cycles: Option<u32>,
    /// Effect of a write of the cluster on the entry and the kept copy of its line. Source: own
    /// choice, the ICC paper does not say; `Close` keeps reads behind the writes of their cluster.
    #[serde(default)]
    pub on_write: OnWrite,
    /// Cache of lines that several units requested. Absent: none.
    #[serde(default)]
    pub coalesced_cache: Option<CoalescedCacheSpec>,
}

/// Delivery of a line to several units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Delivery {
    /// All in one cycle, over the bus of the cluster.
    Broadcast,
    /// One unit per cycle, in order of the list.
    Serial,
}

/// Handling of a read that finds the merge table full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TableFull {
    /// The read is sent untracked; only it receives the response.
    #[default]
    Untracked,
    /// The read waits for an entry and blocks those behind it.
    Wait,
}

/// Reads that join a line in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Joins {
    /// Reads whose words are all in flight.
    #[default]
    Contained,
    /// Reads of exactly the words in flight.
    Equal,
}

impl Joins {
    /// True if a read of `words` may join a read that asked for those `outstanding`.
    pub(super) fn allows(self, words: u32, outstanding: u32) -> bool {
        match self {
            Self::Contained => words & !outstanding == 0,
            Self::Equal => words == outstanding,
        }
    }
}

/// Effect of a write, atomic or copy-back of the cluster on its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnWrite {
    /// Closes the entry of the line and drops the line from the coalesced cache.
    #[default]
    Close,
    /// No effect: reads may return data older than a write of their own cluster, even of their own
    /// unit. Used to measure the cost of closing.
    Ignore,
}

/// Specification of the coalesced cache of a coalescing unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoalescedCacheSpec {
    /// Lines, fully associative. Source: 24, ICC paper, 6.3.
    pub lines: u32,
    /// Cycles of a probe, before the look-up in the merge table; at least 1. Source: 1, ICC paper,
    /// 6.3.
    pub access_cycles: u32,
    /// Replacement policy of the cache. Source: `Lru`, own choice.
    pub replacement: Policy<Replacement>,
    /// Replies that are kept in the cache. Source: `Coalesced`, ICC paper, 6.3.
    pub fill: FillRule,
    /// Capacity of the queue of hits that wait for the bus of the cluster; while it is full, no
    /// request is taken. Source: 4, own choice.
    pub hit_queue: u32,
    /// Priority on the bus. Source: `Replies`, own choice.
    pub priority: BusPriority,
    /// Enables hits for reads that bypass the first-level cache. Source: `false`, own choice: a
    /// load that bypasses the first level requests data written by other clusters.
    pub serve_bypassing: bool,
    /// Drops all lines when the first-level caches are invalidated, that is, when a kernel ends;
    /// then every `control_up[i]` and `control_down[i]` must be wired. Source: `true`, own choice.
    pub invalidate_at_kernel_end: bool,
}

/// Replies that the coalesced cache keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FillRule {
    /// Lines for which more than one unit waited.
    Coalesced,
    /// Every line that the merge table tracked.
    All,
}

/// Priority on the bus of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BusPriority {
    /// Responses from the network, then hits in the coalesced cache.
    Replies,
    /// Hits in the coalesced cache, then responses from the network.
    Hits,
}

impl IccSpec {
    /// Returns the cycles from a request becoming readable to its departure without back-pressure.
    pub fn request_delay(&self) -> u32 {
        let probe = self.coalesced_cache.as_ref().map_or(0, |c| c.access_cycles);
        // The wire to the port is the last cycle of the look-up.
        (probe + self.table_cycles).saturating_sub(1)
    }

    /// Returns the bits of a line's address.
    fn tag_bits(&self) -> u32 {
        ADDRESS_BITS - self.line_bytes.trailing_zeros()
    }

    /// Bits of the merge table as the paper counts them: tag and list of units, no valid bit.
    pub fn table_bits(&self) -> u64 {
        u64::from(self.table_entries) * u64::from(self.tag_bits() + self.up_ports)
    }

    /// Bits of the coalesced cache: tag and data.
    pub fn cache_bits(&self) -> u64 {
        let lines = self.coalesced_cache.as_ref().map_or(0, |cache| cache.lines);
        u64::from(lines) * u64::from(self.tag_bits() + 8 * self.line_bytes)
    }

    /// Checks that every value is within its range.
    ///
    /// # Errors
    /// Fails if a value is outside its range.
    pub fn check(&self) -> Result<(), SpecError> {
        let range = SpecError::in_range;
        range("up_ports", self.up_ports, 1..=UP_PORTS_MAX)?;
        check_line_bytes("line_bytes", self.line_bytes)?;
        let entries_min = match self.table_full {
            TableFull::Untracked => 0,
            // A read would wait for ever.
            TableFull::Wait => 1,
        };
        let entries = entries_min..=ENTRIES_MAX;
        range("table_entries", self.table_entries, entries)?;
        range("table_cycles", self.table_cycles, 0..=CYCLES_MAX)?;
        range("reply_cycles", self.reply_cycles, 1..=CYCLES_MAX)?;
        range("outstanding", self.outstanding, 1..=ENTRIES_MAX)?;
        let window = self.window_cycles.unwrap_or(1);
        range("window_cycles", window, 1..=ENTRIES_MAX)?;
        self.coalesced_cache
            .as_ref()
            .map_or(Ok(()), CoalescedCacheSpec::check)
    }
}

impl CoalescedCacheSpec {
    fn check(&self) -> Result<(), SpecError> {
        for (field, value, max) in [
            ("coalesced_cache.lines", self.lines, ENTRIES_MAX),
            (
                "coalesced_cache.access_cycles",
                self.access_cycles,
                CYCLES_MAX,
            ),
            ("coalesced_cache.hit_queue", self.hit_queue, ENTRIES_MAX),
        ] {
            SpecError::in_range(field, value, 1..=max)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::icc::tests::spec;

    fn table(up_ports: u32, table_entries: u32) -> IccSpec {
        IccSpec {
            up_ports,
            table_entries,
            ..spec()
        }
    }

    /// Values of the ICC paper, 6.4 and its study of cluster counts.
    #[test]
    fn the_tables_cost_what_the_paper_says() {
        let twelve = table(5, 48);
        assert_eq!(twelve.tag_bits(), 41);
        assert_eq!(twelve.table_bits(), 2208);
        assert_eq!(twelve.table_bits() / 8, 276);
        let with_valid_bits = twelve.table_bits() + u64::from(twelve.table_entries);
        assert_eq!(with_valid_bits, 2256);
        assert_eq!(with_valid_bits / 8, 282);
        assert_eq!(twelve.cache_bits(), 24 * (41 + 1024));
        assert_eq!(twelve.cache_bits() / 8, 3195);
        // Entries, units and bits for 6, 10 and 15 clusters.
        for (entries, units, bits) in [(96, 10, 4896), (60, 6, 2820), (40, 4, 1800)] {
            assert_eq!(table(units, entries).table_bits(), bits);
        }
    }
}
