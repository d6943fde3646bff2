//! Memory-reuse analysis of a run by launch relation (LASER paper, sections 4 and 5). Reports
//! ratios, shares, distances and chains, in the order of the run's accesses.

use serde::{Deserialize, Serialize};
use warpweave_components::memory::RequestKind;
use warpweave_framework::{Simulation, Statistics};
use warpweave_params::{Diagnostics, Placed};
use warpweave_random::nth;
use warpweave_reuse::{Found, Options, Relation, Unit};
use warpweave_trace::Parent;

use super::ports::{Listener, named_by, refused};
use super::{ActiveTap, Analysis, Event, Point, TapRecord};

/// Scale factor for reporting mean ratios as integers.
const FINE: f64 = 1e6;

/// Largest exponent of the reported power-of-two distance bounds.
const POWERS: usize = 20;

/// Description of a `Reuse` tap in a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReuseSpec {
    /// Memory ports above the first-level caches, which the tap observes.
    at: Placed<String>,
    /// Restricts the analysis to reads if set.
    #[serde(default)]
    reads_only: bool,
    /// First byte address beyond global memory; accesses from there on are not counted.
    global_end: Option<u64>,
    /// Seed for shuffling the parents of kernels that have one, which shows the relations expected
    /// by chance.
    dealt_anew: Option<u64>,
    /// Replaces the sharing of lines by an artificial one with a known result, for validation.
    sharing: Option<Sharing>,
    /// Ratio above which two units are linked in a chain.
    chain_threshold: Option<Placed<f64>>,
    /// Capacity of a first-level cache, in lines.
    #[serde(default = "l1_lines")]
    l1_lines: u64,
    /// Capacity of the second-level cache, in lines.
    #[serde(default = "l2_lines")]
    l2_lines: u64,
}

/// Artificial definition of accesses to the same line, in place of the real one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Sharing {
    /// No sharing: each access has a line of its own.
    Nothing,
    /// All accesses of one kernel share a line, but kernels share nothing with each other.
    WithinKernels,
    /// All accesses share a single line.
    Everything,
}

fn l1_lines() -> u64 {
    Options::default().l1_lines
}

fn l2_lines() -> u64 {
    Options::default().l2_lines
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reuse {
    reads_only: bool,
    global_end: Option<u64>,
    sharing: Option<Sharing>,
    accesses: u64,
    analysis: warpweave_reuse::Analysis,
}

impl ReuseSpec {
    pub(super) fn check(&self) -> Result<(), Diagnostics> {
        let Some(threshold) = &self.chain_threshold else {
            return Ok(());
        };
        if (0.0..=1.0).contains(&threshold.value) {
            return Ok(());
        }
        let message = format!("a ratio must be between 0 and 1, found {}", threshold.value);
        Err(threshold.error(message).into())
    }

    pub(super) fn attach(
        &self,
        simulation: &mut Simulation,
        mut parents: Vec<Option<Parent>>,
    ) -> Result<ActiveTap, Diagnostics> {
        if let Some(seed) = self.dealt_anew {
            deal_anew(&mut parents, seed);
        }
        let ports = named_by(&self.at, simulation)?;
        let listeners = (0_u32..).zip(&ports).map(|(number, port)| {
            let listener = Listener::of_requests(simulation, &port.address, (Point::At, number));
            listener.map_err(|error| refused(&self.at, &error))
        });
        let listeners = listeners.collect::<Result<_, _>>()?;
        let usual = Options::default().chain_threshold;
        let threshold = self.chain_threshold.as_ref();
        let options = Options {
            chain_threshold: threshold.map_or(usual, |threshold| threshold.value),
            l1_lines: self.l1_lines,
            l2_lines: self.l2_lines,
        };
        Ok(ActiveTap {
            analysis: Analysis::Reuse(Box::new(Reuse {
                reads_only: self.reads_only,
                global_end: self.global_end,
                sharing: self.sharing,
                accesses: 0,
                analysis: warpweave_reuse::Analysis::new(parents, options),
            })),
            listeners,
            ports: ports.into_iter().map(|port| port.address).collect(),
        })
    }
}

/// Shuffles the parents of kernels at random.
fn deal_anew(parents: &mut [Option<Parent>], seed: u64) {
    let launched: Vec<usize> = (0..parents.len())
        .filter(|kernel| parents[*kernel].is_some())
        .collect();
    for last in (1..launched.len()).rev() {
        let other = nth(seed, last as u64) % (last as u64 + 1);
        parents.swap(launched[last], launched[other as usize]);
    }
}

impl Reuse {
    pub(super) fn hear(&mut self, event: &Event) {
        let TapRecord::Request(request) = &event.passed else {
            return;
        };
        let counts = match request.kind {
            RequestKind::Read => true,
            RequestKind::Write | RequestKind::Atomic => !self.reads_only,
            RequestKind::Prefetch | RequestKind::CopyBack => false,
        };
        if !counts || self.global_end.is_some_and(|end| request.line >= end) {
            return;
        }
        let source = request.source;
        let by = Unit {
            kernel: source.kernel,
            work_group: source.work_group,
            wavefront: source.wavefront_slot.into(),
        };
        self.accesses += 1;
        let line = match self.sharing {
            None => request.line,
            // Numbers of kernels have 31 bits at most: a trace has no more.
            Some(Sharing::WithinKernels) => u64::from(by.kernel) << 33 ^ request.line >> 7,
            Some(Sharing::Nothing) => self.accesses,
            Some(Sharing::Everything) => 0,
        };
        self.analysis.touch(by, line);
    }

    pub(super) fn report(&self, statistics: &mut Statistics<'_>) {
        let meaning = "counted accesses to lines";
        statistics.counter("accesses", "accesses", meaning, self.accesses);
        statistics.settled(|statistics| report(&self.analysis.clone().finish(), statistics));
    }
}

fn report(found: &Found, statistics: &mut Statistics<'_>) {
    let meaning = "distinct lines of these accesses";
    statistics.counter("lines", "lines", meaning, found.lines);
    let meaning = "kernels launched from the device";
    statistics.counter("device_kernels", "kernels", meaning, found.device_kernels);
    let shares = [
        (
            "self_share",
            "Accesses to lines reused within their kernel",
            found.shares.own,
        ),
        (
            "parent_child_share",
            "Accesses to lines shared by a kernel and its parent",
            found.shares.parent_child,
        ),
        (
            "sibling_share",
            "Accesses to lines shared by sibling kernels",
            found.shares.sibling,
        ),
    ];
    for (name, meaning, part) in shares {
        statistics.ratio(name, "accesses", meaning, part, found.accesses);
    }
    for ratios in &found.ratios {
        let prefix = format!("{}_{}", ratios.level.name(), ratios.relation);
        let count = ratios.count();
        let mean = (
            (ratios.sum * FINE).round() as u64,
            count.saturating_mul(FINE as u64),
        );
        statistics.under(&prefix, |statistics| {
            let meaning = "Reuse ratio of the compared units or ordered pairs";
            statistics.mean("ratio_mean", "", "pairs", meaning, mean);
            for (bin, in_bin) in ratios.bins.iter().enumerate() {
                let meaning = "Units or pairs with a ratio in this tenth";
                let statistics = statistics.at(bin);
                statistics.ratio("bin", "pairs", meaning, *in_bin, count);
            }
        });
    }
    for (relation, distances) in Relation::ALL.into_iter().zip(&found.distances) {
        let count = distances.count();
        statistics.under(&format!("distance_{}", relation.name()), |statistics| {
            let meaning = "Distinct lines between consecutive accesses to a line";
            statistics.mean("mean", "lines", "accesses", meaning, (distances.sum, count));
            let meaning = "Accesses with a reuse distance of at least the number of lines in an L1";
            statistics.ratio("beyond_l1", "accesses", meaning, distances.beyond_l1, count);
            let meaning =
                "Accesses with a reuse distance of at least the number of lines in the L2";
            statistics.ratio("beyond_l2", "accesses", meaning, distances.beyond_l2, count);
            let mut below = 0;
            for (power, in_bin) in distances.bins.iter().enumerate().take(POWERS + 1) {
                below += in_bin;
                let meaning = "Accesses with a reuse distance of fewer lines than this";
                let statistics = statistics.at(1 << power);
                statistics.ratio("below", "accesses", meaning, below, count);
            }
        });
    }
    for chains in &found.chains {
        statistics.under(&format!("{}_chain", chains.level.name()), |statistics| {
            let meaning = "Maximum number of units in a chain";
            statistics.maximum("units_max", "units", meaning, chains.longest);
            let meaning = "Number of units in a chain";
            statistics.mean(
                "units_mean",
                "units",
                "chains",
                meaning,
                (chains.units, chains.chains),
            );
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dealing_anew_keeps_who_launched_and_who_was_launched() {
        let parent = |work_group| Parent {
            kernel: 0,
            work_group,
            wavefront: 0,
            record: 0,
            lane: 0,
            stream: 1,
        };
        let before: Vec<Option<Parent>> = (0..50)
            .map(|kernel| (kernel % 5 != 0).then(|| parent(kernel)))
            .collect();
        let mut after = before.clone();
        deal_anew(&mut after, 1);
        assert_ne!(after, before);
        let has = |list: &[Option<Parent>]| list.iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(has(&after), has(&before));
        let (mut sorted, mut again) = (after.clone(), before.clone());
        sorted.sort_unstable();
        again.sort_unstable();
        assert_eq!(sorted, again);
        let mut other = before;
        deal_anew(&mut other, 2);
        assert_ne!(other, after);
    }
}
