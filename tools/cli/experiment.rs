//! `warpweave experiment`: runs the variants of an experiment and judges its claims.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use warpweave_experiments::judge::{
    RequiredStatistics, Study, check, check_patterns, judge, metrics_of,
};
use warpweave_experiments::model::{Outcome, Provenance, Runs};
use warpweave_experiments::report::{self, Published};
use warpweave_experiments::scale::{Scale, ScaleError};
use warpweave_experiments::shard::Shard;
use warpweave_experiments::{
    Collection, Experiment, FailureCounts, Folder, MachineError, Plan, Reports, RunEvent, Runner,
    SeriesError, keeps_trace,
};
use warpweave_files::{Budget, Paths};
use warpweave_framework::Registry;
use warpweave_params::{Diagnostics, printable};

use crate::arguments::program_name;
use crate::host::{Stopwatch, now};
use crate::outcome::{CommandResult, Failure, INTERRUPTED, to_stderr, to_stdout};
use crate::progress::{LINES, duration};
use crate::slurm::{self, Places, SlurmArguments};
use crate::watch::{self, RunBoard, RunState, Server, SoFar, WatchArguments, experiment_page};

/// Maximum number of failed runs that are listed.
const LISTED: usize = 20;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Experiment file to run or check.
    file: PathBuf,
    /// Folder of the results [default: the experiment's name with `.results`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    making: RunMode,
    /// Run only the runs that match `workload/variant/levels/pair`. `*` matches anything, and parts
    /// omitted at the end match all.
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Record the reason for changing the experiment and start a new series.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Read the file and everything it names, and list the runs. Nothing is run.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    watch: WatchArguments,
    #[command(flatten)]
    parts: PartArguments,
    /// Executor of the runs.
    #[arg(long, value_enum, default_value_t = Engine::Local, conflicts_with_all = ["check", "shard", "merge", "status"])]
    engine: Engine,
    #[command(flatten)]
    slurm: SlurmArguments,
}

/// Executor of the runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// This process, with one run per core.
    Local,
    /// Job arrays of Slurm.
    Slurm,
}

/// Arguments for an experiment whose runs are distributed.
#[derive(clap::Args)]
#[command(next_help_heading = "Parts of an experiment")]
struct PartArguments {
    /// Execute only part I, counted from 1, of N parts of the runs, and judge nothing.
    #[arg(long, value_name = "I/N", conflicts_with = "check")]
    shard: Option<Shard>,
    /// Only emulate programs: those of part I of N parts of the programs.
    #[arg(long, requires = "shard")]
    emulate_only: bool,
    /// Judge the stored runs and write the report. Nothing is run.
    #[arg(long, conflicts_with_all = ["check", "shard"])]
    merge: bool,
    /// Show how many runs are stored, and the jobs in the queue.
    #[arg(long, conflicts_with_all = ["check", "shard", "merge"])]
    status: bool,
}

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

impl From<MachineError> for Failure {
    fn from(error: MachineError) -> Self {
        Self::Machine(error.to_string())
    }
}

impl From<SeriesError> for Failure {
    fn from(error: SeriesError) -> Self {
        match error {
            SeriesError::Output(error) => error.into(),
            other => Self::InputText(other.to_string()),
        }
    }
}

pub(crate) fn experiment(
    registry: &Registry,
    arguments: &Arguments,
    quiet: bool,
    budget: &Budget,
) -> CommandResult {
    let experiment = Experiment::read(&arguments.file, budget)?;
    check(&experiment.file)?;
    let making = Session {
        registry,
        threads: arguments.making.threads(),
        interrupt: end_when_asked()?,
        quiet,
        budget,
    };
    let Some(plan) = making.plan(&experiment)? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    check_patterns(&experiment.file, &plan.statistics)?;
    let wanted = plan.fitting(arguments.only.as_deref());
    if wanted.is_empty() {
        let pattern = arguments.only.as_deref().unwrap_or_default();
        let some = plan
            .runs
            .first()
            .map_or_else(String::new, |run| run.ids[0].to_string());
        return Err(Failure::InputText(format!(
            "no run matches `{pattern}`\nhint: runs are named `workload/variant/levels/pair`, such as `{some}`"
        )));
    }
    if arguments.check {
        to_stdout(&listed(&plan, &wanted))?;
        return Ok(ExitCode::SUCCESS);
    }
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{}.results", experiment.name())));
    let traces = arguments.making.traces(&out);
    let parts = &arguments.parts;
    if let Some(shard) = parts.shard {
        return if parts.emulate_only {
            making.emulate(&plan, &wanted, shard, &traces)
        } else {
            making.shard(&plan, &wanted, shard, &out, &traces)
        };
    }
    let places = Places {
        file: &arguments.file,
        out: &out,
        stated_out: arguments.out.as_deref(),
        traces: &traces,
    };
    if parts.status {
        let reports = Reports::of(&out);
        to_stdout(&slurm::status(&plan, &wanted, &reports, places))?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = claimed(&plan, &out)?;
    let series = folder.open_series(&plan.hash, &now(), arguments.note.as_deref())?;
    if arguments.engine == Engine::Slurm {
        let only = arguments.only.as_deref();
        let submitted = slurm::submit(&plan, &wanted, &folder, places, only, &arguments.slurm)?;
        to_stdout(&submitted)?;
        return Ok(ExitCode::SUCCESS);
    }
    let not_stored = if parts.merge {
        folder.reports().failures(&plan)
    } else {
        let server = arguments.watch.open()?;
        let so_far = SoFar::of(&experiment, &plan, folder.reports())?;
        let watched = server.as_ref().map(|server| (server, &so_far));
        making.run_watched(&plan, &wanted, folder.reports(), &traces, watched)?
    };
    let provenance = provenance(&experiment, &plan, arguments);
    let needed = RequiredStatistics::of(&experiment.file)?;
    let mut study = None;
    let mut collection = Collection {
        series: &series,
        provenance: &provenance,
        metrics: &|record| metrics_of(&experiment.file, record).unwrap_or_default(),
        trim: &|record| needed.trim(record),
        judge: &mut |runs| {
            // Claims are about all runs: of some there is nothing to say.
            if runs.len() < plan.ids.len() {
                return Vec::new();
            }
            let judged = study.insert(judge(&experiment, &plan.equal_pairs, runs));
            judged
                .as_ref()
                .map_or_else(|_| Vec::new(), Study::claim_rows)
        },
    };
    let runs = folder.collect(&plan, &not_stored, &mut collection)?;
    let mut study = study.transpose()?;
    if let Some(study) = &mut study {
        let current = series.last().map_or(0, |series| series.number);
        let earlier = folder.verdicts()?.into_iter();
        study.earlier = earlier.filter(|(number, _)| *number < current).collect();
        study.scale = Some(making.scale(&experiment, &plan, &traces)?);
    }
    to_stdout(&summary(&plan, &runs, &out))?;
    to_stderr(&failures(&runs));
    if let Some(study) = &study {
        // The published values enter here, when everything else is settled.
        let named = experiment.file.published.as_ref();
        let published =
            named.map(|named| Published::read(&experiment.place_of(named), study, budget));
        let published = published.transpose()?;
        let report = report::write(study, &series, &provenance, published.as_ref());
        report.write_to(&folder)?;
        to_stdout(&report::text(study))?;
    }
    let missing = wanted
        .iter()
        .filter(|at| !runs.contains_key(&plan.runs[**at].ids[0]));
    let code = match (missing.count(), making.code(&runs)) {
        (missing @ 1.., 0) => {
            to_stderr(&format!("note: {missing} runs are missing"));
            INTERRUPTED
        }
        (_, code) => code,
    };
    let as_expected = study.as_ref().is_none_or(Study::is_as_expected);
    Ok(ExitCode::from(if as_expected { code } else { 1 }))
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
    fn shard(
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
    fn emulate(&self, plan: &Plan, wanted: &[usize], shard: Shard, traces: &Path) -> CommandResult {
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
    fn run_watched(
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
    fn scale(&self, experiment: &Experiment, plan: &Plan, traces: &Path) -> Result<Scale, Failure> {
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

/// Claims the results folder and checks that it contains none of the files read by the runs.
pub(crate) fn claimed(plan: &Plan, out: &Path) -> Result<Folder, Failure> {
    let folder = Folder::claim(out)?;
    let mut paths = Paths::new();
    plan.files.iter().for_each(|file| paths.reads(file));
    for name in [
        "experiment.sqlite",
        "runs.jsonl",
        "metrics.csv",
        "claims.csv",
        "gates.csv",
        "headroom.csv",
        "launches.csv",
        "scale.csv",
        "energy.csv",
        "shares.csv",
        "report.html",
        "verdicts.json",
    ] {
        paths.writes("--out", &folder.path(name))?;
    }
    Ok(folder)
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

fn listed(plan: &Plan, wanted: &[usize]) -> String {
    let mut text = String::new();
    for &at in wanted {
        let run = &plan.runs[at];
        for id in &run.ids {
            let _ = writeln!(text, "{id}  {}", &run.identity.run[..16]);
        }
    }
    let traces: std::collections::BTreeSet<_> = wanted
        .iter()
        .map(|at| &plan.runs[*at].identity.trace)
        .collect();
    let asked: usize = wanted.iter().map(|at| plan.runs[*at].ids.len()).sum();
    let _ = writeln!(
        text,
        "{asked} runs, {} of them distinct, of {} programs",
        wanted.len(),
        traces.len()
    );
    text
}

fn provenance(experiment: &Experiment, plan: &Plan, arguments: &Arguments) -> Provenance {
    let mut command = format!(
        "{} experiment {}",
        program_name(),
        experiment.path.display()
    );
    if let Some(out) = &arguments.out {
        let _ = write!(command, " --out {}", out.display());
    }
    vec![
        (
            "experiment".to_owned(),
            experiment.path.display().to_string(),
        ),
        ("hash".to_owned(), plan.hash.clone()),
        ("command".to_owned(), command),
        (
            "program version".to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
        ),
    ]
}

/// Summarises the executed runs and the paths of their results.
fn summary(plan: &Plan, runs: &Runs, out: &Path) -> String {
    let asked = plan.ids.len();
    let failed = runs
        .values()
        .filter(|outcome| matches!(outcome, Outcome::Failed(_)));
    format!(
        "runs     {} of {asked} completed, {} failed\nresults  {}\n",
        runs.len(),
        failed.count(),
        out.display()
    )
}

/// Lists the first failed runs, one per line.
pub(crate) fn failures(runs: &Runs) -> String {
    let failed = runs.iter().filter_map(|(id, outcome)| match outcome {
        Outcome::Failed(why) => Some(format!("error: {id}: {why}")),
        Outcome::Done(_) => None,
    });
    let mut lines: Vec<String> = failed.collect();
    let more = lines.len().saturating_sub(LISTED);
    lines.truncate(LISTED);
    if more > 0 {
        lines.push(format!(
            "note: {more} further runs failed; see `runs.jsonl`"
        ));
    }
    lines.join("\n")
}
