//! When a run stops, and how it ended.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::engine::simulation::deadlock::DeadlockReport;
use crate::time::Tick;

/// When to stop a run that does not end by itself.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// Evaluate nothing after this tick.
    pub until: Option<Tick>,
    /// Report a livelock after this many ticks without any progress: no message sent, no
    /// [`Context::made_progress`](crate::Context::made_progress), no timer
    /// ([`Next::Until`](crate::Next::Until) beyond the next cycle) that fired or is set, and nothing on
    /// its way over a wire. Background timers do not count.
    pub silence: Option<u64>,
    /// Set from outside, such as by Ctrl-C, to stop.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every obligation was discharged, or nothing was left to do.
    Done,
    /// [`RunLimits::until`] was reached.
    Limit,
    /// Nothing can happen any more, yet something is waited for.
    Deadlock(DeadlockReport),
    /// Components kept working for [`RunLimits::silence`] without any progress.
    Livelock(DeadlockReport),
    /// A component found the model violated.
    Failed(String),
    /// [`RunLimits::interrupt`] was set.
    Interrupted,
    /// A component asked for a look from outside ([`Context::pause`](crate::Context::pause)); the next
    /// run goes on.
    Paused,
}
