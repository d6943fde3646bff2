//! What a checked program may do on purpose.

use serde::Deserialize;
use warpweave_inputs::Name;
use warpweave_params::Placed;
use warpweave_ptx::{Finding, FindingKind};

/// A finding of `--check-program` that is meant, and why it does no harm.
#[derive(Clone, Debug, Deserialize)]
pub struct Allow {
    /// The kernel that does it.
    pub kernel: Name,
    /// What it does.
    pub finding: Mistake,
    /// With this buffer or variable; absent: with any.
    #[serde(default)]
    pub buffer: Option<Name>,
    /// Why it does no harm.
    pub because: Placed<String>,
}

/// A sort of finding, as files name it.
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
