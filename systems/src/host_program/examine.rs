//! Checks the behaviour of a host program and its kernels during emulation.

use warpweave_params::{Diagnostic, Diagnostics};
use warpweave_ptx::{Finding, ProgramChecker, Verdict};

use super::HostProgram;
use super::emulation::{EmulatedCode, EmulationSpec};
use super::execute::{
    CheckResult, EMULATED_COPIES, Emulated, EmulationProgress, ExecuteError, Host,
};

/// Results of a checked execution of a program.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Findings: errors first, then undecided ones, then notes, each in the order of first
    /// occurrence.
    pub findings: Vec<ReviewedFinding>,
    /// Number of occurrences of findings beyond those kept.
    pub dropped: u64,
    /// Number of launches that were emulated.
    pub launches: u32,
    /// Reason why emulation stopped early, if it did; it counts as an error.
    pub stopped: Option<String>,
    /// Result of each expectation in order, if the program ran to its end.
    pub checks: Vec<CheckResult>,
    /// Allowances of the workload that no finding needed.
    pub unneeded: Diagnostics,
}

/// Finding, and the reason if the workload allows it.
#[derive(Clone, Debug)]
pub struct ReviewedFinding {
    /// Finding as the checker reported it.
    pub finding: Finding,
    /// Reason given by the workload if it allows the finding.
    pub allowed: Option<String>,
}

impl Examined {
    /// Returns the number of findings with a verdict that the workload does not allow.
    pub fn count(&self, verdict: Verdict) -> usize {
        let counts = |judged: &&ReviewedFinding| {
            judged.allowed.is_none() && judged.finding.verdict == verdict
        };
        self.findings.iter().filter(counts).count()
    }

    /// Returns the number of findings that the workload allows.
    pub fn allowed(&self) -> usize {
        let is_allowed = |judged: &&ReviewedFinding| judged.allowed.is_some();
        self.findings.iter().filter(is_allowed).count()
    }

    /// True if the program has no errors and every result is as expected.
    pub fn is_clean(&self) -> bool {
        self.count(Verdict::Error) == 0
            && self.dropped == 0
            && self.stopped.is_none()
            && self.checks.iter().all(|check| check.passed)
    }
}

impl HostProgram {
    /// Executes the program from uninitialized memory and checks the behaviour of its kernels.
    /// Addresses are those of [`HostProgram::execute`].
    ///
    /// # Errors
    /// Returns an error if the description asks for something impossible. A failed launch is
    /// reported in the result.
    pub fn examine(&self, emulation: &EmulationSpec) -> Result<Examined, ExecuteError> {
        self.examine_watched(emulation, &EmulationProgress::default())
    }

    /// Like [`HostProgram::examine`], and also updates `progress`.
    ///
    /// # Errors
    /// Fails like [`HostProgram::examine`].
    pub fn examine_watched(
        &self,
        emulation: &EmulationSpec,
        progress: &EmulationProgress,
    ) -> Result<Examined, ExecuteError> {
        // Findings are about the program as its author knows it.
        let emulation = EmulationSpec {
            code: EmulatedCode::AsWritten,
            ..*emulation
        };
        let mut device = Emulated::new(self, &emulation, progress)?;
        device.checker = Some(ProgramChecker::new().counting(progress.counts()));
        let mut host = Host::new(self, &mut device, EMULATED_COPIES)?;
        let (stopped, checks) = match host.run() {
            Ok(()) => {
                let expectations = self.expectations.iter();
                let checks = expectations.map(|expectation| host.check(expectation));
                (None, checks.collect::<Result<Vec<_>, _>>()?)
            }
            Err(ExecuteError::Launch { message, .. }) => (Some(message.to_string()), Vec::new()),
            Err(other) => return Err(other),
        };
        let checker = device.checker.unwrap_or_default();
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
            let message =
                format!("kernel `{kernel}` has no finding of the kind allowed here ({kind})");
            let mut unneeded = Diagnostic::warning(message);
            if let Some(place) = &allow.place {
                unneeded = unneeded.at(place);
            }
            unneeded.hint("larger or different inputs may need it; otherwise remove it")
        });
        Ok(Examined {
            findings,
            dropped: checker.dropped(),
            launches: device.recorded.launches,
            stopped,
            checks,
            unneeded: unneeded.collect(),
        })
    }
}
