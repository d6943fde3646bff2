//! Energy of a run, per component: events times energies plus static power times time.
//!
//! Computed once, from the statistics at the end of a run. Components are not involved, and a run
//! without coefficients does no extra work. A coefficient names an instance path, with `[*]` for
//! every index, and one of its counters. Each coefficient states its source.

mod coefficients;
mod quantity;
#[cfg(test)]
mod tests;

use serde::Serialize;
use warpweave_framework::InstanceStatistics;

pub use self::coefficients::{EnergyModel, EventEnergy, StaticPower};
pub use self::quantity::{Joules, Range, Watts};

/// Component name used for power that the machine draws beyond its components.
pub const MACHINE: &str = "machine";

/// Energy report of a run, in total and per component.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyReport {
    /// Time in seconds charged for static power: from the first launch to the last completion.
    pub seconds: f64,
    /// Dynamic energy: all events, in joules.
    pub dynamic_j: f64,
    /// Static energy: static power times time, in joules.
    pub static_j: f64,
    /// Total energy, dynamic plus static, in joules.
    pub total_j: f64,
    /// Average power in watts: total energy over time; 0 if the time is 0.
    pub average_w: f64,
    /// Total with every coefficient at the low end of its range.
    pub low_j: f64,
    /// Total with every coefficient at the high end of its range.
    pub high_j: f64,
    /// Energy-delay product, total energy times time, in joule-seconds.
    pub edp_js: f64,
    /// Energy of each component pattern, in the order of the coefficient file.
    pub components: Vec<ComponentReport>,
    /// Paths of the instances without any coefficients.
    pub without: Vec<String>,
}

/// Energy of the instances of one pattern.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComponentReport {
    /// Instance pattern as written, or [`MACHINE`].
    pub component: String,
    /// Number of instances that the pattern names.
    pub instances: usize,
    /// Dynamic energy of their events, in joules.
    pub dynamic_j: f64,
    /// Energy of their static power, in joules.
    pub static_j: f64,
    /// Sum of dynamic and static energy, in joules.
    pub total_j: f64,
    /// Sum of both, with every coefficient at the low end of its range.
    pub low_j: f64,
    /// Sum of both, with every coefficient at the high end of its range.
    pub high_j: f64,
    /// Fraction of the machine's total energy; 0 if that total is 0.
    pub share: f64,
    /// Energy of each event, in the order of the file.
    pub events: Vec<EventReport>,
}

/// Energy of one kind of event, summed over the instances of a pattern.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventReport {
    /// Name of the statistic that counts the event.
    pub event: String,
    /// Number of events, summed over all instances.
    pub count: u64,
    /// Energy of all these events, in joules.
    pub energy_j: f64,
    /// Energy in joules at the low end of the coefficient's range.
    pub low_j: f64,
    /// Energy in joules at the high end of the coefficient's range.
    pub high_j: f64,
}

impl EnergyModel {
    /// Computes the energy of a run of `seconds` from its final statistics. The model must have
    /// been [checked](EnergyModel::check) against the machine.
    pub fn report(&self, statistics: &[InstanceStatistics], seconds: f64) -> EnergyReport {
        let mut components: Vec<ComponentReport> = self
            .components
            .iter()
            .map(|component| component.report(statistics, seconds))
            .collect();
        components.extend(self.machine.as_ref().map(|machine| {
            let static_j = machine.power.0 * seconds;
            let (low_w, high_w) = machine.bounds();
            ComponentReport {
                component: MACHINE.to_owned(),
                instances: 1,
                dynamic_j: 0.0,
                static_j,
                total_j: static_j,
                low_j: low_w * seconds,
                high_j: high_w * seconds,
                share: 0.0,
                events: Vec::new(),
            }
        }));
        let sum = |part: fn(&ComponentReport) -> f64| components.iter().map(part).sum::<f64>();
        let (dynamic_j, static_j) = (sum(|c| c.dynamic_j), sum(|c| c.static_j));
        let (low_j, high_j) = (sum(|c| c.low_j), sum(|c| c.high_j));
        let total_j = dynamic_j + static_j;
        for component in &mut components {
            component.share = quotient(component.total_j, total_j);
        }
        let covered = |instance: &InstanceStatistics| {
            let mut patterns = self.components.iter().map(|c| &c.pattern);
            patterns.any(|pattern| pattern.matches(&instance.path).is_some())
        };
        EnergyReport {
            seconds,
            dynamic_j,
            static_j,
            total_j,
            low_j,
            high_j,
            average_w: quotient(total_j, seconds),
            edp_js: total_j * seconds,
            components,
            without: statistics
                .iter()
                .filter(|instance| !covered(instance))
                .map(|instance| instance.path.clone())
                .collect(),
        }
    }
}

impl coefficients::ComponentEnergy {
    fn report(&self, statistics: &[InstanceStatistics], seconds: f64) -> ComponentReport {
        let count = |name: &str| {
            let counters = self.instances(statistics).filter_map(|i| i.counter(name));
            counters.sum::<u64>()
        };
        let events: Vec<_> = self
            .events
            .iter()
            .map(|(name, event)| {
                let count = count(&name.value);
                let (low, high) = event.bounds();
                EventReport {
                    event: name.value.clone(),
                    count,
                    energy_j: count as f64 * event.energy.0,
                    low_j: count as f64 * low,
                    high_j: count as f64 * high,
                }
            })
            .collect();
        let instances = self.instances(statistics).count();
        let drawn = |power: f64| power * instances as f64 * seconds;
        let idle = self.idle.as_ref();
        let (low_w, high_w) = idle.map_or((0.0, 0.0), StaticPower::bounds);
        let dynamic_j = events.iter().map(|event| event.energy_j).sum();
        let static_j = drawn(idle.map_or(0.0, |idle| idle.power.0));
        ComponentReport {
            component: self.pattern.text(),
            instances,
            dynamic_j,
            static_j,
            total_j: dynamic_j + static_j,
            low_j: events.iter().map(|event| event.low_j).sum::<f64>() + drawn(low_w),
            high_j: events.iter().map(|event| event.high_j).sum::<f64>() + drawn(high_w),
            share: 0.0,
            events,
        }
    }
}

impl EnergyReport {
    /// Returns energy and energy-delay product relative to those of another run.
    pub fn relative_to(&self, base: &Self) -> (f64, f64) {
        (
            quotient(self.total_j, base.total_j),
            quotient(self.edp_js, base.edp_js),
        )
    }
}

fn quotient(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
