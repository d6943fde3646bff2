//! Refresh policy: when devices are refreshed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of refreshes that may be owed while keeping the postponing limit of 8 (row 29).
/// The next one begins before the eighth is due.
pub(crate) const POSTPONED_MAX: u32 = 7;

/// Refresh mode of the devices.
///
/// Refresh `k` falls due in cycle `k` × interval. A starting refresh blocks new requests to all
/// banks, or to its own bank for a per-bank refresh. A per-bank refresh also blocks all banks while
/// a request whose ACT has been issued needs that bank. Requests whose ACT has been issued are
/// finished, rows are closed, and the refresh follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Refresh {
    /// Refresh is disabled: no refresh commands are issued.
    Off,
    /// All banks are refreshed at once, every tREFI.
    AllBank {
        /// Refreshes that may be owed while requests wait, 0 to 7. With 0 a refresh begins as soon
        /// as it is due, as in Ramulator and DRAMsim3.
        postponed_max: u32,
    },
    /// Banks are refreshed one after the other, one every tREFIb.
    PerBank {
        /// Refreshes that may be owed while requests of the next bank wait, 0 to 7.
        postponed_max: u32,
    },
}

impl Refresh {
    /// Returns the number of refreshes that may be owed while requests wait.
    pub fn postponed_max(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::AllBank { postponed_max } | Self::PerBank { postponed_max } => postponed_max,
        }
    }
}
