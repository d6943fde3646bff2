//! Cache settings in a description, and checks of their combinations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Environment, Id, Policy, SpecError};

use super::policy::CachePolicies;
use super::prefetcher::{PrefetchSpec, Prefetching};
use super::replacement::Replacement;
use super::set_index::SetHash;
use super::tag_array::Geometry;
use crate::interleave::Interleave;
use crate::memory::{LINE_BYTES_MAX, Level, check_line_bytes};

/// Maximum number of lines of one cache: about 0.8 GB of host memory.
const LINES_MAX: u64 = 1 << 24;
/// Maximum number of requests that all MSHRs of one cache hold together.
const WAITERS_MAX: u64 = 1 << 22;
/// Maximum number of entries of any other table or queue, and longest latency in cycles.
const ENTRIES_MAX: u32 = 1 << 20;
/// Host bytes per line, including its replacement and statistics data.
const LINE_BYTES: u64 = 64;
/// Host bytes for each request that waits in an MSHR.
const WAITER_BYTES: u64 = 96;

/// Specification of a [`Cache`](super::Cache): geometry, policies, resources and latencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// Level of the hierarchy, reported as supplier of hits: `L1`, `L2` or `Named("…")`. At L1,
    /// requests that bypass L1 pass through.
    pub level: CacheLevel,
    /// Capacity in bytes; a multiple of `line_bytes` × `ways`.
    pub size_bytes: u32,
    /// Bytes per line: a power of two from 4 to 128. Source: 128 on Fermi and later GPUs.
    #[serde(default = "usual::line_bytes")]
    pub line_bytes: u32,
    /// Lines per set (associativity of the cache).
    pub ways: u32,
    /// Interleaving of addresses over slices, when this cache is one of several. The set number is
    /// then taken from the slice's own address.
    #[serde(default)]
    pub interleave: Option<Interleave>,
    /// Hash function that computes the set from the line number. Source: modulo, own choice; the
    /// polynomials after Rau, ISCA 1991; that of Fermi from GPGPU-Sim.
    #[serde(default)]
    pub set_hash: SetHash,
    /// Equal parts with lines of their own, each for some of the work-groups (first-level caches of
    /// later GPUs have two); one if absent. `size_bytes` is the total of all parts. Needs `L1`,
    /// `WriteEvict` and `Forward`. Source: 2 on Maxwell and Pascal, "Locality-Aware CTA Clustering
    /// for Modern GPUs", ASPLOS 2017.
    #[serde(default)]
    pub partitions: Option<Partitions>,
    /// Minimum bytes fetched by a miss, a power of two up to `line_bytes`; whole lines if absent.
    /// Source: 32 on GPUs with sectors.
    #[serde(default)]
    pub sector_bytes: Option<u32>,
    /// Bytes per line of the next level, if shorter than `line_bytes`. Source: 32 below 128 on
    /// Fermi, ASPLOS 2017 as above.
    #[serde(default)]
    pub below_line_bytes: Option<u32>,
    /// Level that cuts requests into one per line of the next level. Source: there in GPGPU-Sim,
    /// whose slices take requests of a line apart.
    #[serde(default)]
    pub cut: Cut,
    /// Bytes per line of the upper level, if longer than `line_bytes` and its requests are for
    /// whole lines (`cut: Below` there). Each request is split here, one line of this cache after
    /// the other, and each part is answered separately. Source: 128 above 32 in GPGPU-Sim's Fermi.
    #[serde(default)]
    pub above_line_bytes: Option<u32>,
    /// Condition for answering a request whose line arrives in several responses. Source: a whole
    /// line in GPGPU-Sim's Fermi.
    #[serde(default)]
    pub wait_for: WaitFor,
    /// Banks with conflicts; one request per cycle and no conflicts if absent.
    #[serde(default)]
    pub banks: Option<Banks>,
    /// Victim cache for replaced lines; none if absent. Needs `Forward` and no `WriteBack`. Source:
    /// Jouppi, ISCA 1990; 8 lines per first-level cache in the graph thesis, 4.4.
    #[serde(default)]
    pub victim_cache: Option<VictimCacheSpec>,
    /// Policies that decide about lines, see the list of policies; no two may own the same
    /// decision.
    #[serde(default)]
    pub policies: Vec<Policy<CachePolicies>>,
    /// Number of peer caches whose published values are summed, such as second-level slices that
    /// share a counter. Ports `peers[0]` and so on each connect to the port `published` of one
    /// peer. This cache is usually among them, so that all compute the same sum. A cache without
    /// peers receives what its own policies publish. Source: own choice.
    #[serde(default)]
    pub peers: u32,
    /// Prefetchers of this cache, see the list of them.
    #[serde(default)]
    pub prefetchers: Vec<Policy<Prefetching>>,
    /// Resource budget shared by the prefetchers. Source: own choice.
    #[serde(default)]
    pub prefetch: PrefetchSpec,
    /// Replacement policy, which selects the victim of a full set.
    pub replacement: Policy<Replacement>,
    /// Time at which a read miss allocates its way. Source: on fill in the graph thesis, on miss in
    /// GPGPU-Sim's Fermi.
    #[serde(default)]
    pub allocate: AllocatePolicy,
    /// Write policy of the cache. Source: write-evict first levels and write-back second levels in
    /// the CTA-clustering paper, 2.
    pub write: WritePolicy,
    /// Write-allocate policy: true if a write to an absent line allocates it. If absent, as usual
    /// for the policy: `WriteBack` does, the others do not. `WriteEvict` cannot.
    #[serde(default)]
    pub write_allocate: Option<bool>,
    /// Level at which atomics are executed: forwarded or here.
    pub atomics: AtomicPolicy,
    /// Number of MSHRs: lines in flight from the next level. Source: 32 in GPGPU-Sim's Fermi.
    #[serde(default = "usual::mshr_entries")]
    pub mshr_entries: u32,
    /// Requests that wait for one line in flight, the first included. Source: 8 in GPGPU-Sim's
    /// Fermi.
    #[serde(default = "usual::mshr_merges")]
    pub mshr_merges: u32,
    /// Requests in flight that only pass through: writes of a write-evict cache, forwarded atomics,
    /// bypassing requests. Source: own choice, as many as lines.
    #[serde(default = "usual::pass_entries")]
    pub pass_entries: u32,
    /// Requests waiting to be sent downstream, at least 2 (a copy-back and the miss that caused it;
    /// 3 with `WriteThrough` that allocates). The minimum is multiplied by the pieces into which a
    /// line is cut for the next level. Source: 8 in GPGPU-Sim's Fermi.
    #[serde(default = "usual::miss_queue_entries")]
    pub miss_queue_entries: u32,
    /// Copy-back buffer entries: lines that wait to be copied back, separate from the miss queue; a
    /// fill that would displace one more waits. If absent, lines take entries of the miss queue,
    /// and fills never wait. Source: 8 per first-level cache, own choice for exclusive hierarchies.
    #[serde(default)]
    pub copy_back_entries: Option<u32>,
    /// Cycles from a request becoming readable to its hit response.
    pub hit_latency_cycles: u32,
    /// Cycles from a request becoming readable to its miss being sent to the next level.
    pub miss_latency_cycles: u32,
    /// Cycles from a fill or acknowledgement becoming readable to the first response it releases.
    pub fill_latency_cycles: u32,
    /// Responses sent upstream per cycle. Source: own choice.
    #[serde(default = "usual::responses_per_cycle")]
    pub responses_per_cycle: u32,
}

/// Default values of the cache settings; their sources are given with the fields.
mod usual {
    pub(super) fn line_bytes() -> u32 {
        128
    }

    pub(super) fn mshr_entries() -> u32 {
        32
    }

    pub(super) fn mshr_merges() -> u32 {
        8
    }

    pub(super) fn pass_entries() -> u32 {
        32
    }

    pub(super) fn miss_queue_entries() -> u32 {
        8
    }

    pub(super) fn responses_per_cycle() -> u32 {
        1
    }
}

/// Level of a cache in the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CacheLevel {
    /// First level, next to a compute unit.
    L1,
    /// Second level: a slice at a memory partition.
    L2,
    /// Any other level, identified by this name.
    Named(String),
}

/// Level that cuts requests into one per line of the next level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Cut {
    /// Cut by this cache before requests are sent.
    #[default]
    Here,
    /// Cut by the next level (its `above_line_bytes`): a line is requested as a whole and answered
    /// in parts. Needs `below_line_bytes`, and lines without sectors.
    Below,
}

/// Condition for answering a request whose line arrives in several responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WaitFor {
    /// Waits only for the words that the request needs.
    #[default]
    Words,
    /// Waits for all outstanding words of the line.
    Line,
}

/// Time at which a miss allocates its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AllocatePolicy {
    /// At the miss: the way is reserved while the line is in flight.
    #[default]
    OnMiss,
    /// When the line arrives; a line that then finds every way of its set locked is not kept.
    OnFill,
}

/// Write policy of a cache: evict, through or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WritePolicy {
    /// A write is forwarded and acknowledged by the next level. A copy of its line is dropped, a
    /// line in flight is not installed, and a write miss allocates nothing.
    WriteEvict,
    /// A write updates a copy of its line, is forwarded, and is acknowledged by the next level.
    /// Later requests for the line wait for the acknowledgement.
    WriteThrough,
    /// A write stays in the line, which is copied back when it is evicted.
    WriteBack {
        /// Handling of a write to an absent line that does not cover all of it.
        partial: PartialWrite,
    },
}

/// Handling of a write that covers only part of an absent line in a write-back cache. A write that
/// covers all of it never fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PartialWrite {
    /// The line is fetched and the write waits for it.
    Fetch,
    /// The written words are marked valid; the others are fetched when a read needs one.
    WordMask,
}

/// Level at which atomics are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AtomicPolicy {
    /// Next level: the local copy of the line is dropped and the request is forwarded.
    Forward,
    /// This cache, as read-modify-write of the line, which becomes dirty whatever the write policy.
    Execute {
        /// Cycles added to the latency of a hit, or to the response of a miss.
        latency_cycles: u32,
    },
}

/// Assignment of work-groups to parts of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    /// Number of parts, 2 to 4.
    pub count: u32,
    /// Property of a request that selects its part.
    pub by: PartitionBy,
}

/// Property of a request that selects its part of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PartitionBy {
    /// Number of the work-group in its grid, modulo the number of parts.
    WorkGroup,
    /// Wavefront slot of the compute unit: each part serves the given number of consecutive slots
    /// before the next part follows.
    WavefrontSlots {
        /// Number of consecutive wavefront slots assigned to one part.
        consecutive: u16,
    },
    /// Work-group slot of the compute unit, modulo the number of parts.
    WorkGroupSlots,
}

/// Banks of tags and data. The bank of a request is its set modulo the number of banks. Every
/// accepted request and every fill occupies the bank of its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Banks {
    /// Number of banks of the cache's tags and data.
    pub count: u32,
    /// Cycles for which one request or fill occupies its bank.
    pub busy_cycles: u32,
    /// Maximum requests accepted per cycle if their banks are free.
    pub requests_per_cycle: u32,
}

/// Victim cache: small and fully associative, with LRU replacement, for replaced lines. A miss that
/// finds its line there swaps it with the line that it would displace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VictimCacheSpec {
    /// Number of lines in the victim cache.
    pub lines: u32,
    /// Additional cycles of a victim-cache hit over a hit in the cache itself.
    pub latency_cycles: u32,
}

impl From<&CacheLevel> for Level {
    fn from(level: &CacheLevel) -> Self {
        match level {
            CacheLevel::L1 => Self::L1,
            CacheLevel::L2 => Self::L2,
            CacheLevel::Named(name) => Self::named(name),
        }
    }
}

impl CacheSpec {
    /// Returns the latency of an atomic executed here beyond that of a hit.
    pub fn atomic_latency_cycles(&self) -> u32 {
        match self.atomics {
            AtomicPolicy::Forward => 0,
            AtomicPolicy::Execute { latency_cycles } => latency_cycles,
        }
    }

    /// Returns the minimum bytes fetched by a miss.
    pub fn sector(&self) -> u32 {
        self.sector_bytes.unwrap_or(self.line_bytes)
    }

    /// Returns the bytes of the longest request sent to the next level.
    pub fn below_line(&self) -> u32 {
        match self.cut {
            Cut::Here => self.answer_bytes(),
            Cut::Below => self.line_bytes,
        }
    }

    /// Returns the bytes of the longest response from the next level.
    pub fn answer_bytes(&self) -> u32 {
        let below = self.below_line_bytes.unwrap_or(self.line_bytes);
        below.min(self.line_bytes)
    }

    /// Returns the bytes of the longest request from the upper level.
    pub fn above_line(&self) -> u32 {
        self.above_line_bytes.unwrap_or(self.line_bytes)
    }

    /// Returns the number of pieces into which this cache cuts a line for the next level.
    pub fn cuts(&self) -> u32 {
        self.line_bytes / self.below_line()
    }

    /// Returns the number of parts of a line that can be requested separately.
    pub fn units(&self) -> u32 {
        self.line_bytes / self.sector().min(self.below_line())
    }

    /// True if a write to an absent line allocates it.
    pub fn allocates_writes(&self) -> bool {
        let usual = matches!(self.write, WritePolicy::WriteBack { .. });
        self.write_allocate.unwrap_or(usual)
    }

    /// Returns the number of parts with lines of their own.
    pub fn partitions(&self) -> u32 {
        self.partitions.map_or(1, |partitions| partitions.count)
    }

    /// Returns the extra latency of a hit in the victim cache.
    pub fn victim_latency_cycles(&self) -> u32 {
        self.victim_cache
            .map_or(0, |victims| victims.latency_cycles)
    }

    /// Checks every value and returns the geometry of the tag array.
    ///
    /// # Errors
    /// Fails if a value is outside its range, or if values are inconsistent.
    pub fn check(&self) -> Result<Geometry, SpecError> {
        if let CacheLevel::Named(name) = &self.level {
            SpecError::require(Level::try_named(name).is_some(), "level", || {
                format!("at most {} levels may have names", Level::NAMES_MAX)
            })?;
        }
        self.check_numbers()?;
        self.check_features()?;
        let parts = u64::from(self.partitions());
        let set_bytes = u64::from(self.line_bytes) * u64::from(self.ways) * parts;
        let size = u64::from(self.size_bytes);
        SpecError::require(
            size > 0 && size.is_multiple_of(set_bytes),
            "size_bytes",
            || {
                format!(
                    "{size} is not a positive multiple of {set_bytes} ({} bytes per line times {} \
                     ways{})",
                    self.line_bytes,
                    self.ways,
                    if parts == 1 {
                        String::new()
                    } else {
                        format!(" times {parts} parts")
                    }
                )
            },
        )?;
        let lines = size / u64::from(self.line_bytes);
        SpecError::require(lines <= LINES_MAX, "size_bytes", || {
            format!("{size} bytes are {lines} lines; at most {LINES_MAX} are supported")
        })?;
        if let Some(interleave) = &self.interleave {
            interleave.check("interleave")?;
            SpecError::require(
                interleave.granule_bytes >= self.line_bytes,
                "interleave.granule_bytes",
                || {
                    format!(
                        "a granule of {} bytes splits lines of {} bytes",
                        interleave.granule_bytes, self.line_bytes
                    )
                },
            )?;
        }
        let sets = (size / set_bytes) as u32;
        let hashable = self.set_hash.check(sets, self.line_bytes);
        hashable.map_err(|needs| SpecError::at("set_hash", needs))?;
        Ok(Geometry {
            sets,
            ways: self.ways,
            line_bytes: self.line_bytes,
            interleave: self.interleave,
            hash: self.set_hash,
            partitions: self.partitions(),
        })
    }

    /// Checks the dependencies between optional features.
    fn check_features(&self) -> Result<(), SpecError> {
        for (field, bytes) in [
            ("sector_bytes", self.sector_bytes),
            ("below_line_bytes", self.below_line_bytes),
        ] {
            let bytes = bytes.unwrap_or(self.line_bytes);
            let fits = bytes.is_power_of_two() && (4..=self.line_bytes).contains(&bytes);
            SpecError::require(fits, field, || {
                format!(
                    "{bytes} must be a power of two from 4 to line_bytes, {}",
                    self.line_bytes
                )
            })?;
        }
        SpecError::require(
            self.cut == Cut::Here || self.answer_bytes() < self.line_bytes,
            "cut",
            || "Below requires `below_line_bytes` shorter than `line_bytes`".to_owned(),
        )?;
        SpecError::require(
            self.cut == Cut::Here || self.sector() == self.line_bytes,
            "cut",
            || "Below requests whole lines, but sectors are requested individually".to_owned(),
        )?;
        let above = self.above_line();
        SpecError::require(
            above.is_power_of_two() && (self.line_bytes..=LINE_BYTES_MAX).contains(&above),
            "above_line_bytes",
            || {
                format!(
                    "{above} must be a power of two from line_bytes, {}, to {LINE_BYTES_MAX}",
                    self.line_bytes
                )
            },
        )?;
        let pieces = self.cuts();
        let through = self.write == WritePolicy::WriteThrough && self.allocates_writes();
        let (least, what) = if through {
            (
                3 * pieces,
                "room for a line to copy back, a line to fetch and a write",
            )
        } else {
            (
                2 * pieces,
                "room for a line to copy back and a line to fetch",
            )
        };
        SpecError::require(
            self.miss_queue_entries >= least,
            "miss_queue_entries",
            || {
                format!(
                    "{} is less than {least}: {what}, with {pieces} requests each",
                    self.miss_queue_entries
                )
            },
        )?;
        let under_way = u64::from(self.mshr_entries) * u64::from(self.units())
            + u64::from(self.pass_entries) * u64::from(pieces);
        SpecError::require(under_way <= Id::PLACES_MAX as u64, "pass_entries", || {
            format!(
                "{} and {} MSHRs allow {under_way} requests in flight below; at most {} are supported",
                self.pass_entries,
                self.mshr_entries,
                Id::PLACES_MAX
            )
        })?;
        let evicts = self.write == WritePolicy::WriteEvict;
        SpecError::require(
            !(evicts && self.write_allocate == Some(true)),
            "write_allocate",
            || "WriteEvict never keeps written lines; use WriteThrough or WriteBack".to_owned(),
        )?;
        let forwards = self.atomics == AtomicPolicy::Forward;
        if let Some(partitions) = &self.partitions {
            SpecError::in_range("partitions.count", partitions.count, 2..=4)?;
            if let PartitionBy::WavefrontSlots { consecutive } = partitions.by {
                SpecError::in_range("partitions.by.consecutive", consecutive, 1..)?;
            }
            SpecError::require(evicts && forwards, "partitions", || {
                "response parts require `write: WriteEvict` and `atomics: Forward`".to_owned()
            })?;
            // Answers for one line from two parts come in any order; a cache above relies on one.
            SpecError::require(self.level == CacheLevel::L1, "partitions", || {
                "response parts require a first-level cache: use `level: L1`".to_owned()
            })?;
        }
        if let Some(victims) = &self.victim_cache {
            SpecError::in_range("victim_cache.lines", victims.lines, 1..=ENTRIES_MAX)?;
            let clean = !matches!(self.write, WritePolicy::WriteBack { .. });
            SpecError::require(clean && forwards, "victim_cache", || {
                "it accepts clean lines only: do not use `WriteBack`, and set `atomics: Forward`"
                    .to_owned()
            })?;
        }
        Ok(())
    }

    /// Charges the host memory that grows with the settings: for lines, and for the state of
    /// misses, responses and copy-backs.
    pub(super) fn charge(&self, environment: &Environment) -> Result<(), SpecError> {
        let lines = u64::from(self.size_bytes / self.line_bytes);
        environment.charge("size_bytes", lines * LINE_BYTES)?;
        let waiters = u64::from(self.mshr_entries) * u64::from(self.mshr_merges);
        environment.charge("mshr_entries", waiters * WAITER_BYTES)?;
        let entries = [
            self.pass_entries,
            self.miss_queue_entries,
            self.copy_back_entries.unwrap_or(0),
            self.prefetch.queue_entries,
            self.banks.map_or(0, |banks| banks.count),
            self.hit_latency_cycles,
            self.fill_latency_cycles,
        ];
        let entries: u64 = entries.iter().map(|entries| u64::from(*entries)).sum();
        environment.charge("", entries * WAITER_BYTES)
    }

    fn check_numbers(&self) -> Result<(), SpecError> {
        check_line_bytes("line_bytes", self.line_bytes)?;
        let counts = [
            ("ways", self.ways, 1),
            ("mshr_entries", self.mshr_entries, 1),
            ("mshr_merges", self.mshr_merges, 1),
            ("pass_entries", self.pass_entries, 1),
            ("miss_queue_entries", self.miss_queue_entries, 1),
            ("hit_latency_cycles", self.hit_latency_cycles, 0),
            ("miss_latency_cycles", self.miss_latency_cycles, 0),
            ("fill_latency_cycles", self.fill_latency_cycles, 0),
            ("responses_per_cycle", self.responses_per_cycle, 1),
            ("atomics.latency_cycles", self.atomic_latency_cycles(), 0),
            ("peers", self.peers, 0),
            ("copy_back_entries", self.copy_back_entries.unwrap_or(1), 1),
            ("prefetch.queue_entries", self.prefetch.queue_entries, 0),
            ("prefetch.outstanding_max", self.prefetch.outstanding_max, 0),
            ("prefetch.mshrs_left", self.prefetch.mshrs_left, 0),
            ("prefetch.per_cycle", self.prefetch.per_cycle, 0),
            ("banks.count", self.banks.map_or(1, |b| b.count), 1),
            (
                "banks.busy_cycles",
                self.banks.map_or(1, |b| b.busy_cycles),
                1,
            ),
            (
                "banks.requests_per_cycle",
                self.banks.map_or(1, |b| b.requests_per_cycle),
                1,
            ),
            (
                "victim_cache.latency_cycles",
                self.victim_latency_cycles(),
                0,
            ),
        ];
        for (field, value, least) in counts {
            SpecError::in_range(field, value, least..=ENTRIES_MAX)?;
        }
        let waiters = u64::from(self.mshr_entries) * u64::from(self.mshr_merges);
        SpecError::require(waiters <= WAITERS_MAX, "mshr_merges", || {
            format!(
                "{} entries of {} requests make {waiters} waiters; at most {WAITERS_MAX} are supported",
                self.mshr_entries, self.mshr_merges
            )
        })
    }
}
