//! What a compute unit counts and reports.

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Histogram, Statistics, TimeWeighted};
use warpweave_trace::Class;

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::accounting::IssueSlot;
use crate::compute_unit::accounting::by_level::ByLevel;
use crate::compute_unit::unit_kind::UnitKind;
use crate::memory::Level;
use crate::roles;

/// Counters of a compute unit; slots and requests are counted where they are kept.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) wavefront_instructions: u64,
    pub(crate) thread_instructions: u64,
    pub(crate) per_class: [u64; Class::COUNT],
    /// By kind of unit: slots that issued a part of an instruction and not its last, and parts that issued in the
    /// slot of another.
    pub(crate) parts: [u64; UnitKind::COUNT],
    pub(crate) in_slot_of_another: [u64; UnitKind::COUNT],
    pub(crate) wavefronts: TimeWeighted,
    pub(crate) work_groups: TimeWeighted,
    pub(crate) work_groups_completed: u64,
    pub(crate) local_accesses: u64,
    pub(crate) local_conflict_cycles: u64,
    pub(crate) barriers: u64,
    pub(crate) load_latency: Histogram,
    pub(crate) load_latency_by_level: ByLevel<Latency>,
}

/// Loads whose last response one level supplied, and their cycles.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Latency {
    loads: u64,
    cycles: u64,
}

impl ByLevel<Latency> {
    #[inline]
    pub(crate) fn record(&mut self, level: Level, cycles: u64) {
        let of = self.of(level);
        of.loads += 1;
        of.cycles += cycles;
    }

    fn report(&self, s: &mut Statistics<'_>) {
        s.under("load_latency", |s| {
            for (level, of) in self.iter() {
                s.role(roles::LOAD_LATENCY).mean(
                    level.name(),
                    "cycles",
                    "loads",
                    "cycles from issue of a load or atomic to its last response, where the level in \
                     the name supplied that",
                    (of.cycles, of.loads),
                );
            }
        });
    }
}

/// Name, unit and meaning of the counts per class.
const PER_CLASS: [(&str, &str, &str); Class::COUNT] = {
    let meaning = "wavefront instructions issued of the class in the name";
    let mut rows = [("", "instructions", meaning); Class::COUNT];
    let mut class = 0;
    while class < Class::COUNT {
        rows[class].0 = Class::ALL[class].name();
        class += 1;
    }
    rows
};

impl Counts {
    /// Issue slots by the kind of unit of what they issued, of several instructions the first.
    fn issued_slots(&self) -> [u64; UnitKind::COUNT] {
        let mut slots = self.parts;
        for (class, count) in Class::ALL.iter().zip(&self.per_class) {
            slots[UnitKind::of(*class) as usize] += count;
        }
        for (slots, more) in slots.iter_mut().zip(&self.in_slot_of_another) {
            *slots -= more;
        }
        slots
    }
}

impl ComputeUnit {
    pub(crate) fn report(&self, s: &mut Statistics<'_>) {
        let counts = &self.counts;
        let unit = &self.load_store.counts;
        let count = "instructions";
        let meaning = "instructions issued, one per wavefront";
        s.role(roles::WAVEFRONT_INSTRUCTIONS).counter(
            "wavefront_instructions",
            count,
            meaning,
            counts.wavefront_instructions,
        );
        let meaning = "instructions issued, one per active lane";
        s.role(roles::THREAD_INSTRUCTIONS).counter(
            "thread_instructions",
            count,
            meaning,
            counts.thread_instructions,
        );
        s.under("instructions", |s| {
            // Nothing is launched where nobody takes launches.
            let launch = Class::Launch.index();
            let parts = if self.launches.is_connected() {
                [0..Class::COUNT, 0..0]
            } else {
                [0..launch, launch + 1..Class::COUNT]
            };
            for part in parts {
                s.counters(&PER_CLASS[part.clone()], &counts.per_class[part]);
            }
        });
        let mut absent = ArrayVec::<_, 2>::new();
        if !self.is_open() {
            absent.push(IssueSlot::HeldBack);
        }
        if self.fetch.is_none() {
            absent.push(IssueSlot::Fetch);
        }
        self.accounting.report(&absent, &counts.issued_slots(), s);
        let cycle = s.cycle();
        let meaning = "mean number of resident wavefronts";
        s.level("wavefronts_mean", "wavefronts", meaning, &counts.wavefronts);
        s.role(roles::OCCUPANCY).ratio(
            "occupancy",
            "slot cycles",
            "part of the wavefront slots that held a wavefront, over all cycles",
            counts.wavefronts.integral(cycle),
            cycle * u64::from(self.spec.wavefront_slots),
        );
        let meaning = "most wavefronts resident at a time";
        s.maximum(
            "wavefronts_max",
            "wavefronts",
            meaning,
            counts.wavefronts.max(),
        );
        let meaning = "mean number of resident work-groups";
        s.level(
            "work_groups_mean",
            "work-groups",
            meaning,
            &counts.work_groups,
        );
        let meaning = "most work-groups resident at a time";
        s.maximum(
            "work_groups_max",
            "work-groups",
            meaning,
            counts.work_groups.max(),
        );
        let meaning = "work-groups completed";
        s.counter(
            "work_groups_completed",
            "work-groups",
            meaning,
            counts.work_groups_completed,
        );
        let meaning = "memory requests sent to read";
        s.counter("read_requests", "requests", meaning, unit.reads);
        let meaning = "memory requests sent to write";
        s.counter("write_requests", "requests", meaning, unit.writes);
        let meaning = "memory requests sent for atomics";
        s.counter("atomic_requests", "requests", meaning, unit.atomics);
        let meaning = "memory requests sent to fetch ahead, for prefetch instructions";
        s.counter("prefetch_requests", "requests", meaning, unit.prefetches);
        let meaning = "memory requests sent per access of a wavefront to global or private memory";
        let requests = unit.reads + unit.writes + unit.atomics + unit.prefetches;
        s.ratio(
            "requests_per_access",
            "accesses",
            meaning,
            requests,
            unit.accesses,
        );
        let meaning = "cycles from issue of a load or atomic to its last response; without loads of constants";
        s.histogram("load_latency", "cycles", meaning, &counts.load_latency);
        counts.load_latency_by_level.report(s);
        let meaning = "accesses of wavefronts to local memory";
        s.counter("local_accesses", "accesses", meaning, counts.local_accesses);
        let meaning = "cycles of local memory lost to bank conflicts";
        s.counter(
            "local_conflict_cycles",
            "cycles",
            meaning,
            counts.local_conflict_cycles,
        );
        let meaning = "barriers that every wavefront of a work-group reached";
        s.counter("barriers", "barriers", meaning, counts.barriers);
        if let Some(stage) = &self.fetch {
            stage.report(s);
        }
        self.read_paths.report(s);
        if let Some(split) = &self.split {
            split.report(s);
        }
        if let Some(monitor) = &self.reuse_monitor {
            monitor.report(s);
        }
        self.report_open(s);
    }
}
