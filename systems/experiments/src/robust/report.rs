//! Report of a robustness study: text, and files.

use std::fmt::{self, Write as _};
use std::path::Path;

use warpweave_files::{Output, OutputError};
use warpweave_params::printable_lines;

use super::survey::Survey;
use super::words::{
    counted, counterexample, differences, in_words, repetitions, survival, without_verdicts,
};
use super::{page, tables};

/// Number of refused and failed machines that are listed.
const LISTED: usize = 5;

/// Report files generated in memory, by name.
#[derive(Debug)]
pub struct SurveyFiles(pub Vec<(&'static str, String)>);

impl SurveyFiles {
    /// Names of the files, for checks before anything is run.
    pub const NAMES: [&'static str; 6] = [
        "report.html",
        "survival.svg",
        "findings.csv",
        "parameters.csv",
        "machines.csv",
        "robust.json",
    ];

    /// Writes each as a complete file.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails.
    pub fn write_to(&self, folder: &Path) -> Result<(), OutputError> {
        let mut all = self.0.iter();
        all.try_for_each(|(name, text)| Output::write(&folder.join(name), text.as_bytes()))
    }
}

/// Writes the report of a survey. `command` runs the study again.
pub fn write_survey(survey: &Survey, command: &str) -> SurveyFiles {
    let figure = page::figure(survey);
    let json = serde_json::to_string_pretty(survey).expect("every key is text");
    let texts = [
        page::page(survey, &figure, command),
        figure,
        tables::findings_csv(survey),
        tables::parameters_csv(survey),
        tables::machines_csv(survey),
        json + "\n",
    ];
    SurveyFiles(SurveyFiles::NAMES.into_iter().zip(texts).collect())
}

/// Formats survival, counterexamples and parameters as text.
pub fn survey_text(survey: &Survey) -> String {
    let mut text = String::new();
    write(survey, &mut text).expect("writing to a string succeeds");
    printable_lines(&text).into_owned()
}

fn write(survey: &Survey, out: &mut String) -> fmt::Result {
    writeln!(out, "{}\n{}", survey.summary, repetitions(survey))?;
    writeln!(out, "{}", counted(survey))?;
    for (machine, why) in without_verdicts(survey).take(LISTED) {
        writeln!(out, "  machine {}: {why}", machine.number)?;
    }
    for (name, failing) in survey
        .identities
        .iter()
        .filter(|(_, failing)| !failing.is_empty())
    {
        writeln!(out, "the identity \"{name}\" fails on machines {failing:?}")?;
    }
    for (at, finding) in survey.findings.iter().enumerate() {
        writeln!(out, "\nfinding {}: {}", at + 1, finding.name)?;
        writeln!(out, "  stated machine  {}", in_words(finding.stated))?;
        writeln!(out, "  survival        {}", survival(finding))?;
        if let Some(nearest) = finding.nearest() {
            writeln!(out, "  counterexample  {}", counterexample(nearest))?;
            writeln!(
                out,
                "                  {}",
                differences(survey, nearest.machine)
            )?;
        }
        for one in finding.parameters.iter().filter(|one| one.decides) {
            let Some(d) = one.difference else { continue };
            writeln!(
                out,
                "  decided by      {}: {} of {} survive below its middle, {} of {} above, {:+.2} [{:+.2}, {:+.2}]",
                one.path,
                one.below.with,
                one.below.of,
                one.above.with,
                one.above.of,
                d.median,
                d.low,
                d.high
            )?;
        }
    }
    Ok(())
}
