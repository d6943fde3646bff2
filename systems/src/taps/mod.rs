//! Taps: analyses that observe the ports of a machine, without any effect on timing or results.
//!
//! ```text
//!   port ──► listener ─┐
//!   port ──► listener ─┼─► merged by (time, point, port, order) ─► analysis ─► statistics of `tap.NAME`
//!   port ──► listener ─┘        at the end of every piece of a run
//! ```
//!
//! Observed events are merged before an analysis gets them, so threads and run slices do not
//! matter. `ports.rs` finds ports and attaches listeners, and `log.rs` writes the events. Each
//! analysis has its own file. `kernel_requests.rs` counts the requests of each kernel at all ports.

mod accesses;
mod kernel_requests;
mod locality;
mod log;
mod ports;
mod reuse;

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpweave_accesses::Head;
use warpweave_components::memory::{MemRequest, MemResponse};
use warpweave_files::{Ledger, OutputError, OverBudget};
use warpweave_framework::{InstanceStatistics, Look, Simulation, Statistics, Tick};
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Node, Placed, from_named, name_hint, to_ron_line,
};
use warpweave_trace::Program;

use self::accesses::{Accesses, AccessesSpec};
use self::kernel_requests::{Counted, KernelRequests, may_overlap};
pub use self::kernel_requests::{RequestsAt, RequestsByKernel};
use self::locality::{Locality, LocalitySpec};
use self::log::Log;
use self::ports::Listener;
use self::reuse::{Reuse, ReuseSpec};

/// Path prefix of the statistics of all taps.
const PREFIX: &str = "tap.";

/// Names of the analyses in scenario files.
const KINDS: [&str; 3] = ["Accesses", "Locality", "Reuse"];

/// Tap as described in a scenario.
#[derive(Clone, Debug)]
pub struct TapSpec {
    name: Placed<String>,
    /// Description as written, stored in checkpoints.
    pub(crate) node: Node,
    analysis: AnalysisSpec,
}

#[derive(Clone, Debug)]
enum AnalysisSpec {
    Accesses(AccessesSpec),
    Locality(LocalitySpec),
    Reuse(ReuseSpec),
}

impl TapSpec {
    /// Returns the path of the tap's statistics.
    pub fn path(&self) -> String {
        format!("{PREFIX}{}", self.name.value)
    }

    /// True if the requests that the tap observes can be logged.
    pub fn hears_accesses(&self) -> bool {
        matches!(self.analysis, AnalysisSpec::Accesses(_))
    }

    /// Parses the taps of a scenario.
    pub(crate) fn read_all(entries: Entries<Node>) -> Result<Vec<Self>, Diagnostics> {
        let mut problems = Diagnostics::new();
        let specs = entries
            .into_iter()
            .filter_map(|(name, node)| problems.take(Self::read(name, node)))
            .collect();
        problems.into_result(specs)
    }

    fn read(name: Placed<String>, node: Node) -> Result<Self, Diagnostics> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if name.value.is_empty() || !name.value.chars().all(plain) {
            let message = format!("`{}` is not a valid tap name", name.value);
            let hint = "a name consists of letters, digits, `_` and `-`";
            return Err(name.error(message).hint(hint).into());
        }
        let kind = node.name().map(|name| name.text.clone());
        let analysis = match kind.as_deref() {
            Some("Accesses") => AnalysisSpec::Accesses(from_named(&node, "Accesses")?),
            Some("Locality") => {
                let spec: LocalitySpec = from_named(&node, "Locality")?;
                spec.check()?;
                AnalysisSpec::Locality(spec)
            }
            Some("Reuse") => {
                let spec: ReuseSpec = from_named(&node, "Reuse")?;
                spec.check()?;
                AnalysisSpec::Reuse(spec)
            }
            found => {
                let message = format!("expected an analysis as the tap, found {}", node.describe());
                let hint = name_hint(found.unwrap_or_default(), "analyses", KINDS);
                let error = Diagnostic::error(message).at(&node.head_span());
                return Err(error.hint(hint).into());
            }
        };
        Ok(Self {
            name,
            node,
            analysis,
        })
    }
}

/// Observation point of a tap. Events of one tick are delivered in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    /// Replies at the ports of `accesses`.
    Answers,
    /// Requests at the ports of `accesses`.
    Accesses,
    /// Requests at the ports of `at`.
    At,
}

/// Message that passed a port.
#[derive(Clone, Copy, Debug)]
enum TapRecord {
    Request(MemRequest),
    Response(MemResponse),
}

/// Message that passed a port, with its time.
#[derive(Clone, Copy, Debug)]
struct Event {
    tick: Tick,
    point: Point,
    /// Index of the port among those of `at`.
    port: u32,
    passed: TapRecord,
}

/// Analysis with its results so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Analysis {
    Accesses(Accesses),
    Locality(Box<Locality>),
    Reuse(Box<Reuse>),
}

impl Analysis {
    fn hear(&mut self, event: &Event) {
        match self {
            Self::Accesses(accesses) => accesses.hear(event),
            Self::Locality(locality) => locality.hear(event),
            Self::Reuse(reuse) => reuse.hear(event),
        }
    }

    fn report(&self, statistics: &mut Statistics<'_>) {
        match self {
            Self::Accesses(accesses) => accesses.report(statistics),
            Self::Locality(locality) => locality.report(statistics),
            Self::Reuse(reuse) => reuse.report(statistics),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Accesses(_) => "Accesses",
            Self::Locality(_) => "Locality",
            Self::Reuse(_) => "Reuse",
        }
    }
}

/// Reason why no log of accesses could be started.
#[derive(Debug, Error)]
pub enum StartLogError {
    /// No tap of the scenario observes accesses.
    #[error("the scenario has no tap that observes accesses")]
    NoTap,
    /// Creating or writing the log file failed.
    #[error(transparent)]
    File(#[from] OutputError),
}

/// Tap with its listeners attached to ports.
struct ActiveTap {
    analysis: Analysis,
    listeners: Vec<Listener>,
    ports: Vec<String>,
}

/// All taps of a machine, with their optional log.
#[derive(Default)]
pub(crate) struct Taps {
    taps: Vec<Tap>,
    log: Option<Log>,
    /// Requests by kernel, if they are measured and kernels may run side by side.
    kernel_requests: Option<KernelRequests>,
}

struct Tap {
    /// Path of the tap's statistics, `tap.NAME`.
    path: String,
    listeners: Vec<Listener>,
    /// Addresses of the ports of `at`, by index.
    ports: Vec<String>,
    analysis: Analysis,
}

/// State of all taps of a machine, in their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TapsState(Vec<Analysis>, Option<Counted>);

impl Tap {
    fn name(&self) -> &str {
        &self.path[PREFIX.len()..]
    }
}

impl Taps {
    /// Attaches taps to a machine that runs `program`, with a core clock of this many ticks.
    ///
    /// # Errors
    /// Fails if ports do not exist, are not connected or use another protocol, or if a component
    /// has the path of a tap.
    pub(crate) fn attach(
        specs: &[TapSpec],
        simulation: &mut Simulation,
        core_period: u64,
        program: &Program,
    ) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut taps = Vec::new();
        for spec in specs {
            let path = spec.path();
            if simulation.instances().any(|(instance, _)| instance == path) {
                let message = format!(
                    "the component `{path}` has the same name as the statistics of the tap"
                );
                problems.push(spec.name.error(message).hint("choose another name"));
                continue;
            }
            let built = match &spec.analysis {
                AnalysisSpec::Accesses(spec) => spec.attach(simulation),
                AnalysisSpec::Locality(spec) => spec.attach(simulation, core_period),
                AnalysisSpec::Reuse(spec) => {
                    let parents = program.kernels.iter().map(|kernel| kernel.parent);
                    spec.attach(simulation, parents.collect())
                }
            };
            if let Some(ActiveTap {
                analysis,
                listeners,
                ports,
            }) = problems.take(built)
            {
                taps.push(Tap {
                    path,
                    listeners,
                    ports,
                    analysis,
                });
            }
        }
        problems.into_result(Self {
            taps,
            ..Self::default()
        })
    }

    /// Counts the memory requests of each kernel of `program` if kernels may run side by side.
    /// Statistics of components are then of all of them.
    pub(crate) fn count_by_kernel(
        &mut self,
        simulation: &mut Simulation,
        program: &Program,
        ledger: &Ledger,
    ) {
        if may_overlap(program) {
            self.kernel_requests = Some(KernelRequests::attach(simulation, ledger));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.taps.is_empty() && self.kernel_requests.is_none()
    }

    /// Delivers all events since the last call to the analyses. Must only be called between slices
    /// of a run, when all events up to now are available for any number of threads.
    ///
    /// # Errors
    /// Fails if the results exceed the memory budget.
    pub(crate) fn hear(&mut self) -> Result<(), OverBudget> {
        for (number, tap) in self.taps.iter_mut().enumerate() {
            let mut events = Vec::new();
            for listener in &tap.listeners {
                listener.fetch(&mut events);
            }
            // Stable: messages of one port keep their order.
            events.sort_by_key(|event| (event.tick, event.point, event.port));
            for event in &events {
                tap.analysis.hear(event);
            }
            if let (Some(log), Analysis::Accesses(_)) = (&mut self.log, &tap.analysis) {
                log.take(number, &events);
            }
        }
        if let Some(log) = &mut self.log {
            log.write();
        }
        self.kernel_requests
            .as_mut()
            .map_or(Ok(()), KernelRequests::collect)
    }

    /// Returns the memory requests of each kernel at core cycle `cycle`; none unless counted.
    pub(crate) fn requests_by_kernel(&self, cycle: u64, now: Tick) -> RequestsByKernel {
        let counted = self.kernel_requests.as_ref();
        counted.map_or_else(RequestsByKernel::new, |counted| counted.results(cycle, now))
    }

    /// Starts logging the requests at `Accesses` taps to a file at `path`.
    ///
    /// # Errors
    /// Fails if there is no such tap, or if the file cannot be written.
    pub(crate) fn start_log(&mut self, path: &Path, head: Head) -> Result<(), StartLogError> {
        let taps = self.taps.iter().map(|tap| match tap.analysis {
            Analysis::Accesses(_) => (tap.name(), &tap.ports[..]),
            _ => (tap.name(), &[][..]),
        });
        let taps: Vec<_> = taps.collect();
        if taps.iter().all(|(_, ports)| ports.is_empty()) {
            return Err(StartLogError::NoTap);
        }
        self.log = Some(Log::create(path, head, &taps)?);
        Ok(())
    }

    /// Completes the log, if there is one.
    ///
    /// # Errors
    /// Returns any write error, including those that occurred earlier.
    pub(crate) fn finish_log(&mut self) -> Result<(), OutputError> {
        self.log.take().map_or(Ok(()), Log::finish)
    }

    /// Returns the statistics of all taps at core cycle `cycle`.
    pub(crate) fn statistics(&self, cycle: u64, now: Tick) -> Vec<InstanceStatistics> {
        let taps = self.taps.iter().map(|tap| {
            let mut values = Vec::new();
            let mut statistics = Statistics::new(cycle, now, &mut values);
            tap.analysis.report(&mut statistics);
            InstanceStatistics {
                path: tap.path.clone(),
                kind: tap.analysis.kind().to_owned(),
                values,
            }
        });
        taps.collect()
    }

    /// Reports only the statistics that increase over time.
    pub(crate) fn growing(&self, cycle: u64, now: Tick, look: &mut Look<'_>) {
        for tap in &self.taps {
            look.at(&tap.path, cycle, now, |statistics| {
                tap.analysis.report(statistics);
            });
        }
    }

    pub(crate) fn state(&self) -> TapsState {
        let analyses = self.taps.iter().map(|tap| tap.analysis.clone());
        let counted = self.kernel_requests.as_ref().map(KernelRequests::state);
        TapsState(analyses.collect(), counted)
    }

    /// Restores the state of the same taps from a checkpoint with the same description.
    pub(crate) fn load(&mut self, state: TapsState) {
        for (tap, analysis) in self.taps.iter_mut().zip(state.0) {
            tap.analysis = analysis;
        }
        if let (Some(requests), Some(counted)) = (&mut self.kernel_requests, state.1) {
            requests.load(counted);
        }
    }
}

/// Returns the scenario's description of its taps: name and text of each.
pub(crate) fn described(specs: &[TapSpec]) -> impl Iterator<Item = (String, String)> {
    specs
        .iter()
        .map(|spec| (spec.path(), to_ron_line(&spec.node)))
}
