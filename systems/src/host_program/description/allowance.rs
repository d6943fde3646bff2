//! Intended findings that a check of the program ignores.

use serde::Deserialize;
use warpweave_inputs::Name;
use warpweave_params::Placed;
use warpweave_ptx::{Finding, FindingKind};

/// Intended finding of `--check-program`, with the reason why it is harmless.
#[derive(Clone, Debug, Deserialize)]
pub struct Allow {
    /// Name of the kernel that causes the finding.
    pub kernel: Name,
    /// Kind of finding that is allowed.
    pub finding: Mistake,
    /// Buffer or variable that the finding concerns; any if absent.
    #[serde(default)]
    pub buffer: Option<Name>,
    /// Reason why the finding is harmless, for readers.
    pub because: Placed<String>,
}

/// Kind of finding, by its name in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)] // `FindingKind` explains them.
pub enum Mistake {
    UninitialisedRegister,
    UninitialisedMemory,
    LocalRace,
    GlobalRace,
    PartialBarrier,
    OutsideAllocation,
    MissingReturn,
    DivisionByZero,
}

impl Mistake {
    pub(crate) fn kind(self) -> FindingKind {
        match self {
            Self::UninitialisedRegister => FindingKind::UninitialisedRegister,
            Self::UninitialisedMemory => FindingKind::UninitialisedMemory,
            Self::LocalRace => FindingKind::LocalRace,
            Self::GlobalRace => FindingKind::GlobalRace,
            Self::PartialBarrier => FindingKind::PartialBarrier,
            Self::OutsideAllocation => FindingKind::OutsideAllocation,
            Self::MissingReturn => FindingKind::MissingReturn,
            Self::DivisionByZero => FindingKind::DivisionByZero,
        }
    }
}

impl Allow {
    pub(crate) fn covers(&self, finding: &Finding) -> bool {
        let buffer = self.buffer.as_ref().map(|name| name.value.as_str());
        self.kernel.value == finding.kernel
            && self.finding.kind() == finding.kind
            && (buffer.is_none() || buffer == finding.buffer.as_deref())
    }
}
