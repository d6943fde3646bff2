//! Taps: analyses that listen to the ports of a machine. They cost no cycle and change nothing.
//!
//! ```text
//!   port ──► listener ─┐
//!   port ──► listener ─┼─► merged by (time, point, port, order) ─► analysis ─► statistics of `tap.NAME`
//!   port ──► listener ─┘        at the end of every piece of a run
//! ```
//!
//! What is heard is merged before an analysis gets it, so neither threads nor the pieces in which a run
//! advances matter. `ports.rs` finds ports and listens to them, `log.rs` writes what is heard; each analysis has a file.

mod accesses;
mod locality;
mod log;
mod ports;
mod reuse;

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpweave_accesses::Head;
use warpweave_components::memory::{MemRequest, MemResponse};
use warpweave_files::OutputError;
use warpweave_framework::{InstanceStatistics, Look, Simulation, Statistics, Tick};
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Node, Placed, from_named, name_hint, to_ron_line,
};
use warpweave_trace::Program;

use self::accesses::{Accesses, AccessesSpec};
use self::locality::{Locality, LocalitySpec};
use self::log::Log;
use self::ports::Listener;
use self::reuse::{Reuse, ReuseSpec};

/// What the path of the statistics of a tap begins with.
const PREFIX: &str = "tap.";

/// Names of the analyses.
const KINDS: [&str; 3] = ["Accesses", "Locality", "Reuse"];

/// A tap as a scenario describes it.
#[derive(Clone, Debug)]
pub struct TapSpec {
    name: Placed<String>,
    /// As written, for checkpoints.
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
    /// The path of its statistics.
    pub fn path(&self) -> String {
        format!("{PREFIX}{}", self.name.value)
    }

    /// Whether what it hears can be logged.
    pub fn hears_accesses(&self) -> bool {
        matches!(self.analysis, AnalysisSpec::Accesses(_))
    }

    /// Reads the taps of a scenario.
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
            let message = format!("`{}` is no name of a tap", name.value);
            let hint = "a name has letters, digits, `_` and `-`";
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
                let message = format!("a tap is an analysis, found {}", node.describe());
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

/// Where a tap listens. What passes in one tick is told in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    /// Answers to the accesses.
    Answers,
    /// `accesses`.
    Accesses,
    /// `at`.
    At,
}

/// What passed a port.
#[derive(Clone, Copy, Debug)]
enum TapRecord {
    Request(MemRequest),
    Response(MemResponse),
}

/// What passed a port, and when.
#[derive(Clone, Copy, Debug)]
struct Event {
    tick: Tick,
    point: Point,
    /// Number of the port among those of `at`.
    port: u32,
    passed: TapRecord,
}

/// An analysis with what it found so far.
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

/// Why no log of accesses was begun.
#[derive(Debug, Error)]
pub enum StartLogError {
    /// No tap hears accesses.
    #[error("the scenario has no tap for accesses")]
    NoTap,
    /// The file.
    #[error(transparent)]
    File(#[from] OutputError),
}

/// A tap that listens.
struct ActiveTap {
    analysis: Analysis,
    listeners: Vec<Listener>,
    ports: Vec<String>,
}

/// The taps of a machine.
#[derive(Default)]
pub(crate) struct Taps {
    taps: Vec<Tap>,
    log: Option<Log>,
}

struct Tap {
    /// `tap.NAME`.
    path: String,
    listeners: Vec<Listener>,
    /// Addresses of the ports of `at`, by number.
    ports: Vec<String>,
    analysis: Analysis,
}

/// What the taps of a machine found so far, in their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TapsState(Vec<Analysis>);

impl Tap {
    fn name(&self) -> &str {
        &self.path[PREFIX.len()..]
    }
}

impl Taps {
    /// Puts taps on a machine with a core clock of this many ticks, which runs `program`.
    ///
    /// # Errors
    /// Ports that are not there, not connected or of another protocol; a component with the path of a
    /// tap.
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
                let message =
                    format!("a component is called `{path}`, as the statistics of the tap");
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
        problems.into_result(Self { taps, log: None })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.taps.is_empty()
    }

    /// Tells every analysis what passed since the last call. To be called between pieces of a run only:
    /// then all that happened up to now was heard, whatever the threads.
    pub(crate) fn hear(&mut self) {
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
    }

    /// Writes from now on what taps for accesses hear to a log at `path`.
    ///
    /// # Errors
    /// When there is no such tap, or the file cannot be written.
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
    /// What could not be written, now or on the way.
    pub(crate) fn finish_log(&mut self) -> Result<(), OutputError> {
        self.log.take().map_or(Ok(()), Log::finish)
    }

    /// The statistics of all taps, at core cycle `cycle`.
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

    /// Those statistics that grow.
    pub(crate) fn growing(&self, cycle: u64, now: Tick, look: &mut Look<'_>) {
        for tap in &self.taps {
            look.at(&tap.path, cycle, now, |statistics| {
                tap.analysis.report(statistics);
            });
        }
    }

    pub(crate) fn state(&self) -> TapsState {
        TapsState(self.taps.iter().map(|tap| tap.analysis.clone()).collect())
    }

    /// Goes on from a state of the same taps, which a checkpoint of the same description has.
    pub(crate) fn load(&mut self, state: TapsState) {
        for (tap, analysis) in self.taps.iter_mut().zip(state.0) {
            tap.analysis = analysis;
        }
    }
}

/// What the scenario says about its taps: name and text of each.
pub(crate) fn described(specs: &[TapSpec]) -> impl Iterator<Item = (String, String)> {
    specs
        .iter()
        .map(|spec| (spec.path(), to_ron_line(&spec.node)))
}
