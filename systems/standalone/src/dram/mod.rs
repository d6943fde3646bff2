//! Implements the commands `warpweave bench dram` and `warpweave validate dram`.

mod drive;
mod judge;
mod presets;
mod traces;
mod validate;

pub use drive::{DriveError, Outcome, Summary, drive};
pub use judge::{Verdict, judge};
pub use presets::{NAMES, Setup, load};
pub use traces::{
    BeyondDevice, CommandRow, RequestRow, ServedRow, read_commands, read_requests,
    read_requests_within,
};
pub use validate::{validate, validate_own};

#[cfg(test)]
mod tests;
