//! Scale of programs: the global-memory footprint of each, compared with the caches of the
//! baseline.
//!
//! ```text
//!   trace of the baseline's first pair ──► footprint.rs ◄── reuse.rs: distances
//!                                              │
//!   baseline's machine ──► caches.rs ──────────┴──► Scale, kept beside the trace
//! ```

mod caches;
mod footprint;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use warpweave_files::{Budget, Input, Ledger, Output};
use warpweave_framework::Registry;
use warpweave_params::Diagnostics;
use warpweave_systems::{Machine, Scenario};
use warpweave_trace::TraceFile;

pub use self::caches::Caches;
pub use self::footprint::Footprint;

use crate::plan::{Plan, PlannedRun, each, points};
use crate::read::Experiment;
use crate::run::MachineError;

/// Version of the measurement. Must change if the same trace gives other results.
const VERSION: u32 = 1;

/// Memory footprint of every program of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Programs in the order of the workloads in the file.
    pub programs: Vec<Program>,
}

/// Memory footprint of one program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Program {
    pub workload: String,
    /// Caches of the baseline machine that ran it.
    pub caches: Caches,
    /// Footprint of the program, or the reason why it is unknown.
    pub footprint: Result<Footprint, String>,
}

impl Program {
    /// Returns the size of all accessed lines, in bytes.
    pub fn bytes(&self) -> Option<u64> {
        let footprint = self.footprint.as_ref().ok()?;
        Some(footprint.lines.saturating_mul(self.caches.line_bytes))
    }

    /// Returns the footprint relative to all first-level caches; `None` without such.
    pub fn per_l1(&self) -> Option<f64> {
        part(self.bytes()?, self.caches.l1_bytes)
    }

    /// Returns the footprint relative to the second level; `None` without one.
    pub fn per_l2(&self) -> Option<f64> {
        part(self.bytes()?, self.caches.l2_bytes)
    }

    /// Returns the bytes requested by lanes per thread instruction.
    pub fn bytes_per_thread_instruction(&self) -> Option<f64> {
        let footprint = self.footprint.as_ref().ok()?;
        part(footprint.bytes_asked, footprint.thread_instructions)
    }

    /// Returns the fractions of line accesses by reuse distance. They are: first accesses,
    /// distances below the lines of one first-level cache, distances below the lines of the second
    /// level, and longer ones. `None` without a cache to compare with, or without accesses.
    pub fn parts(&self) -> [Option<f64>; 4] {
        let Ok(footprint) = &self.footprint else {
            return [None; 4];
        };
        let of = |count| part(count, footprint.line_accesses);
        let has_l1 = self.caches.l1_bytes > 0;
        let has_l2 = self.caches.l2_bytes > 0;
        let within = footprint.within_l1.max(footprint.within_l2);
        let beyond = footprint.line_accesses - footprint.lines - within;
        [
            of(footprint.lines),
            of(footprint.within_l1).filter(|_| has_l1),
            of(within - footprint.within_l1).filter(|_| has_l1 && has_l2),
            of(beyond).filter(|_| has_l2),
        ]
    }
}

fn part(of: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| of as f64 / whole as f64)
}

/// Measurement stored next to a trace.
#[derive(Serialize, Deserialize)]
struct ScaleRecord {
    version: u32,
    footprint: Footprint,
}

impl Scale {
    /// Measures the traces of the baseline's first pair, on `threads` threads, in the folder
    /// `traces`. Earlier measurements are reused. A missing or unreadable trace is reported in its
    /// program's entry.
    ///
    /// # Errors
    /// Returns an error if a machine cannot be built or a disk operation fails.
    pub fn of(
        experiment: &Experiment,
        plan: &Plan,
        registry: &Registry,
        traces: &Path,
        threads: usize,
        interrupt: &Arc<AtomicBool>,
        budget: &Budget,
    ) -> Result<Self, ScaleError> {
        let baseline = points(&experiment.file).into_iter().next();
        let baseline = baseline.map(|point| experiment.baseline.of(&point));
        let first = |workload: &str| {
            plan.runs.iter().find(|run| {
                run.ids.iter().any(|id| {
                    id.workload == workload
                        && Some(&id.point) == baseline.as_ref()
                        && id.pair == 0
                        && !id.confirming
                })
            })
        };
        let names = experiment.file.workloads.names();
        let found: Vec<(&str, &PlannedRun)> = names
            .filter_map(|workload| Some((workload, first(workload)?)))
            .collect();
        let mut wanted = Vec::new();
        for (workload, run) in found {
            let scenario = Scenario::load_varied(&run.variation, budget, None)?;
            let machine = Machine::without_program(&scenario, registry)?;
            wanted.push((workload, run, Caches::of(&machine.system().resolved)));
        }
        let different: BTreeSet<(&str, Caches)> = wanted
            .iter()
            .map(|(_, run, caches)| (run.identity.trace.as_str(), *caches))
            .collect();
        let different: Vec<(&str, Caches)> = different.into_iter().collect();
        let measured = each(&different, threads, interrupt, |(key, caches)| {
            measured(traces, key, *caches, budget)
        });
        let mut footprints = BTreeMap::new();
        for (which, footprint) in different.into_iter().zip(measured) {
            let footprint = match footprint {
                Some(footprint) => footprint?,
                None => Err("it was interrupted".to_owned()),
            };
            footprints.insert(which, footprint);
        }
        let programs = wanted.into_iter().map(|(workload, run, caches)| Program {
            workload: workload.to_owned(),
            caches,
            footprint: footprints[&(run.identity.trace.as_str(), caches)].clone(),
        });
        Ok(Self {
            programs: programs.collect(),
        })
    }
}

/// Error from measuring the programs.
#[derive(Debug, thiserror::Error)]
pub enum ScaleError {
    /// A machine could not be built from its description.
    #[error(transparent)]
    Input(#[from] Diagnostics),
    /// A disk operation on the host failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Returns the stored measurement of a trace, or measures the trace and stores the result. The
/// inner error gives the reason why nothing is known.
fn measured(
    traces: &Path,
    key: &str,
    caches: Caches,
    budget: &Budget,
) -> Result<Result<Footprint, String>, MachineError> {
    let of = format!(
        "{}-{}-{}",
        caches.line_bytes,
        caches.lines_of_one_l1(),
        caches.lines_of_l2()
    );
    let path = traces.join(format!("{key}.scale-{of}.json"));
    let ledger = Ledger::new(budget);
    let text = Input::open(&path).ok();
    let text = text.and_then(|input| input.read_text(&ledger).ok());
    let kept = text.and_then(|text| serde_json::from_str::<ScaleRecord>(&text).ok());
    if let Some(kept) = kept.filter(|kept| kept.version == VERSION) {
        return Ok(Ok(kept.footprint));
    }
    let trace = traces.join(format!("{key}.trace"));
    if !trace.is_file() {
        return Ok(Err("its trace was not kept".to_owned()));
    }
    let opened = TraceFile::open_within(&trace, &ledger);
    let footprint = match opened.and_then(|mut trace| footprint::of(&mut trace, caches)) {
        Ok(footprint) => footprint,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let kept = ScaleRecord {
        version: VERSION,
        footprint,
    };
    let text = serde_json::to_string(&kept).expect("every key is text");
    Output::write(&path, text.as_bytes())?;
    Ok(Ok(footprint))
}

#[cfg(test)]
mod tests {
    use warpweave_systems::standard_registry;

    use super::*;
    use crate::run::Runner;
    use crate::store::Folder;
    use crate::tests::Bench;

    /// Measures an addition of 256 floats on the tiny machine.
    fn scale(bench: &Bench, is_run: bool) -> Scale {
        let (registry, budget, interrupt) =
            (standard_registry(), Budget::unlimited(), Arc::default());
        let experiment = Experiment::read(&bench.experiment(""), &budget).unwrap();
        let plan = Plan::of(&experiment, &registry, 1, &interrupt, &budget);
        let plan = plan.unwrap_or_else(|e| panic!("{e}")).unwrap();
        let traces = bench.path("traces");
        if is_run {
            let folder = Folder::claim(&bench.path("results")).unwrap();
            let runner = Runner {
                registry: &registry,
                threads: 1,
                interrupt: &interrupt,
                budget: &budget,
            };
            let wanted = plan.fitting(None);
            let failed = runner.run(&plan, &wanted, folder.reports(), &traces, &mut |_| {});
            assert!(failed.unwrap().is_empty());
        }
        Scale::of(
            &experiment,
            &plan,
            &registry,
            &traces,
            2,
            &interrupt,
            &budget,
        )
        .unwrap()
    }

    #[test]
    fn a_trace_is_measured_once_and_what_came_out_kept_beside_it() {
        let bench = Bench::new();
        let first = scale(&bench, true);
        let program = &first.programs[0];
        assert_eq!(program.bytes(), Some(3 * 4 * 256));
        assert!(program.caches.l1_bytes > 0 && program.caches.l2_bytes > 0);
        let entries = std::fs::read_dir(bench.path("traces")).unwrap();
        let paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        for path in paths
            .iter()
            .filter(|path| path.extension().unwrap() == "trace")
        {
            std::fs::remove_file(path).unwrap();
        }
        assert_eq!(scale(&bench, false), first);
        for path in paths
            .iter()
            .filter(|path| path.to_string_lossy().contains(".scale-"))
        {
            std::fs::write(path, "{}").unwrap();
        }
        let without = scale(&bench, false);
        assert_eq!(
            without.programs[0].footprint,
            Err("its trace was not kept".to_owned())
        );
    }
}
