//! Reuse monitor: predicts with which kernels a child kernel will share lines.
//!
//! ```text
//!   L1 reads of this unit ──► self filter     read before by the same kernel?
//!   (line, kernel,        ──► sibling filter  read before by a child of the same parent?
//!    work-group, parent)  ──► parent filter   read before by the parent?
//!                                  │ hit and miss counters of each
//!   a child is launched ──────────►┴─► relation with the highest hit rate, priority
//! ```
//!
//! Implements LASER ("locality-aware scheduling for dynamic parallelism"). A kernel launched by
//! another one (depth 1 and more) looks up its reads in all three filters. It inserts its misses
//! into the self and sibling filters. A kernel that may launch children inserts into the parent
//! filter. A read that the self filter finds is a repeat of the kernel itself. It says nothing
//! about siblings and is not counted for them. Filters are private to a compute unit, since only
//! reuse within one unit can be exploited.
//!
//! A filter is made for a number of keys, beyond which it finds nearly everything. So a full one is
//! emptied ([`FilterReset`]). The self and sibling filters are emptied together: otherwise repeats
//! that the self filter has forgotten would count as sibling reuse. Instead, all filters may be
//! emptied when a launching work-group and the families of its children are complete. The
//! work-group scheduler notifies units of this that publish
//! [`WantsFamilyEnds`](crate::launch::WantsFamilyEnds).
//!
//! An [`Oracle`] predicts by the same rule from a child's own ratios in a reuse profile. It shows
//! what a monitor that is always right gains.
//!
//! # Timing
//!
//! The monitor is off the critical path and delays nothing: a prediction is sent with its launch,
//! which takes far longer.
//!
//! # Cost
//!
//! Size: three filters of 605 bytes with two 4-byte counters each, 1839 bytes per compute unit
//! (LASER, section 6, states 2 KB).

mod oracle;
mod rule;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{SpecError, State, Statistics};
use warpweave_random::nth;
use warpweave_trace::{Class, KernelTrace};

pub use self::oracle::Oracle;
use self::rule::{Rate, predicted};
use crate::bloom::{BloomFilter, BloomKey, BloomSpec};

/// Filters, warm-up and prediction of a reuse monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReuseMonitorSpec {
    /// Size of each of the three Bloom filters. The LASER paper's 1000 keys at 10 % false positives
    /// need 4793 bits; the paper states 605 bytes, which is 4840 bits.
    pub filter: BloomSpec,
    /// Contents of the filter keys in addition to the line.
    pub key: KeyMode,
    /// Hit rate in percent that a relation must exceed to be predicted (LASER paper: 50).
    pub threshold_percent: u32,
    /// Maximum number of child launches assigned to their parent without a prediction while the
    /// filters are cold.
    pub warm_up_children: u32,
    /// Number of look-ups in the parent filter after which the monitor is warm, regardless of the
    /// number of launches.
    pub warm_up_lookups: u32,
    /// Looks up and inserts the reads of every kernel, not only children, in the self filter.
    /// Source: the LASER paper looks up children only.
    #[serde(default)]
    pub self_all: bool,
    /// Source of the prediction sent with a launch; `Profile` needs the reuse profile of the run.
    /// Source: `Monitor` is LASER; the others are controls, own choice.
    #[serde(default)]
    pub prediction: PredictionSource,
    /// Emptying of the filters while parents run: `KernelOnly`, `Insertions(1000)` or
    /// `ParentWorkGroup`. Source: own choice; the LASER paper empties them only when a parent ends,
    /// after many times the keys that it sizes them for.
    #[serde(default)]
    pub clear: FilterReset,
}

impl ReuseMonitorSpec {
    /// True if filters are cleared when a work-group and the families it launched are complete.
    pub(crate) fn clears_with_work_groups(&self) -> bool {
        self.clear == FilterReset::ParentWorkGroup && self.prediction != PredictionSource::Exact
    }
}

/// Emptying of the filters, in addition to the end of a parent kernel. Counters are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FilterReset {
    /// Never while a parent and its descendants run.
    KernelOnly,
    /// Empties the parent filter at its insertion of this number, and the self and sibling filters
    /// together when either has as many; at least 1.
    Insertions(u32),
    /// Empties all filters of a unit when a work-group that launched kernels from it is complete,
    /// and so are these kernels with all their descendants.
    ParentWorkGroup,
}

impl Default for FilterReset {
    /// Returns the number of keys for which the LASER paper sizes a filter.
    fn default() -> Self {
        Self::Insertions(1000)
    }
}

/// Source of the prediction that is sent with a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PredictionSource {
    /// Prediction computed by the reuse monitor.
    #[default]
    Monitor,
    /// Like the monitor, with exact sets in place of Bloom filters. Only the end of a parent
    /// empties them.
    Exact,
    /// The monitor's rule, applied to the child's own ratios in the reuse profile of the run, which
    /// is required. The first children are bound to their unit as with `Monitor`.
    Profile,
    /// Predicts for every child that it shares lines with its parent, like queues without a
    /// monitor.
    Always,
    /// Predicts no sharing for any child, even while the filters are cold.
    Never,
    /// Inverts the monitor's prediction: parent and sibling become none, self and none become
    /// parent.
    Inverted,
    /// Predicts parent or none with equal probability, using this seed.
    Random(u64),
}

/// Contents of the filter keys in addition to the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum KeyMode {
    /// Line only, as printed in the LASER paper: cannot tell siblings from the kernel itself.
    Line,
    /// Line and owner. The owner is the kernel for self reuse, and the parent's work-group for the
    /// others.
    LineOwner,
}

/// Identifies a work-group by kernel and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkGroupId {
    /// Number of the launch in the program trace.
    pub kernel: u32,
    /// Linear index of the work-group in its grid.
    pub work_group: u32,
}

/// Place of a child kernel among the launches of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchPlace {
    /// Work-group that launches the child kernel.
    pub by: WorkGroupId,
    /// Index of the launching wavefront in the work-group.
    pub wavefront: u32,
    /// Index of the record among the wavefront's launch records.
    pub record: u32,
    /// Index of the child among those of the record.
    pub number: u32,
}

/// Work-group that reads a line, with its launch relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// Identity of the work-group that reads.
    pub own: WorkGroupId,
    /// Work-group that launched its kernel; `None` for launches from the host (depth 0).
    pub parent: Option<WorkGroupId>,
    /// True if its kernel has launched or may launch children.
    pub may_launch: bool,
}

/// Kind of kernel pair between which lines are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Relation {
    /// Sharing between a child and its parent.
    ParentChild,
    /// Sharing between children of one parent.
    Sibling,
    /// Sharing within the same kernel, between its work-groups.
    Own,
}

impl Relation {
    /// Names of predictions by number: 0 for none, then the relations in order.
    pub const NAMES: [&'static str; 4] = ["none", "parent", "sibling", "self"];

    /// Returns the number of a prediction.
    pub fn code(predicted: Option<Self>) -> u64 {
        predicted.map_or(0, |relation| relation as u64 + 1)
    }
}

/// Prediction of the monitor for a launched child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Relation whose hit rate exceeds the threshold and the rates of the others.
    pub relation: Option<Relation>,
    /// True if the child should run soon and nearby, since its parent or siblings left lines that
    /// it needs.
    pub is_high_priority: bool,
    /// True if the child is bound to this unit without a prediction, because the filters are cold.
    pub is_bound: bool,
}

/// Hits and misses of one filter, in 32-bit counters that are both halved when one is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Statistics)]
pub struct HitCounter {
    /// reads that the monitor's filter of this relation found
    #[statistic(unit = "reads", value = u64::from(self.hits))]
    pub hits: u32,
    /// reads that the monitor's filter of this relation did not find
    #[statistic(unit = "reads", value = u64::from(self.misses))]
    #[statistic(
        name = "rate",
        meaning = "share of reads that the monitor's filter of this relation found",
        ratio,
        value = u64::from(self.hits),
        whole = self.lookups(),
        of = "reads"
    )]
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

    /// Returns the number of look-ups counted, hits and misses.
    pub fn lookups(self) -> u64 {
        u64::from(self.hits) + u64::from(self.misses)
    }

    fn rate(self) -> Rate {
        Rate {
            part: self.hits.into(),
            whole: self.lookups(),
        }
    }
}

/// Key of a line and its owner.
#[derive(Clone, Copy)]
struct FilterKey {
    exact: u64,
    hashed: BloomKey,
}

/// A filter together with its hit counter.
#[derive(Clone, Debug, State, Statistics)]
struct MonitoredFilter {
    #[state(flatten)]
    filter: BloomFilter,
    /// Exact keys in place of the filter, for the control.
    exact: Option<BTreeSet<u64>>,
    #[statistic(flatten)]
    counter: HitCounter,
}

impl MonitoredFilter {
    #[inline(always)]
    fn contains(&self, key: FilterKey) -> bool {
        match &self.exact {
            Some(keys) => keys.contains(&key.exact),
            None => self.filter.contains(key.hashed),
        }
    }

    #[inline]
    fn insert(&mut self, key: FilterKey) {
        match &mut self.exact {
            Some(keys) => {
                keys.insert(key.exact);
            }
            None => self.filter.insert(key.hashed),
        }
    }

    /// Inserts a key unless it is found. Returns true if it was found.
    #[inline(always)]
    fn probe_insert(&mut self, key: FilterKey) -> bool {
        match &mut self.exact {
            Some(keys) => !keys.insert(key.exact),
            None => self.filter.probe_insert(key.hashed),
        }
    }

    /// True if so many keys were inserted that a filter made for `keys` is full.
    fn is_full(&self, keys: u32) -> bool {
        self.exact.is_none() && self.filter.insertions() >= u64::from(keys)
    }

    fn clear(&mut self) {
        self.filter.clear();
        if let Some(keys) = &mut self.exact {
            keys.clear();
        }
    }
}

/// Reuse monitor of one compute unit.
#[derive(Clone, Debug, State, Statistics)]
pub struct ReuseMonitor {
    #[state(skip)]
    spec: ReuseMonitorSpec,
    #[state(part)]
    #[statistic(under = "reuse_self")]
    own: MonitoredFilter,
    #[state(part)]
    #[statistic(under = "reuse_sibling")]
    sibling: MonitoredFilter,
    #[state(part)]
    #[statistic(under = "reuse_parent")]
    parent_child: MonitoredFilter,
    /// Number of child kernels launched from this unit.
    children: u32,
    /// launches that were bound to this unit without a prediction, while the filters were cold
    #[statistic(name = "reuse_warm_up_launches", unit = "launches")]
    bound: u64,
    /// Number of predictions sent with launches: none, parent, sibling, self.
    #[state(array)]
    #[statistic(with = report_predictions)]
    #[statistic(
        name = "reuse_prediction",
        unit = "relation",
        meaning = "relation predicted for the next child: 0 none, 1 parent, 2 sibling, 3 self",
        code,
        value = Relation::code(self.relation())
    )]
    predicted: [u64; 4],
    /// Index of the compute unit in the device.
    #[state(skip)]
    unit: u16,
    /// Launcher of each kernel of the program, and true if its code launches others.
    #[state(skip)]
    kernels: Arc<[Family]>,
    /// Present if predictions come from a profile.
    #[state(skip)]
    oracle: Option<Oracle>,
}

fn report_predictions(predicted: &[u64; 4], statistics: &mut Statistics<'_>) {
    let meaning = [
        "launches that went without a prediction of the monitor",
        "launches predicted to share lines with their parent",
        "launches predicted to share lines with siblings",
        "launches predicted to share lines with themselves alone",
    ];
    let rows = Relation::NAMES.into_iter().zip(meaning).zip(predicted);
    statistics.under("reuse_predicted", |statistics| {
        for ((name, meaning), count) in rows {
            statistics.counter(name, "launches", meaning, *count);
        }
    });
}

impl ReuseMonitor {
    /// Creates the monitor of a unit with empty filters, for these kernels. `oracle` is the source
    /// of predictions by [`PredictionSource::Profile`]; without one, all of these are none.
    ///
    /// # Errors
    /// Returns an error if a field is outside its range.
    pub fn new(
        spec: ReuseMonitorSpec,
        unit: u16,
        kernels: Arc<[Family]>,
        oracle: Option<Oracle>,
    ) -> Result<Self, SpecError> {
        spec.filter.check("filter")?;
        // No hit rate exceeds 100 %.
        SpecError::in_range("threshold_percent", spec.threshold_percent, ..=99)?;
        if let FilterReset::Insertions(keys) = spec.clear {
            SpecError::in_range("clear", keys, 1..)?;
        }
        let watched = MonitoredFilter {
            filter: BloomFilter::new(spec.filter),
            exact: (spec.prediction == PredictionSource::Exact).then(BTreeSet::new),
            counter: HitCounter::default(),
        };
        Ok(Self {
            spec,
            parent_child: watched.clone(),
            sibling: watched.clone(),
            own: watched,
            children: 0,
            bound: 0,
            predicted: [0; 4],
            unit,
            kernels,
            oracle,
        })
    }

    /// Notes that a work-group of a kernel of the program reads `line`.
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

    /// Notes a read of `line` that is sent to the first-level cache of this unit.
    pub fn on_read(&mut self, reader: &Reader, line: u64) {
        let mut is_own = false;
        if self.spec.self_all || reader.parent.is_some() {
            let kernel = u64::from(reader.own.kernel);
            is_own = self.own.probe_insert(self.key(line, kernel));
            self.own.counter.count(is_own);
        }
        if let Some(parent) = reader.parent {
            let key = self.key(line, work_group_bits(parent));
            let found = self.sibling.contains(key);
            if !is_own {
                self.sibling.counter.count(found);
            }
            let found_parent = self.parent_child.contains(key);
            self.parent_child.counter.count(found_parent);
            if !found {
                self.sibling.insert(key);
            }
        }
        if reader.may_launch {
            let key = self.key(line, work_group_bits(reader.own));
            self.parent_child.probe_insert(key);
        }
        self.clear_full();
    }

    /// Empties the filters that hold as many keys as they are made for.
    #[inline]
    fn clear_full(&mut self) {
        let FilterReset::Insertions(keys) = self.spec.clear else {
            return;
        };
        if self.parent_child.is_full(keys) {
            self.parent_child.clear();
        }
        if self.own.is_full(keys) || self.sibling.is_full(keys) {
            self.own.clear();
            self.sibling.clear();
        }
    }

    /// Notes that a work-group on this unit launches a child kernel, and returns the prediction.
    pub fn on_child_launch(&mut self, child: LaunchPlace) -> Prediction {
        let is_cold = self.children < self.spec.warm_up_children
            && self.parent_child.counter.lookups() < u64::from(self.spec.warm_up_lookups);
        let number = self.children;
        self.children = self.children.saturating_add(1);
        let monitored = if is_cold {
            Some(Relation::ParentChild)
        } else if let Some(oracle) = &self.oracle {
            oracle.relation(child, self.spec.threshold_percent)
        } else {
            self.relation()
        };
        let is_high =
            |relation| matches!(relation, Some(Relation::ParentChild | Relation::Sibling));
        let parent_if = |high: bool| high.then_some(Relation::ParentChild);
        let relation = match self.spec.prediction {
            PredictionSource::Monitor | PredictionSource::Exact | PredictionSource::Profile => {
                monitored
            }
            PredictionSource::Always => parent_if(true),
            PredictionSource::Never => None,
            PredictionSource::Inverted => parent_if(!is_high(monitored)),
            PredictionSource::Random(seed) => {
                let place = u64::from(self.unit) << 32 | u64::from(number);
                parent_if(nth(seed, place) & 1 == 1)
            }
        };
        let measures = matches!(
            self.spec.prediction,
            PredictionSource::Monitor | PredictionSource::Exact | PredictionSource::Profile
        );
        let is_bound = is_cold && measures;
        if is_bound {
            self.bound += 1;
        } else {
            self.predicted[Relation::code(relation) as usize] += 1;
        }
        Prediction {
            relation,
            is_high_priority: is_high(relation),
            is_bound,
        }
    }

    /// Returns the relation whose hit rate exceeds the threshold and both other rates; ties give
    /// `None`.
    pub fn relation(&self) -> Option<Relation> {
        let rate = |relation| self.counter(relation).rate();
        predicted(rate, self.spec.threshold_percent)
    }

    /// Returns the hits and misses of a relation.
    pub fn counter(&self, relation: Relation) -> HitCounter {
        match relation {
            Relation::ParentChild => self.parent_child.counter,
            Relation::Sibling => self.sibling.counter,
            Relation::Own => self.own.counter,
        }
    }

    /// Clears the filters after a work-group of this unit that launched children and their families
    /// are complete, if so specified; the counters are kept.
    pub fn on_work_group_family_finished(&mut self) {
        if self.spec.clears_with_work_groups() {
            self.on_parent_finished();
        }
    }

    /// Clears the filters after a kernel that launched children has finished on the whole device;
    /// the counters are kept.
    pub fn on_parent_finished(&mut self) {
        for watched in [&mut self.parent_child, &mut self.sibling, &mut self.own] {
            watched.clear();
        }
    }

    /// Returns the filter key of a line and an owner, according to the mode.
    fn key(&self, line: u64, owner: u64) -> FilterKey {
        let exact = match self.spec.key {
            KeyMode::Line => line,
            KeyMode::LineOwner => line ^ nth(owner, 0),
        };
        FilterKey {
            exact,
            hashed: BloomKey::new(exact),
        }
    }
}

/// Launcher of a kernel, and true if its code launches others.
pub type Family = (Option<WorkGroupId>, bool);

/// Returns the families of all kernels of a program.
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
