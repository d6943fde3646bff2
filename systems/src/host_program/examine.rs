//! Checks what a host program and its kernels do while they are emulated.

use warpweave_params::{Diagnostic, Diagnostics};
use warpweave_ptx::{Finding, ProgramChecker, Verdict};

use super::HostProgram;
use super::emulation::EmulationSpec;
use super::execute::{CheckResult, EmulationProgress, ExecuteError, Host};

/// What a check of a program gave.
#[derive(Clone, Debug)]
pub struct Examined {
    /// What was found: errors first, then what is undecided, then notes; each in the order in which
    /// it happened first.
    pub findings: Vec<ReviewedFinding>,
    /// Occurrences of findings beyond those kept.
    pub dropped: u64,
    /// Launches emulated.
    pub launches: u32,
    /// Why the program could not be emulated to its end; it counts as an error.
    pub stopped: Option<String>,
    /// Each expectation in order, if the program came to its end.
    pub checks: Vec<CheckResult>,
    /// What the workload allows and nothing needs.
    pub unneeded: Diagnostics,
}

/// A finding, and whether it is meant.
#[derive(Clone, Debug)]
pub struct ReviewedFinding {
    /// What was found.
    pub finding: Finding,
    /// Why the workload allows it.
    pub allowed: Option<String>,
}

impl Examined {
    /// Findings of a verdict that the workload does not allow.
    pub fn count(&self, verdict: Verdict) -> usize {
        let counts = |judged: &&ReviewedFinding| {
            judged.allowed.is_none() && judged.finding.verdict == verdict
        };
        self.findings.iter().filter(counts).count()
    }

    /// Findings that the workload allows.
    pub fn allowed(&self) -> usize {
        let is_allowed = |judged: &&ReviewedFinding| judged.allowed.is_some();
        self.findings.iter().filter(is_allowed).count()
    }

    /// Whether the program did nothing wrong: no errors, and every expected result.
    pub fn is_clean(&self) -> bool {
        self.count(Verdict::Error) == 0
            && self.dropped == 0
            && self.stopped.is_none()
            && self.checks.iter().all(|check| check.passed)
    }
}

impl HostProgram {
    /// Executes the program from memory that holds nothing yet, and watches what its kernels do.
    /// Addresses are those of [`HostProgram::execute`].
    ///
    /// # Errors
    /// A description that asks for something impossible. A launch that fails is no error but a result.
    pub fn examine(&self, emulation: &EmulationSpec) -> Result<Examined, ExecuteError> {
        let progress = EmulationProgress::default();
        let mut host = Host::new(self, emulation, &progress);
        host.checker = Some(ProgramChecker::new());
        let (stopped, checks) = match host.run() {
            Ok(()) => {
                let expectations = self.expectations.iter();
                let checks = expectations.map(|expectation| host.check(expectation));
                (None, checks.collect::<Result<Vec<_>, _>>()?)
            }
            Err(ExecuteError::Launch { message, .. }) => (Some(message.to_string()), Vec::new()),
            Err(other) => return Err(other),
        };
        let checker = host.checker.unwrap_or_default();
        let mut needed = vec![false; self.allowed.len()];
        let judge = |finding: &Finding| {
            let mut because = None;
            for (allow, needed) in self.allowed.iter().zip(&mut needed) {
                if allow.value.covers(finding) {
                    *needed = true;
                    because = because.or_else(|| Some(allow.value.because.value.clone()));
                }
            }
            ReviewedFinding {
                finding: finding.clone(),
                allowed: because,
            }
        };
        let mut findings: Vec<ReviewedFinding> = checker.findings().iter().map(judge).collect();
        findings.sort_by_key(|judged| judged.finding.verdict);
        let unneeded = self
            .allowed
            .iter()
            .zip(needed)
            .filter(|(_, needed)| !needed);
        let unneeded = unneeded.map(|(allow, _)| {
            let kernel = &allow.value.kernel.value;
            let kind = allow.value.finding.kind().name();
            let message = format!("kernel `{kernel}` did nothing that is allowed here ({kind})");
            let mut unneeded = Diagnostic::warning(message);
            if let Some(place) = &allow.place {
                unneeded = unneeded.at(place);
            }
            unneeded.hint("larger or other inputs may need it; remove it if none does")
        });
        Ok(Examined {
            findings,
            dropped: checker.dropped(),
            launches: host.launches,
            stopped,
            checks,
            unneeded: unneeded.collect(),
        })
    }
}
