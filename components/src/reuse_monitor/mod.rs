//! The reuse monitor: predicts with which kernel a child kernel will share lines.
//!
//! ```text
//!   L1 reads of this unit ──► self filter     read before by the same kernel?
//!   (line, kernel,        ──► sibling filter  read before by a child of the same parent?
//!    work-group, parent)  ──► parent filter   read before by the parent?
//!                                  │ hit and miss counters of each
//!   a child is launched ──────────►┴─► relation with the highest hit rate, priority
//! ```
//!
//! After LASER ("locality-aware scheduling for dynamic parallelism"). A kernel launched by
//! another one (depth 1 and more) looks its reads up in all three filters and inserts its misses
//! into the self and sibling filters; a kernel that may launch children inserts into the parent
//! filter. The filters are per compute unit: reuse counts only where it can be had.
//!
//! # Timing
//!
//! The monitor is off the critical path and delays nothing: a prediction leaves with its launch, which takes
//! far longer.
//!
//! # Cost
//!
//! Three filters of 605 bytes with two counters of 4 bytes each: 1839 bytes for a compute unit (LASER, section 6, says 2 KB).

#[cfg(test)]
mod tests;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{SpecError, State, Statistics};
use warpweave_random::nth;
use warpweave_trace::{Class, KernelTrace};

use crate::bloom::{BloomFilter, BloomKey, BloomSpec};

/// A reuse monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReuseMonitorSpec {
    /// Size of each of the three Bloom filters. The LASER paper's 1000 keys at 10 % false positives
    /// need 4793 bits; the paper states 605 bytes, which is 4840 bits.
    pub filter: BloomSpec,
    /// What the keys say beside the line.
    pub key: KeyMode,
    /// Hit rate in percent that a relation must exceed to be predicted (LASER paper: 50).
    pub threshold_percent: u32,
    /// Child launches at most that are given to their parent without a prediction, while the
    /// filters are cold.
    pub warm_up_children: u32,
    /// Look-ups in the parent filter after which the monitor is warm, however few the launches.
    pub warm_up_lookups: u32,
    /// Every kernel, not only children, is looked up in and inserted into the self filter. Source:
    /// the LASER paper looks up children only.
    #[serde(default)]
    pub self_all: bool,
    /// Whose prediction goes with a launch. Source: `Monitor` is LASER; the others are controls, own choice.
    #[serde(default)]
    pub prediction: PredictionSource,
}

/// Whose prediction goes with a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PredictionSource {
    /// The monitor's.
    #[default]
    Monitor,
    /// Every child is said to share lines with its parent: what the queues do without a monitor.
    Always,
    /// No child is, not even while the filters are cold.
    Never,
    /// The contrary of the monitor's: parent and sibling become none, self and none become parent.
    Inverted,
    /// Parent or none, evenly, by this seed.
    Random(u64),
}

/// What the keys of the filters say beside the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum KeyMode {
    /// The line alone, as the LASER paper prints it: a child's own repeats count as sibling reuse
    /// too.
    Line,
    /// The line and its owner: the kernel for self reuse, the parent's work-group for the others;
    /// a sibling hit counts only if it is no self hit.
    LineOwner,
}

/// A work-group of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkGroupId {
    /// Number of the launch.
    pub kernel: u32,
    /// Linear index in its grid.
    pub work_group: u32,
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The work-group.
    pub own: WorkGroupId,
    /// The work-group that launched its kernel; none when the host did (depth 0).
    pub parent: Option<WorkGroupId>,
    /// Its kernel has launched children or may do so.
    pub may_launch: bool,
}

/// With whom lines are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Relation {
    /// A child with its parent.
    ParentChild,
    /// A child with other children of its parent.
    Sibling,
    /// A kernel with itself.
    Own,
}

impl Relation {
    /// What a prediction is called by its number: 0 for none, then the relations in their order.
    pub const NAMES: [&'static str; 4] = ["none", "parent", "sibling", "self"];
}

/// What the monitor says about a child that is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The relation with the highest hit rate, if one exceeds the threshold and the others.
    pub relation: Option<Relation>,
    /// The child should run soon and near: parent or siblings left lines it needs.
    pub is_high_priority: bool,
}

/// Hits and misses of one filter: 32-bit counters, both halved when one is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HitCounter {
    /// Look-ups that found the key.
    pub hits: u32,
    /// Look-ups that did not.
    pub misses: u32,
}

impl HitCounter {
    fn count(&mut self, hit: bool) {
        if self.hits == u32::MAX || self.misses == u32::MAX {
            self.hits /= 2;
            self.misses /= 2;
        }
        if hit {
            self.hits += 1;
        } else {
            self.misses += 1;
        }
    }

    /// Look-ups counted.
    pub fn lookups(self) -> u64 {
        u64::from(self.hits) + u64::from(self.misses)
    }

    /// Whether the hit rate exceeds `percent`; without look-ups the rate is 0.
    fn exceeds_percent(self, percent: u32) -> bool {
        u64::from(self.hits) * 100 > u64::from(percent) * self.lookups()
    }

    /// Whether the hit rate exceeds that of `other`.
    fn exceeds(self, other: Self) -> bool {
        let (mine, theirs) = (self.lookups().max(1), other.lookups().max(1));
        u128::from(self.hits) * u128::from(theirs) > u128::from(other.hits) * u128::from(mine)
    }
}

/// One filter with its counters.
#[derive(Clone, Debug)]
struct MonitoredFilter {
    filter: BloomFilter,
    counter: HitCounter,
}

/// The monitor of one compute unit.
#[derive(Clone, Debug)]
pub struct ReuseMonitor {
    spec: ReuseMonitorSpec,
    parent_child: MonitoredFilter,
    sibling: MonitoredFilter,
    own: MonitoredFilter,
    /// Child kernels launched from this unit.
    children: u32,
    /// Predictions that went with launches: none, parent, sibling, self.
    predicted: [u64; 4],
    /// Number of the unit.
    unit: u16,
    /// By kernel of the program: who launched it, and whether its code launches others.
    kernels: Arc<[Family]>,
}

impl ReuseMonitor {
    /// The monitor of the unit with this number, with empty filters, for these kernels.
    ///
    /// # Errors
    /// A field outside its range.
    pub fn new(
        spec: ReuseMonitorSpec,
        unit: u16,
        kernels: Arc<[Family]>,
    ) -> Result<Self, SpecError> {
        spec.filter.check("filter")?;
        // No hit rate exceeds 100 %.
        SpecError::in_range("threshold_percent", spec.threshold_percent, ..=99)?;
        let watched = MonitoredFilter {
            filter: BloomFilter::new(spec.filter),
            counter: HitCounter::default(),
        };
        Ok(Self {
            spec,
            parent_child: watched.clone(),
            sibling: watched.clone(),
            own: watched,
            children: 0,
            predicted: [0; 4],
            unit,
            kernels,
        })
    }

    /// A work-group of a kernel of the program reads `line`.
    pub fn on_read_of(&mut self, own: WorkGroupId, line: u64) {
        let role = self.kernels.get(own.kernel as usize);
        let (parent, may_launch) = role.copied().unwrap_or_default();
        let reader = Reader {
            own,
            parent,
            may_launch,
        };
        self.on_read(&reader, line);
    }

    /// A read of `line` goes to the first-level cache of this unit.
    pub fn on_read(&mut self, reader: &Reader, line: u64) {
        let mut is_own = false;
        if self.spec.self_all || reader.parent.is_some() {
            let kernel = u64::from(reader.own.kernel);
            is_own = self.own.filter.probe_insert(self.key(line, kernel));
            self.own.counter.count(is_own);
        }
        if let Some(parent) = reader.parent {
            let key = self.key(line, work_group_bits(parent));
            let found = self.sibling.filter.contains(key);
            let own_repeat = is_own && self.spec.key == KeyMode::LineOwner;
            self.sibling.counter.count(found && !own_repeat);
            let found_parent = self.parent_child.filter.contains(key);
            self.parent_child.counter.count(found_parent);
            if !found {
                self.sibling.filter.insert(key);
            }
        }
        if reader.may_launch {
            let key = self.key(line, work_group_bits(reader.own));
            self.parent_child.filter.probe_insert(key);
        }
    }

    /// A work-group on this unit launches a child kernel.
    pub fn on_child_launch(&mut self) -> Prediction {
        let is_cold = self.children < self.spec.warm_up_children
            && self.parent_child.counter.lookups() < u64::from(self.spec.warm_up_lookups);
        let number = self.children;
        self.children = self.children.saturating_add(1);
        let monitored = if is_cold {
            Some(Relation::ParentChild)
        } else {
            self.relation()
        };
        let is_high =
            |relation| matches!(relation, Some(Relation::ParentChild | Relation::Sibling));
        let parent_if = |high: bool| high.then_some(Relation::ParentChild);
        let relation = match self.spec.prediction {
            PredictionSource::Monitor => monitored,
            PredictionSource::Always => parent_if(true),
            PredictionSource::Never => None,
            PredictionSource::Inverted => parent_if(!is_high(monitored)),
            PredictionSource::Random(seed) => {
                let place = u64::from(self.unit) << 32 | u64::from(number);
                parent_if(nth(seed, place) & 1 == 1)
            }
        };
        self.predicted[relation.map_or(0, |relation| relation as usize + 1)] += 1;
        Prediction {
            relation,
            is_high_priority: is_high(relation),
        }
    }

    /// The relation whose hit rate exceeds the threshold and both other rates; ties are none.
    pub fn relation(&self) -> Option<Relation> {
        let counters = [Relation::ParentChild, Relation::Sibling, Relation::Own]
            .map(|relation| (relation, self.counter(relation)));
        counters
            .iter()
            .find(|(relation, counter)| {
                counter.exceeds_percent(self.spec.threshold_percent)
                    && counters
                        .iter()
                        .all(|(other, theirs)| other == relation || counter.exceeds(*theirs))
            })
            .map(|(relation, _)| *relation)
    }

    /// Hits and misses of a relation.
    pub fn counter(&self, relation: Relation) -> HitCounter {
        match relation {
            Relation::ParentChild => self.parent_child.counter,
            Relation::Sibling => self.sibling.counter,
            Relation::Own => self.own.counter,
        }
    }

    /// A kernel that launched children has finished on the whole machine: the filters forget its
    /// lines, the counters stay.
    pub fn on_parent_finished(&mut self) {
        for watched in [&mut self.parent_child, &mut self.sibling, &mut self.own] {
            watched.filter.clear();
        }
    }

    /// Names what filters and counters hold.
    pub fn state(&mut self, state: &mut State<'_>) {
        for (name, watched) in [
            ("parent_child", &mut self.parent_child),
            ("sibling", &mut self.sibling),
            ("own", &mut self.own),
        ] {
            state.part(name, |state| {
                watched.filter.state(state);
                state.field("counter", &mut watched.counter);
            });
        }
        state.field("children", &mut self.children);
        state.array("predicted", &mut self.predicted);
    }

    /// Reports counters, rates and the prediction for the next child.
    pub fn report(&self, statistics: &mut Statistics<'_>) {
        let rows = [
            ("reuse_self", Relation::Own),
            ("reuse_sibling", Relation::Sibling),
            ("reuse_parent", Relation::ParentChild),
        ];
        for (name, relation) in rows {
            let HitCounter { hits, misses } = self.counter(relation);
            let (hits, misses) = (u64::from(hits), u64::from(misses));
            statistics.under(name, |s| {
                let meaning = "reads that the monitor's filter of this relation found";
                s.counter("hits", "reads", meaning, hits);
                let meaning = "reads that the monitor's filter of this relation did not find";
                s.counter("misses", "reads", meaning, misses);
                let meaning = "share of reads that the monitor's filter of this relation found";
                s.ratio("rate", "reads", meaning, hits, hits + misses);
            });
        }
        let meaning = [
            "launches that went without a prediction of the monitor",
            "launches predicted to share lines with their parent",
            "launches predicted to share lines with siblings",
            "launches predicted to share lines with themselves alone",
        ];
        let predicted = Relation::NAMES.into_iter().zip(meaning).zip(self.predicted);
        statistics.under("reuse_predicted", |s| {
            for ((name, meaning), count) in predicted {
                s.counter(name, "launches", meaning, count);
            }
        });
        statistics.code(
            "reuse_prediction",
            "relation",
            "relation predicted for the next child: 0 none, 1 parent, 2 sibling, 3 self",
            self.relation().map_or(0, |relation| relation as u64 + 1),
        );
    }

    /// The key of a line for an owner, according to the mode.
    fn key(&self, line: u64, owner: u64) -> BloomKey {
        match self.spec.key {
            KeyMode::Line => BloomKey::new(line),
            KeyMode::LineOwner => BloomKey::new(line ^ nth(owner, 0)),
        }
    }
}

/// Who launched a kernel, and whether its code launches others.
pub type Family = (Option<WorkGroupId>, bool);

/// The families of all kernels of a program.
pub fn families(kernels: &[Arc<KernelTrace>]) -> Arc<[Family]> {
    let family = |kernel: &Arc<KernelTrace>| {
        let parent = kernel.parent.map(|parent| WorkGroupId {
            kernel: parent.kernel,
            work_group: parent.work_group,
        });
        let mut instructions = kernel.code.instructions.iter();
        let launches = instructions.any(|instruction| instruction.class == Class::Launch);
        (parent, launches)
    };
    kernels.iter().map(family).collect()
}

fn work_group_bits(id: WorkGroupId) -> u64 {
    // Set apart from kernel numbers, which own the keys of the self filter.
    1 << 63 | u64::from(id.kernel) << 32 ^ u64::from(id.work_group)
}
