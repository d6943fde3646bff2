//! Roofline of a run: its rate of operations, and the ceilings that issue and memory set.

use serde::Serialize;
use warpweave_components::roles;
use warpweave_framework::{InstanceStatistics, Value};
use warpweave_trace::LANES;

use super::evidence::{Slots, quotient};
use crate::run::Simulated;

/// Name of the counter of bytes that a memory reports, next to the use of its data bus.
const BYTES: &str = "bytes";
const DATA_BUS: &str = "data_bus_utilisation";
/// Prefix of the counters of instructions by class.
const INSTRUCTIONS: &str = "instructions_";

/// Rate of thread instructions while kernels ran, and what limits it at the run's intensity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Roofline {
    /// Thread instructions per core cycle while kernels ran.
    pub(super) rate: f64,
    /// Thread instructions per core cycle if every issue slot issued for all lanes.
    pub(super) issue_ceiling: f64,
    /// Thread instructions per byte that memory moved; `None` without traffic.
    pub(super) intensity: Option<f64>,
    /// Bytes that memory moved, reads and writes.
    pub(super) memory_bytes: u64,
    /// Bytes per core cycle that the data buses of memory could move; `None` without traffic.
    pub(super) memory_peak: Option<f64>,
    /// Thread instructions per core cycle that memory allows at this intensity.
    pub(super) memory_ceiling: Option<f64>,
    /// Wavefront instructions by unit of execution.
    pub(super) instructions: Operations,
}

/// Wavefront instructions by the sort of their operations; others use no arithmetic unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Operations {
    pub(super) integer: u64,
    pub(super) single: u64,
    pub(super) double: u64,
    pub(super) other: u64,
}

impl Roofline {
    /// Returns the roofline of a run with these slots in its kernels; `None` if no kernel ran, or
    /// nothing reports issue slots.
    pub(super) fn of(simulated: &Simulated, slots: &Slots) -> Option<Self> {
        let time = &simulated.kernel_time;
        let slots: u64 = slots.totals().iter().sum();
        if time.cycles == 0 || slots == 0 {
            return None;
        }
        let mut operations = Operations::default();
        let (mut memory_bytes, mut busy, mut bus) = (0, 0, 0);
        for instance in simulated.statistics.iter() {
            operations.add(instance);
            if let Some((bytes, [part, whole])) = traffic(instance) {
                memory_bytes += bytes;
                busy += part;
                bus += whole;
            }
        }
        let rate = quotient(simulated.thread_instructions, time.cycles);
        let moved = (memory_bytes > 0 && busy > 0).then_some(memory_bytes as f64);
        let intensity = moved.map(|moved| simulated.thread_instructions as f64 / moved);
        let memory_peak =
            moved.map(|moved| moved / busy as f64 * quotient(bus, time.run_cycles.max(1)));
        Some(Self {
            rate,
            issue_ceiling: quotient(slots, time.cycles) * LANES as f64,
            intensity,
            memory_bytes,
            memory_peak,
            memory_ceiling: intensity.zip(memory_peak).map(|(per, peak)| per * peak),
            instructions: operations,
        })
    }

    /// Returns the lower of the two ceilings, and whether memory sets it.
    pub(super) fn ceiling(&self) -> (f64, bool) {
        match self.memory_ceiling {
            Some(memory) if memory < self.issue_ceiling => (memory, true),
            _ => (self.issue_ceiling, false),
        }
    }

    /// Describes rate, ceiling and intensity in one line.
    pub(super) fn in_words(&self) -> String {
        let (ceiling, by_memory) = self.ceiling();
        let by = if by_memory { "memory" } else { "issue" };
        let per_byte = self
            .intensity
            .map(|intensity| format!(", {} per byte", digits(intensity)));
        format!(
            "{} of {} thread instructions a cycle ({by}{})",
            digits(self.rate),
            digits(ceiling),
            per_byte.unwrap_or_default()
        )
    }
}

/// Formats a positive number with about three digits.
fn digits(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

impl Operations {
    fn add(&mut self, instance: &InstanceStatistics) {
        let mut found = Self::default();
        let mut is_unit = false;
        for statistic in &instance.values {
            is_unit |= statistic.role == Some(roles::ISSUE_SLOTS);
            // Most counters of a machine are 0; their names are not looked at.
            let Value::Counter(count @ 1..) = statistic.value else {
                continue;
            };
            let Some(class) = statistic.name.strip_prefix(INSTRUCTIONS) else {
                continue;
            };
            let sort = match class.split('_').next() {
                Some("int") => &mut found.integer,
                Some("fp" | "special" | "convert") => &mut found.single,
                Some("dp") => &mut found.double,
                _ => &mut found.other,
            };
            *sort += count;
        }
        if is_unit {
            self.integer += found.integer;
            self.single += found.single;
            self.double += found.double;
            self.other += found.other;
        }
    }
}

/// Returns the bytes that a memory moved, with the busy cycles and all cycles of its data bus.
fn traffic(instance: &InstanceStatistics) -> Option<(u64, [u64; 2])> {
    let mut ratios = instance.values.iter().filter_map(|one| match one.value {
        Value::Ratio { part, whole } => Some((one, part, whole)),
        _ => None,
    });
    let (_, part, whole) = ratios.find(|(one, ..)| &*one.name == DATA_BUS)?;
    let Some(Value::Counter(bytes)) = instance.get(BYTES) else {
        return None;
    };
    Some((*bytes, [part, whole]))
}

#[cfg(test)]
mod tests {
    use warpweave_framework::{Statistics, Tick};

    use super::*;

    fn instance(report: impl FnOnce(&mut Statistics<'_>)) -> InstanceStatistics {
        let mut values = Vec::new();
        report(&mut Statistics::new(10, Tick(10), &mut values));
        InstanceStatistics {
            path: "x".into(),
            kind: "Any".into(),
            values,
        }
    }

    #[test]
    fn operations_are_counted_by_the_sort_of_their_class_in_units_alone() {
        let mut found = Operations::default();
        found.add(&instance(|s| {
            s.role(roles::ISSUE_SLOTS)
                .counter("slots_issued", "", "", 1);
            for (class, count) in [
                ("instructions_int_add", 1),
                ("instructions_int_mul", 2),
                ("instructions_fp_add", 4),
                ("instructions_convert", 8),
                ("instructions_dp_mul", 16),
                ("instructions_load", 32),
                ("wavefront_instructions", 64),
            ] {
                s.counter(class, "", "", count);
            }
        }));
        found.add(&instance(|s| s.counter("instructions_int_add", "", "", 99)));
        let expected = Operations {
            integer: 3,
            single: 12,
            double: 16,
            other: 32,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn traffic_needs_bytes_and_the_data_bus() {
        let memory = instance(|s| {
            s.counter("bytes", "", "", 640);
            s.ratio("data_bus_utilisation", "", "", 20, 100);
        });
        assert_eq!(traffic(&memory), Some((640, [20, 100])));
        assert_eq!(traffic(&instance(|s| s.counter("bytes", "", "", 1))), None);
    }

    #[test]
    fn the_lower_ceiling_limits() {
        let mut roofline = Roofline {
            rate: 12.34,
            issue_ceiling: 480.0,
            intensity: Some(0.5),
            memory_bytes: 64,
            memory_peak: Some(100.0),
            memory_ceiling: Some(50.0),
            instructions: Operations::default(),
        };
        let words = "12.3 of 50.0 thread instructions a cycle (memory, 0.50 per byte)";
        assert_eq!(roofline.in_words(), words);
        roofline.intensity = None;
        roofline.memory_ceiling = None;
        let words = "12.3 of 480 thread instructions a cycle (issue)";
        assert_eq!(roofline.in_words(), words);
    }
}
