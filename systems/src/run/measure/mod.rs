//! Statistics by kernel and by interval: samples at the ends of core cycles, and the increases
//! between them.
//!
//! ```text
//!   interval cuts      │         │         │         │
//!   kernel cuts          ├─ a ─┤    ├─ b ──┼─ c ─┤
//!                      outside │ outside   b and c
//! ```
//!
//! The machine evaluates exactly up to a cut before it is sampled, so threads and run slices do not
//! matter. A cut for the start or completion of a kernel is delayed by the system's stop delay.
//! That is the first time at which any number of threads can synchronize.
//!
//! Both kinds of cuts divide the run into segments. Increments are kept per segment, so the parts
//! of the report are sums over segments. `lazy.rs` computes them on demand, and `csv.rs` writes
//! intervals.

mod csv;
mod lazy;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use warpweave_components::kernel_times::{KernelTimes, Moment};
use warpweave_framework::{
    Amounts, Changes, InstanceStatistics, Look, StatisticDeltas, StatisticSnapshots,
};

pub use self::lazy::LazyMeasured;
use crate::scenario::Measure;

/// Measurements of a run beyond its totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Increase of every statistic while a kernel ran, by launch number; concurrent kernels are
    /// included. `None` if not requested.
    pub kernels: Option<BTreeMap<u32, Vec<InstanceStatistics>>>,
    /// Increase of every statistic while no kernel ran. `None` if not requested.
    pub outside_kernels: Option<Vec<InstanceStatistics>>,
    /// Increase of every statistic while exactly these kernels ran concurrently.
    pub overlaps: Vec<(Vec<u32>, Vec<InstanceStatistics>)>,
    /// Changes in each interval. `None` if not requested.
    pub intervals: Option<Vec<Interval>>,
}

/// Changes of the statistics in an interval of core cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// First core cycle of the interval.
    pub from_cycle: u64,
    /// First core cycle after the interval.
    pub to_cycle: u64,
    /// Increase of each statistic; unchanged statistics are omitted.
    pub statistics: Vec<InstanceStatistics>,
}

/// Measurements so far, with the state that determines the next sample.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Measurement {
    looks: StatisticSnapshots,
    segments: Vec<Segment>,
    /// Number of intervals that have ended.
    intervals: u64,
    /// Kernels running since the last cut.
    running: BTreeSet<u32>,
    /// Number of kernel starts with completed cuts.
    starts_cut: usize,
    /// Number of kernel completions with completed cuts.
    completions_cut: usize,
}

/// Segment between two consecutive cuts.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Segment {
    /// Index of the interval that contains the segment.
    interval: u64,
    running: Vec<u32>,
    changes: Changes,
}

/// Timing of the machine and of its cuts.
pub(super) struct Clockwork<'a> {
    pub(super) measure: &'a Measure,
    pub(super) times: &'a KernelTimes,
    pub(super) launches: u32,
    pub(super) period: u64,
    /// Ticks from the start or completion of a kernel to its cut, including that tick.
    pub(super) delay: u64,
}

/// End state of a run, needed for its measurements.
#[derive(Debug)]
struct Ends {
    measure: Measure,
    last: u64,
    started: Vec<u32>,
}

impl Clockwork<'_> {
    fn ends(&self, last: u64) -> Ends {
        let started = |kernel: &u32| self.times.of(*kernel).started.is_some();
        Ends {
            measure: self.measure.clone(),
            last,
            started: (0..self.launches).filter(started).collect(),
        }
    }

    /// Returns the cut and kernel of the start or completion that follows `others` earlier ones.
    fn cut_after(&self, moment: Moment, others: usize) -> Option<(u64, u32)> {
        let (at, kernel) = self.times.after(moment, others)?;
        Some((at.0.saturating_add(self.delay - 1), kernel))
    }

    /// Returns the last tick of the interval that contains `cycle`.
    fn interval_end(&self, every: u64, cycle: u64) -> u64 {
        let next = (cycle / every).saturating_add(1).saturating_mul(every);
        next.saturating_mul(self.period).saturating_sub(1)
    }
}

impl Measurement {
    /// Returns the tick after which to take the next sample, if it is known.
    pub(super) fn next_cut(&self, clockwork: &Clockwork<'_>) -> Option<u64> {
        self.next_interval(clockwork)
            .into_iter()
            .chain(self.next_kernel(clockwork))
            .min()
    }

    fn next_interval(&self, clockwork: &Clockwork<'_>) -> Option<u64> {
        let every = clockwork.measure.every_cycles?;
        Some(clockwork.interval_end(every, every.saturating_mul(self.intervals)))
    }

    fn next_kernel(&self, clockwork: &Clockwork<'_>) -> Option<u64> {
        if !clockwork.measure.kernels {
            return None;
        }
        let start = clockwork.cut_after(Moment::Started, self.starts_cut);
        let completion = clockwork.cut_after(Moment::Completed, self.completions_cut);
        let cuts = start.into_iter().chain(completion);
        cuts.map(|(cut, _)| cut).min()
    }

    /// Takes the samples due at the end of `tick`; `statistics` reads the growing statistics.
    pub(super) fn look(
        &mut self,
        tick: u64,
        clockwork: &Clockwork<'_>,
        statistics: impl FnOnce(&mut Look<'_>),
    ) {
        let interval = self.next_interval(clockwork).is_some_and(|cut| cut == tick);
        let kernel = self.next_kernel(clockwork).is_some_and(|cut| cut == tick);
        if interval || kernel {
            self.end_segment(statistics);
        }
        self.intervals += u64::from(interval);
        if kernel {
            self.cut_kernels(tick, clockwork);
        }
    }

    /// Makes the kernel cuts at or before `tick`.
    fn cut_kernels(&mut self, tick: u64, clockwork: &Clockwork<'_>) {
        let due = |moment, others| {
            let next = clockwork.cut_after(moment, others);
            next.filter(|(cut, _)| *cut <= tick)
        };
        while let Some((_, kernel)) = due(Moment::Started, self.starts_cut) {
            self.starts_cut += 1;
            self.running.insert(kernel);
        }
        while let Some((_, kernel)) = due(Moment::Completed, self.completions_cut) {
            self.completions_cut += 1;
            self.running.remove(&kernel);
        }
    }

    fn end_segment(&mut self, statistics: impl FnOnce(&mut Look<'_>)) {
        let mut look = self.looks.look();
        statistics(&mut look);
        let changes = look.end();
        self.segments.push(Segment {
            interval: self.intervals,
            running: self.running.iter().copied().collect(),
            changes,
        });
    }

    /// Returns the measurements for a run that ends after core cycle `last` with these statistics.
    fn result(mut self, ends: &Ends, statistics: &[InstanceStatistics]) -> Measured {
        self.end_segment(|look| {
            for instance in statistics {
                look.at_collected(instance);
            }
        });
        let grown = self.looks.grown(statistics);
        let mut measured = Measured::default();
        if ends.measure.kernels {
            self.by_kernel(&ends.started, &grown, &mut measured);
        }
        let every = ends.measure.every_cycles;
        measured.intervals = every.map(|every| self.interval_results(every, ends.last, &grown));
        measured
    }

    fn by_kernel(&self, started: &[u32], grown: &StatisticDeltas<'_>, measured: &mut Measured) {
        let mut by_set: BTreeMap<&[u32], Amounts> = BTreeMap::new();
        for segment in &self.segments {
            let amounts = by_set.entry(&segment.running[..]).or_default();
            amounts.add(&segment.changes);
        }
        // One that completed at the cut of its start ran for nothing.
        let mut each: BTreeMap<u32, Amounts> =
            started.iter().map(|k| (*k, Amounts::default())).collect();
        for (kernels, amounts) in &by_set {
            for kernel in *kernels {
                each.entry(*kernel).or_default().add_all(amounts);
            }
        }
        let outside = by_set.get(&[][..]).cloned().unwrap_or_default();
        measured.outside_kernels = Some(grown.all(&outside));
        let each = each.iter().map(|(k, amounts)| (*k, grown.all(amounts)));
        measured.kernels = Some(each.collect());
        let side_by_side = by_set.iter().filter(|(kernels, _)| kernels.len() > 1);
        let named = side_by_side.map(|(kernels, amounts)| (kernels.to_vec(), grown.all(amounts)));
        measured.overlaps = named.collect();
    }

    fn interval_results(
        &self,
        every: u64,
        last: u64,
        grown: &StatisticDeltas<'_>,
    ) -> Vec<Interval> {
        // One more has begun unless the last one ended with the run.
        let begun = every.saturating_mul(self.intervals) <= last;
        let mut segments = &self.segments[..];
        let intervals = (0..self.intervals + u64::from(begun)).map(|number| {
            let of_it = segments.iter().take_while(|s| s.interval == number).count();
            let (now, later) = segments.split_at(of_it);
            segments = later;
            let from = every.saturating_mul(number);
            Interval {
                from_cycle: from,
                to_cycle: from.saturating_add(every).min(last.saturating_add(1)),
                statistics: grown.changed(now.iter().map(|segment| &segment.changes)),
            }
        });
        intervals.collect()
    }
}
