//! When devices are refreshed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Refreshes that may be owed at a time and yet keep the postponing limit of 8 (row 29): the next
/// one is begun before the eighth is due.
pub(crate) const POSTPONED_MAX: u32 = 7;

/// How the devices are refreshed.
///
/// Refresh `k` falls due in cycle `k` × interval. When it is the time of a refresh nothing new is
/// started (all banks; per bank, while a request whose ACT has been issued needs that bank) or
/// nothing new in its bank (per bank), requests whose ACT has been issued are finished, rows are
/// closed, and the refresh follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Refresh {
    /// Never.
    Off,
    /// All banks at once, every tREFI.
    AllBank {
        /// Refreshes that may be owed while requests wait, 0 to 7. With 0 a refresh is begun as
        /// soon as it is due, which is what Ramulator and DRAMsim3 do.
        postponed_max: u32,
    },
    /// One bank after the other, one every tREFIb.
    PerBank {
        /// Refreshes that may be owed while requests of the next bank wait, 0 to 7.
        postponed_max: u32,
    },
}

impl Refresh {
    /// Refreshes that may be owed while requests wait.
    pub fn postponed_max(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::AllBank { postponed_max } | Self::PerBank { postponed_max } => postponed_max,
        }
    }
}
