//! Tables of a survey, as CSV.

use warpweave_systems::report::CsvTable;

use super::outcome::MachineOutcome;
use super::survey::{Survey, SurveyedFinding, VERDICTS};

/// Returns survival and nearest counterexample of each finding.
pub(super) fn findings_csv(survey: &Survey) -> String {
    let head = [
        "finding", "stated", "survives", "judged", "share", "low", "high",
    ];
    let verdicts = VERDICTS.map(super::Verdict::name);
    let nearest = ["machine", "distance", "verdict", "confirmed"];
    let head: Vec<&str> = head.into_iter().chain(verdicts).chain(nearest).collect();
    let mut table = CsvTable::new(&head);
    for finding in &survey.findings {
        let share = |part: fn(&super::Interval) -> f64| {
            finding
                .share
                .as_ref()
                .map_or_else(String::new, |share| part(share).to_string())
        };
        let mut row = vec![
            finding.name.clone(),
            finding.stated.verdict.name().to_owned(),
            finding.survives.with.to_string(),
            finding.survives.of.to_string(),
            share(|share| share.median),
            share(|share| share.low),
            share(|share| share.high),
        ];
        row.extend(finding.verdicts.map(|count| count.to_string()));
        row.extend(nearest_cells(finding));
        table.row(row);
    }
    table.take()
}

fn nearest_cells(finding: &SurveyedFinding) -> [String; 4] {
    let Some(nearest) = finding.nearest() else {
        return Default::default();
    };
    let confirmed = nearest.rerun.as_ref();
    [
        nearest.machine.to_string(),
        nearest.distance.to_string(),
        nearest.found.verdict.name().to_owned(),
        confirmed.map_or_else(String::new, |rerun| u8::from(rerun.confirmed).to_string()),
    ]
}

/// Returns the influence of each parameter on each finding.
pub(super) fn parameters_csv(survey: &Survey) -> String {
    let mut table = CsvTable::new(&[
        "finding",
        "parameter",
        "below",
        "below_judged",
        "above",
        "above_judged",
        "difference",
        "low",
        "high",
        "decides",
    ]);
    for finding in &survey.findings {
        for one in &finding.parameters {
            let difference = |part: fn(&super::Interval) -> f64| {
                one.difference
                    .as_ref()
                    .map_or_else(String::new, |all| part(all).to_string())
            };
            table.row([
                finding.name.clone(),
                one.path.clone(),
                one.below.with.to_string(),
                one.below.of.to_string(),
                one.above.with.to_string(),
                one.above.of.to_string(),
                difference(|all| all.median),
                difference(|all| all.low),
                difference(|all| all.high),
                u8::from(one.decides).to_string(),
            ]);
        }
    }
    table.take()
}

/// Returns the values and verdicts of each machine.
pub(super) fn machines_csv(survey: &Survey) -> String {
    let paths = survey
        .parameters
        .iter()
        .map(|parameter| parameter.path.as_str());
    let claims = survey.claims.iter().map(String::as_str);
    let head = ["machine", "outcome", "reason", "distance"];
    let head: Vec<&str> = head.into_iter().chain(paths).chain(claims).collect();
    let mut table = CsvTable::new(&head);
    for machine in &survey.machines {
        let (outcome, reason) = match &machine.outcome {
            Some(MachineOutcome::Judged(_)) => ("judged", ""),
            Some(MachineOutcome::Refused(why)) => ("refused", why.as_str()),
            Some(MachineOutcome::Failed(why)) => ("failed", why.as_str()),
            None => ("missing", ""),
        };
        let distance = machine.distance.to_string();
        let mut row = vec![
            machine.number.to_string(),
            outcome.to_owned(),
            reason.to_owned(),
            distance,
        ];
        row.extend(machine.values.iter().cloned());
        let verdicts = machine.outcome.as_ref().and_then(MachineOutcome::verdicts);
        let names = verdicts.map(|all| all.iter().map(|one| one.verdict.name().to_owned()));
        match names {
            Some(names) => row.extend(names),
            None => row.extend(survey.claims.iter().map(|_| String::new())),
        }
        table.row(row);
    }
    table.take()
}
