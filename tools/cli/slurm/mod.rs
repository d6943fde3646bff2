//! Slurm as the engine of an experiment: submits its runs as job arrays, and shows how far they
//! are.

mod batch;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use warpweave_experiments::model::Outcome;
use warpweave_experiments::shard::{Shard, ranges};
use warpweave_experiments::{Folder, Plan, Reports, keeps_trace};
use warpweave_files::{Input, Ledger, Output, OutputError};

use self::batch::Batch;
use crate::outcome::Failure;

/// Folder of the engine's files, in the results folder.
const FOLDER: &str = "slurm";

/// Maximum number of shards if none is stated.
const SHARDS: usize = 100;

/// Arguments of Slurm as the engine of an experiment.
#[derive(clap::Args)]
#[command(next_help_heading = "Slurm")]
pub(crate) struct SlurmArguments {
    /// Number of shards, each a task of the job array [default: one per run, at most 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    shards: Option<u32>,
    /// Add the line `#SBATCH OPTION` to a new batch file; may be repeated.
    #[arg(long, value_name = "OPTION", value_parser = sbatch_option, allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Write the batch file and print the commands that would submit it.
    #[arg(long)]
    dry_run: bool,
}

fn sbatch_option(text: &str) -> Result<String, String> {
    if text.starts_with('-') && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err("expected an option of sbatch, such as --time=4:00:00".to_owned())
    }
}

/// Paths of an experiment, as on the command line.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) file: &'a Path,
    /// Results folder, whether it is stated or the default.
    pub(crate) out: &'a Path,
    /// Results folder, unless it is the default. Reports state the command with it.
    pub(crate) stated_out: Option<&'a Path>,
    pub(crate) traces: &'a Path,
}

/// Job IDs of the last submission, by step.
#[derive(Default, Serialize, Deserialize)]
struct Jobs(Vec<Job>);

#[derive(Serialize, Deserialize)]
struct Job {
    step: String,
    id: String,
}

/// Job to submit, as one of the steps of an experiment.
struct Step {
    name: &'static str,
    /// Tasks of the job array; none if the job is not an array.
    tasks: Vec<usize>,
    /// Number of shards that the tasks are of.
    shards: usize,
}

/// Submits those of the runs `wanted` that have no report, and returns a text that says so.
/// `only` is the pattern that selected the runs.
///
/// # Errors
/// Returns an error if earlier jobs are in the queue, or Slurm refuses the jobs.
pub(crate) fn submit(
    plan: &Plan,
    wanted: &[usize],
    folder: &Folder,
    places: Places<'_>,
    only: Option<&str>,
    arguments: &SlurmArguments,
) -> Result<String, Failure> {
    let own = folder.path(FOLDER);
    std::fs::create_dir_all(&own).map_err(|error| OutputError::of(&own, error))?;
    let batch = own.join("job.sbatch");
    prepare(&batch, places, &arguments.sbatch)?;
    let mut most = None;
    if !arguments.dry_run {
        refuse_if_queued(&own)?;
        most = Some(max_array_index()?);
    }
    let shards = shards(arguments.shards, wanted.len(), most)?;
    let mut jobs = Jobs::default();
    let mut text = String::new();
    for step in steps(plan, wanted, folder.reports(), places.traces, shards) {
        let after = jobs.0.last().map(|job| job.id.as_str());
        let words = step.words(&own, &batch, only, after);
        if arguments.dry_run {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            let _ = writeln!(text, "sbatch {}", words.join(" "));
            // The shell that runs the commands knows the number.
            jobs.0.push(Job::of(&step, "JOB".to_owned()));
            continue;
        }
        match called("sbatch", &words) {
            Ok(out) => jobs.0.push(Job::of(&step, job_id(&out))),
            Err(failure) => {
                let ids = jobs.0.iter().map(|job| OsString::from(&job.id));
                // The refusal is what matters; a job that stays makes some of the runs.
                let _ = called("scancel", &ids.collect::<Vec<_>>());
                return Err(failure);
            }
        }
        let id = jobs.0.last().map_or("", |job| &job.id);
        let _ = match step.tasks.len() {
            0 => writeln!(text, "job {id}  {}", step.name),
            tasks => writeln!(text, "job {id}  {}, {tasks} tasks", step.name),
        };
    }
    if !arguments.dry_run {
        let jobs = serde_json::to_string_pretty(&jobs).expect("every key is text");
        Output::write(&own.join("jobs.json"), jobs.as_bytes())?;
    }
    Ok(text)
}

/// Writes the batch file unless it exists.
fn prepare(batch: &Path, places: Places<'_>, options: &[String]) -> Result<(), Failure> {
    if batch.exists() {
        return match options {
            [] => Ok(()),
            _ => Err(Failure::InputText(format!(
                "{} exists, so `--sbatch` would change nothing\nhint: edit the file, or remove it to have it written anew",
                batch.display()
            ))),
        };
    }
    let unknown = |error: io::Error| Failure::Machine(format!("cannot find the program: {error}"));
    let folder = std::env::current_dir().map_err(unknown)?;
    let program = std::env::current_exe().map_err(unknown)?;
    let name = places.file.file_stem().unwrap_or_default();
    let text = Batch {
        name: &name.to_string_lossy(),
        options,
        folder: &folder,
        program: &program,
        file: places.file,
        out: places.stated_out,
        traces: places.traces,
    };
    Ok(Output::write(batch, text.text()?.as_bytes())?)
}

/// Returns the number of shards for a number of runs. `most` is the highest index of an array.
fn shards(stated: Option<u32>, runs: usize, most: Option<usize>) -> Result<usize, Failure> {
    let most = most.unwrap_or(usize::MAX);
    match stated.map(|stated| stated as usize) {
        Some(stated) if stated > most => Err(Failure::InputText(format!(
            "Slurm here takes array tasks up to {most} (`MaxArraySize` less 1), and {stated} shards were asked for\nhint: use fewer shards; each makes its runs one after the other"
        ))),
        Some(stated) => Ok(stated.min(runs)),
        None => Ok(runs.min(SHARDS).min(most)),
    }
}

/// Returns the jobs that make the runs `wanted` complete.
fn steps(
    plan: &Plan,
    wanted: &[usize],
    reports: &Reports,
    traces: &Path,
    shards: usize,
) -> Vec<Step> {
    let is_missing = |at: &usize| !reports.holds(&plan.runs[*at].identity.run);
    let trace = |at: usize| &plan.runs[at].identity.trace;
    let programs = plan.programs(wanted);
    let missing: Vec<usize> = wanted.iter().copied().filter(is_missing).collect();
    let unmade = plan.programs(&missing).into_iter().map(trace);
    let unmade: Vec<_> = unmade.filter(|key| !keeps_trace(traces, key)).collect();
    let emulate = Step::of("emulate", &programs, shards.min(programs.len()), |at| {
        unmade.contains(&trace(*at))
    });
    let simulate = Step::of("simulate", wanted, shards, is_missing);
    let merge = Step {
        name: "merge",
        tasks: Vec::new(),
        shards,
    };
    let arrays = [emulate, simulate].into_iter();
    let arrays = arrays.filter(|step| !step.tasks.is_empty());
    arrays.chain([merge]).collect()
}

impl Step {
    /// Creates an array whose tasks are the shards with an item that `is_missing`.
    fn of(
        name: &'static str,
        items: &[usize],
        shards: usize,
        is_missing: impl Fn(&usize) -> bool,
    ) -> Self {
        let needed = Shard::all(shards).filter(|shard| shard.of(items).iter().any(&is_missing));
        Self {
            name,
            tasks: needed.map(Shard::index).collect(),
            shards,
        }
    }

    /// Returns the arguments of `sbatch` that submit the step after the job `after`.
    fn words(
        &self,
        own: &Path,
        batch: &Path,
        only: Option<&str>,
        after: Option<&str>,
    ) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--parsable".into()];
        if let Some(after) = after {
            words.push(format!("--dependency=afterany:{after}").into());
        }
        let task = if self.tasks.is_empty() {
            "%j"
        } else {
            words.push(format!("--array={}", ranges(&self.tasks)).into());
            "%A_%a"
        };
        // Slurm replaces what follows a percent sign.
        let own = own.to_string_lossy().replace('%', "%%");
        words.push(format!("--output={own}/{}-{task}.log", self.name).into());
        words.push(batch.into());
        words.extend([self.name.into(), self.shards.to_string().into()]);
        words.extend(
            only.into_iter()
                .flat_map(|only| ["--only", only])
                .map(OsString::from),
        );
        words
    }
}

impl Job {
    fn of(step: &Step, id: String) -> Self {
        let step = step.name.to_owned();
        Self { step, id }
    }
}

/// Calls a command of Slurm and returns its output.
fn called(program: &str, words: &[OsString]) -> Result<String, Failure> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| {
        Failure::Machine(format!(
            "cannot start `{program}`: {error}\nhint: the commands of Slurm must be in the path; `--shard` and `--merge` need no engine"
        ))
    })?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(said(&output.stdout))
    } else {
        Err(Failure::Machine(format!(
            "`{program}` failed: {}",
            said(&output.stderr)
        )))
    }
}

/// Returns the job ID from `sbatch --parsable`, which may add the name of a cluster.
fn job_id(out: &str) -> String {
    out.split(';').next().unwrap_or_default().to_owned()
}

/// Returns the highest index that a job array may have.
fn max_array_index() -> Result<usize, Failure> {
    let config = called("scontrol", &["show".into(), "config".into()])?;
    Ok(array_limit(&config))
}

/// Returns the highest index of an array from the text of `scontrol show config`.
fn array_limit(config: &str) -> usize {
    /// Value that Slurm assumes if its configuration states none.
    const DEFAULT: usize = 1001;
    let size = config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "MaxArraySize").then(|| value.trim().parse().ok())?
    });
    size.unwrap_or(DEFAULT).saturating_sub(1)
}

/// Returns an error if a job of the last submission is in the queue.
fn refuse_if_queued(own: &Path) -> Result<(), Failure> {
    let Some(jobs) = submitted(own) else {
        return Ok(());
    };
    let queue = Queue::ask()?;
    let queued: Vec<&str> = jobs
        .0
        .iter()
        .map(|job| job.id.as_str())
        .filter(|id| queue.of(id).is_some())
        .collect();
    match queued.as_slice() {
        [] => Ok(()),
        queued => Err(Failure::InputText(format!(
            "jobs of this experiment are in the queue: {}\nhint: `--status` shows them; wait, or end them with `scancel {}`",
            queued.join(", "),
            queued.join(" ")
        ))),
    }
}

/// Returns the jobs of the last submission, if there was one.
fn submitted(own: &Path) -> Option<Jobs> {
    let input = Input::open(&own.join("jobs.json")).ok()?;
    let text = input.read_text(&Ledger::default()).ok()?;
    serde_json::from_str(&text).ok()
}

/// Jobs in the queue: number of tasks by job ID and state.
struct Queue(BTreeMap<String, BTreeMap<String, usize>>);

impl Queue {
    fn ask() -> Result<Self, Failure> {
        let words = ["--noheader", "--array", "--me", "--format=%F %T"];
        Ok(Self::of_text(&called(
            "squeue",
            &words.map(OsString::from),
        )?))
    }

    fn of_text(text: &str) -> Self {
        let mut jobs = BTreeMap::<_, BTreeMap<_, _>>::new();
        for line in text.lines() {
            if let Some((id, state)) = line.trim().split_once(' ') {
                let tasks = jobs.entry(id.to_owned()).or_default();
                *tasks.entry(state.trim().to_lowercase()).or_default() += 1;
            }
        }
        Self(jobs)
    }

    /// Returns the states of a job's tasks, in words, if it is in the queue.
    fn of(&self, id: &str) -> Option<String> {
        let states = self.0.get(id)?.iter();
        let states: Vec<String> = states
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        Some(states.join(", "))
    }
}

/// Returns a text about the runs `wanted`, their traces, and the jobs of the last submission.
pub(crate) fn status(
    plan: &Plan,
    wanted: &[usize],
    reports: &Reports,
    places: Places<'_>,
) -> String {
    let (mut stored, mut failed) = (0, reports.failures(plan).len());
    for &at in wanted {
        let outcome = reports.outcome(&plan.runs[at].identity.run);
        stored += usize::from(outcome.is_some());
        failed += usize::from(matches!(outcome, Some(Outcome::Failed(_))));
    }
    let programs = plan.programs(wanted);
    let made = programs
        .iter()
        .filter(|at| keeps_trace(places.traces, &plan.runs[**at].identity.trace));
    format!(
        "runs     {stored} of {} stored, {failed} failed\ntraces   {} of {}\njobs     {}\n",
        wanted.len(),
        made.count(),
        programs.len(),
        shown_jobs(&places.out.join(FOLDER))
    )
}

/// Describes the jobs of the last submission, one per line.
fn shown_jobs(own: &Path) -> String {
    let Some(jobs) = submitted(own) else {
        return "none submitted".to_owned();
    };
    let Ok(queue) = Queue::ask() else {
        return "unknown: `squeue` does not answer".to_owned();
    };
    let lines: Vec<String> = jobs
        .0
        .iter()
        .filter_map(|Job { step, id }| Some(format!("{id} {step}: {}", queue.of(id)?)))
        .collect();
    if lines.is_empty() {
        "none in the queue".to_owned()
    } else {
        lines.join("\n         ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_in_the_queue_are_counted_by_state() {
        let queue = Queue::of_text("12 RUNNING\n12 PENDING\n12 PENDING\n 13 PENDING \n");
        assert_eq!(queue.of("12").unwrap(), "2 pending, 1 running");
        assert_eq!(queue.of("13").unwrap(), "1 pending");
        assert_eq!(queue.of("1"), None);
    }

    #[test]
    fn the_limit_of_arrays_is_read_from_the_configuration() {
        let config = "Configuration data\nMaxArrayTasks = 7\nMaxArraySize            = 11\n";
        assert_eq!(array_limit(config), 10);
        assert_eq!(array_limit("unlike"), 1000);
    }

    #[test]
    fn shards_keep_to_the_runs_and_to_the_limit_of_arrays() {
        let of = |stated, runs, most| shards(stated, runs, most).ok();
        assert_eq!(of(None, 40, Some(1000)), Some(40));
        assert_eq!(of(None, 400, Some(1000)), Some(100));
        assert_eq!(of(None, 400, Some(10)), Some(10));
        assert_eq!(of(Some(200), 400, Some(1000)), Some(200));
        assert_eq!(of(Some(200), 40, None), Some(40));
        assert_eq!(of(Some(11), 400, Some(10)), None);
    }

    #[test]
    fn only_an_option_of_one_line_enters_the_batch_file() {
        assert!(sbatch_option("--time=4:00:00").is_ok());
        assert!(sbatch_option("-p gpu").is_ok());
        assert!(sbatch_option("gpu").is_err());
        assert!(sbatch_option("-p gpu\nrm -r x").is_err());
    }

    #[test]
    fn a_cluster_after_the_job_id_is_left_out() {
        assert_eq!(job_id("12"), "12");
        assert_eq!(job_id("12;far"), "12");
    }

    #[test]
    fn an_array_names_what_is_missing_and_waits_for_the_job_before() {
        let step = Step::of("simulate", &[10, 11, 12, 13, 14], 3, |at| {
            *at != 11 && *at != 14
        });
        assert_eq!(step.tasks, [1, 3]);
        let words = step.words(
            Path::new("50%/slurm"),
            Path::new("j"),
            Some("a*"),
            Some("7"),
        );
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            words.join(" "),
            "--parsable --dependency=afterany:7 --array=1,3 \
             --output=50%%/slurm/simulate-%A_%a.log j simulate 3 --only a*"
        );
    }
}
