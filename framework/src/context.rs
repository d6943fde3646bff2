//! What a component may ask of the engine during its evaluation.

use std::collections::BTreeSet;

use crate::channel::Message;
use crate::probe::{Probe, ProbeSink};
use crate::schedule::{DomainSchedule, Target};
use crate::time::{Cycle, TICK_MAX, Tick};

/// Engine state that evaluations touch.
pub(crate) struct Shared {
    pub(crate) domains: Vec<DomainSchedule>,
    /// Wake-ups that do not keep a run alive.
    pub(crate) background: BTreeSet<(Tick, Target)>,
    /// The component under evaluation is awake. Without sleeping also those asleep are evaluated;
    /// what they ask about then must not wake anybody, or the run would end at another time.
    pub(crate) invited: bool,
    /// Obligations taken and not yet discharged.
    pub(crate) obligations: u64,
    /// Whether any obligation was ever taken.
    pub(crate) obliged: bool,
    /// Tick of the last message sent.
    pub(crate) last_progress: Tick,
    /// Messages sent.
    pub(crate) messages: u64,
    /// Ports of processes whose waits ended at this tick.
    pub(crate) process_ports: Vec<u32>,
    pub(crate) stop: Option<String>,
    pub(crate) sink: Option<Box<dyn ProbeSink>>,
}

impl Shared {
    pub(crate) fn wake_at_tick(&mut self, target: Target, tick: u64) {
        let domain = &mut self.domains[target.domain as usize];
        let cycle = domain.first_edge_at_or_after(tick);
        domain.wake(target.index, cycle);
    }
}

/// The engine as seen from one evaluation of one component.
pub struct Context<'a> {
    pub(crate) shared: &'a mut Shared,
    pub(crate) now: Tick,
    pub(crate) cycle: Cycle,
    pub(crate) me: Target,
    /// Number of the component in the whole system.
    pub(crate) component: u32,
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
        self.shared.domains[self.me.domain as usize].period
    }

    /// Takes an obligation: the run is not complete before it is discharged. Silence with an open
    /// obligation is a deadlock.
    pub fn take_obligation(&mut self) {
        self.shared.obligations += 1;
        self.shared.obliged = true;
    }

    /// Discharges an obligation. When none is left the run ends after the current tick.
    ///
    /// # Panics
    /// When none is open.
    pub fn discharge_obligation(&mut self) {
        self.shared.obligations = self
            .shared
            .obligations
            .checked_sub(1)
            .expect("an obligation is discharged once");
    }

    /// Ends the run after the current tick because the model found something wrong, such as a
    /// violated protocol.
    pub fn fail(&mut self, message: String) {
        self.shared.stop.get_or_insert(message);
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
        if let Some(sink) = &mut self.shared.sink {
            sink.record(self.now, self.component, &probe());
        }
    }

    #[inline]
    pub(crate) fn sent<T: Message>(&mut self, channel: u32, message: &T) {
        self.shared.messages += 1;
        self.shared.last_progress = self.now;
        if let Some(sink) = &mut self.shared.sink {
            let flow = message.flow();
            sink.record(self.now, self.component, &Probe::Sent { channel, flow });
        }
    }

    #[inline]
    pub(crate) fn taken(&mut self, channel: u32) {
        if let Some(sink) = &mut self.shared.sink {
            sink.record(self.now, self.component, &Probe::Taken { channel });
        }
    }

    /// Wakes a component of the same domain `cycles` from now.
    #[inline]
    pub(crate) fn wake_in(&mut self, target: Target, cycles: u64) {
        self.shared.domains[target.domain as usize].wake(target.index, self.cycle + cycles);
    }

    #[inline]
    pub(crate) fn wake_at_tick(&mut self, target: Target, tick: u64) {
        self.shared.wake_at_tick(target, tick);
    }

    pub(crate) fn wake_me_at_tick(&mut self, tick: u64) {
        if self.shared.invited {
            self.shared.wake_at_tick(self.me, tick);
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
}
