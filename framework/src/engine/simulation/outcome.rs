//! Limits of a run and the outcome of a run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::engine::simulation::deadlock::DeadlockReport;
use crate::time::Tick;

/// Limits that stop a run that does not end otherwise.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// Last tick to evaluate; `None` for no time limit.
    pub until: Option<Tick>,
    /// Reports a livelock after this many ticks without any progress. Progress is a message sent,
    /// [`Context::made_progress`](crate::Context::made_progress), or an item in flight on a wire. A
    /// timer ([`Next::Until`](crate::Next::Until) beyond the next cycle) that fired or is set also
    /// counts. Background timers do not.
    pub silence: Option<u64>,
    /// Flag set from outside, such as by Ctrl-C, to stop the run.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// Outcome of a run, with a report if it failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every obligation was discharged, or no work was left.
    Done,
    /// The time limit [`RunLimits::until`] was reached before the end.
    Limit,
    /// No event can happen any more, but a component still waits.
    Deadlock(DeadlockReport),
    /// Components kept working for [`RunLimits::silence`] without any progress.
    Livelock(DeadlockReport),
    /// A component detected a violation of the model.
    Failed(String),
    /// The flag [`RunLimits::interrupt`] was set from outside.
    Interrupted,
    /// A component requested a pause ([`Context::pause`](crate::Context::pause)); the next run
    /// continues from here.
    Paused,
}
