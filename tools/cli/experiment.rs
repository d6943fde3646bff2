//! `warpweave experiment`: runs the variants of an experiment and judges its claims.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use warpweave_experiments::judge::{
    RequiredStatistics, Study, check, check_patterns, judge, metrics_of,
};
use warpweave_experiments::model::{Outcome, Provenance, Runs};
use warpweave_experiments::report::{self, Published};
use warpweave_experiments::shard::Shard;
use warpweave_experiments::{
    Collection, Experiment, Folder, MachineError, Plan, Reports, SeriesError,
};
use warpweave_files::{Budget, Paths};
use warpweave_framework::Registry;

use crate::arguments::program_name;
use crate::host::now;
use crate::outcome::{CommandResult, Failure, INTERRUPTED, to_stderr, to_stdout};
use crate::session::{LISTED, RunMode, Session, end_when_asked};
use crate::slurm::{self, Places, SlurmArguments};
use crate::watch::{SoFar, WatchArguments};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Experiment file to run or check.
    file: PathBuf,
    /// Folder of the results [default: the experiment's name with `.results`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    mode: RunMode,
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
    let session = Session {
        registry,
        threads: arguments.mode.threads(),
        interrupt: end_when_asked()?,
        quiet,
        budget,
    };
    let Some(plan) = session.plan(&experiment)? else {
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
    let traces = arguments.mode.traces(&out);
    let parts = &arguments.parts;
    if let Some(shard) = parts.shard {
        return if parts.emulate_only {
            session.emulate(&plan, &wanted, shard, &traces)
        } else {
            session.shard(&plan, &wanted, shard, &out, &traces)
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
        session.run_watched(&plan, &wanted, folder.reports(), &traces, watched)?
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
        study.scale = Some(session.scale(&experiment, &plan, &traces)?);
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
    let code = match (missing.count(), session.code(&runs)) {
        (missing @ 1.., 0) => {
            to_stderr(&format!("note: {missing} runs are missing"));
            INTERRUPTED
        }
        (_, code) => code,
    };
    let as_expected = study.as_ref().is_none_or(Study::is_as_expected);
    Ok(ExitCode::from(if as_expected { code } else { 1 }))
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
