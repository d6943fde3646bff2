//! What a component may ask of the engine during its evaluation.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::channel::channel_ports::Message;
use crate::evaluation::schedule::{DomainSchedule, Target};
use crate::observe::probe::{Probe, ProbeSink};
use crate::time::{Cycle, TICK_MAX, Tick};

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
    /// When the event world asked for the end of the run.
    pub(crate) stopped: Option<Tick>,
    /// Tick of the last message sent.
    pub(crate) last_progress: Tick,
    /// Messages sent.
    pub(crate) messages: u64,
    /// Ports of processes whose waits ended at this tick.
    pub(crate) process_ports: Vec<u32>,
    pub(crate) sink: Option<Sink>,
    /// Where this partition notes it: lent by the thread that runs it.
    pub(crate) across: Box<Across>,
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
pub(crate) struct Across {
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

impl Across {
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
            stopped: None,
            last_progress: Tick(0),
            messages: 0,
            process_ports: Vec::new(),
            sink: None,
            across: Box::default(),
        }
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
        !self.obligations.is_empty() || !self.failures.is_empty() || self.stopped.is_some()
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

/// The engine as seen from one evaluation of one component.
pub struct Context<'a> {
    pub(crate) shared: &'a mut Shared,
    /// The clock domain of the component, at hand because nearly all wake-ups are in it, and those
    /// before and after it.
    pub(crate) here: &'a mut DomainSchedule,
    before: &'a mut [DomainSchedule],
    after: &'a mut [DomainSchedule],
    pub(crate) now: Tick,
    pub(crate) cycle: Cycle,
    pub(crate) me: Target,
    /// Number of the component in the whole system.
    pub(crate) component: u32,
    /// Somebody listens to instrumentation events.
    pub(crate) observed: bool,
    /// Messages sent in this cycle of the domain.
    messages: u64,
}

impl<'a> Context<'a> {
    /// For evaluations of components of domain `d`, one of `domains`, in one cycle.
    #[inline(always)]
    pub(crate) fn new(
        shared: &'a mut Shared,
        domains: &'a mut [DomainSchedule],
        d: usize,
        now: Tick,
    ) -> Self {
        let (before, rest) = domains.split_at_mut(d);
        let (here, after) = rest.split_first_mut().expect("the domain is there");
        Self {
            observed: shared.sink.is_some(),
            shared,
            cycle: here.cycle,
            here,
            before,
            after,
            now,
            me: Target {
                domain: d as u32,
                index: 0,
            },
            component: 0,
            messages: 0,
        }
    }

    /// Adds what was counted in this cycle to what the partition knows.
    #[inline(always)]
    pub(crate) fn finish(self) {
        if self.messages > 0 {
            self.shared.messages += self.messages;
            self.shared.last_progress = self.now;
        }
    }
}

impl Context<'_> {
    /// Time of this evaluation.
    #[inline]
    pub fn now(&self) -> Tick {
        self.now
    }

    /// Cycle of the component's clock.
    #[inline]
    pub fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Ticks per cycle of the component's clock.
    pub fn period(&self) -> u64 {
        self.here.period
    }

    /// Takes an obligation: the run is not complete before it is discharged. Silence with an open
    /// obligation is a deadlock.
    pub fn take_obligation(&mut self) {
        self.shared.change_obligations(self.now, 1);
    }

    /// Discharges an obligation. When none is left at the end of a tick the run ends, after the
    /// stop delay of the system ([`crate::Simulation::stop_delay`]).
    ///
    /// More discharged than taken is a mistake at which the run panics.
    pub fn discharge_obligation(&mut self) {
        self.shared.change_obligations(self.now, -1);
    }

    /// Ends the run because the model found something wrong, such as a violated protocol. It ends
    /// after the stop delay of the system ([`crate::Simulation::stop_delay`]); this component is
    /// not evaluated any more. Of several failures the earliest is reported, of those in one tick
    /// that of the instance added first.
    pub fn fail(&mut self, message: String) {
        let (tick, component) = (self.now, self.component);
        // The first of one evaluation counts.
        if !matches!(self.shared.failures.last(), Some(f) if (f.tick, f.component) == (tick, component))
        {
            self.shared.failures.push(Failure {
                tick,
                component,
                message,
            });
        }
    }

    /// Wakes this component at `cycle` of its clock without keeping the run alive for it: for
    /// refresh timers and monitors.
    pub fn wake_in_background(&mut self, cycle: Cycle) {
        let tick = cycle.max(self.cycle + 1).saturating_mul(self.period());
        if tick <= TICK_MAX {
            self.shared.background.insert((Tick(tick), self.me));
        }
    }

    /// Hands an event to the instrumentation, if anybody listens; `probe` is not called
    /// otherwise.
    #[inline]
    pub fn probe(&mut self, probe: impl FnOnce() -> Probe) {
        if self.observed
            && let Some(sink) = &mut self.shared.sink
        {
            sink.record((self.now, self.me.domain, self.component), probe());
        }
    }

    /// Whether nobody listens to instrumentation events.
    #[inline(always)]
    pub(crate) fn is_unobserved(&self) -> bool {
        !self.observed
    }

    #[inline(always)]
    pub(crate) fn count_message(&mut self) {
        self.messages += 1;
    }

    pub(crate) fn sent<T: Message>(&mut self, channel: u32, message: &T) {
        self.count_message();
        self.probe(|| Probe::Sent {
            channel,
            flow: message.flow(),
        });
    }

    pub(crate) fn taken(&mut self, channel: u32) {
        self.probe(|| Probe::Taken { channel });
    }

    /// Wakes component `index` of the same domain `cycles` from now.
    pub(crate) fn wake_in(&mut self, index: u32, cycles: u64) {
        self.here.wake(index, self.cycle + cycles);
    }

    /// Does what [`Context::wake_in`] does, fewer than [`crate::evaluation::schedule::NEAR`] cycles ahead.
    #[inline(always)]
    pub(crate) fn wake_soon(&mut self, index: u32, cycles: u64) {
        self.here.wake_near(index, cycles);
    }

    /// Wakes a component of any domain at its first edge at or after `tick`.
    pub(crate) fn wake_at_tick(&mut self, target: Target, tick: u64) {
        let domain = target.domain as usize;
        let schedule = match domain.checked_sub(self.before.len()) {
            None => &mut self.before[domain],
            Some(0) => &mut *self.here,
            Some(n) => &mut self.after[n - 1],
        };
        schedule.wake_at_tick(target.index, tick);
    }

    /// Wakes the component under evaluation at its first edge at or after `tick`, which is to come.
    #[inline(never)]
    pub(crate) fn wake_me_at_tick(&mut self, tick: u64) {
        if !self.shared.invited {
            return;
        }
        if tick - self.now.0 <= self.here.period {
            // The usual case, without a division.
            self.here.wake_near(self.me.index, 1);
        } else {
            self.here.wake_at_tick(self.me.index, tick);
        }
    }

    /// The process that waits at `port` goes on at this tick.
    pub(crate) fn end_process_wait(&mut self, port: u32) {
        self.shared.process_ports.push(port);
    }

    /// Whether this evaluation may leave marks that wake the component later.
    #[inline]
    pub(crate) fn invited(&self) -> bool {
        self.shared.invited
    }

    /// The cuts of this component's partition.
    #[inline]
    pub(crate) fn across(&mut self) -> &mut Across {
        &mut self.shared.across
    }
}
