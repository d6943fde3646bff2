//! Random cache specifications, with random requests for each.

use proptest::prelude::*;
use warpweave_framework::Policy;

use crate::cache::policy::{
    BimodalGranularity, CachePolicies, EagerWriteBack, EagerWriteBackSpec, FetchGranularity,
    FetchGranularitySpec, MemoryAddressTable, NeighbourAccess, OptimalBypass, OptimalBypassSpec,
    RandomBypass, RandomBypassSpec, ReuseBypass, ReuseBypassSpec, SectorsTouched, SpatialPattern,
    StaticBypass, StaticBypassSpec,
};
use crate::cache::prefetcher::{NextLine, NextLineSpec};
use crate::cache::replacement::tests::{Opened, all, fits};
use crate::cache::replacement::{Fifo, Lru, Replacement};
use crate::cache::tests::l1;
use crate::cache::*;
use crate::memory::{RequestKind, flags};

/// Random test case: cache specifications and requests.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) spec: CacheSpec,
    /// Optional second level below the first.
    pub(super) second: Option<CacheSpec>,
    /// Requests, each with the gap in cycles before it.
    pub(super) requests: Vec<(u64, MemRequest)>,
    pub(super) commands: Vec<(Cycle, CacheCommand)>,
    pub(super) stall: u32,
    pub(super) seed: u64,
    pub(super) delay_max: u64,
}

/// Line size of the requester in bytes; the caches' own lines may be twice as long.
const LINE: u32 = 32;
/// Number of lines used by random requests; the flush uses others.
const LINES: u64 = 12;

fn policies() -> impl Strategy<Value = (WritePolicy, AllocatePolicy, AtomicPolicy, CacheLevel)> {
    let write = prop_oneof![
        Just(WritePolicy::WriteEvict),
        Just(WritePolicy::WriteThrough),
        Just(WritePolicy::WriteBack {
            partial: PartialWrite::Fetch
        }),
        Just(WritePolicy::WriteBack {
            partial: PartialWrite::WordMask
        }),
    ];
    let allocate = prop_oneof![Just(AllocatePolicy::OnMiss), Just(AllocatePolicy::OnFill)];
    let atomics = prop_oneof![
        Just(AtomicPolicy::Forward),
        (0u32..5).prop_map(|latency_cycles| AtomicPolicy::Execute { latency_cycles }),
    ];
    let level = prop_oneof![Just(CacheLevel::L1), Just(CacheLevel::L2)];
    (write, allocate, atomics, level)
}

/// Random choice of optional cache features.
#[derive(Clone, Debug)]
struct Features {
    hash: SetHash,
    partitions: bool,
    sector_bytes: Option<u32>,
    below_line_bytes: Option<u32>,
    /// True if the next level splits requests where possible; `wait_for` likewise selects waiting
    /// for whole lines.
    cut_below: bool,
    wait_for: WaitFor,
    banks: Option<Banks>,
    victim_cache: Option<VictimCacheSpec>,
    policy: u32,
    write_allocate: Option<bool>,
    replacement: Policy<Replacement>,
    copy_back_entries: Option<u32>,
    /// Prefetch degree of the next-line prefetcher; `None` without one.
    degree: Option<u32>,
    prefetch: PrefetchSpec,
}

fn features() -> impl Strategy<Value = Features> {
    let hash = prop_oneof![
        Just(SetHash::Modulo),
        Just(SetHash::Xor),
        Just(SetHash::Polynomial)
    ];
    let bytes = || prop_oneof![2 => Just(None), 1 => Just(Some(8)), 1 => Just(Some(16)), 1 => Just(Some(32))];
    let banks = prop::option::of((1u32..4, 1u32..4, 1u32..4).prop_map(|b| Banks {
        count: b.0,
        busy_cycles: b.1,
        requests_per_cycle: b.2,
    }));
    let victims =
        prop::option::of(
            (1u32..4, 0u32..3).prop_map(|(lines, latency_cycles)| VictimCacheSpec {
                lines,
                latency_cycles,
            }),
        );
    let replacement = prop_oneof![
        3 => Just(Policy::plain::<Lru>()),
        2 => Just(Policy::plain::<Fifo>()),
        5 => any::<u64>().prop_flat_map(|seed| prop::sample::select(all(seed))),
        1 => Just(Policy::plain::<Opened>()),
    ];
    let wait_for = prop_oneof![Just(WaitFor::Words), Just(WaitFor::Line)];
    let switches = (
        any::<bool>(),
        0u32..9,
        any::<Option<bool>>(),
        any::<bool>(),
        wait_for,
    );
    let prefetch = (0u32..4, 0u32..4, 0u32..3, 1u32..3).prop_map(|p| PrefetchSpec {
        queue_entries: p.0,
        outstanding_max: p.1,
        mshrs_left: p.2,
        per_cycle: p.3,
    });
    let ahead = (prop::option::of(0u32..4), prefetch);
    (
        hash,
        bytes(),
        bytes(),
        banks,
        victims,
        replacement,
        switches,
        prop::option::of(1u32..3),
        ahead,
    )
        .prop_map(
            |(
                hash,
                sector_bytes,
                below_line_bytes,
                banks,
                victim_cache,
                replacement,
                switches,
                copy_back_entries,
                (degree, prefetch),
            )| {
                Features {
                    hash,
                    partitions: switches.0,
                    sector_bytes,
                    below_line_bytes,
                    cut_below: switches.3,
                    wait_for: switches.4,
                    banks,
                    victim_cache,
                    policy: switches.1,
                    write_allocate: switches.2,
                    replacement,
                    copy_back_entries,
                    degree,
                    prefetch,
                }
            },
        )
}

impl Features {
    /// Enables in the specification the features that it supports.
    fn add_to(self, spec: &mut CacheSpec) {
        spec.sector_bytes = self.sector_bytes;
        spec.below_line_bytes = self.below_line_bytes;
        spec.wait_for = self.wait_for;
        if self.cut_below && spec.cuts() > 1 {
            spec.cut = Cut::Below;
            spec.sector_bytes = None;
        }
        spec.banks = self.banks;
        spec.copy_back_entries = self.copy_back_entries;
        spec.prefetch = self.prefetch;
        if let Some(degree) = self.degree {
            spec.prefetchers = vec![Policy::of::<NextLine>(&NextLineSpec { degree })];
        }
        let evicts = spec.write == WritePolicy::WriteEvict;
        if !(evicts && self.write_allocate == Some(true)) {
            spec.write_allocate = self.write_allocate;
        }
        let pieces = spec.line_bytes / spec.below_line();
        spec.miss_queue_entries = (spec.miss_queue_entries + 1) * pieces;
        if fits(&self.replacement, spec.ways) {
            spec.replacement = self.replacement;
        }
        let sets = spec.size_bytes / spec.line_bytes / spec.ways;
        if sets.is_power_of_two() {
            spec.set_hash = self.hash;
        }
        if keeps_no_dirty_lines(spec) {
            spec.victim_cache = self.victim_cache;
            if evicts && self.partitions && spec.level == CacheLevel::L1 {
                spec.size_bytes *= 2;
                spec.partitions = Some(Partitions {
                    count: 2,
                    by: PartitionBy::WorkGroup,
                });
            }
        }
        spec.policies = match self.policy {
            1 => vec![Policy::of::<StaticBypass>(&StaticBypassSpec {
                pcs: vec![1, 2],
            })],
            2 => vec![Policy::of::<ReuseBypass>(&ReuseBypassSpec {
                entries: 4,
                counter_max: 3,
                threshold: 2,
                sample: 3,
                period_requests: 20,
            })],
            3 => vec![
                Policy::of::<FetchGranularity>(&FetchGranularitySpec { bytes: 16 }),
                Policy::of::<StaticBypass>(&StaticBypassSpec { pcs: vec![2] }),
            ],
            4 => vec![
                Policy::of::<OptimalBypass>(&OptimalBypassSpec {
                    history: 4,
                    insert: 0.5,
                    counters: 4,
                    counter_max: 3,
                    threshold: 2,
                    turned_round: false,
                }),
                Policy::plain::<NeighbourAccess>(),
                Policy::plain::<SectorsTouched>(),
            ],
            5 => vec![
                Policy::of::<RandomBypass>(&RandomBypassSpec { probability: 0.5 }),
                Policy::plain::<BimodalGranularity>(),
            ],
            6 => vec![
                Policy::plain::<MemoryAddressTable>(),
                Policy::plain::<SpatialPattern>(),
            ],
            7 => vec![Policy::of::<EagerWriteBack>(&EagerWriteBackSpec {
                dirty_lines: 1,
            })],
            _ => Vec::new(),
        };
    }
}

/// True if the cache never holds dirty words.
pub(super) fn keeps_no_dirty_lines(spec: &CacheSpec) -> bool {
    !matches!(spec.write, WritePolicy::WriteBack { .. }) && spec.atomics == AtomicPolicy::Forward
}

/// True if the reads of [`flush`] displace every dirty line.
pub(super) fn is_flushed(spec: &CacheSpec) -> bool {
    let in_turn =
        ["Lru", "Fifo"].contains(&spec.replacement.name()) && spec.set_hash == SetHash::Modulo;
    let bypassing = [
        "ReuseBypass",
        "OptimalBypass",
        "RandomBypass",
        "MemoryAddressTable",
    ];
    let bypasses = |p: &Policy<CachePolicies>| bypassing.contains(&p.name());
    // Lines that were fetched ahead are not displaced in the order of the requests.
    let in_turn = in_turn && spec.prefetchers.is_empty();
    keeps_no_dirty_lines(spec) || in_turn && !spec.policies.iter().any(bypasses)
}

fn spec() -> impl Strategy<Value = CacheSpec> {
    let sizes = (1u32..4, 1u32..5, prop_oneof![Just(LINE), Just(2 * LINE)]);
    let tables = (1u32..5, 1u32..4, 1u32..4, 2u32..5);
    let times = (0u32..7, 0u32..4, 0u32..4, 1u32..3);
    let features = prop_oneof![1 => Just(None), 3 => features().prop_map(Some)];
    (policies(), sizes, tables, times, features).prop_map(
        |(policies, sizes, tables, times, features)| {
            let mut spec = CacheSpec {
                level: policies.3,
                size_bytes: sizes.0 * sizes.1 * sizes.2,
                line_bytes: sizes.2,
                ways: sizes.1,
                allocate: policies.1,
                write: policies.0,
                atomics: policies.2,
                mshr_entries: tables.0,
                mshr_merges: tables.1,
                pass_entries: tables.2,
                miss_queue_entries: tables.3,
                hit_latency_cycles: times.0,
                miss_latency_cycles: times.1,
                fill_latency_cycles: times.2,
                responses_per_cycle: times.3,
                ..l1()
            };
            if let Some(features) = features {
                features.add_to(&mut spec);
            }
            spec
        },
    )
}

fn request() -> impl Strategy<Value = (u64, MemRequest)> {
    let kind = prop_oneof![
        6 => Just(RequestKind::Read),
        3 => Just(RequestKind::Write),
        2 => Just(RequestKind::Atomic),
        1 => Just(RequestKind::Prefetch),
        1 => Just(RequestKind::CopyBack),
    ];
    let gap = prop_oneof![4 => Just(0u64), 1 => 1u64..30];
    let words = prop_oneof![1 => Just(0xffu32), 3 => 1u32..0x100];
    (
        kind,
        gap,
        0..LINES,
        words,
        0u32..8,
        (0u16..3, 0u32..4, 0u32..4),
    )
        .prop_map(|(kind, gap, line, words, bypass, (unit, work_group, pc))| {
            let mut request = MemRequest {
                kind,
                flags: if bypass == 0 { flags::BYPASS_L1 } else { 0 },
                ..MemRequest::read(0, line * u64::from(LINE), words)
            };
            request.source.compute_unit = unit;
            request.source.work_group = work_group;
            request.source.pc = pc;
            (gap, request)
        })
}

pub(super) fn case() -> impl Strategy<Value = Case> {
    (
        (spec(), prop::option::of(spec())),
        prop::collection::vec(request(), 1..120),
        prop::collection::vec((1u64..400, 0u32..8), 0..4),
        0u32..14,
        any::<u64>(),
        1u64..60,
    )
        .prop_map(|(specs, mut requests, commands, stall, seed, delay_max)| {
            number(&mut requests);
            let (spec, mut second) = specs;
            // Half of the commands change the size.
            let way = spec.size_bytes / spec.ways;
            let commands = commands.into_iter().map(|(gap, choice)| match choice {
                0..4 => (gap, CacheCommand::Invalidate),
                _ => (
                    gap,
                    CacheCommand::Resize {
                        bytes: way * (1 + choice % spec.ways),
                    },
                ),
            });
            let commands = commands.collect();
            flush(&spec, &mut requests);
            if let Some(second) = &mut second {
                second.level = CacheLevel::L2;
                if second.partitions.take().is_some() {
                    second.size_bytes /= 2;
                }
                // Lines of 8 bytes at least, so that pieces and sectors fit.
                let line_bytes = spec.answer_bytes();
                second.size_bytes = second.size_bytes / second.line_bytes * line_bytes;
                second.line_bytes = line_bytes;
                second.sector_bytes = second.sector_bytes.map(|b| b.min(line_bytes));
                second.below_line_bytes = None;
                second.cut = Cut::Here;
                second.above_line_bytes = (spec.cut == Cut::Below).then_some(spec.line_bytes);
                flush(second, &mut requests);
            }
            Case {
                spec,
                second,
                requests,
                commands,
                stall,
                seed,
                delay_max,
            }
        })
}

/// Assigns ids to the requests, and sequence numbers to the writes.
fn number(requests: &mut [(u64, MemRequest)]) {
    for (id, (_, request)) in (0u32..).zip(requests) {
        request.id = id;
        if request.kind.carries_data() {
            request.write_sequence = id + 1;
        }
    }
}

/// Appends reads that displace every line.
fn flush(spec: &CacheSpec, requests: &mut Vec<(u64, MemRequest)>) {
    for line in 0..u64::from(spec.size_bytes / spec.line_bytes) {
        let id = requests.len() as u32;
        // All earlier lines have been answered by then, so that none is locked.
        let gap = if line == 0 { 20_000 } else { 500 };
        // Lines that follow each other visit all sets equally often; ids are never reused.
        let line = (LINES + u64::from(id)) * u64::from(spec.line_bytes);
        requests.push((gap, MemRequest::read(id, line, 1)));
    }
}
