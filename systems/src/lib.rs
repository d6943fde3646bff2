//! Full systems from description files: loader, host programs, runs and reports.
