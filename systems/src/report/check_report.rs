//! Findings of a program check, as readable text and as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use warpweave_ptx::{AccessSite, Verdict};

use super::SCHEMA_VERSION;
use super::json::Check;
use crate::host_program::{Examined, ReviewedFinding};

impl Examined {
    /// Returns the findings as a readable text page.
    pub fn to_text(&self, scenario: &str) -> String {
        let launches = match self.launches {
            1 => "1 launch".to_owned(),
            launches => format!("{launches} launches"),
        };
        let mut text = format!("{scenario}: {launches} emulated\n");
        for judged in &self.findings {
            text.push('\n');
            describe(judged, &mut text);
        }
        if let Some(stopped) = &self.stopped {
            let _ = write!(
                text,
                "\nthe program did not run to completion\n{}\n",
                indented(stopped)
            );
        }
        if self.dropped > 0 {
            let _ = write!(text, "\n{} more occurrences are not shown\n", self.dropped);
        }
        text.push('\n');
        for check in &self.checks {
            let word = if check.passed { "ok" } else { "WRONG" };
            let _ = writeln!(
                text,
                "{word}: {} against {}: {}",
                check.buffer, check.reference, check.detail
            );
        }
        let _ = writeln!(
            text,
            "{} errors, {} undecided, {} notes, {} allowed",
            self.count(Verdict::Error) + usize::from(self.stopped.is_some()),
            self.count(Verdict::Undecided),
            self.count(Verdict::Note),
            self.allowed()
        );
        text
    }

    /// Returns the findings as an indented JSON object with stable keys.
    pub fn to_json(&self, scenario: &str) -> String {
        let object = Object {
            schema_version: SCHEMA_VERSION,
            scenario,
            clean: self.is_clean(),
            launches: self.launches,
            errors: self.count(Verdict::Error),
            undecided: self.count(Verdict::Undecided),
            notes: self.count(Verdict::Note),
            allowed: self.allowed(),
            findings: self.findings.iter().map(FindingRecord::of).collect(),
            not_shown: self.dropped,
            stopped: self.stopped.as_deref(),
            checks: self.checks.iter().map(Check::of).collect(),
        };
        serde_json::to_string_pretty(&object).expect("every key is text")
    }
}

fn word(judged: &ReviewedFinding) -> &'static str {
    match (&judged.allowed, judged.finding.verdict) {
        (Some(_), _) => "allowed",
        (None, Verdict::Error) => "error",
        (None, Verdict::Undecided) => "undecided",
        (None, Verdict::Note) => "note",
    }
}

fn describe(judged: &ReviewedFinding, text: &mut String) {
    let finding = &judged.finding;
    let times = match finding.count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let _ = writeln!(
        text,
        "{}: {} in kernel `{}`, {times}",
        word(judged),
        finding.kind.name(),
        finding.kernel
    );
    let _ = writeln!(text, "  {}", finding.detail);
    let first = place(&finding.file, &finding.spot);
    let _ = writeln!(text, "  first: {first}, launch {}", finding.launch);
    if let Some(other) = &finding.other {
        let _ = writeln!(text, "  meets: {}", place(&finding.file, other));
    }
    if let Some(address) = finding.address {
        let near = finding.near.as_deref().unwrap_or("nothing");
        let _ = writeln!(text, "  address {address:#x}, nearest {near}");
    }
    if let Some(because) = &judged.allowed {
        let _ = writeln!(text, "  allowed because {because}");
    }
}

fn place(file: &str, spot: &AccessSite) -> String {
    let ([gx, gy, gz], [x, y, z]) = (spot.work_group, spot.thread);
    let mut text = format!("{file}:{}:{}: `{}`", spot.line, spot.column, spot.opcode);
    if let Some(source) = &spot.source {
        let _ = write!(text, " from {source}");
    }
    let _ = write!(
        text,
        ", work-group ({gx}, {gy}, {gz}), thread ({x}, {y}, {z})"
    );
    text
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    scenario: &'a str,
    clean: bool,
    launches: u32,
    errors: usize,
    undecided: usize,
    notes: usize,
    allowed: usize,
    findings: Vec<FindingRecord<'a>>,
    not_shown: u64,
    stopped: Option<&'a str>,
    checks: Vec<Check<'a>>,
}

#[derive(Serialize)]
struct FindingRecord<'a> {
    kind: &'static str,
    verdict: &'static str,
    detail: &'a str,
    file: &'a str,
    kernel: &'a str,
    launch: u32,
    first: FindingPlace<'a>,
    meets: Option<FindingPlace<'a>>,
    address: Option<u64>,
    buffer: Option<&'a str>,
    nearest: Option<&'a str>,
    count: u64,
    because: Option<&'a str>,
}

#[derive(Serialize)]
struct FindingPlace<'a> {
    line: u32,
    column: u32,
    opcode: &'a str,
    source: Option<String>,
    work_group: [u32; 3],
    thread: [u32; 3],
}

impl<'a> FindingPlace<'a> {
    fn of(spot: &'a AccessSite) -> Self {
        Self {
            line: spot.line,
            column: spot.column,
            opcode: &spot.opcode,
            source: spot.source.as_ref().map(ToString::to_string),
            work_group: spot.work_group,
            thread: spot.thread,
        }
    }
}

impl<'a> FindingRecord<'a> {
    fn of(judged: &'a ReviewedFinding) -> Self {
        let finding = &judged.finding;
        Self {
            kind: finding.kind.name(),
            verdict: word(judged),
            detail: &finding.detail,
            file: &finding.file,
            kernel: &finding.kernel,
            launch: finding.launch,
            first: FindingPlace::of(&finding.spot),
            meets: finding.other.as_ref().map(FindingPlace::of),
            address: finding.address,
            buffer: finding.buffer.as_deref(),
            nearest: finding.near.as_deref(),
            count: finding.count,
            because: judged.allowed.as_deref(),
        }
    }
}
