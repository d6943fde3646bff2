//! From the specification to an empty cache.

use std::collections::VecDeque;

use warpweave_framework::{
    Environment, Kind, Observed, OutPort, Policy, Preset, Published, SpecError,
};

use super::copy_back_buffer::CopyBackBuffer;
use super::downstream_ids::DownstreamIds;
use super::line_splitter::LineSplitter;
use super::policy::{CachePolicies, CacheSite, PolicyChain, PublishedValues};
use super::prefetcher::{Prefetches, Prefetching};
use super::refusal::Refusal;
use super::spec::{CacheSpec, WaitFor, WritePolicy};
use super::statistics::CacheStats;
use super::tag_array::TagArray;
use super::victim_cache::VictimCache;
use super::{Cache, MshrFile, PassTable};
use crate::launch::CacheControlSlave;
use crate::memory::{MemMaster, MemSlave, Slices, Source, full_line};

impl Kind for Cache {
    const NAME: &'static str = "Cache";
    const SUMMARY: &'static str =
        "Set-associative cache with MSHRs: a first-level cache or a slice of the second level.";
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "fermi_l1",
            summary: "First-level cache of the GTX 480, 16 KiB. Source: GPGPU-Sim's SM2_GTX480 configuration",
            ron: include_str!("../../../scenarios/presets/fermi/l1.ron"),
        },
        Preset {
            name: "fermi_l2",
            summary: "Second-level slice of the GTX 480, 64 KiB. Source: GPGPU-Sim's SM2_GTX480 configuration",
            ron: include_str!("../../../scenarios/presets/fermi/l2.ron"),
        },
    ];
    type Spec = CacheSpec;

    fn build(spec: CacheSpec, environment: &Environment) -> Result<Self, SpecError> {
        let geometry = spec.check()?;
        spec.charge(environment)?;
        let replacement =
            spec.replacement
                .build("replacement", environment, &geometry.site(), 0)?;
        let lines = spec.size_bytes / spec.line_bytes;
        let site = CacheSite {
            level: (&spec.level).into(),
            lines,
            sets: lines / spec.ways,
            ways: spec.ways,
            partitions: spec.partitions(),
            line_bytes: spec.line_bytes,
            interleave: spec.interleave,
        };
        let build = |(number, policy): (usize, &Policy<CachePolicies>)| {
            let field = format!("policies[{number}]");
            policy.build(&field, environment, &site, number as u32)
        };
        let policies = spec.policies.iter().enumerate().map(build);
        let names: Vec<_> = spec.policies.iter().map(Policy::name).collect();
        let policies = PolicyChain::of(policies.collect::<Result<_, _>>()?, &names)?;
        let build = |(number, prefetcher): (usize, &Policy<Prefetching>)| {
            let field = format!("prefetchers[{number}]");
            prefetcher.build(&field, environment, &site, number as u32)
        };
        let prefetchers = spec.prefetchers.iter().enumerate().map(build);
        let prefetchers = prefetchers.collect::<Result<_, _>>()?;
        let prefetches = Prefetches::new(prefetchers, spec.prefetch, lines);
        let tags = TagArray::new(geometry, replacement);
        Ok(Self::with(spec, tags, site, policies, prefetches))
    }
}

impl Cache {
    /// Builds an empty cache whose specification was made in Rust.
    ///
    /// # Errors
    /// As [`CacheSpec::check`], and what its policies refuse.
    pub fn new(spec: CacheSpec) -> Result<Self, SpecError> {
        Self::build(spec, &Environment::default())
    }

    fn with(
        spec: CacheSpec,
        tags: TagArray,
        site: CacheSite,
        policies: PolicyChain,
        prefetches: Prefetches,
    ) -> Self {
        // As many as are accepted until the first of them leaves.
        let latency = spec.hit_latency_cycles + spec.atomic_latency_cycles();
        let latency = latency + spec.victim_latency_cycles() + 1;
        let per_cycle = spec.banks.map_or(1, |banks| banks.requests_per_cycle);
        let hits_max = latency as usize * per_cycle as usize;
        let in_flight = (spec.mshr_entries + spec.pass_entries) as usize;
        let refuses_simply = policies.is_empty()
            && prefetches.is_empty()
            && spec.banks.is_none()
            && spec.copy_back_entries.is_none()
            && spec.victim_cache.is_none();
        Self {
            level: site.level,
            site,
            full: full_line(spec.line_bytes),
            sector_words: full_line(spec.sector()),
            offset_mask: u64::from(spec.line_bytes) - 1,
            cut: spec.cuts() > 1,
            in_parts: spec.answer_bytes() < spec.line_bytes,
            waits_for_lines: spec.wait_for == WaitFor::Line,
            above: (spec.above_line() > spec.line_bytes)
                .then(|| LineSplitter::new(spec.above_line(), spec.line_bytes)),
            whole: spec.units() == 1,
            unit_words: spec.line_bytes / 4 / spec.units(),
            downstream_ids: DownstreamIds::new(&spec),
            goes_through: spec.write == WritePolicy::WriteThrough,
            allocates_writes: spec.allocates_writes(),
            hands_down: policies.hands_down(),
            tags,
            owners: Vec::new(),
            victims: spec.victim_cache.map(|v| VictimCache::new(v.lines)),
            is_watched: !policies.is_empty() || !prefetches.is_empty(),
            policies,
            prefetches,
            mshrs: MshrFile::new(spec.mshr_entries, spec.mshr_merges),
            passing: PassTable::new(spec.pass_entries),
            hits: VecDeque::with_capacity(hits_max.min(1 << 12)),
            hits_max,
            last_hit: 0,
            bank_free: vec![0; spec.banks.map_or(0, |banks| banks.count) as usize],
            misses: VecDeque::with_capacity(
                (spec.miss_queue_entries + spec.mshr_entries) as usize + 1,
            ),
            copy_backs: spec.copy_back_entries.map(CopyBackBuffer::new),
            replies: VecDeque::with_capacity(in_flight),
            moves: 0,
            refusal: Refusal::Unknown,
            refuses_simply,
            stats: CacheStats::default(),
            up: MemSlave::default(),
            down: MemMaster::default(),
            control: CacheControlSlave::default(),
            locality: OutPort::new(),
            published: Published::new(PublishedValues::default()),
            peers: (0..spec.peers).map(|_| Observed::new()).collect(),
            slices: Slices::default(),
            spec,
        }
    }
}

impl Cache {
    /// Makes the places for the owners of lines.
    #[cold]
    pub(super) fn make_owners(&mut self) {
        self.owners
            .resize(self.site.lines as usize, Source::default());
    }
}
