//! Tolerances for comparing each run with a tool's.
//!
//! `gates.csv` lists the runs that differ and their tolerances, set just above the measured error.
//! Every other run must be equal. docs/components/gddr5.md gives the reasons.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Tolerance;

const GATES: &str = include_str!("gates.csv");

/// Tolerances of a run that differs. A quantity is `None` where it must be equal.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Gate {
    requests_percent: Option<f64>,
    end_cycle_percent: Option<f64>,
    lat_mean_percent: Option<f64>,
    row_hit_rate: Option<f64>,
}

/// Tolerances of all runs, keyed by preset, tool and trace.
pub(super) struct Gates(BTreeMap<[String; 3], Gate>);

#[derive(Deserialize)]
struct Row {
    tool: String,
    preset: String,
    trace: String,
    requests_percent: Option<f64>,
    end_cycle_percent: Option<f64>,
    lat_mean_percent: Option<f64>,
    row_hit_rate: Option<f64>,
}

impl Gates {
    pub(super) fn new() -> Self {
        let rows = csv::Reader::from_reader(GATES.as_bytes()).into_deserialize();
        let gate = |row: Result<Row, csv::Error>| {
            let row = row.expect("the table of this crate is well formed");
            let gate = Gate {
                requests_percent: row.requests_percent,
                end_cycle_percent: row.end_cycle_percent,
                lat_mean_percent: row.lat_mean_percent,
                row_hit_rate: row.row_hit_rate,
            };
            ([row.preset, row.tool, row.trace], gate)
        };
        Self(rows.map(gate).collect())
    }

    /// Returns the tolerances of a run, by preset, tool and trace.
    pub(super) fn of(&self, run: [&str; 3]) -> Gate {
        let run = run.map(str::to_owned);
        self.0.get(&run).copied().unwrap_or_default()
    }
}

impl Gate {
    /// Tolerance for the number of requests served in the same cycles.
    pub(super) fn requests(&self) -> Tolerance {
        relative(self.requests_percent, Tolerance::Exact)
    }

    /// Tolerance for the end cycle of the run.
    pub(super) fn end(&self) -> Tolerance {
        relative(self.end_cycle_percent, Tolerance::Exact)
    }

    /// Tolerance for the mean read latency, or `equal` if the run must match as written.
    pub(super) fn latency(&self, equal: &Tolerance) -> Tolerance {
        relative(self.lat_mean_percent, equal.clone())
    }

    /// Tolerance for the row hit rate, or `equal` if the run must match as written.
    pub(super) fn hits(&self, equal: &Tolerance) -> Tolerance {
        self.row_hit_rate
            .map_or_else(|| equal.clone(), Tolerance::Absolute)
    }
}

fn relative(percent: Option<f64>, equal: Tolerance) -> Tolerance {
    percent.map_or(equal, |percent| Tolerance::Relative(percent / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_reads_are_to_be_equal_to_ramulator_2() {
        let mixed = ["mix50_", "hits90w30_", "bursty_", "pingpong_", "seqbgi_w_"];
        for run in Gates::new().0.keys().filter(|run| run[1] == "ram2_frfcfs") {
            assert!(
                mixed.iter().any(|trace| run[2].starts_with(trace)),
                "{run:?}"
            );
        }
    }

    #[test]
    fn no_gate_is_wider_than_the_widest_that_is_documented() {
        let most = |of: fn(&Gate) -> Option<f64>| {
            let gates = Gates::new();
            gates.0.values().filter_map(of).fold(0.0, f64::max)
        };
        assert!(most(|gate| gate.end_cycle_percent) <= 2.8);
        assert!(most(|gate| gate.lat_mean_percent) <= 25.0);
        assert!(most(|gate| gate.row_hit_rate) <= 0.019);
    }
}
