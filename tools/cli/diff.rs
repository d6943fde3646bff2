//! `warpweave diff`: finds the first cycle and component at which two runs differ.
//!
//! The state hashes of the two results folders narrow the difference to two epochs. Both runs are
//! repeated there from their manifests, side by side, edge by edge.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Deserialize;
use warpweave_files::{Budget, Input, Ledger, ReadError};
use warpweave_framework::{Difference, Registry};
use warpweave_systems::{Machine, ReadLog, Scenario, StateLog};

use crate::outcome::{CommandResult, Failure, ended, to_stderr, to_stdout};

/// File names in a results folder.
const MANIFEST: &str = "manifest.json";
const HASHES: &str = "state-hashes.csv";

/// Fields of a manifest that are needed to repeat its run.
#[derive(Deserialize)]
struct Manifest {
    command: Vec<String>,
    trace_hash: String,
    warpweave_version: String,
    state_hash_every: Option<u64>,
}

/// Recorded run, as read from its results folder.
struct Recorded {
    folder: PathBuf,
    manifest: Manifest,
    every: u64,
    log: ReadLog,
}

pub(crate) fn diff(
    registry: &Registry,
    a: &Path,
    b: &Path,
    quiet: bool,
    budget: &Budget,
) -> CommandResult {
    let runs = [Recorded::read(a, budget)?, Recorded::read(b, budget)?];
    let [of_a, of_b] = &runs;
    if of_a.every != of_b.every {
        return Err(Failure::InputText(format!(
            "the state hashes of {} are {} cycles apart, those of {} {}\nhint: repeat one of the \
             runs with the --state-hash of the other",
            a.display(),
            of_a.every,
            b.display(),
            of_b.every
        )));
    }
    let Some((before, after)) = of_a.log.parts_from(&of_b.log) else {
        let epochs = of_a.log.epochs.len();
        to_stdout(&format!("equal: all {epochs} state hashes match\n"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let equal = before.map_or_else(
        || "no state hash matches".to_owned(),
        |cycle| format!("equal up to core cycle {cycle}"),
    );
    let mut text = format!("{equal}; different after core cycle {after}\n");
    if !quiet {
        to_stderr("repeating both runs to find where they diverge");
    }
    let [mut one, mut two] = [
        of_a.machine(registry, budget)?,
        of_b.machine(registry, budget)?,
    ];
    if let Err(difference) = one.same_description(&two) {
        text.push_str("the runs are of different machines: ");
        text.push_str(&told(&difference));
        text.push('\n');
    }
    for (run, machine) in runs.iter().zip([&mut one, &mut two]) {
        run.repeat(machine, before.unwrap_or(0))?;
    }
    let parting = one.parting(&mut two, after);
    let parting = parting.map_err(|error| Failure::InputText(error.to_string()))?;
    let Some((cycle, parting)) = parting else {
        return Err(Failure::Program(format!(
            "{text}both runs were repeated and did not diverge: at least one of them is not deterministic, or was made by another version"
        )));
    };
    let first = cycle.map(|cycle| format!("first difference after core cycle {cycle}\n"));
    let told = to_stdout(&format!("{text}{}{parting}", first.unwrap_or_default()));
    Ok(ended(1, [told]))
}

impl Recorded {
    fn read(folder: &Path, budget: &Budget) -> Result<Self, Failure> {
        let read = |name: &str| {
            let path = folder.join(name);
            let ledger = Ledger::new(budget);
            let text = Input::open(&path).map_err(ReadError::from);
            text.and_then(|input| input.read_text(&ledger))
                .map_err(|error| {
                    Failure::InputText(format!("cannot read {}: {error}", path.display()))
                })
        };
        let manifest: Manifest = serde_json::from_str(&read(MANIFEST)?)
            .map_err(|error| bad(folder, MANIFEST, &error))?;
        let Some(every) = manifest.state_hash_every else {
            return Err(Failure::InputText(format!(
                "{} holds no state hashes\nhint: repeat the run with `--state-hash 10000`",
                folder.display()
            )));
        };
        let log = ReadLog::parse(&read(HASHES)?).map_err(|error| bad(folder, HASHES, &error))?;
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
            every,
            log,
        })
    }

    /// Builds the machine of the run, before its first cycle.
    fn machine(&self, registry: &Registry, budget: &Budget) -> Result<Machine, Failure> {
        let Manifest {
            command,
            trace_hash,
            warpweave_version,
            ..
        } = &self.manifest;
        if warpweave_version != env!("CARGO_PKG_VERSION") {
            let problem =
                format!("the run was made by a different version, warpweave {warpweave_version}");
            return Err(bad(&self.folder, MANIFEST, &problem));
        }
        let scenario = command.get(2).map(PathBuf::from).unwrap_or_default();
        let sets: Vec<_> = command
            .iter()
            .skip(3)
            .filter(|a| *a != "--set")
            .cloned()
            .collect();
        if !scenario.is_file() {
            let problem = format!(
                "the scenario `{}` of the run does not exist",
                scenario.display()
            );
            return Err(bad(&self.folder, MANIFEST, &problem));
        }
        let mut scenario = Scenario::load_within(&scenario, &sets, budget)?;
        // They change nothing, and what they hear would be kept to the end.
        scenario.observation.taps.clear();
        let program = scenario.emulate()?.program;
        if program.hash().to_string() != *trace_hash {
            let problem = "the program differs from the one that was run: its files have changed";
            return Err(bad(&self.folder, MANIFEST, &problem));
        }
        Ok(Machine::of(&scenario, registry, &program)?)
    }

    /// Runs up to `cycle` and compares with the recorded hashes along the way.
    fn repeat(&self, machine: &mut Machine, cycle: u64) -> Result<(), Failure> {
        let never = Arc::new(AtomicBool::new(false));
        let mut log = StateLog::new(self.every);
        while machine.cycle() < cycle {
            machine.advance(log.next_after(machine.cycle()).min(cycle), &never);
            let recorded = log.record(machine);
            let rolling = recorded.map_err(|error| Failure::InputText(error.to_string()))?;
            let now = machine.cycle();
            let before = self.log.epochs.iter().find(|(at, _)| *at == now);
            if before.is_some_and(|(_, hash)| *hash != rolling) {
                return Err(Failure::Program(format!(
                    "{}: the repeated run has a different state after core cycle {now}: it is not deterministic, or its files have changed",
                    self.folder.join(HASHES).display()
                )));
            }
        }
        Ok(())
    }
}

fn bad(folder: &Path, name: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::InputText(format!("{}: {error}", folder.join(name).display()))
}

/// Formats a difference between two runs. The first run is shown in the role of the checkpoint.
fn told(difference: &Difference) -> String {
    match difference {
        Difference::Field {
            name,
            kind,
            field,
            checkpoint,
            system,
        } => {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
            let (a, b) = (shown(checkpoint), shown(system));
            format!("`{name}` ({kind}): field `{field}`: {a} | {b}")
        }
        Difference::Gone { name, kind } => format!("only the first has `{name}` ({kind})"),
        Difference::New { name, kind } => format!("only the second has `{name}` ({kind})"),
        Difference::Moved { name, kind } => format!("`{name}` ({kind}) is at a different position"),
        Difference::Kind {
            name,
            checkpoint,
            system,
        } => format!("`{name}` is a {checkpoint} in the first and a {system} in the second"),
    }
}
