//! `warpweave robust`: repeats an experiment on machines with other values of its unstated
//! parameters.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use warpweave_experiments::judge::{RequiredStatistics, check_patterns, judge};
use warpweave_experiments::robust::{
    MachineOutcome, Outcomes, Robustness, Round, Survey, SurveyFiles, survey_text, write_survey,
};
use warpweave_experiments::shard::Shard;
use warpweave_experiments::{Folder, Plan, Reports};
use warpweave_files::{Budget, Paths};
use warpweave_framework::Registry;

use crate::arguments::program_name;
use crate::outcome::{CommandResult, Failure, INTERRUPTED, to_stderr, to_stdout};
use crate::session::{RunMode, Session, end_when_asked};

/// Maximum number of reasons that are listed if no machine can be built.
const LISTED: usize = 5;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Robustness file to run or check, which names the experiment.
    file: PathBuf,
    /// Folder of the results [default: the file's name with `.robust`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    mode: RunMode,
    /// Run only part I, counted from 1, of N parts of the machines, and write no report.
    #[arg(long, value_name = "I/N", conflicts_with = "check")]
    shard: Option<Shard>,
    /// Read the file and the experiment, and list the machines. Nothing is run.
    #[arg(long)]
    check: bool,
}

pub(crate) fn robust(
    registry: &Registry,
    arguments: &Arguments,
    quiet: bool,
    budget: &Budget,
) -> CommandResult {
    let mut study = Robustness::read(&arguments.file, budget)?;
    study.check(registry, budget)?;
    let session = Session {
        registry,
        threads: arguments.mode.threads(),
        interrupt: end_when_asked()?,
        quiet,
        budget,
    };
    let experiment = study.select(0, Round::First);
    let Some(stated) = session.plan(experiment)? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    check_patterns(&experiment.file, &stated.statistics)?;
    if arguments.check {
        to_stdout(&listed(&study, &stated))?;
        return Ok(ExitCode::SUCCESS);
    }
    let out = arguments.out.clone().unwrap_or_else(|| {
        let stem = arguments.file.file_stem().unwrap_or_default();
        PathBuf::from(format!("{}.robust", stem.to_string_lossy()))
    });
    let mut work = Work {
        session: &session,
        stated: &stated,
        traces: arguments.mode.traces(&out),
        reports: Reports::in_folder(&out)?,
        outcomes: Outcomes::of(&out),
        study,
    };
    let machines: Vec<u32> = (0..=work.study.machines).collect();
    if let Some(shard) = arguments.shard {
        let own = shard.of(&machines);
        let ended = work.all(&own, Round::First)?;
        let text = format!(
            "shard {shard}: {} of {} machines have ended\n",
            ended.len(),
            own.len()
        );
        to_stdout(&text)?;
        let is_whole = ended.len() == own.len();
        return Ok(ExitCode::from(if is_whole { 0 } else { INTERRUPTED }));
    }
    let folder = claimed(&work, &arguments.file, &out)?;
    let outcomes = work.all(&machines, Round::First)?;
    refuse_if_none_is_built(&outcomes, &machines)?;
    let mut again = BTreeMap::new();
    let mut survey = Survey::of(&work.study, &outcomes, &again);
    // A counterexample that is not confirmed is followed by the next nearest.
    loop {
        let mut needed = survey.to_run_again();
        needed.retain(|machine| !again.contains_key(machine));
        if needed.is_empty() || work.is_interrupted() {
            break;
        }
        again.extend(work.all(&needed, Round::Again)?);
        survey = Survey::of(&work.study, &outcomes, &again);
    }
    let command = command(arguments);
    write_survey(&survey, &command).write_to(&folder.path(""))?;
    to_stdout(&format!(
        "{}results  {}\n",
        survey_text(&survey),
        out.display()
    ))?;
    Ok(ExitCode::from(
        match (survey.is_sound(), work.is_interrupted()) {
            (false, _) => 1,
            (true, true) => INTERRUPTED,
            (true, false) => 0,
        },
    ))
}

/// Resources for running and judging the machines.
struct Work<'a> {
    session: &'a Session<'a>,
    /// Plan of machine 0 in the first round.
    stated: &'a Plan,
    traces: PathBuf,
    reports: Reports,
    outcomes: Outcomes,
    study: Robustness,
}

impl Work<'_> {
    fn is_interrupted(&self) -> bool {
        self.session.interrupt.load(Ordering::Relaxed)
    }

    /// Returns the outcomes of machines; after an interrupt only of those that have ended.
    fn all(
        &mut self,
        machines: &[u32],
        round: Round,
    ) -> Result<BTreeMap<u32, MachineOutcome>, Failure> {
        let mut outcomes = BTreeMap::new();
        for (at, &machine) in machines.iter().enumerate() {
            let key = self.study.key(self.stated, machine, round);
            let outcome = if let Some(stored) = self.outcomes.read(&key) {
                stored
            } else {
                if !self.session.quiet {
                    let again = if round == Round::Again { " again" } else { "" };
                    let (at, all) = (at + 1, machines.len());
                    to_stderr(&format!("machine {machine}{again}, {at} of {all}"));
                }
                let Some(found) = self.find(machine, round, &key)? else {
                    break;
                };
                found
            };
            outcomes.insert(machine, outcome);
        }
        Ok(outcomes)
    }

    /// Runs a machine and judges it. Returns `None` after an interrupt.
    fn find(
        &mut self,
        machine: u32,
        round: Round,
        key: &str,
    ) -> Result<Option<MachineOutcome>, Failure> {
        let experiment = self.study.select(machine, round);
        let plan = match self.session.plan_without_notes(experiment) {
            Ok(Some(plan)) => plan,
            Ok(None) => return Ok(None),
            Err(problems) if problems.is_of_host() => return Err(problems.into()),
            Err(problems) => {
                let refused = MachineOutcome::refused(&problems);
                return Ok(Some(self.outcomes.store(key, refused)?));
            }
        };
        let wanted = plan.fitting(None);
        let not_stored = self
            .session
            .run(&plan, &wanted, &self.reports, &self.traces)?;
        let needed = RequiredStatistics::of(&experiment.file)?;
        let runs = self
            .reports
            .runs(&plan, &not_stored, &|record| needed.trim(record));
        if runs.len() < plan.ids.len() {
            return Ok(None);
        }
        let outcome = MachineOutcome::of(&judge(experiment, &plan.equal_pairs, &runs)?);
        if not_stored.is_empty() {
            return Ok(Some(self.outcomes.store(key, outcome)?));
        }
        // It is tried again next time.
        Ok(Some(outcome))
    }
}

/// Claims the results folder and checks that it contains none of the files that are read.
fn claimed(work: &Work<'_>, file: &Path, out: &Path) -> Result<Folder, Failure> {
    let folder = Folder::claim(out)?;
    let mut paths = Paths::new();
    work.stated.files.iter().for_each(|file| paths.reads(file));
    paths.reads(file);
    for name in SurveyFiles::NAMES {
        paths.writes("--out", &folder.path(name))?;
    }
    Ok(folder)
}

/// Reports the reasons as errors of the file if each drawn machine was refused.
fn refuse_if_none_is_built(
    outcomes: &BTreeMap<u32, MachineOutcome>,
    machines: &[u32],
) -> Result<(), Failure> {
    let reasons = outcomes.values().filter_map(|outcome| match outcome {
        MachineOutcome::Refused(why) => Some(why.as_str()),
        MachineOutcome::Judged(_) | MachineOutcome::Failed(_) => None,
    });
    let mut reasons: Vec<&str> = reasons.collect();
    if reasons.len() + 1 < machines.len() {
        return Ok(());
    }
    reasons.dedup();
    reasons.truncate(LISTED);
    let reasons = reasons.join("\nerror: ");
    Err(Failure::InputText(format!(
        "no drawn machine can be built\nerror: {reasons}"
    )))
}

/// Lists the machines with their values, and the number of runs of each.
fn listed(study: &Robustness, stated: &Plan) -> String {
    let mut text = String::new();
    for machine in 0..=study.machines {
        let values = study.paths().zip(study.values(machine));
        let values: Vec<String> = values
            .map(|(path, value)| format!("{path}={value}"))
            .collect();
        let _ = writeln!(text, "{machine}  {}", values.join(" "));
    }
    let runs = stated.runs.len();
    let _ = writeln!(
        text,
        "{} machines and the stated one, {runs} runs each",
        study.machines
    );
    text
}

fn command(arguments: &Arguments) -> String {
    let mut command = format!("{} robust {}", program_name(), arguments.file.display());
    if let Some(out) = &arguments.out {
        let _ = write!(command, " --out {}", out.display());
    }
    command
}
