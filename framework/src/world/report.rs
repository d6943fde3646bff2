//! Reports of a model: what it has to say, how bad that is, and who listens.

use crate::time::Tick;
use crate::world::World;

/// How bad a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For those who want to know.
    Info,
    /// Something may be wrong.
    Warning,
    /// Something is wrong: the run ends after the current tick, unless errors are tolerated.
    Error,
}

/// Something a model has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub tick: Tick,
    /// How bad it is.
    pub severity: Severity,
    /// The process that says it, if one does.
    pub process: Option<String>,
    /// The kind of report, to count and filter by, such as `bus/overflow`.
    pub id: String,
    /// In words.
    pub message: String,
}

/// The reports of a world.
#[derive(Default)]
pub(crate) struct Reports {
    listener: Option<Box<dyn FnMut(&Report)>>,
    /// By severity.
    counts: [u64; 3],
    errors_tolerated: u64,
}

impl Reports {
    pub(crate) fn take_listener(&mut self) -> Option<Box<dyn FnMut(&Report)>> {
        self.listener.take()
    }
}

impl World {
    /// Reports to whoever listens. An error ends the run with its message.
    pub fn report(&self, severity: Severity, id: impl Into<String>, message: impl Into<String>) {
        let state = &mut *self.core.world.borrow_mut();
        let report = Report {
            tick: Tick(state.now),
            severity,
            process: state.current.map(|p| state.process_name(p).to_owned()),
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

    /// Hands every report from now on to `listener`, which must not touch the world.
    pub fn on_report(&self, listener: impl FnMut(&Report) + 'static) {
        self.core.world.borrow_mut().reports.listener = Some(Box::new(listener));
    }

    /// How many reports of `severity` there were.
    pub fn report_count(&self, severity: Severity) -> u64 {
        self.core.world.borrow().reports.counts[severity as usize]
    }

    /// Lets a run go on after so many errors (0 unless set).
    pub fn tolerate_errors(&self, count: u64) {
        self.core.world.borrow_mut().reports.errors_tolerated = count;
    }
}
