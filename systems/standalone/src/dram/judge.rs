//! Judges command traces of any origin.

use std::path::Path;

use serde::Serialize;
use warpweave_components::dram::{Checker, RuleReport};

use super::presets::Setup;
use super::traces::read_commands;
use crate::StandaloneError;

/// What the checker made of a command trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Commands judged.
    pub commands: u64,
    /// Every broken rule, in order of time.
    pub violations: Vec<String>,
    /// Every rule with how often it applied and how closely it was kept.
    pub rules: Vec<RuleReport>,
}

/// Judges the commands of a file by geometry, timing and refresh of a controller.
///
/// # Errors
/// File and line of what is not a command of that geometry, or comes before the line above.
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
    /// Whether no rule is broken.
    pub fn holds(&self) -> bool {
        self.violations.is_empty()
    }

    /// The verdict for people.
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
