//! Construction of an empty cache from its specification.

use warpweave_framework::{Environment, Kind, Policy, Preset, SpecError};

use super::Cache;
use super::banks::BankSet;
use super::control::Control;
use super::controller::Controller;
use super::head::Head;
use super::hooks::Hooks;
use super::line_store::LineStore;
use super::lookup::Lookup;
use super::miss_queue::MissQueue;
use super::policy::{CachePolicies, CacheSite, PolicyChain};
use super::policy_ports::PolicyPorts;
use super::prefetcher::{Prefetches, Prefetching};
use super::spec::CacheSpec;
use super::statistics::LineCounts;
use super::tag_array::TagArray;
use super::victim_cache::VictimCache;
use crate::memory::{MemMaster, MemSlave, Slices};

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
            sector_bytes: spec.sector(),
            interleave: spec.interleave,
        };
        let build = |number: usize, policy: &Policy<CachePolicies>| {
            let field = format!("policies[{number}]");
            policy.build(&field, environment, &site, number as u32)
        };
        let policies = spec
            .policies
            .iter()
            .enumerate()
            .map(|(number, it)| build(number, it));
        let names: Vec<_> = spec.policies.iter().map(Policy::name).collect();
        let policies = PolicyChain::of(policies.collect::<Result<_, _>>()?, &names)?;
        let build = |number: usize, prefetcher: &Policy<Prefetching>| {
            let field = format!("prefetchers[{number}]");
            prefetcher.build(&field, environment, &site, number as u32)
        };
        let prefetchers = spec
            .prefetchers
            .iter()
            .enumerate()
            .map(|(number, it)| build(number, it));
        let prefetchers = prefetchers.collect::<Result<_, _>>()?;
        let prefetches = Prefetches::new(prefetchers, spec.prefetch, lines);
        let tags = TagArray::new(geometry, replacement);
        let store = LineStore {
            lookup: Lookup::new(&spec, tags),
            hooks: Hooks::new(site, policies, prefetches),
            victims: spec.victim_cache.as_ref().map(VictimCache::new),
            banks: spec.banks.map(BankSet::new),
            misses: MissQueue::new(&spec),
            counts: LineCounts::default(),
        };
        Ok(Self {
            slices: Slices::default(),
            head: Head::new(&spec),
            controller: Controller::new(&spec, store),
            control: Control::new(&site),
            policy_ports: PolicyPorts::new(spec.peers),
            up: MemSlave::default(),
            down: MemMaster::default(),
            spec,
        })
    }
}

impl Cache {
    /// Builds an empty cache from a specification written in Rust.
    ///
    /// # Errors
    /// Fails like [`CacheSpec::check`], and if a policy rejects the configuration.
    pub fn new(spec: CacheSpec) -> Result<Self, SpecError> {
        Self::build(spec, &Environment::default())
    }
}
