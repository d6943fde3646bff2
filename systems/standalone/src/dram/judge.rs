//! Timing checks for command traces of any origin.

use std::path::Path;

use serde::Serialize;
use warpweave_components::dram::{Checker, RuleReport};

use super::presets::Setup;
use super::traces::read_commands;
use crate::StandaloneError;

/// Result of checking a command trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Number of commands that were judged.
    pub commands: u64,
    /// All broken rules, in time order.
    pub violations: Vec<String>,
    /// All rules, each with how often it applied and its smallest slack.
    pub rules: Vec<RuleReport>,
}

/// Checks the commands of a file against the geometry, timing and refresh rules of a controller.
///
/// # Errors
/// Returns an error with file and line if a row is not a command of that geometry or is out of
/// order.
pub fn judge(setup: &Setup, path: &Path) -> Result<Verdict, StandaloneError> {
    let geometry = setup.spec.geometry;
    let list = read_commands(path, &geometry)?;
    let mut checker = Checker::new(&geometry, setup.spec.timing, setup.spec.refresh);
    for issued in &list {
        checker.check(issued);
    }
    let report = checker.finish();
    Ok(Verdict {
        commands: list.len() as u64,
        violations: report.violations.iter().map(ToString::to_string).collect(),
        rules: report.rules,
    })
}

impl Verdict {
    /// True if the trace breaks no timing rule.
    pub fn holds(&self) -> bool {
        self.violations.is_empty()
    }

    /// Formats the verdict as human-readable text.
    pub fn text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!("{:<48} {:>10} {:>10}\n", "rule", "applied", "slack min");
        for rule in self.rules.iter().filter(|r| r.pairs > 0) {
            let slack = rule.slack_min.unwrap_or_default();
            let _ = writeln!(text, "{:<48} {:>10} {slack:>10}", rule.rule, rule.pairs);
        }
        for violation in &self.violations {
            let _ = writeln!(text, "VIOLATION {violation}");
        }
        let exact = self.rules.iter().filter(|r| r.slack_min == Some(0)).count();
        let _ = writeln!(
            text,
            "{} commands, {} violations, {exact} rules met exactly",
            self.commands,
            self.violations.len()
        );
        text
    }
}
