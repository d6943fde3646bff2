//! What the evaluations of one partition leave for the engine: who failed, which obligations
//! changed, what happened at cuts to other partitions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::evaluation::schedule::Target;
use crate::observe::{Probe, ProbeSink};
use crate::time::Tick;

/// What the evaluations of a window asked of the run.
#[derive(Clone, Copy, Default)]
pub(crate) struct RunRequest {
    /// When the event world asked for its end.
    pub(crate) end: Option<Tick>,
    /// Whether a component asked for a pause; see [`crate::Context::pause`].
    pub(crate) pause: bool,
}

/// Engine state of one partition that evaluations touch.
pub(crate) struct Shared {
    /// Wake-ups that do not keep a run alive.
    pub(crate) background: BTreeSet<(Tick, Target)>,
    /// The component under evaluation is awake. Without sleeping also those asleep are evaluated;
    /// what they ask about then must not wake anybody, or the run would end at another time.
    pub(crate) invited: bool,
    /// Obligations taken less those discharged, per tick, since the coordinator last looked.
    pub(crate) obligations: Vec<(Tick, i64)>,
    /// What went wrong since the coordinator last looked.
    pub(crate) failures: Vec<Failure>,
    /// What somebody asked for since the coordinator last looked.
    pub(crate) wish: Option<RunRequest>,
    /// Tick of the last progress: of a message, of what [`crate::Context::made_progress`] told, of
    /// a timer. One to come is that of a timer that is set.
    pub(crate) last_progress: Tick,
    /// Messages sent.
    pub(crate) messages: u64,
    /// Ports of processes whose waits ended at this tick.
    pub(crate) process_ports: Vec<u32>,
    pub(crate) sink: Option<Sink>,
    /// Where this partition notes it: lent by the thread that runs it.
    pub(crate) across: Box<CutActivity>,
}

/// A model found wrong by one instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) tick: Tick,
    /// Number of the instance; those of the event world come last.
    pub(crate) component: u32,
    pub(crate) message: String,
}

/// Where instrumentation events go.
pub(crate) enum Sink {
    /// Straight to the listener: there is one partition.
    Direct(Box<dyn ProbeSink>),
    /// Into a list that is merged with those of other partitions: tick, clock domain, component.
    Buffer(Vec<(Tick, u32, u32, Probe)>),
}

/// What happened at the cuts to other partitions since the coordinator last looked. Nothing is
/// woken across a cut during a window.
#[derive(Default)]
pub(crate) struct CutActivity {
    /// Number of the window, from 1.
    pub(crate) window: u64,
    /// First tick of the next window: what other partitions do in this one is not visible before.
    pub(crate) window_end: u64,
    /// Cut channels into which messages were sent, each once in a window.
    pub(crate) sent: Vec<u32>,
    /// Cut channels whose sender has begun to wait for a credit that has not been seen yet.
    pub(crate) waiting: Vec<u32>,
    /// Cut channels whose sender was known to wait when a message was taken.
    pub(crate) taken: Vec<u32>,
    /// Cut published wires whose value changes for the reader at the tick.
    pub(crate) published: Vec<(u32, u64)>,
}

impl CutActivity {
    /// Takes over what `other` lists.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.sent.append(&mut other.sent);
        self.waiting.append(&mut other.waiting);
        self.taken.append(&mut other.taken);
        self.published.append(&mut other.published);
    }

    /// Whether nothing happened at the cuts.
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

    /// There is progress at `tick`, or will be.
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

    /// Whether something happened that may end the run.
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
