//! Words for the results of a robustness study, in text and page.

use super::outcome::{JudgedVerdict, MachineOutcome};
use super::survey::{Counterexample, Survey, SurveyedFinding, SurveyedMachine, VERDICTS};
use crate::report::number;

/// Formats the repetitions of machines and of reruns.
pub(super) fn repetitions(survey: &Survey) -> String {
    let ((pairs, seed), (again, other)) = (survey.first, survey.again);
    format!(
        "{} with {pairs} pairs, perturbation seed {seed}; reruns with {again} pairs, seed {other}",
        survey.experiment
    )
}

/// Formats the number of machines by outcome.
pub(super) fn counted(survey: &Survey) -> String {
    let [judged, refused, failed, missing] = survey.counts();
    let drawn = survey.machines.len() - 1;
    format!(
        "{drawn} machines drawn with seed {}: {judged} judged, {refused} refused, {failed} failed, {missing} missing",
        survey.seed
    )
}

/// Iterates over the machines that were refused or failed, with the reasons.
pub(super) fn without_verdicts(
    survey: &Survey,
) -> impl Iterator<Item = (&SurveyedMachine, String)> {
    survey
        .machines
        .iter()
        .filter_map(|machine| match &machine.outcome {
            Some(MachineOutcome::Refused(why)) => Some((machine, format!("refused: {why}"))),
            Some(MachineOutcome::Failed(why)) => Some((machine, format!("failed: {why}"))),
            Some(MachineOutcome::Judged(_)) | None => None,
        })
}

/// Formats a verdict with its effect.
pub(super) fn in_words(found: JudgedVerdict) -> String {
    let effect = found.effect.map_or_else(String::new, |effect| {
        let [median, low, high] = [effect.median, effect.low, effect.high].map(number);
        format!(", {median} [{low}, {high}]")
    });
    format!("{}{effect}", found.verdict.name())
}

/// Formats the share of machines with the same verdict.
pub(super) fn survival(finding: &SurveyedFinding) -> String {
    let Some(share) = finding.share else {
        return "no drawn machine was judged".to_owned();
    };
    let counts = VERDICTS
        .iter()
        .zip(finding.verdicts)
        .filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(verdict, count)| format!("{count} {}", verdict.name()))
        .collect();
    let nothing = if finding.has_nothing_to_lose() {
        "; it has no verdict to lose"
    } else {
        ""
    };
    format!(
        "{} of {} machines, {:.2} [{:.2}, {:.2}]: {}{nothing}",
        finding.survives.with,
        finding.survives.of,
        share.median,
        share.low,
        share.high,
        counts.join(", ")
    )
}

/// Formats a counterexample with the result of its rerun.
pub(super) fn counterexample(nearest: &Counterexample) -> String {
    let rerun = match &nearest.rerun {
        None => "not run again".to_owned(),
        Some(rerun) => {
            let found = rerun
                .found
                .map_or("without a verdict", |found| found.verdict.name());
            let sure = if rerun.confirmed {
                "confirmed"
            } else {
                "not confirmed"
            };
            let stated = rerun.stated.verdict.name();
            format!("{sure}: {found} when run again, where the stated machine is {stated}")
        }
    };
    format!(
        "machine {}, distance {:.3}: {}; {rerun}",
        nearest.machine,
        nearest.distance,
        in_words(nearest.found)
    )
}

/// Formats the values of a machine that differ from the stated ones.
pub(super) fn differences(survey: &Survey, machine: u32) -> String {
    let values = &survey.machines[machine as usize].values;
    let all = survey.parameters.iter().zip(values);
    let differ = all.filter(|(parameter, value)| parameter.stated != **value);
    let texts = differ.map(|(parameter, value)| {
        format!("{} = {value} (stated {})", parameter.path, parameter.stated)
    });
    texts.collect::<Vec<_>>().join(", ")
}
