//! Statistics by kernel and by interval: looks from outside at the ends of core cycles, and what grew
//! between them.
//!
//! ```text
//!   interval cuts      │         │         │         │
//!   kernel cuts          ├─ a ─┤    ├─ b ──┼─ c ─┤
//!                      outside │ outside   b and c
//! ```
//!
//! The machine evaluates exactly up to a cut before it looks, so that neither threads nor the pieces in
//! which a run advances matter. A cut for the start or completion of a kernel lies the stop delay of
//! the system after it: the first time at which any number of threads can meet.
//!
//! `within.rs` names what grew, `lazily.rs` does so when it is asked for, `csv.rs` writes intervals.

mod csv;
mod lazily;
#[cfg(test)]
mod tests;
mod within;

use std::collections::BTreeMap;
use std::mem::take;

use serde::{Deserialize, Serialize};
use warpweave_components::kernel_times::KernelTimes;
use warpweave_framework::{
    Amounts, Growth, InstanceStatistics, Look, Places, Seen, Span, Tick, Value,
};

pub use self::lazily::LazyMeasured;
use self::within::{Within, add};
use crate::scenario::Measure;

/// What was measured beyond the totals of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// What every statistic grew by while a kernel ran, by number of the launch; what else ran is
    /// included. `None`: not asked for.
    pub kernels: Option<BTreeMap<u32, Vec<InstanceStatistics>>>,
    /// What every statistic grew by while no kernel ran. `None`: not asked for.
    pub outside_kernels: Option<Vec<InstanceStatistics>>,
    /// What every statistic grew by while exactly these kernels ran side by side.
    pub overlaps: Vec<(Vec<u32>, Vec<InstanceStatistics>)>,
    /// What changed in each interval. `None`: not asked for.
    pub intervals: Option<Vec<Interval>>,
}

/// What changed in an interval of core cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The first core cycle.
    pub from_cycle: u64,
    /// The first core cycle after it.
    pub to_cycle: u64,
    /// What statistics grew by; those that did not change are left out.
    pub statistics: Vec<InstanceStatistics>,
}

/// What was measured so far, and when to look next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Measurement {
    places: Places,
    /// Growth by the set of kernels that ran, and what the newest look at its end found.
    kernels: BTreeMap<Vec<u32>, Amounts>,
    kernel_look: Seen,
    /// Tick of that look; none: there was none.
    kernel_cut: Option<u64>,
    running: Vec<u32>,
    /// First cycle and the values that changed, by place.
    intervals: Vec<(u64, Vec<(u32, Value)>)>,
    interval_look: Seen,
}

/// When the machine is, and how its cuts lie.
pub(super) struct Clockwork<'a> {
    pub(super) measure: &'a Measure,
    pub(super) times: &'a KernelTimes,
    pub(super) launches: u32,
    /// Ticks per core cycle.
    pub(super) period: u64,
    /// Ticks from the start or completion of a kernel to its cut, that tick included.
    pub(super) delay: u64,
}

/// How a run ends.
#[derive(Debug)]
struct Ends {
    measure: Measure,
    /// The last core cycle.
    last: u64,
    /// Kernels that started.
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

    /// Kernels that run after the cut at `tick`.
    fn running_after(&self, tick: u64) -> Vec<u32> {
        let cut = |at: Option<Tick>| at.is_some_and(|at| self.cut_of(at) <= tick);
        let kernels = (0..self.launches).filter(|kernel| {
            let time = self.times.of(*kernel);
            cut(time.started) && !cut(time.completed)
        });
        kernels.collect()
    }

    fn cut_of(&self, moment: Tick) -> u64 {
        moment.0.saturating_add(self.delay - 1)
    }

    /// The last tick of the interval in which `cycle` lies.
    fn interval_end(&self, every: u64, cycle: u64) -> u64 {
        let next = (cycle / every).saturating_add(1).saturating_mul(every);
        next.saturating_mul(self.period).saturating_sub(1)
    }
}

impl Measurement {
    /// The tick after which to look next, as far as is known.
    pub(super) fn next_cut(&self, clockwork: &Clockwork<'_>) -> Option<u64> {
        self.next_interval(clockwork)
            .into_iter()
            .chain(self.next_kernel(clockwork))
            .min()
    }

    fn next_interval(&self, clockwork: &Clockwork<'_>) -> Option<u64> {
        let every = clockwork.measure.every_cycles?;
        Some(clockwork.interval_end(every, every.saturating_mul(self.intervals.len() as u64)))
    }

    fn next_kernel(&self, clockwork: &Clockwork<'_>) -> Option<u64> {
        if !clockwork.measure.kernels {
            return None;
        }
        let kernels = (0..clockwork.launches).map(|kernel| clockwork.times.of(kernel));
        let moments = kernels.flat_map(|time| [time.started, time.completed]);
        let cuts = moments.flatten().map(|at| clockwork.cut_of(at));
        cuts.filter(|cut| Some(*cut) > self.kernel_cut).min()
    }

    /// Looks at what is due at the end of `tick`; `statistics` shows those that grow.
    pub(super) fn look(
        &mut self,
        tick: u64,
        clockwork: &Clockwork<'_>,
        statistics: impl FnOnce(&mut Look),
    ) {
        let interval = self.next_interval(clockwork).is_some_and(|cut| cut == tick);
        let kernel = self.next_kernel(clockwork).is_some_and(|cut| cut == tick);
        if interval || kernel {
            let every = clockwork.measure.every_cycles.filter(|_| interval);
            self.end(every, kernel, statistics);
        }
        if kernel {
            self.kernel_cut = Some(tick);
            self.running = clockwork.running_after(tick);
        }
    }

    /// Ends the interval of `every` cycles, and the span in which the same kernels ran.
    fn end(&mut self, every: Option<u64>, kernel: bool, statistics: impl FnOnce(&mut Look)) {
        let mut spans = Vec::new();
        if every.is_some() {
            let seen = take(&mut self.interval_look);
            spans.push(Span::new(seen, Growth::Changes(Vec::new())));
        }
        if kernel {
            let sums = self.kernels.remove(&self.running);
            let seen = take(&mut self.kernel_look);
            spans.push(Span::new(seen, Growth::Sums(sums.unwrap_or_default())));
        }
        let mut look = Look::new(take(&mut self.places), spans);
        statistics(&mut look);
        let (places, spans) = look.end();
        self.places = places;
        for Span { seen, growth, .. } in spans {
            match growth {
                Growth::Changes(changed) => {
                    self.interval_look = seen;
                    let from = every.map(|every| every.saturating_mul(self.intervals.len() as u64));
                    self.intervals.push((from.unwrap_or_default(), changed));
                }
                Growth::Sums(sums) => {
                    self.kernel_look = seen;
                    self.kernels.insert(self.running.clone(), sums);
                }
            }
        }
    }

    /// What was measured, if the run ends after core cycle `last` with these statistics.
    fn result(mut self, ends: &Ends, statistics: &[InstanceStatistics]) -> Measured {
        let Ends {
            measure,
            last,
            started,
        } = ends;
        let mut measured = Measured::default();
        // An interval has begun unless the last one ended with the run.
        let every = measure.every_cycles;
        let begun =
            every.filter(|every| every.saturating_mul(self.intervals.len() as u64) <= *last);
        self.end(begun, measure.kernels, |look| {
            look.take_collected(statistics);
        });
        let within = Within::new(statistics, &self.places);
        if measure.kernels {
            self.by_kernel(started, &within, &mut measured);
        }
        measured.intervals = every.map(|every| self.interval_results(every, *last, &within));
        measured
    }

    fn by_kernel(&self, started: &[u32], within: &Within<'_>, measured: &mut Measured) {
        let mut each: BTreeMap<u32, Amounts> = BTreeMap::new();
        for (kernels, grown) in &self.kernels {
            for kernel in kernels {
                add(each.entry(*kernel).or_default(), grown);
            }
        }
        for kernel in started {
            // One that completed at the cut of its start ran for nothing.
            each.entry(*kernel).or_default();
        }
        let named = |grown: &Amounts| within.all(grown);
        let none = Amounts::new();
        let outside = self.kernels.get(&[][..]).unwrap_or(&none);
        measured.outside_kernels = Some(named(outside));
        measured.kernels = Some(each.iter().map(|(k, grown)| (*k, named(grown))).collect());
        let side_by_side = self.kernels.iter().filter(|(kernels, _)| kernels.len() > 1);
        let named = side_by_side.map(|(kernels, grown)| (kernels.clone(), named(grown)));
        measured.overlaps = named.collect();
    }

    fn interval_results(&self, every: u64, last: u64, within: &Within<'_>) -> Vec<Interval> {
        let named = self.intervals.iter().map(|(from, changed)| Interval {
            from_cycle: *from,
            to_cycle: from.saturating_add(every).min(last.saturating_add(1)),
            statistics: within.changed(changed),
        });
        named.collect()
    }
}
