//! Latencies of loads and atomics, by the level of the memory hierarchy that answered.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Histogram, Statistics};

use crate::compute_unit::accounting::by_level::ByLevel;
use crate::memory::Level;
use crate::roles;

/// Cycles from issue to the last response.
#[derive(Default, Serialize, Deserialize, Statistics)]
pub(crate) struct LoadLatency {
    /// cycles from issue of a load or atomic to its last response; without loads of constants
    #[statistic(name = "load_latency", unit = "cycles")]
    all: Histogram,
    #[statistic(with = report_levels)]
    by_level: ByLevel<LevelLatency>,
}

/// Number of loads whose last response came from one level, and their total cycles.
#[derive(Default, Serialize, Deserialize)]
struct LevelLatency {
    loads: u64,
    cycles: u64,
}

impl LoadLatency {
    /// Counts a load whose last response `level` supplied.
    #[inline]
    pub(crate) fn record(&mut self, level: Level, cycles: u64) {
        self.all.record(cycles);
        let of = self.by_level.of(level);
        of.loads += 1;
        of.cycles += cycles;
    }
}

fn report_levels(by_level: &ByLevel<LevelLatency>, s: &mut Statistics<'_>) {
    s.under("load_latency", |s| {
        for (level, of) in by_level.iter() {
            s.role(roles::LOAD_LATENCY).mean(
                level.name(),
                "cycles",
                "loads",
                "cycles from issue of a load or atomic to its last response, for data supplied by the level in the name",
                (of.cycles, of.loads),
            );
        }
    });
}
