//! Results of evaluations in one partition for the engine: failures, changed obligations, and
//! events at cuts to other partitions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::evaluation::schedule::Target;
use crate::observe::{Probe, ProbeSink};
use crate::time::Tick;

/// Requests made to the run by the evaluations of a window.
#[derive(Clone, Copy, Default)]
pub(crate) struct RunRequest {
    /// Tick at which the event world requested the end of the run.
    pub(crate) end: Option<Tick>,
    /// True if a component requested a pause; see [`crate::Context::pause`].
    pub(crate) pause: bool,
}

/// Engine state of one partition that evaluations modify.
pub(crate) struct Shared {
    /// Background wake-ups, which do not keep a run alive.
    pub(crate) background: BTreeSet<(Tick, Target)>,
    /// True if the component under evaluation is awake. Without sleeping, sleeping components are
    /// evaluated too. Their requests must not cause wake-ups then, or the run would end at a
    /// different time.
    pub(crate) invited: bool,
    /// Obligations taken minus those discharged, per tick, since the coordinator's last check.
    pub(crate) obligations: Vec<(Tick, i64)>,
    /// Failures since the coordinator's last check.
    pub(crate) failures: Vec<Failure>,
    /// Requests for an end or a pause since the coordinator's last check.
    pub(crate) wish: Option<RunRequest>,
    /// Tick of the last progress: a message, a call of [`crate::Context::made_progress`], or a
    /// timer. A future tick is that of a timer that is set.
    pub(crate) last_progress: Tick,
    /// Number of messages sent in this partition.
    pub(crate) messages: u64,
    /// Ports of processes whose waits ended at this tick.
    pub(crate) process_ports: Vec<u32>,
    pub(crate) sink: Option<Sink>,
    /// Events at cuts in this window.
    pub(crate) across: Box<CutActivity>,
}

/// A model error detected by one instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) tick: Tick,
    /// Number of the instance; failures of the event world come last.
    pub(crate) component: u32,
    pub(crate) message: String,
}

/// Destination of the instrumentation events of a partition.
pub(crate) enum Sink {
    /// Directly to the listener, if there is a single partition.
    Direct(Box<dyn ProbeSink>),
    /// To a buffer that is merged with those of other partitions: tick, clock domain, component.
    Buffer(Vec<(Tick, u32, u32, Probe)>),
}

/// First message of a window that was sent into a cut channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Number of the cut channel.
    pub(crate) cut: u32,
    /// Slot of the ring that holds the message.
    pub(crate) slot: u32,
    /// Tick from which the message is readable.
    pub(crate) ready: u64,
}

/// Events at the cuts to other partitions since these were last told. No component is woken across
/// a cut during a window.
#[derive(Default)]
pub(crate) struct CutActivity {
    /// Number of the window, counted from 1.
    pub(crate) window: u64,
    /// First tick of the next window. Actions of other partitions in this window are not visible
    /// before it.
    pub(crate) window_end: u64,
    /// First message of the window in each cut channel into which messages were sent.
    pub(crate) sent: Vec<Sent>,
    /// Cut channels whose sender began to wait for a credit that has not been seen yet.
    pub(crate) waiting: Vec<u32>,
    /// Cut channels whose sender was known to wait when a message was taken.
    pub(crate) taken: Vec<u32>,
    /// Cut published wires whose value changes for the reader, with the tick of the change.
    pub(crate) published: Vec<(u32, u64)>,
}

impl CutActivity {
    /// Moves the entries of `other` to these lists.
    #[inline]
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.sent.append(&mut other.sent);
        self.waiting.append(&mut other.waiting);
        self.taken.append(&mut other.taken);
        self.published.append(&mut other.published);
    }

    /// True if nothing happened at the cuts.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        let Self {
            sent,
            waiting,
            taken,
            published,
            ..
        } = self;
        sent.is_empty() && waiting.is_empty() && taken.is_empty() && published.is_empty()
    }
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self {
            background: BTreeSet::new(),
            invited: true,
            obligations: Vec::new(),
            failures: Vec::new(),
            wish: None,
            last_progress: Tick(0),
            messages: 0,
            process_ports: Vec::new(),
            sink: None,
            across: Box::default(),
        }
    }

    /// Records progress at `tick`, which may be in the future.
    #[inline(always)]
    pub(crate) fn progress_at(&mut self, tick: Tick) {
        self.last_progress = self.last_progress.max(tick);
    }

    pub(crate) fn change_obligations(&mut self, now: Tick, by: i64) {
        match self.obligations.last_mut() {
            Some((tick, sum)) if *tick == now => *sum += by,
            _ => self.obligations.push((now, by)),
        }
    }

    /// True if something happened that may end the run.
    #[inline]
    pub(crate) fn may_end(&self) -> bool {
        !self.obligations.is_empty() || !self.failures.is_empty() || self.wish.is_some()
    }
}

impl Sink {
    pub(crate) fn record(&mut self, ctx: (Tick, u32, u32), probe: Probe) {
        let (now, domain, component) = ctx;
        match self {
            Self::Direct(sink) => sink.record(now, component, &probe),
            Self::Buffer(events) => events.push((now, domain, component, probe)),
        }
    }
}
