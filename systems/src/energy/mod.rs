//! Energy of a run: events times energies plus static power times time, per component.
//!
//! Computed once, from the statistics at the end of a run: components know nothing of it, and a
//! run without coefficients does no work for it. A coefficient names an instance path, with `[*]`
//! for every index, and a counter of it; each says where its number comes from.

mod coefficients;
mod quantity;
#[cfg(test)]
mod tests;

use serde::Serialize;
use warpweave_framework::InstanceStatistics;

pub use self::coefficients::{EnergyModel, EventEnergy, StaticPower};
pub use self::quantity::{Joules, Range, Watts};

/// Name of what the machine draws beyond its components.
pub const MACHINE: &str = "machine";

/// What a run cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyReport {
    /// Time that static power is charged for: from the first launch to the last completion.
    pub seconds: f64,
    /// Energy of all events.
    pub dynamic_j: f64,
    /// Energy of static power.
    pub static_j: f64,
    /// Both.
    pub total_j: f64,
    /// Total over time; 0 for no time.
    pub average_w: f64,
    /// Total with every coefficient at the low end of its range.
    pub low_j: f64,
    /// Total with every coefficient at the high end of its range.
    pub high_j: f64,
    /// Energy-delay product: total times time.
    pub edp_js: f64,
    /// Shares of the coefficients, in the order of their file.
    pub components: Vec<ComponentReport>,
    /// Instances without coefficients.
    pub without: Vec<String>,
}

/// What the instances of one pattern cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComponentReport {
    /// The pattern, or [`MACHINE`].
    pub component: String,
    /// Instances it names.
    pub instances: usize,
    /// Energy of their events.
    pub dynamic_j: f64,
    /// Energy of their static power.
    pub static_j: f64,
    /// Both.
    pub total_j: f64,
    /// Both, with every coefficient at the low end of its range.
    pub low_j: f64,
    /// Both, with every coefficient at the high end of its range.
    pub high_j: f64,
    /// Part of the energy of the machine; 0 if that is 0.
    pub share: f64,
    /// Energy of each event, in the order of the file.
    pub events: Vec<EventReport>,
}

/// What one event of the instances of a pattern cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventReport {
    /// Name of the statistic.
    pub event: String,
    /// Events.
    pub count: u64,
    /// Energy of all of them.
    pub energy_j: f64,
    /// The same at the low end of the coefficient's range.
    pub low_j: f64,
    /// The same at the high end of the coefficient's range.
    pub high_j: f64,
}

impl EnergyModel {
    /// The energy of a run of `seconds` that ended with these statistics; the model has been
    /// [checked](EnergyModel::check) against the machine.
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
    /// Energy and energy-delay product as multiples of those of another run.
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
