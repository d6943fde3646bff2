//! Runs inputs against the libraries within this process.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use warpweave_accel_sim::{Quirks, UnknownOptions, export, import, system_of};
use warpweave_accesses::AccessLog;
use warpweave_files::{Budget, Ledger};
use warpweave_framework::{Environment, Registry};
use warpweave_inputs::{
    ElementType, EntryValues, FileReading, GraphFormat, parse_graph, parse_matrix, read_array,
};
use warpweave_params::{Files, Source};
use warpweave_standalone::{Table, cache, dram, environment, noc};
use warpweave_systems::report::{Colour, Comparison, Record, Side};
use warpweave_systems::{Machine, ReadLog, Scenario, standard_registry};
use warpweave_trace::Program;

use crate::case::Case;
use crate::checkpoints::Moment;
use crate::folder::Folder;
use crate::kind::{Kind, options_of, scenario_of};
use crate::verdict::{Fault, FaultKind, InputOutcome, Verdict, controls, has_place};

/// Libraries under test, with a folder for the files they read.
pub struct LibraryTargets {
    folder: Folder,
    registry: Registry,
    environment: Environment,
    files: Vec<String>,
    /// Scenario and program into which each moment's checkpoint is resumed.
    resumed: Vec<(Scenario, Arc<Program>)>,
    panicked: Arc<Mutex<String>>,
}

/// Number of cycles to run a machine with mutated files.
const CYCLES: u64 = 3000;

/// Memory limit for the streams of a trace, in bytes.
const MEMORY_BYTES: u64 = 1 << 30;

impl LibraryTargets {
    /// Creates the target with a temporary folder of its own.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub fn new() -> io::Result<Self> {
        let folder = Folder::new()?;
        let files = folder
            .originals()
            .map(|(name, _)| name.to_owned())
            .collect();
        let path = folder.path();
        let resumed = Moment::ALL.map(|moment| moment.prepared(&path)).into();
        Ok(Self {
            folder,
            registry: standard_registry(),
            environment: environment(),
            files,
            resumed,
            panicked: Arc::default(),
        })
    }

    /// Captures panics of this process with their locations for the verdicts instead of printing
    /// them.
    fn keep_panics(&self) {
        let kept = Arc::clone(&self.panicked);
        std::panic::set_hook(Box::new(move |panic| {
            *kept.lock() = panic.to_string();
        }));
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Tries an input and returns its verdict.
    ///
    /// # Errors
    /// Returns the promise broken by the input.
    pub fn verdict(&self, case: &Case) -> Verdict {
        let driver = |error: io::Error| Fault::new(FaultKind::Driver, &error.to_string());
        self.folder.change(case.file, &case.bytes).map_err(driver)?;
        let ended = catch_unwind(AssertUnwindSafe(|| self.try_input(case)));
        self.folder.restore(case.file).map_err(driver)?;
        let Ok(ended) = ended else {
            let seen = self.panicked.lock();
            return Err(Fault::new(FaultKind::Panic, &seen));
        };
        let Err(refusal) = ended else {
            return Ok(InputOutcome::Accepted);
        };
        let refusal = refusal.replace(&self.folder.path().display().to_string(), ".");
        if !has_place(&refusal, &self.files) {
            return Err(Fault::new(FaultKind::NoPlace, &refusal));
        }
        if refusal.len() > 1 << 16 {
            return Err(Fault::new(FaultKind::LongMessage, &refusal));
        }
        if let Some(found) = controls(&refusal) {
            let seen = format!("{found:?} in: {refusal:?}");
            return Err(Fault::new(FaultKind::ControlCharacters, &seen));
        }
        Ok(InputOutcome::Refused)
    }

    /// Passes the input to its reader. On rejection, returns the error message.
    fn try_input(&self, case: &Case) -> Result<(), String> {
        let path = self.folder.path();
        let file = path.join(case.file);
        match case.kind {
            Kind::Scenario => self.scenario(&file, &[], case),
            Kind::Energy => self.scenario(&path.join("test.ron"), &[], case),
            Kind::System | Kind::Workload | Kind::Ptx => {
                self.scenario(&path.join(scenario_of(case.file)), &[], case)
            }
            Kind::Override => self.scenario(&path.join("test.ron"), &case.lines(), case),
            Kind::Preset => self.preset(case, &file),
            Kind::Graph => graph(case, &file),
            Kind::Table => self.table(case, &file),
            Kind::Reference => {
                let folder = |name: &str| path.join("reference").join(name);
                let compared = match case.file {
                    name if name.contains("/cache/") => cache::validate(&folder("cache")),
                    name if name.contains("/noc/") => return tables(&file),
                    _ => dram::validate(&folder("dram")),
                };
                compared.map(drop).map_err(|error| error.to_string())
            }
            Kind::Trace => Program::open(&file)
                .map(drop)
                .map_err(|error| error.to_string()),
            Kind::AccessLog => {
                let log = AccessLog::open(&file, &Ledger::default());
                let read = log.and_then(|mut log| log.records().try_for_each(|r| r.map(drop)));
                read.map_err(|error| error.to_string())
            }
            Kind::Checkpoint => self.resume(case, &file),
            Kind::StateLog if case.file == "a/manifest.json" => Ok(()),
            Kind::StateLog => {
                let text = String::from_utf8_lossy(&case.bytes).into_owned();
                let log = ReadLog::parse(&text)
                    .map_err(|error| format!("{}: {error}", file.display()))?;
                log.parts_from(&log);
                Ok(())
            }
            Kind::Results => self.compare(),
            Kind::AccelSim => self.foreign(case, &file),
            Kind::Options => self.options(case),
            Kind::Arguments | Kind::Experiment | Kind::Probe => {
                Err("this input is the program's alone".to_owned())
            }
        }
    }

    /// Reads and builds everything, and runs one input in eight.
    fn scenario(&self, file: &Path, sets: &[String], case: &Case) -> Result<(), String> {
        let bounds = ["limits.cycles=3000", "emulation.step_limit=100000"].map(str::to_owned);
        let sets = [sets, &bounds].concat();
        let scenario = Scenario::load(file, &sets).map_err(|problems| problems.to_string())?;
        let machine = if case.way.is_multiple_of(8) {
            let executed = scenario.emulate().map_err(|error| {
                // Errors of the program under simulation are placed by kernel and instruction.
                format!("{}: {error}", file.display())
            })?;
            Machine::of(&scenario, &self.registry, &executed.program)
        } else {
            Machine::without_program(&scenario, &self.registry)
        };
        let mut machine = machine.map_err(|problems| problems.to_string())?;
        if case.way.is_multiple_of(8) {
            run(&mut machine);
        }
        Ok(())
    }

    /// Reads another simulator's trace. One in eight is written again in the same format, and one
    /// in eight is run.
    fn foreign(&self, case: &Case, file: &Path) -> Result<(), String> {
        let path = self.folder.path();
        let quirks = Quirks {
            file_order: case.way & 1 << 8 != 0,
            opcode_width: case.way & 1 << 9 != 0,
            generic_shared: case.way & 1 << 10 != 0,
        };
        let ledger = Ledger::new(&Budget::of(MEMORY_BYTES));
        let made = path.join("foreign.wwt");
        import(file, &made, quirks, &ledger).map_err(|error| error.to_string())?;
        match case.way % 8 {
            0 => {
                let out = path.join("written");
                let written = export(&made, &out, &ledger).map(drop);
                if out.exists() {
                    std::fs::remove_dir_all(&out).map_err(|error| error.to_string())?;
                }
                written.map_err(|error| error.to_string())
            }
            1 => {
                let scenario = Scenario::load(&path.join("foreign.ron"), &[]);
                let scenario = scenario.map_err(|problems| problems.to_string())?;
                let executed = scenario.emulate().map_err(|error| error.to_string())?;
                let machine = Machine::of(&scenario, &self.registry, &executed.program);
                run(&mut machine.map_err(|problems| problems.to_string())?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Creates a system file from option files, and builds one in thirty-two.
    fn options(&self, case: &Case) -> Result<(), String> {
        let path = self.folder.path();
        let files = options_of(case.file).into_iter();
        let files: Vec<_> = files.map(|file| path.join(file)).collect();
        let unknown = if case.way.is_multiple_of(2) {
            UnknownOptions::LeaveOut
        } else {
            UnknownOptions::Refuse
        };
        let system = system_of(&files, unknown).map_err(|problems| problems.to_string())?;
        if case.way.is_multiple_of(32) {
            let written = std::fs::write(path.join("systems/imported.ron"), system);
            written.map_err(|error| error.to_string())?;
            let scenario = Scenario::load(&path.join("imported.ron"), &[]);
            let scenario = scenario.map_err(|problems| problems.to_string())?;
            let checked = Machine::without_program(&scenario, &self.registry);
            checked.map_err(|problems| problems.to_string())?;
        }
        Ok(())
    }

    /// Resumes the machine of the checkpoint and continues the run.
    fn resume(&self, case: &Case, file: &Path) -> Result<(), String> {
        let moment = Moment::ALL
            .iter()
            .position(|moment| moment.file() == case.file);
        let (scenario, program) = &self.resumed[moment.expect("a checkpoint of the folder")];
        let machine = Machine::of(scenario, &self.registry, program);
        let mut machine = machine.map_err(|problems| problems.to_string())?;
        let resumed = machine.resume(file, None);
        resumed.map_err(|error| format!("{}: {error}", file.display()))?;
        let until = machine.cycle().saturating_add(CYCLES);
        machine.advance(until, &Arc::new(AtomicBool::new(false)));
        Ok(())
    }

    /// Compares the results folders and writes the comparison in every format.
    fn compare(&self) -> Result<(), String> {
        let side = |name: &str| {
            let read = |file: &str| {
                let path = self.folder.path().join(name).join(file);
                let text = std::fs::read_to_string(&path);
                text.map_err(|error| format!("{}: {error}", path.display()))
            };
            let record = Record::from_json(&read("report.json")?);
            Ok::<_, String>(Side {
                name: name.to_owned(),
                runs: vec![record.map_err(|error| format!("{name}/report.json: {error}"))?],
                system: Some(Source::new(
                    format!("{name}/system.ron"),
                    read("system.ron")?,
                )),
            })
        };
        let comparison = Comparison::of(&[side("a")?, side("b")?, side("a")?]);
        let comparison = comparison.map_err(|problems| problems.to_string())?;
        let text = comparison.to_text(Colour::Off);
        if let Some(found) = controls(&text) {
            panic!("the comparison has {found:?} in it");
        }
        comparison.to_csv();
        comparison.to_html();
        Ok(())
    }

    fn preset(&self, case: &Case, file: &Path) -> Result<(), String> {
        let name = file.display().to_string();
        let of = |name: &str| self.folder.path().join("bench").join(name);
        let refused = |error: warpweave_standalone::StandaloneError| error.to_string();
        match case.file {
            "bench/dram.ron" => {
                let setup = dram::load(&name).map_err(refused)?;
                let trace = dram::read_requests(&of("requests.csv")).map_err(refused)?;
                let driven = dram::drive(&setup, &trace.rows, true, &self.environment);
                driven
                    .map(drop)
                    .map_err(|error| refused(trace.refused(error)))
            }
            "bench/router.ron" => {
                let packets = noc::read_packets(&of("packets.csv")).map_err(refused)?;
                let driven = noc::bench(&name, &packets, None, None, &self.environment);
                driven.map(drop).map_err(|error| format!("{name}: {error}"))
            }
            _ => {
                let bench = cache::Bench::read(file).map_err(refused)?;
                let trace = cache::read_trace(&of("accesses.csv")).map_err(refused)?;
                let driven = bench.run(&trace, &self.environment);
                driven.map(drop).map_err(|error| format!("{name}: {error}"))
            }
        }
    }

    fn table(&self, case: &Case, file: &Path) -> Result<(), String> {
        let name = file.display();
        let refused = |error: warpweave_standalone::StandaloneError| error.to_string();
        match case.file {
            "bench/packets.csv" => {
                let packets = noc::read_packets(file).map_err(refused)?;
                let driven = noc::bench("voq_i1", &packets, None, None, &self.environment);
                driven.map(drop).map_err(|error| format!("{name}: {error}"))
            }
            "bench/accesses.csv" => {
                let trace = cache::read_trace(file).map_err(refused)?;
                let bench = cache::Bench::read(&self.folder.path().join("bench/cache.ron"));
                let driven = bench.map_err(refused)?.run(&trace, &self.environment);
                driven.map(drop).map_err(|error| format!("{name}: {error}"))
            }
            "bench/commands.csv" => {
                let setup = dram::load("A").map_err(refused)?;
                dram::judge(&setup, file).map(drop).map_err(refused)
            }
            _ => {
                let setup = dram::load("A").map_err(refused)?;
                let trace = dram::read_requests(file).map_err(refused)?;
                let driven = dram::drive(&setup, &trace.rows, false, &self.environment);
                driven
                    .map(drop)
                    .map_err(|error| refused(trace.refused(error)))
            }
        }
    }
}

fn run(machine: &mut Machine) {
    machine.advance(CYCLES, &Arc::new(AtomicBool::new(false)));
}

fn graph(case: &Case, file: &Path) -> Result<(), String> {
    if case.file.ends_with("words.txt") {
        let how = FileReading::default();
        return read_array(file, &Files::default(), ElementType::U32, &how)
            .map(drop)
            .map_err(|error| error.to_string());
    }
    let format = match case.file {
        "data/edges.txt" => GraphFormat::EdgeList,
        _ => GraphFormat::MatrixMarket,
    };
    let has_weights = case.file != "data/reals.mtx";
    let values = if has_weights && case.way.is_multiple_of(2) {
        EntryValues::Weights
    } else {
        EntryValues::Ignored
    };
    let parsed = parse_graph(case.file, &case.bytes[..], format, values);
    if matches!(format, GraphFormat::MatrixMarket) {
        let as_matrix = parse_matrix(case.file, &case.bytes[..]);
        as_matrix.map(drop).map_err(|error| error.to_string())?;
    }
    parsed.map(drop).map_err(|error| error.to_string())
}

/// Reads the network tables. Measuring their curves is left to the program.
fn tables(file: &Path) -> Result<(), String> {
    let table = Table::<BTreeMap<String, String>>::read(file);
    table.map(drop).map_err(|error| error.to_string())
}

/// Works as a campaign's worker on every `step`th of the inputs `from..until` of a kind and seed.
/// It reports the start and outcome of each on `out`.
///
/// # Errors
/// Returns an error if the folder cannot be created or `out` is closed.
pub fn work(
    kind: Kind,
    seed: u64,
    (from, until, step): (u64, u64, usize),
    out: &mut impl Write,
) -> io::Result<()> {
    let inside = LibraryTargets::new()?;
    inside.keep_panics();
    for number in (from..until).step_by(step) {
        let case = Case::new(kind, seed, number, inside.folder())?;
        writeln!(out, "{number}")?;
        out.flush()?;
        match inside.verdict(&case) {
            Ok(InputOutcome::Accepted) => writeln!(out, "accepted")?,
            Ok(InputOutcome::Refused) => writeln!(out, "refused")?,
            Err(Fault { kind, seen }) => writeln!(out, "{kind:?} {}", seen.escape_debug())?,
        }
        out.flush()?;
    }
    Ok(())
}
