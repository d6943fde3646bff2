//! Execution of the runs of an experiment, a sweep or a robustness study, with progress and
//! interrupts.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use warpweave_experiments::model::{Outcome, Runs};
use warpweave_experiments::scale::{Scale, ScaleError};
use warpweave_experiments::shard::Shard;
use warpweave_experiments::{
    Experiment, FailureCounts, Plan, Reports, RunEvent, Runner, keeps_trace,
};
use warpweave_files::Budget;
use warpweave_framework::Registry;
use warpweave_params::{Diagnostics, printable};

use crate::host::Stopwatch;
use crate::outcome::{CommandResult, Failure, INTERRUPTED, to_stderr, to_stdout};
use crate::progress::{LINES, duration};
use crate::watch::{self, RunBoard, RunState, Server, SoFar, experiment_page};

/// Maximum number of failed runs that are listed.
pub(crate) const LISTED: usize = 20;

/// Arguments for executing the runs of an experiment or a sweep.
#[derive(clap::Args)]
pub(crate) struct RunMode {
    /// Folder of traces, which experiments may share [default: `traces` next to the results].
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Number of concurrent runs [default: one for each core].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl RunMode {
    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or_else(cores, usize::from)
    }

    pub(crate) fn traces(&self, out: &Path) -> PathBuf {
        let beside = || out.with_file_name("traces");
        self.traces.clone().unwrap_or_else(beside)
    }
}

/// Resources shared by the runs of an experiment or a sweep.
pub(crate) struct Session<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) threads: usize,
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) quiet: bool,
    pub(crate) budget: &'a Budget,
}

impl Session<'_> {
    /// Returns the plan, or `None` after an interrupt. Omitted runs are reported.
    pub(crate) fn plan(&self, experiment: &Experiment) -> Result<Option<Plan>, Failure> {
        let plan = self.plan_without_notes(experiment)?;
        for (workload, path) in plan.iter().flat_map(|plan| &plan.left_out) {
            if !self.quiet {
                to_stderr(&format!(
                    "note: `{workload}` has no `{path}`: nothing is drawn for it"
                ));
            }
        }
        for equal in plan.iter().flat_map(|plan| &plan.equal_pairs) {
            to_stderr(&format!("warning: {equal}"));
        }
        Ok(plan)
    }

    /// Returns the plan, or `None` after an interrupt.
    pub(crate) fn plan_without_notes(
        &self,
        experiment: &Experiment,
    ) -> Result<Option<Plan>, Diagnostics> {
        let bar = spinner(self.quiet, "reading the files of the experiment");
        let plan = Plan::of(
            experiment,
            self.registry,
            self.threads,
            &self.interrupt,
            self.budget,
        );
        bar.finish_and_clear();
        plan
    }

    fn runner(&self) -> Runner<'_> {
        Runner {
            registry: self.registry,
            threads: self.threads,
            interrupt: &self.interrupt,
            budget: self.budget,
        }
    }

    /// Executes a shard of the runs `wanted`. The exit code is 0 if each has a report, or a
    /// recorded failure.
    pub(crate) fn shard(
        &self,
        plan: &Plan,
        wanted: &[usize],
        shard: Shard,
        out: &Path,
        traces: &Path,
    ) -> CommandResult {
        let reports = Reports::in_folder(out)?;
        let own = shard.of(wanted);
        let failed = self.run(plan, &own, &reports, traces)?;
        reports.store_failures(plan, &failed)?;
        let keys = own.iter().map(|at| &plan.runs[*at].identity.run);
        let stored = keys.filter(|key| reports.holds(key)).count();
        end_part(shard, "runs stored", stored, own.len(), &failed)
    }

    /// Emulates a shard of the programs of the runs `wanted`.
    pub(crate) fn emulate(
        &self,
        plan: &Plan,
        wanted: &[usize],
        shard: Shard,
        traces: &Path,
    ) -> CommandResult {
        let own = shard.of(&plan.programs(wanted));
        let failed = self.runner().emulate(plan, &own, traces)?;
        let keys = own.iter().map(|at| &plan.runs[*at].identity.trace);
        let made = keys.filter(|key| keeps_trace(traces, key)).count();
        end_part(shard, "programs emulated", made, own.len(), &failed)
    }

    /// Executes the runs that have no result yet.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        wanted: &[usize],
        reports: &Reports,
        traces: &Path,
    ) -> Result<FailureCounts, Failure> {
        self.run_watched(plan, wanted, reports, traces, None)
    }

    /// Executes the runs that have no result yet, while a server shows a page with the verdicts so
    /// far.
    pub(crate) fn run_watched(
        &self,
        plan: &Plan,
        wanted: &[usize],
        reports: &Reports,
        traces: &Path,
        watched: Option<(&Server, &SoFar<'_>)>,
    ) -> Result<FailureCounts, Failure> {
        let missing = wanted
            .iter()
            .filter(|at| !reports.holds(&plan.runs[**at].identity.run));
        let missing = missing.count();
        let bar = bar(self.quiet, missing);
        let board = RunBoard::new(missing, self.threads);
        let lines = Lines::begin(self.quiet);
        let page = || {
            let so_far = watched.and_then(|(_, so_far)| so_far.verdicts());
            let name = watched.map_or("", |(_, so_far)| so_far.summary());
            experiment_page(name, &board.state(), so_far.as_ref())
        };
        let mut news = |news: RunEvent| {
            match news {
                RunEvent::Begun(at) => {
                    let name = plan.runs[at].ids[0].to_string();
                    bar.set_message(printable(&name).into_owned());
                    board.begun(at, name);
                }
                RunEvent::Ended(at, passed) => {
                    board.ended(at, (!passed).then_some("see its report"));
                }
                RunEvent::Failed(at, why) => board.ended(at, Some(&why)),
            }
            let state = board.state();
            bar.set_prefix(format!("{} failed", state.failed));
            bar.set_position(state.ended as u64);
            lines.show(&state);
        };
        let server = watched.map(|(server, _)| server);
        let made = watch::during(server, &page, || {
            self.runner().run(plan, wanted, reports, traces, &mut news)
        });
        bar.finish_and_clear();
        Ok(made?)
    }

    /// Measures the memory footprint of the programs.
    pub(crate) fn scale(
        &self,
        experiment: &Experiment,
        plan: &Plan,
        traces: &Path,
    ) -> Result<Scale, Failure> {
        let bar = spinner(self.quiet, "measuring the memory footprints");
        let scale = Scale::of(
            experiment,
            plan,
            self.registry,
            traces,
            self.threads,
            &self.interrupt,
            self.budget,
        );
        bar.finish_and_clear();
        scale.map_err(|error| match error {
            ScaleError::Input(problems) => problems.into(),
            ScaleError::Machine(error) => error.into(),
        })
    }

    /// Returns the exit code determined by the runs.
    pub(crate) fn code(&self, runs: &Runs) -> u8 {
        if runs
            .values()
            .any(|outcome| matches!(outcome, Outcome::Failed(_)))
        {
            1
        } else if self.interrupt.load(Ordering::Relaxed) {
            INTERRUPTED
        } else {
            0
        }
    }
}

/// Reports on a shard and returns its exit code.
fn end_part(
    shard: Shard,
    what: &str,
    made: usize,
    wanted: usize,
    failed: &FailureCounts,
) -> CommandResult {
    let count = failed.len();
    to_stdout(&format!(
        "shard {shard}: {made} of {wanted} {what}, {count} failed\n"
    ))?;
    for why in failed.values().take(LISTED) {
        to_stderr(&format!("error: {why}"));
    }
    let is_whole = made + count == wanted;
    Ok(ExitCode::from(if is_whole { 0 } else { INTERRUPTED }))
}

/// Stops the current runs on Ctrl-C, SIGTERM or SIGHUP; the next call continues them. A second
/// signal ends the program at once.
pub(crate) fn end_when_asked() -> Result<Arc<AtomicBool>, Failure> {
    let end = Arc::<AtomicBool>::default();
    let listen = |signal| {
        // Handlers run in order of registration, so only a second signal finds the flag set.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&end))?;
        flag::register(signal, Arc::clone(&end))
    };
    let all = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .try_for_each(|signal| listen(signal).map(drop));
    all.map_err(|error: io::Error| Failure::Machine(format!("cannot handle signals: {error}")))?;
    Ok(end)
}

/// Hides the progress display unless it is visible on a terminal.
fn hidden_unless(visible: bool) -> ProgressDrawTarget {
    if visible && io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// Lines that take the place of a bar where standard error is no terminal.
struct Lines {
    /// Time since the last line, or `None` if none are shown.
    last: Option<RefCell<Stopwatch>>,
}

impl Lines {
    fn begin(quiet: bool) -> Self {
        let shown = !quiet && !io::stderr().is_terminal();
        let last = shown.then(|| RefCell::new(Stopwatch::start()));
        Self { last }
    }

    /// Prints the state if some time has passed since the last line.
    fn show(&self, state: &RunState) {
        let Some(last) = &self.last else { return };
        if last.borrow().wall_s() < LINES.as_secs_f64() {
            return;
        }
        *last.borrow_mut() = Stopwatch::start();
        let left = state.seconds_left().map(duration);
        let left = left.map_or_else(String::new, |left| format!(", {left} left"));
        let RunState {
            ended, all, failed, ..
        } = state;
        to_stderr(&format!("run {ended}/{all}, {failed} failed{left}"));
    }
}

fn spinner(quiet: bool, text: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, hidden_unless(!quiet));
    bar.set_message(text);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn bar(quiet: bool, runs: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(runs as u64), hidden_unless(!quiet));
    let template = "{bar:24} run {pos}/{len}, {prefix}, {eta} left  {msg}";
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    bar.set_style(style);
    bar.set_prefix("0 failed");
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}
