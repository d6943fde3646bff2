//! Full systems from description files: loader, host programs, runs and reports.

mod address;
mod elaborate;
mod system_file;

pub use elaborate::ElaboratedSystem;
