//! Reports of a model, with severities and a listener.

use crate::time::Tick;
use crate::world::World;

/// Severity of a report from a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information that requires no action by the user.
    Info,
    /// A condition that may be an error.
    Warning,
    /// An error: the run ends after the current tick, unless errors are tolerated.
    Error,
}

/// A message from a model to its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Time at which the report was made.
    pub tick: Tick,
    /// Severity of the report: information, warning or error.
    pub severity: Severity,
    /// Name of the reporting process, if it was a process.
    pub process: Option<String>,
    /// Kind of report, for counting and filtering, such as `bus/overflow`.
    pub id: String,
    /// Text of the report for the user.
    pub message: String,
}

/// Report counts and listener of a world.
#[derive(Default)]
pub(crate) struct Reports {
    listener: Option<Box<dyn FnMut(&Report)>>,
    /// Number of reports, indexed by severity.
    counts: [u64; 3],
    errors_tolerated: u64,
}

impl Reports {
    pub(crate) fn take_listener(&mut self) -> Option<Box<dyn FnMut(&Report)>> {
        self.listener.take()
    }
}

impl World {
    /// Sends a report to the listener. An error ends the run with its message.
    pub fn report(&self, severity: Severity, id: impl Into<String>, message: impl Into<String>) {
        let state = &mut *self.core.world.borrow_mut();
        let report = Report {
            tick: Tick(state.now),
            severity,
            process: state
                .processes
                .current
                .map(|p| state.process_name(p).to_owned()),
            id: id.into(),
            message: message.into(),
        };
        let reports = &mut state.reports;
        reports.counts[severity as usize] += 1;
        if let Some(listener) = &mut reports.listener {
            listener(&report);
        }
        if reports.counts[Severity::Error as usize] > reports.errors_tolerated {
            let Report { id, message, .. } = report;
            state
                .failure
                .get_or_insert_with(|| format!("{id}: {message}"));
        }
    }

    /// Passes all further reports to `listener`, which must not access the world.
    pub fn on_report(&self, listener: impl FnMut(&Report) + 'static) {
        self.core.world.borrow_mut().reports.listener = Some(Box::new(listener));
    }

    /// Returns the number of reports of `severity`.
    pub fn report_count(&self, severity: Severity) -> u64 {
        self.core.world.borrow().reports.counts[severity as usize]
    }

    /// Sets the number of errors after which a run still continues (default 0).
    pub fn tolerate_errors(&self, count: u64) {
        self.core.world.borrow_mut().reports.errors_tolerated = count;
    }
}
