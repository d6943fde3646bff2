//! `warpweave run`: emulates, simulates and reports a scenario.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use tracing::{info, info_span, warn};
use warpweave_files::{Budget, OutputError, OutputFolder, Paths};
use warpweave_framework::Registry;
use warpweave_params::{name_hint, printable_lines};
use warpweave_systems::host_program::{EmulationProgress, Executed, HostProgram, Printed};
use warpweave_systems::report::{Host, Report, chooses_nothing};
use warpweave_systems::{Machine, Scenario, StartLogError, Status, TapSpec};

use crate::arguments::{ReportFormat, RunArguments};
use crate::check_program::check_program;
use crate::drive::Drive;
use crate::emulation::{Emulation, emulate};
use crate::host::{Stopwatch, peak_rss_bytes};
use crate::outcome::{
    CommandResult, Failure, INTERRUPTED, code_of, diagnostics_to_stderr, ended, page_to_stdout,
    to_stderr, to_stdout,
};
use crate::progress::Bar;
use crate::recordings;
use crate::results::Results;
use crate::watch::{self, SimulationBoard, WatchArguments, simulation_page};

#[derive(clap::Args)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    watch: WatchArguments,
}

pub(crate) fn run(
    registry: &Registry,
    command: &RunCommand,
    quiet: bool,
    budget: &Budget,
) -> CommandResult {
    let RunCommand {
        run: arguments,
        watch,
    } = command;
    if arguments.check_program {
        return check_program(arguments, quiet, budget);
    }
    let _span = info_span!("run").entered();
    let whole = Stopwatch::start();
    let signals = watch_for_signals()?;
    if arguments.format == ReportFormat::Json && !arguments.stats.is_empty() {
        return Err(Failure::InputText(
            "--stats applies to text and CSV; JSON contains every statistic".to_owned(),
        ));
    }
    let scenario = arguments.load(budget)?;
    if !scenario.warnings().is_empty() && !quiet {
        diagnostics_to_stderr(scenario.warnings());
    }
    if arguments.accesses.is_some()
        && !scenario
            .observation
            .taps
            .iter()
            .any(TapSpec::hears_accesses)
    {
        return Err(nothing_to_log());
    }
    let results = claim_outputs(arguments, &scenario)?;
    let of_the_program = begin_results(arguments, &scenario)?;
    let server = watch.open()?;
    let bar = Bar::new(quiet);

    let emulating = Arc::new(EmulationProgress::default());
    bar.emulating(&emulating);
    let job = Job {
        registry,
        arguments,
        quiet,
        scenario: &scenario,
        signals: &signals,
        whole,
        board: server.as_ref().map(|_| SimulationBoard::new()),
    };
    let ahead = (arguments.keeps_nothing(), &*signals.end);
    let using = (bar, results, of_the_program);
    let page = || {
        let look = job.board.as_ref().and_then(SimulationBoard::last);
        simulation_page(&scenario.paths.work.display().to_string(), look.as_ref())
    };
    watch::during(server.as_ref(), &page, || {
        emulate(&scenario, &emulating, ahead, using, |emulation, using| {
            job.simulate(emulation, using)
        })
    })
}

/// Folder for the program's results, and the program.
type ResultsFolder<'s> = Option<(OutputFolder, &'s HostProgram)>;

/// Simulation job: scenario, arguments and signals.
struct Job<'j> {
    registry: &'j Registry,
    arguments: &'j RunArguments,
    quiet: bool,
    scenario: &'j Scenario,
    signals: &'j Signals,
    /// Stopwatch started at the beginning of the command.
    whole: Stopwatch,
    /// Board of the page to watch, if there is one.
    board: Option<SimulationBoard>,
}

impl Job<'_> {
    /// Simulates the emulated program and writes the results.
    fn simulate(
        &self,
        emulation: Emulation<'_>,
        (bar, results, of_the_program): (Bar, Option<Results>, ResultsFolder<'_>),
    ) -> CommandResult {
        let Self {
            registry,
            arguments,
            quiet,
            scenario,
            signals,
            ref whole,
            ref board,
        } = *self;
        let program = Arc::clone(&emulation.program);
        if emulation.executed().is_none() {
            info!("simulating while the program is emulated");
        }
        let computed = match (of_the_program, emulation.executed()) {
            (Some((folder, program)), Some(executed)) => {
                write_results(folder, program, executed).map_err(Failure::from)
            }
            _ => Ok(()),
        };
        bar.phase("building the system");
        let mut machine = match Machine::of(scenario, registry, &program) {
            Ok(machine) => machine,
            // The program comes first, whichever fails earlier.
            Err(problems) => return emulation.finish(0.0, false).and(Err(problems.into())),
        };
        if !machine.system().warnings.is_empty() && !quiet {
            diagnostics_to_stderr(&machine.system().warnings);
        }
        refuse_what_chooses_nothing(&arguments.stats, &machine)?;
        let save = Arc::clone(&signals.save);
        let mut drive = Drive::begin(&arguments.checkpoints, &mut machine, save, quiet)?;
        if arguments.check {
            // Outside the macro, which evaluates nothing unless the message is shown.
            let wires = machine.check_protocols();
            info!(wires, "protocol checkers are enabled");
        }
        machine.set_threads(arguments.threads);
        let not_recorded = arguments.recordings.start(&mut machine, &program)?;
        if let Some(path) = &arguments.accesses {
            start_log(&mut machine, path)?;
        }
        let observer = board.as_ref().map(SimulationBoard::observer);
        let simulation = Stopwatch::start();
        signals.nothing_to_report.store(false, Ordering::Relaxed);
        let status = drive.run_to_the_end(&mut machine, &signals.end, &mut |m| {
            bar.show(m);
            if let Some(observer) = &observer {
                observer.show(m);
            }
        });
        let interrupted = status == Status::Interrupted;
        let (executed, cpu_s) = emulation.finish(simulation.cpu_s(), interrupted)?;
        let [emulation_cpu_s, simulation_cpu_s] = cpu_s;
        let simulated = machine.results(status);
        bar.finish();
        if simulated.status == Status::Interrupted {
            warn!("interrupted; the report covers the simulated part");
        }

        let rate = |n: u64, s: f64| if s > 0.0 { n as f64 / s } else { 0.0 };
        let emulated: u64 = executed
            .program
            .kernels
            .iter()
            .map(|k| k.wavefront_instructions())
            .sum();
        let worked = machine.system().simulation.windows_worked();
        let host = Host {
            wall_s: whole.wall_s(),
            cpu_s: whole.cpu_s(),
            emulation_cpu_s,
            simulation_cpu_s,
            emulated_wavefront_instructions_per_s: rate(emulated, emulation_cpu_s),
            wavefront_instructions_per_s: rate(simulated.wavefront_instructions, simulation_cpu_s),
            cycles_per_s: rate(simulated.cycles, simulation_cpu_s),
            evaluations: machine.system().simulation.evaluations(),
            peak_rss_bytes: peak_rss_bytes(),
            threads: machine.system().simulation.options().threads as u32,
            windows_together: worked.together,
            windows_alone: worked.alone,
        };
        let checked = (executed.verified, executed.checks);
        let report = Report::of(scenario, simulated, checked, host);
        // The report first: no file that cannot be written may lose it. Then every file, whether or
        // not those before it, or standard output, could be written.
        let told = match arguments.format {
            ReportFormat::Text if arguments.full => {
                to_stdout(&(report.to_full_text() + &report.kernel_page()))
            }
            ReportFormat::Text if !arguments.stats.is_empty() => {
                to_stdout(&report.selected(&arguments.stats))
            }
            ReportFormat::Text => page_to_stdout(|colour| report.page(colour)),
            ReportFormat::Json => to_stdout(&(report.to_json() + "\n")),
            ReportFormat::Csv => to_stdout(&report.to_csv(&arguments.stats)),
        };
        to_stderr(&why_not_done(&report));
        to_stderr(&said_by_the_program(
            &executed.printed,
            executed.refused_launches,
        ));
        if let (Status::Failed(_) | Status::Deadlock(_), Some(note)) =
            (&report.status, report.verified_note())
        {
            to_stderr(&format!("note: {note}"));
        }
        if !quiet {
            to_stderr(&report.host.to_text());
        }
        let saved = drive.saved();
        let recorded = recordings::finish(&mut machine);
        let logged = machine.finish_log().map_err(Failure::from);
        let written = results.map_or(Ok(()), |results| {
            let log = drive.log.as_ref();
            results.write(scenario, &machine, &executed.program, &report, log)
        });
        let code = code_of(&report.status, report.verified);
        let not_recorded = not_recorded.into_iter().map(Err);
        let writing = [told, saved, recorded, logged, written, computed].into_iter();
        let ended = ended(code, writing.chain(not_recorded));
        // The process ends now: to free a large machine part by part first would take long.
        mem::forget((machine, report));
        Ok(ended)
    }
}

/// Formats the kernels' printed text and the number of their rejected launches.
fn said_by_the_program(printed: &Printed, refused_launches: u64) -> String {
    let mut said = String::new();
    if !printed.text.is_empty() {
        let text = printable_lines(&printed.text);
        let _ = writeln!(
            said,
            "the program printed:\n{}",
            text.trim_end_matches('\n')
        );
    }
    if printed.cut > 0 {
        let _ = writeln!(said, "and {} more bytes, which were not kept", printed.cut);
    }
    if refused_launches > 0 {
        let _ = writeln!(
            said,
            "note: {refused_launches} device launches were rejected with an error code to the program"
        );
    }
    said
}

/// Checks before any costly work that all outputs of the run are writable and differ from its
/// inputs. Claims the results folder, if there is one.
fn claim_outputs(
    arguments: &RunArguments,
    scenario: &Scenario,
) -> Result<Option<Results>, Failure> {
    // The folder may contain other files.
    let results = arguments.out.as_deref().map(Results::claim).transpose()?;
    let mut paths = Paths::new();
    for file in scenario.files() {
        paths.reads(file);
    }
    if let Some(checkpoint) = &arguments.checkpoints.checkpoint {
        paths.writes_series("--checkpoint", checkpoint)?;
    }
    // Only a checkpoint may replace the one from which the run resumes.
    if let Some(resume) = &arguments.checkpoints.resume {
        paths.reads(resume);
    }
    if let Some(results) = &results {
        results.name(&mut paths)?;
    }
    arguments.recordings.name(&mut paths)?;
    if let Some(accesses) = &arguments.accesses {
        paths.writes("--accesses", accesses)?;
    }
    Ok(results)
}

/// Creates the folder for the workload's result buffers, if requested.
fn begin_results<'s>(
    arguments: &RunArguments,
    scenario: &'s Scenario,
) -> Result<ResultsFolder<'s>, Failure> {
    let Some(path) = &arguments.results else {
        return Ok(None);
    };
    let program = scenario.program();
    let Some(program) = program.filter(|program| program.result_names().next().is_some()) else {
        return Err(Failure::InputText(format!(
            "--results: {} does not define results\nhint: name buffers that it copies to the host, such as `results: {{ \"sum\": Csv }}`",
            scenario.paths.work.display()
        )));
    };
    let folder = OutputFolder::create(path).map_err(|failed| match failed.error.kind() {
        ErrorKind::AlreadyExists => Failure::InputText(format!(
            "--results: {} already exists, and results never overwrite\nhint: choose another folder, or remove it",
            path.display()
        )),
        _ => failed.into(),
    })?;
    Ok(Some((folder, program)))
}

/// Writes the computed results of the program. The folder appears only when complete.
fn write_results(
    folder: OutputFolder,
    program: &HostProgram,
    executed: &Executed,
) -> Result<(), OutputError> {
    for (name, bytes) in program.results(executed) {
        folder.file(&name, &bytes)?;
    }
    folder.finish()
}

/// Starts logging accesses to the given file.
fn start_log(machine: &mut Machine, path: &Path) -> Result<(), Failure> {
    machine.log_accesses(path).map_err(|error| match error {
        StartLogError::File(error) => error.into(),
        StartLogError::NoTap => nothing_to_log(),
    })
}

fn nothing_to_log() -> Failure {
    Failure::InputText(format!(
        "--accesses: {}\nhint: set where to observe accesses, such as `--set 'taps.l1=Accesses(at: \"unit[*].l1.up\")'`",
        StartLogError::NoTap
    ))
}

/// Rejects patterns that match no statistic, before anything is simulated.
fn refuse_what_chooses_nothing(patterns: &[String], machine: &Machine) -> Result<(), Failure> {
    if patterns.is_empty() {
        return Ok(());
    }
    let statistics = machine.statistics();
    let Some(pattern) = chooses_nothing(patterns, &statistics) else {
        return Ok(());
    };
    let names = statistics.iter().map(|instance| instance.path.as_str());
    let hint = name_hint(pattern, "instances", names);
    Err(Failure::InputText(format!(
        "--stats {pattern}: no matching instance or statistic\nhint: {hint}"
    )))
}

/// Returns the message for standard error if the run did not end well.
fn why_not_done(report: &Report) -> String {
    let wrong = report.checks.iter().filter(|check| !check.passed);
    let wrong = wrong.map(|c| {
        format!(
            "error: `{}` differs from {}: {}",
            c.buffer, c.reference, c.detail
        )
    });
    let ended = match &report.status {
        Status::Done | Status::Interrupted | Status::Mismatch => None,
        Status::Limit => Some(
            "error: the limit of simulated cycles was reached; it counts every core cycle, also of copies before the first launch and after the last completion\nhint: raise it with `--set limits.cycles=...`"
                .to_owned(),
        ),
        Status::Deadlock(detail) | Status::Failed(detail) => Some(format!("error: {detail}")),
    };
    wrong.chain(ended).collect::<Vec<_>>().join("\n")
}

/// Flags set by signals during a run.
struct Signals {
    /// Set by Ctrl-C, SIGTERM or SIGHUP: the simulation stops and reports.
    end: Arc<AtomicBool>,
    /// True while there is no simulation to stop.
    nothing_to_report: Arc<AtomicBool>,
    /// Set by SIGUSR1: the run saves a checkpoint.
    save: Arc<AtomicBool>,
}

/// Installs the signal handlers. Before the simulation there is nothing to report, so Ctrl-C ends
/// the program at once, as does a second one later.
fn watch_for_signals() -> Result<Signals, Failure> {
    let signals = Signals {
        end: Arc::new(AtomicBool::new(false)),
        nothing_to_report: Arc::new(AtomicBool::new(true)),
        save: Arc::default(),
    };
    let end_at = |signal| {
        // Handlers run in order of registration, so only a second signal finds the flag set.
        for end_at_once in [&signals.nothing_to_report, &signals.end] {
            let code = i32::from(INTERRUPTED);
            flag::register_conditional_shutdown(signal, code, Arc::clone(end_at_once))?;
        }
        flag::register(signal, Arc::clone(&signals.end))
    };
    let listen = || {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            end_at(signal)?;
        }
        flag::register(SIGUSR1, Arc::clone(&signals.save))
    };
    listen().map_err(|error| Failure::Machine(format!("cannot handle signals: {error}")))?;
    Ok(signals)
}
