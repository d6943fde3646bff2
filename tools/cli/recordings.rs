//! `warpweave run --record`: waveforms and timelines of a run.

use std::path::{Path, PathBuf};

use warpweave_components::reuse_monitor::Relation;
use warpweave_files::Paths;
use warpweave_framework::{ProbeSink, Tick};
use warpweave_systems::Machine;
use warpweave_trace::Program;
use warpweave_waves::{Format, Names, Recording, Selection, record_to};

use crate::outcome::{Failure, to_stderr};

/// Arguments for recordings in addition to the report.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Record into this file; its ending selects the format: .vcd or .fst waveform, .pftrace
    /// timeline for Perfetto. May be repeated.
    #[arg(long = "record", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Record only instances whose path matches this pattern, with * and ?. May be repeated.
    #[arg(long = "record-path", value_name = "PATTERN", requires = "files")]
    paths: Vec<String>,
    /// Record only these cycles of the core clock.
    #[arg(long = "record-cycles", value_name = "FROM..UNTIL", requires = "files", value_parser = window)]
    cycles: Option<(u64, Option<u64>)>,
}

/// Parses a range of cycles from the command line.
pub(crate) fn window(text: &str) -> Result<(u64, Option<u64>), String> {
    let wanted = || "expected cycles as FROM..UNTIL, FROM.. or ..UNTIL".to_owned();
    let (from, until) = text.split_once("..").ok_or_else(wanted)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| wanted());
    let from = if from.is_empty() { 0 } else { number(from)? };
    let until = (!until.is_empty()).then(|| number(until)).transpose()?;
    if until.is_some_and(|until| until < from) {
        return Err(format!("the window ends before its start, {from}"));
    }
    Ok((from, until))
}

impl Arguments {
    /// True if nothing is to be recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds the recordings to the outputs of the run.
    pub(crate) fn name(&self, paths: &mut Paths) -> Result<(), Failure> {
        for file in &self.files {
            format_of(file)?;
            paths.writes("--record", file)?;
        }
        Ok(())
    }

    /// Attaches the recordings to the machine before its first cycle. Returns the reasons that some
    /// could not start; the run continues without them. Timelines show kernels by the names in
    /// `program`.
    pub(crate) fn start(
        &self,
        machine: &mut Machine,
        program: &Program,
    ) -> Result<Vec<Failure>, Failure> {
        let mut lost = Vec::new();
        if self.files.is_empty() {
            return Ok(lost);
        }
        let period = machine.core_period();
        let (from, until) = self.cycles.unwrap_or((0, None));
        let selection = Selection {
            paths: self.paths.clone(),
            from: Tick(from.saturating_mul(period)),
            until: until.map(|cycle| Tick(cycle.saturating_mul(period))),
        };
        let kernels = program
            .kernels
            .iter()
            .map(|kernel| kernel.code.name.clone());
        let relations = Relation::NAMES.map(str::to_owned);
        let names = Names::default()
            .with("kernel", kernels)
            .with("predicted", relations)
            .with("near", ["no", "yes"].map(str::to_owned));
        let simulation = machine.simulation_mut();
        selection
            .check(simulation)
            .map_err(|error| Failure::InputText(format!("--record-path: {error}")))?;
        let mut sinks: Vec<(String, Box<dyn ProbeSink>)> = Vec::new();
        for file in &self.files {
            match record_to(file, format_of(file)?, simulation, &selection, &names) {
                Ok(sink) => sinks.push((file.display().to_string(), sink)),
                Err(error) => {
                    to_stderr(&format!("warning: {error}"));
                    lost.push(error.into());
                }
            }
        }
        if !sinks.is_empty() {
            simulation.set_probe_sink(Some(Box::new(Recording::new(sinks))));
        }
        Ok(lost)
    }
}

fn format_of(file: &Path) -> Result<Format, Failure> {
    Format::of(file).ok_or_else(|| {
        let endings = Format::ENDINGS.map(|(e, _)| format!(".{e}")).join(", ");
        Failure::InputText(format!(
            "{}: the file extension must select what to record: {endings}",
            file.display()
        ))
    })
}

/// Finishes the recordings and closes their files.
pub(crate) fn finish(machine: &mut Machine) -> Result<(), Failure> {
    let finished = machine.simulation_mut().finish_probes();
    finished.map_err(|error| Failure::Machine(format!("cannot write {error}")))
}
