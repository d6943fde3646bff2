//! Page policy: how long rows stay open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

/// Policy that decides when an open row is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Page {
    /// Rows stay open until another row of the bank or a refresh is needed.
    #[default]
    Open,
    /// Rows are open for one access. Every column command closes its bank (auto-precharge), unless
    /// a request whose ACT has been issued still needs the row.
    Closed,
    /// Rows without a waiting request are closed after a number of cycles without use.
    Timeout {
        /// Cycles from the last command for the row to the precharge.
        cycles: u32,
    },
}

impl Page {
    /// True if column commands use auto-precharge.
    pub(crate) fn closes(self) -> bool {
        self == Self::Closed
    }

    /// Returns the cycle in which a row last used in cycle `used` is closed if no request needs it.
    pub(crate) fn expires(self, used: Cycle) -> Option<Cycle> {
        match self {
            Self::Open | Self::Closed => None,
            Self::Timeout { cycles } => Some(used + Cycle::from(cycles)),
        }
    }
}
