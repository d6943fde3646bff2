//! Generated machines and programs, written as scenario files.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::select;

use crate::place::Place;
use crate::properties::ConformanceProperty;

/// Source of the program's only kernel; its arguments select the behaviour.
const KERNEL: &str = include_str!("work.ptx");

/// Generated machine and program. Smaller numbers make a simpler case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    clusters: u32,
    units_per_cluster: u32,
    wavefront_slots: u32,
    work_group_slots: u32,
    schedulers: u32,
    l1: FirstLevel,
    l2_sets: u32,
    mshr_entries: u32,
    slices: u32,
    queues: u32,
    at: Levels,
    seed: u32,
    launches: Vec<Launch>,
}

/// First-level cache of every compute unit of the machine.
#[derive(Clone, Copy, Debug)]
struct FirstLevel {
    sets: u32,
    ways: u32,
    /// Lines live until the end of a family of kernels, and the units are notified. Otherwise they
    /// live until the end of one kernel.
    families: bool,
    /// The cache and local memory share one memory; otherwise each has its own.
    shares: bool,
}

/// Cache levels that get the policy, if the policy belongs in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Levels {
    First,
    Second,
    Both,
}

#[derive(Clone, Debug)]
struct Launch {
    work_groups: u32,
    wavefronts: u32,
    stream: u32,
    rounds: u32,
    stride: u32,
    step: u32,
    fork: u32,
    sync: bool,
    /// Generations of child kernels below this one.
    depth: u32,
    /// Lanes that launch a child kernel, in each of the first two work-groups.
    children: u32,
}

/// Size of the input array in words, a power of two.
const WORDS: u32 = 4096;
/// Maximum wavefronts per work-group; twice as many fit on every unit.
const WAVEFRONTS_MAX: u32 = 4;
const WORK_GROUPS_MAX: u32 = 12;

impl Case {
    /// Generates all possible cases, shrinking towards the simplest.
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let machine = (
            (1u32..=2, 1u32..=2, select(vec![8u32, 16, 48]), 2u32..=6),
            (1u32..=2, select(vec![1u32, 2, 8]), select(vec![1u32, 2, 4])),
            (
                select(vec![1u32, 4, 16]),
                2u32..=6,
                1u32..=3,
                1u32..=3,
                select(vec![Levels::First, Levels::Second, Levels::Both]),
            ),
            0u32..1000,
            (any::<bool>(), any::<bool>()),
        );
        let launches = prop::collection::vec(Launch::any(), 1..4);
        (machine, launches).prop_map(|(machine, launches)| {
            let (grid, unit, memory, seed, (families, shares)) = machine;
            Self {
                clusters: grid.0,
                units_per_cluster: grid.1,
                wavefront_slots: grid.2,
                work_group_slots: grid.3,
                schedulers: unit.0,
                l1: FirstLevel {
                    sets: if shares { 8 } else { unit.1 },
                    // Two work-groups fit at least, as policies may ask for.
                    ways: if shares { unit.2.max(2) } else { unit.2 },
                    families,
                    shares,
                },
                l2_sets: memory.0,
                mshr_entries: memory.1,
                slices: memory.2,
                queues: memory.3,
                at: memory.4,
                seed,
                launches,
            }
        })
    }

    /// Returns the names and contents of the scenario files that test `promise` with `policy` in
    /// `place`. An empty policy leaves a list of policies empty.
    pub(super) fn files(
        &self,
        place: Place,
        policy: &str,
        promise: ConformanceProperty,
    ) -> [(&'static str, String); 4] {
        [
            ("scenario.ron", self.scenario(promise)),
            ("system.ron", self.system(place, policy)),
            ("workload.ron", self.workload()),
            ("work.ptx", KERNEL.to_owned()),
        ]
    }

    fn scenario(&self, promise: ConformanceProperty) -> String {
        let (seed, checks) = (self.seed, promise.needs_checkers());
        format!(
            "Scenario(\n    summary: \"a generated machine and program\",\n    system: \
             \"system.ron\",\n    workload: \"workload.ron\",\n    seed: {seed},\n    checks: \
             {checks},\n    profile: Compute,\n)\n"
        )
    }

    /// Returns the system file with the policy in its place and the default policies elsewhere.
    fn system(&self, place: Place, policy: &str) -> String {
        let chosen = |here: Place, level: Option<Levels>| {
            let level_fits = level.is_none_or(|level| self.at == level || self.at == Levels::Both);
            let text = if here == place && level_fits {
                policy
            } else {
                here.usual()
            };
            if here.is_list() && text.is_empty() {
                "[]".to_owned()
            } else if here.is_list() {
                format!("[{text}]")
            } else {
                text.to_owned()
            }
        };
        let mut text = include_str!("system.ron").to_owned();
        let numbers = [
            ("CLUSTERS", self.clusters),
            ("UNITS_PER_CLUSTER", self.units_per_cluster),
            ("WAVEFRONT_SLOTS", self.wavefront_slots),
            ("WORK_GROUP_SLOTS", self.work_group_slots),
            ("SCHEDULERS", self.schedulers),
            ("L1_BYTES", self.l1.sets * self.l1.ways * 128),
            ("L1_WAYS", self.l1.ways),
            ("L2_BYTES", self.l2_sets * 4 * 128),
            ("MSHR_ENTRIES", self.mshr_entries),
            ("SLICES", self.slices),
            ("QUEUES", self.queues),
            // Every kernel of every tree may wait at once.
            (
                "PENDING",
                4 + self.launches.iter().map(Launch::descendants).sum::<u32>(),
            ),
        ];
        for (name, value) in numbers {
            text = text.replace(&format!("@{name}@"), &value.to_string());
        }
        let (invalidate, announce) = if self.l1.families {
            ("FamilyEnd", "FamilyComplete")
        } else {
            ("KernelEnd", "Never")
        };
        // Policies of caches decide at fills and by sectors too.
        let varies = place == Place::CachePolicy;
        let (on_fill, has_sectors) = (self.seed & 1 != 0, self.seed & 2 != 0);
        let allocate = if varies && on_fill {
            "OnFill"
        } else {
            "OnMiss"
        };
        let sectors = if varies && has_sectors {
            " sector_bytes: 32,"
        } else {
            ""
        };
        text = text.replace("@ALLOCATE@", allocate);
        text = text.replace("@SECTORS@", sectors);
        text = text.replace("@LOCAL_MEMORY@", &self.local_memory());
        text = text.replace("@INVALIDATE_AT@", invalidate);
        text = text.replace("@ANNOUNCE@", announce);
        for (name, here, level) in [
            ("WAVEFRONT_SCHEDULER", Place::WavefrontScheduler, None),
            ("PLACEMENT", Place::Placement, None),
            ("KERNEL_ORDER", Place::KernelOrder, None),
            ("L1_POLICIES", Place::CachePolicy, Some(Levels::First)),
            ("L2_POLICIES", Place::CachePolicy, Some(Levels::Second)),
            ("L1_REPLACEMENT", Place::Replacement, Some(Levels::First)),
            ("L2_REPLACEMENT", Place::Replacement, Some(Levels::Second)),
            ("L1_PREFETCHERS", Place::Prefetcher, Some(Levels::First)),
            ("L2_PREFETCHERS", Place::Prefetcher, Some(Levels::Second)),
            ("REQUEST_ORDER", Place::RequestOrder, None),
            ("ARBITER", Place::Arbiter, None),
        ] {
            text = text.replace(&format!("@{name}@"), &chosen(here, level));
        }
        text
    }

    /// Returns the local memory size. If it is shared with the first level, each work-group gets
    /// one way of it.
    fn local_memory(&self) -> String {
        if !self.l1.shares {
            return "bytes: \"=16 * 1024\"".to_owned();
        }
        let way = self.l1.sets * 128;
        let splits: Vec<u32> = (1..=self.l1.ways).map(|ways| ways * way).collect();
        let (local, both) = (self.l1.ways * way, (self.l1.ways + 1) * way);
        format!("bytes: {local}, shared_with_cache: (bytes: {both}, splits: {splits:?})")
    }

    fn workload(&self) -> String {
        let mut commands = String::new();
        for launch in &self.launches {
            launch.write(&mut commands);
        }
        let threads = WORK_GROUPS_MAX * WAVEFRONTS_MAX * 32;
        format!(
            "Workload(\n    summary: \"generated launches of one kernel\",\n    module: \
             \"work.ptx\",\n    buffers: {{\n        \"in\": Generated(element: U32, length: \
             {WORDS}, generator: Iota),\n        \"out\": Zero(element: U32, length: \
             {threads}),\n        \"counter\": Zero(element: U32, length: 1),\n    }},\n    commands: \
             [\n        CopyToDevice(\"in\"),\n{commands}        CopyToHost(\"out\"),\n    ],\n)\n"
        )
    }
}

impl Launch {
    fn any() -> impl Strategy<Value = Self> {
        (
            (1..=WORK_GROUPS_MAX, 1..=WAVEFRONTS_MAX, 0u32..4, 0u32..=6),
            (
                select(vec![0u32, 1, 2, 8, 33]),
                select(vec![0u32, 1, 32, 257]),
                select(vec![u32::MAX, 0, 1, 32]),
                any::<bool>(),
            ),
            (select(vec![0u32, 0, 1, 2]), 1u32..=2),
        )
            .prop_map(|(shape, accesses, tree)| Self {
                work_groups: shape.0,
                wavefronts: shape.1,
                stream: shape.2,
                rounds: shape.3,
                stride: accesses.0,
                step: accesses.1,
                fork: accesses.2,
                sync: accesses.3,
                depth: tree.0,
                children: tree.1,
            })
    }

    /// Number of kernels launched from the device, matching `work.ptx`.
    fn descendants(&self) -> u32 {
        descendants(self.work_groups, self.depth, self.children)
    }

    fn write(&self, commands: &mut String) {
        let (mask, sync) = (WORDS - 1, u32::from(self.sync));
        let numbers = [
            self.rounds,
            self.stride,
            self.step,
            mask,
            self.fork,
            sync,
            self.depth,
            self.children,
        ];
        let numbers = numbers.map(|number| format!(", U32({number})")).concat();
        let _ = writeln!(
            commands,
            "        Launch(\n            kernel: \"work\", grid: {}, block: {}, stream: {},\n            \
             arguments: [Buffer(\"in\"), Buffer(\"out\"), Buffer(\"counter\"){numbers}],\n        ),",
            self.work_groups,
            self.wavefronts * 32,
            self.stream,
        );
    }
}

/// Number of kernels launched from this many work-groups, including their descendants.
fn descendants(work_groups: u32, depth: u32, children: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    let of_lane = |lane: u32| 1 + descendants(1 + (lane & 1), depth - 1, children);
    work_groups.min(2) * (0..children).map(of_lane).sum::<u32>()
}
