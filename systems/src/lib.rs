//! Full systems from description files: loader, host programs, runs and reports.

pub mod host_program;
