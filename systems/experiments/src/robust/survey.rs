//! Survival of findings over the machines.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outcome::{JudgedVerdict, MachineOutcome};
use super::proportion::Count;
use super::{Robustness, Round};
use crate::file::Claim;
use crate::judge::{Interval, Verdict};

/// Error probability of all intervals of a finding together.
const ERROR: f64 = 0.05;

/// Verdicts that a finding can have, in the order of reports.
pub(super) const VERDICTS: [Verdict; 4] = [
    Verdict::Reproduced,
    Verdict::NotReproduced,
    Verdict::Unresolved,
    Verdict::Void,
];

/// Results of a robustness study over all machines.
#[derive(Clone, Debug, Serialize)]
pub struct Survey {
    /// One-sentence summary from the file, for reports.
    pub summary: String,
    /// Path of the experiment's file as resolved.
    pub experiment: String,
    /// Seed from which the machines are drawn.
    pub seed: u64,
    /// Number of pairs and perturbation seed of the machines.
    pub first: (u32, u64),
    /// Number of pairs and perturbation seed of the reruns.
    pub again: (u32, u64),
    /// Parameters in the order of the file.
    pub parameters: Vec<SurveyedParameter>,
    /// Machines by number; the first is the stated one.
    pub machines: Vec<SurveyedMachine>,
    /// Names of all claims, in the order of the experiment.
    pub claims: Vec<String>,
    /// Findings, if the stated machine was judged.
    pub findings: Vec<SurveyedFinding>,
    /// Name of each identity, and the machines on which it fails.
    pub identities: Vec<(String, Vec<u32>)>,
}

/// Parameter with values that differ between machines.
#[derive(Clone, Debug, Serialize)]
pub struct SurveyedParameter {
    pub path: String,
    /// Description of the values that it can have.
    pub range: String,
    /// Value of the parameter in the experiment.
    pub stated: String,
}

/// Machine with its values and outcome.
#[derive(Clone, Debug, Serialize)]
pub struct SurveyedMachine {
    pub number: u32,
    /// Value of each parameter, in their order.
    pub values: Vec<String>,
    /// Distance from the stated machine in normalised parameters, from 0 to 1.
    pub distance: f64,
    /// Outcome, or `None` before its runs have ended.
    pub outcome: Option<MachineOutcome>,
}

/// Finding with its survival over the machines.
#[derive(Clone, Debug, Serialize)]
pub struct SurveyedFinding {
    pub name: String,
    /// Verdict and effect on the stated machine.
    pub stated: JudgedVerdict,
    /// Number of drawn machines with the same verdict, of those that were judged.
    pub survives: Count,
    /// Share of those machines with its 95 % interval.
    pub share: Option<Interval>,
    /// Number of drawn machines with each verdict: reproduced, not reproduced, unresolved, void.
    pub verdicts: [u32; 4],
    /// Machines with another verdict that were run again, or would be: nearest first. It ends with
    /// the first that is confirmed.
    pub counterexamples: Vec<Counterexample>,
    /// Influence of each parameter, strongest first.
    pub parameters: Vec<Influence>,
}

/// Machine on which a finding has another verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Counterexample {
    pub machine: u32,
    pub distance: f64,
    /// Verdict and effect of the finding there.
    pub found: JudgedVerdict,
    /// Result of the rerun, if there was one.
    pub rerun: Option<Rerun>,
}

/// Rerun of a counterexample and of the stated machine, under other perturbations.
#[derive(Clone, Debug, Serialize)]
pub struct Rerun {
    /// Verdict and effect on the stated machine.
    pub stated: JudgedVerdict,
    /// Verdict and effect on the counterexample; `None` if it has no verdict.
    pub found: Option<JudgedVerdict>,
    /// True if the two verdicts of the rerun differ.
    pub confirmed: bool,
}

/// Dependence of a finding's survival on a parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Influence {
    pub path: String,
    /// Survival on machines below the middle of the range.
    pub below: Count,
    /// Survival on machines above the middle.
    pub above: Count,
    /// Share above less share below, with an interval simultaneous over all parameters.
    pub difference: Option<Interval>,
    /// True if the interval excludes 0.
    pub decides: bool,
}

impl SurveyedFinding {
    /// True if the stated machine gives no verdict that could be lost.
    pub fn has_nothing_to_lose(&self) -> bool {
        matches!(self.stated.verdict, Verdict::Unresolved | Verdict::Void)
    }

    /// Returns the nearest counterexample: the confirmed one, or else the nearest of all.
    pub fn nearest(&self) -> Option<&Counterexample> {
        let confirmed = |one: &&Counterexample| one.rerun.as_ref().is_some_and(|r| r.confirmed);
        let all = &self.counterexamples;
        all.iter().find(confirmed).or(all.first())
    }
}

impl Survey {
    /// Counts survival over the outcomes so far, by machine. `again` holds those of reruns.
    pub fn of(
        study: &Robustness,
        outcomes: &BTreeMap<u32, MachineOutcome>,
        again: &BTreeMap<u32, MachineOutcome>,
    ) -> Self {
        let positions = |machine| study.drawn(machine).into_iter().map(|drawn| drawn.position);
        let stated: Vec<f64> = positions(0).collect();
        let machine = |number| SurveyedMachine {
            number,
            values: study.values(number),
            distance: distance(&stated, positions(number)),
            outcome: outcomes.get(&number).cloned(),
        };
        let machines: Vec<_> = (0..=study.machines).map(machine).collect();
        let claims = &study.experiment.file.claims;
        let verdict = |machine, claim: usize| Some(outcome_of(outcomes, machine)?[claim]);
        let (mut findings, mut identities) = (Vec::new(), Vec::new());
        for (at, claim) in claims.iter().enumerate() {
            match claim {
                Claim::Identity { name, .. } => {
                    let fails = |machine: &u32| {
                        verdict(*machine, at).is_some_and(|one| one.verdict == Verdict::Fails)
                    };
                    let failing = (0..=study.machines).filter(fails).collect();
                    identities.push((name.value.clone(), failing));
                }
                Claim::Finding { name, .. } => {
                    let found = Counting {
                        study,
                        machines: &machines,
                        outcomes,
                        again,
                        claim: at,
                    };
                    findings.extend(found.finding(&name.value));
                }
            }
        }
        let name = |claim: &Claim| match claim {
            Claim::Finding { name, .. } | Claim::Identity { name, .. } => name.value.clone(),
        };
        Self {
            summary: study.summary.clone(),
            experiment: study.experiment.path.display().to_string(),
            seed: study.seed,
            first: study.rounds[Round::First as usize],
            again: study.rounds[Round::Again as usize],
            parameters: study
                .parameters
                .iter()
                .map(|parameter| SurveyedParameter {
                    path: parameter.path.value.clone(),
                    range: parameter.range(),
                    stated: crate::read::level_name(&parameter.stated),
                })
                .collect(),
            machines,
            claims: claims.iter().map(name).collect(),
            findings,
            identities,
        }
    }

    /// Returns the machines whose reruns are still needed, ascending. The stated one is among them.
    pub fn to_run_again(&self) -> Vec<u32> {
        let all = self
            .findings
            .iter()
            .flat_map(|finding| &finding.counterexamples);
        let open = all.filter(|one| one.rerun.is_none());
        let mut machines: Vec<u32> = open.map(|one| one.machine).collect();
        if !machines.is_empty() {
            machines.push(0);
        }
        machines.sort_unstable();
        machines.dedup();
        machines
    }

    /// Counts the drawn machines that were judged, refused, that failed and that are missing.
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for machine in &self.machines[1..] {
            counts[match &machine.outcome {
                Some(MachineOutcome::Judged(_)) => 0,
                Some(MachineOutcome::Refused(_)) => 1,
                Some(MachineOutcome::Failed(_)) => 2,
                None => 3,
            }] += 1;
        }
        counts
    }

    /// True if every identity holds wherever it was judged, and no run failed.
    pub fn is_sound(&self) -> bool {
        let failed =
            |machine: &SurveyedMachine| matches!(machine.outcome, Some(MachineOutcome::Failed(_)));
        let holds = self
            .identities
            .iter()
            .all(|(_, failing)| failing.is_empty());
        holds && !self.machines.iter().any(failed)
    }
}

fn outcome_of(outcomes: &BTreeMap<u32, MachineOutcome>, machine: u32) -> Option<&[JudgedVerdict]> {
    outcomes.get(&machine)?.verdicts()
}

/// Root mean square of the differences of positions.
fn distance(stated: &[f64], positions: impl Iterator<Item = f64>) -> f64 {
    let squares = stated.iter().zip(positions).map(|(a, b)| (a - b).powi(2));
    (squares.sum::<f64>() / stated.len().max(1) as f64).sqrt()
}

/// Data from which one finding is counted.
struct Counting<'a> {
    study: &'a Robustness,
    machines: &'a [SurveyedMachine],
    outcomes: &'a BTreeMap<u32, MachineOutcome>,
    again: &'a BTreeMap<u32, MachineOutcome>,
    /// Index of the claim in the experiment.
    claim: usize,
}

impl Counting<'_> {
    /// Returns the finding's survival, if the stated machine was judged.
    fn finding(&self, name: &str) -> Option<SurveyedFinding> {
        let stated = self.verdict(self.outcomes, 0)?;
        let judged = (1..=self.study.machines)
            .filter_map(|machine| Some((machine, self.verdict(self.outcomes, machine)?)));
        let judged: Vec<(u32, JudgedVerdict)> = judged.collect();
        let mut survives = Count::default();
        let mut verdicts = [0; 4];
        for (_, found) in &judged {
            survives.add(found.verdict == stated.verdict);
            let place = VERDICTS
                .iter()
                .position(|verdict| *verdict == found.verdict);
            verdicts[place.unwrap_or(0)] += 1;
        }
        Some(SurveyedFinding {
            name: name.to_owned(),
            stated,
            survives,
            share: survives.share(ERROR),
            verdicts,
            counterexamples: self.counterexamples(stated, &judged),
            parameters: self.influences(stated, &judged),
        })
    }

    fn verdict(
        &self,
        outcomes: &BTreeMap<u32, MachineOutcome>,
        machine: u32,
    ) -> Option<JudgedVerdict> {
        outcome_of(outcomes, machine).map(|all| all[self.claim])
    }

    /// Returns the nearest machines with another verdict, up to the first that is confirmed.
    fn counterexamples(
        &self,
        stated: JudgedVerdict,
        judged: &[(u32, JudgedVerdict)],
    ) -> Vec<Counterexample> {
        let distance = |machine: u32| self.machines[machine as usize].distance;
        let others = judged
            .iter()
            .filter(|(_, found)| found.verdict != stated.verdict);
        let mut others: Vec<_> = others.collect();
        others.sort_by(|(a, _), (b, _)| distance(*a).total_cmp(&distance(*b)).then(a.cmp(b)));
        let mut tried = Vec::new();
        for &&(machine, found) in others.iter().take(self.study.attempts.max(1) as usize) {
            let rerun = self.rerun(machine);
            // Later ones are run again only if this one is not confirmed.
            let goes_on = rerun.as_ref().is_some_and(|rerun| !rerun.confirmed);
            tried.push(Counterexample {
                machine,
                distance: distance(machine),
                found,
                rerun,
            });
            if !goes_on {
                break;
            }
        }
        tried
    }

    fn rerun(&self, machine: u32) -> Option<Rerun> {
        let stated = self.verdict(self.again, 0)?;
        self.again.get(&machine)?;
        let found = self.verdict(self.again, machine);
        let confirmed = found.is_some_and(|found| found.verdict != stated.verdict);
        Some(Rerun {
            stated,
            found,
            confirmed,
        })
    }

    /// Compares survival between the halves of each range.
    fn influences(&self, stated: JudgedVerdict, judged: &[(u32, JudgedVerdict)]) -> Vec<Influence> {
        let parameters = &self.study.parameters;
        let mut halves = vec![[Count::default(); 2]; parameters.len()];
        for (machine, found) in judged {
            for (halves, drawn) in halves.iter_mut().zip(self.study.drawn(*machine)) {
                let half = match drawn.position {
                    below if below < 0.5 => 0,
                    above if above > 0.5 => 1,
                    _ => continue,
                };
                halves[half].add(found.verdict == stated.verdict);
            }
        }
        let error = ERROR / parameters.len() as f64;
        let influence = |(parameter, [below, above]): (&super::Parameter, [Count; 2])| {
            let difference = above.less(below, error);
            Influence {
                path: parameter.path.value.clone(),
                below,
                above,
                difference,
                decides: difference.is_some_and(|d| d.low > 0.0 || d.high < 0.0),
            }
        };
        let mut all: Vec<_> = parameters.iter().zip(halves).map(influence).collect();
        let size = |one: &Influence| one.difference.map_or(-1.0, |d| d.median.abs());
        all.sort_by(|a, b| size(b).total_cmp(&size(a)));
        all
    }
}
