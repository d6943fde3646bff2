//! How long rows stay open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

/// The page policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Page {
    /// Until another row of the bank is needed, or a refresh.
    #[default]
    Open,
    /// For one access: every column command closes its bank itself (auto-precharge), unless a
    /// request whose ACT has been issued still needs the row.
    Closed,
    /// Until a row that no waiting request needs was not used for some cycles.
    Timeout {
        /// Cycles from the last command for the row to the precharge.
        cycles: u32,
    },
}

impl Page {
    /// Whether column commands precharge.
    pub(crate) fn closes(self) -> bool {
        self == Self::Closed
    }

    /// The cycle in which a row that was last used in cycle `used` is closed if nothing needs it.
    pub(crate) fn expires(self, used: Cycle) -> Option<Cycle> {
        match self {
            Self::Open | Self::Closed => None,
            Self::Timeout { cycles } => Some(used + Cycle::from(cycles)),
        }
    }
}
