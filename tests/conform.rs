//! Checks that every policy shipped with Warpweave keeps the promises of policies, on generated
//! machines and programs.

use warpweave_conform::{Conformance, ConformanceProperty, EarlierRuns, Finding};
use warpweave_systems::standard_registry;

/// Descriptions of policies that need more than their name, or that behave differently with other
/// fields.
const DESCRIPTIONS: [(&str, &str); 46] = [
    (
        "AdaptiveBypass",
        "AdaptiveBypass(first: 0.5, virtual: 0.5, least: 0.125)",
    ),
    (
        "BimodalGranularity",
        "BimodalGranularity(bits: 64, refresh: 4, skew: 0.5, window: 4)",
    ),
    ("BankRoundRobin", "BankRoundRobin(hits: 2)"),
    (
        "BypassCopyBack",
        "BypassCopyBack(period_fills: 4, share: 4, instructions: 2, sample: 2)",
    ),
    ("DistributedBlock", "DistributedBlock"),
    ("DistributedBlock", "DistributedBlock(relax_last: true)"),
    ("Exclusive", "Exclusive"),
    ("Exclusive", "Exclusive(keep_below: true)"),
    ("EagerWriteBack", "EagerWriteBack(dirty_lines: 1)"),
    ("FetchGranularity", "FetchGranularity(bytes: 64)"),
    (
        "Flexclusion",
        "Flexclusion(duel: (period: 4, first: 0, second: 2, max: 7), below: (sets: 8))",
    ),
    ("FrFcfsCap", "FrFcfsCap(columns: 4)"),
    ("Ghb", "Ghb"),
    ("Ghb", "Ghb(history: 16, index: 2, by_wavefront: true)"),
    ("Grouped", "Grouped(by: WorkGroup)"),
    ("Grouped", "Grouped(by: Profile)"),
    ("Islip", "Islip(iterations: 2)"),
    ("LaPerm", "LaPerm(levels: 2, adoption: Literal)"),
    ("Laser", "Laser(parent_gone: LastUnit)"),
    ("Mapped", "Mapped(by: Attribute)"),
    ("Mapped", "Mapped(by: Fixed(AlongX), remainder: CeilChunk)"),
    ("Mapped", "Mapped(by: Fixed(AlongY), steal: Longest)"),
    (
        "Mapped",
        "Mapped(by: Fixed(AlongX), steal: Next, order: Linear, deal: Shuffled(seed: 3))",
    ),
    (
        "MemoryAddressTable",
        "MemoryAddressTable(entries: 8, block_bytes: 256)",
    ),
    (
        "NeighbourAccess",
        "NeighbourAccess(entries: 2, counter_max: 3, start: 1, threshold: 1)",
    ),
    (
        "NeighbourAccess",
        "NeighbourAccess(entries: 2, start: 9, dealt: true)",
    ),
    ("NextLine", "NextLine(degree: 2)"),
    (
        "OptimalBypass",
        "OptimalBypass(history: 4, insert: 0.5, counters: 4, counter_max: 3, threshold: 2)",
    ),
    (
        "OwlLocality",
        "OwlLocality(group_wavefronts: 3, rotation_cycles: 50)",
    ),
    ("Priority", "Priority(aging_cycles: 100)"),
    ("Programmed", "Programmed"),
    (
        "Programmed",
        "Programmed(group: Fixed(1), others: Nothing, entry_cycles: 20)",
    ),
    ("Programmed", "Programmed(scope: Along, inside: Gto)"),
    ("Random", "Random(seed: 7)"),
    ("RandomBypass", "RandomBypass(probability: 0.5)"),
    ("RegionExclusive", "RegionExclusive(period_fills: 8)"),
    (
        "ReuseBypass",
        "ReuseBypass(entries: 16, counter_max: 3, threshold: 2, sample: 4, period_requests: 20)",
    ),
    ("ShortestQueue", "ShortestQueue(stealing: IfLongerThan(1))"),
    ("ShortestQueue", "ShortestQueue(stealing: Literal)"),
    ("SpatialPattern", "SpatialPattern(entries: 8, ways: 2)"),
    (
        "SpatialPattern",
        "SpatialPattern(entries: 8, ways: 2, ask_sector_misses: true)",
    ),
    ("StaticBypass", "StaticBypass(pcs: [12, 30])"),
    (
        "Stream",
        "Stream(entries: 4, filter: 2, by_wavefront: true)",
    ),
    ("Stride", "Stride(single: 1, multi: 1)"),
    (
        "Stride",
        "Stride(entries: 4, single: 2, mode: Single, by_wavefront: true)",
    ),
    ("TwoLevel", "TwoLevel(group_size: 2)"),
];

fn descriptions(name: &str) -> Vec<&str> {
    let known = DESCRIPTIONS.iter().filter(|(policy, _)| *policy == name);
    let known: Vec<_> = known.map(|(_, description)| *description).collect();
    if known.is_empty() { vec![name] } else { known }
}

fn keep_what_policies_promise(role: &str) {
    let registry = standard_registry();
    let out = tempfile::tempdir().unwrap();
    let earlier = EarlierRuns::default();
    let mut tried_any = false;
    for policy in registry.policies(role) {
        for description in descriptions(policy.name) {
            let conformance = Conformance {
                registry: &registry,
                policy,
                description: description.to_owned(),
                at: None,
                cases: 3,
                seed: 1,
                simpler: 400,
                out: out.path().join(policy.name),
                earlier: &earlier,
            };
            for promise in ConformanceProperty::ALL {
                let finding = conformance.check(promise);
                let finding = finding.unwrap_or_else(|e| panic!("{role}/{description}: {e}"));
                match finding {
                    Finding::Kept { tried, refused } => {
                        assert_eq!(refused, 0, "{role}/{description}: {promise}, of {tried}");
                        tried_any = true;
                    }
                    Finding::NotAsked => {}
                    Finding::Broken { what, .. } => {
                        panic!("{role}/{description}: {promise}: {what}")
                    }
                }
            }
        }
    }
    assert!(tried_any, "{role} has policies");
}

#[test]
fn wavefront_schedulers_keep_what_policies_promise() {
    keep_what_policies_promise("wavefront_scheduler");
}

#[test]
fn placements_keep_what_policies_promise() {
    keep_what_policies_promise("work_group_placement");
}

#[test]
fn kernel_orders_keep_what_policies_promise() {
    keep_what_policies_promise("kernel_order");
}

#[test]
fn cache_policies_keep_what_policies_promise() {
    keep_what_policies_promise("cache_policy");
}

#[test]
fn replacements_keep_what_policies_promise() {
    keep_what_policies_promise("replacement");
}

#[test]
fn prefetchers_keep_what_policies_promise() {
    keep_what_policies_promise("prefetcher");
}

#[test]
fn request_orders_keep_what_policies_promise() {
    keep_what_policies_promise("request_order");
}

#[test]
fn arbiters_keep_what_policies_promise() {
    keep_what_policies_promise("arbiter");
}
