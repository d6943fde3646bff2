//! `warpweave run`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use tracing::{info, warn};
use warpweave_files::Budget;
use warpweave_framework::Registry;
use warpweave_systems::report::{Host, Report};
use warpweave_systems::{Scenario, Status};

use crate::cli::{Format, RunArguments};
use crate::drive::Drive;
use crate::host::{Stopwatch, peak_rss_bytes};
use crate::outcome::{
    CommandResult, Failure, INTERRUPTED, code_of, diagnostics_to_stderr, to_stderr, to_stdout,
};
use crate::progress::Bar;
use crate::recordings;
use crate::results::Results;

pub(crate) fn run(
    registry: &Registry,
    arguments: &RunArguments,
    quiet: bool,
    budget: &Budget,
) -> CommandResult {
    let whole = Stopwatch::start();
    let results = arguments.out.as_deref().map(Results::claim).transpose()?;
    let interrupt = watch_for_interrupts()?;
    let scenario = Scenario::load_within(&arguments.scenario, &arguments.sets, budget)?;
    let bar = Bar::new(quiet);

    bar.phase("emulating the program");
    info!("emulating the program");
    let emulation = Stopwatch::start();
    let executed = scenario.emulate()?;
    let emulation_cpu_s = emulation.cpu_s();
    info!(
        kernels = executed.program.kernels.len(),
        seconds = emulation_cpu_s,
        "program emulated"
    );

    bar.phase("building the system");
    let mut machine = scenario.machine(registry, &executed.program)?;
    if !machine.system().warnings.is_empty() && !quiet {
        diagnostics_to_stderr(&machine.system().warnings);
    }
    let mut drive = Drive::begin(&arguments.checkpoints, &mut machine, quiet)?;
    if arguments.check {
        info!(
            wires = machine.check_protocols(),
            "protocol checkers are on"
        );
    }
    machine.set_threads(arguments.threads);
    arguments.recordings.start(&mut machine)?;
    let simulation = Stopwatch::start();
    interrupt.nothing_to_report.store(false, Ordering::Relaxed);
    info!("simulating");
    let status = drive.run_to_the_end(&mut machine, &interrupt.wanted, &mut |p| bar.show(p))?;
    let simulated = machine.results(status);
    let simulation_cpu_s = simulation.cpu_s();
    bar.finish();
    if simulated.status == Status::Interrupted {
        warn!("interrupted; the report covers what was simulated");
    }

    let rate = |n: u64, s: f64| if s > 0.0 { n as f64 / s } else { 0.0 };
    let emulated: u64 = executed
        .program
        .kernels
        .iter()
        .map(|k| k.wavefront_instructions())
        .sum();
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
    };
    let status = match (&simulated.status, executed.verified) {
        (Status::Done, Some(false)) => Status::Mismatch,
        (status, _) => status.clone(),
    };
    let report = Report {
        scenario: scenario.path.display().to_string(),
        summary: scenario.summary.clone(),
        status,
        verified: executed.verified,
        checks: executed.checks,
        simulated,
        host,
    };
    // Files first: a reader that closes standard output must not lose them. The results do not
    // depend on a recording that the disk had no room for.
    let recorded = recordings::finish(&mut machine);
    if let Some(results) = results {
        let log = drive.log.as_ref();
        results.write(&scenario, &machine, &executed.program, &report, log)?;
    }
    match arguments.format {
        Format::Text => to_stdout(&report.to_text())?,
        Format::Json => to_stdout(&(report.to_json() + "\n"))?,
    }
    to_stderr(&why_not_done(&report));
    if !quiet {
        to_stderr(&report.host.to_text());
    }
    recorded?;
    Ok(code_of(&report.status))
}

/// What standard error says about a run that did not end well.
fn why_not_done(report: &Report) -> String {
    match &report.status {
        Status::Done | Status::Interrupted => String::new(),
        Status::Limit => "error: the limit of simulated cycles is reached\nhint: raise it with \
             `--set limits.cycles=...`"
            .to_owned(),
        Status::Mismatch => {
            let failed = report.checks.iter().filter(|check| !check.passed);
            let lines = failed.map(|c| {
                format!(
                    "error: `{}` differs from {}: {}",
                    c.buffer, c.reference, c.detail
                )
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        Status::Deadlock(detail) | Status::Failed(detail) => format!("error: {detail}"),
    }
}

/// What Ctrl-C, SIGTERM and SIGHUP ask for.
struct Interrupt {
    /// The simulation is to stop and report.
    wanted: Arc<AtomicBool>,
    /// There is no simulation to stop.
    nothing_to_report: Arc<AtomicBool>,
}

/// Before the simulation there is nothing to report: a signal ends the program at once, as does a
/// second one later.
fn watch_for_interrupts() -> Result<Interrupt, Failure> {
    let interrupt = Interrupt {
        wanted: Arc::new(AtomicBool::new(false)),
        nothing_to_report: Arc::new(AtomicBool::new(true)),
    };
    let Interrupt {
        wanted,
        nothing_to_report,
    } = &interrupt;
    let listen = |signal| {
        // What is registered first happens first: only a second signal finds the wish expressed.
        for end_at_once in [nothing_to_report, wanted] {
            let code = i32::from(INTERRUPTED);
            flag::register_conditional_shutdown(signal, code, Arc::clone(end_at_once))?;
        }
        flag::register(signal, Arc::clone(wanted))
    };
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        listen(signal)
            .map_err(|error| Failure::Machine(format!("cannot listen for interrupts: {error}")))?;
    }
    Ok(interrupt)
}
