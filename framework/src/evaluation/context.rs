//! Interface of the engine to a component during its evaluation.

use crate::evaluation::schedule::{DomainSchedule, Target};
use crate::evaluation::shared::{CutActivity, Failure, Shared};
use crate::observe::Probe;
use crate::time::{Cycle, TICK_MAX, Tick};

/// The engine as seen from one evaluation of one component.
pub struct Context<'a> {
    pub(crate) shared: &'a mut Shared,
    /// Clock domain of the component, directly accessible because nearly all wake-ups are in it,
    /// and the domains before and after it.
    pub(crate) here: &'a mut DomainSchedule,
    before: &'a mut [DomainSchedule],
    after: &'a mut [DomainSchedule],
    pub(crate) now: Tick,
    pub(crate) cycle: Cycle,
    pub(crate) me: Target,
    /// Number of the component in the whole system.
    pub(crate) component: u32,
    /// True if instrumentation events have a listener.
    pub(crate) observed: bool,
    /// Messages sent in this cycle of the domain.
    messages: u64,
    /// True if a component made progress in this cycle without sending a message.
    progress: bool,
    /// Last cycle of the domain for which a timer was set in this one.
    pub(crate) timer: Cycle,
}

impl<'a> Context<'a> {
    /// Creates the context for evaluating components of domain `d`, one of `domains`, in one cycle.
    #[inline(always)]
    pub(crate) fn new(
        shared: &'a mut Shared,
        domains: &'a mut [DomainSchedule],
        d: usize,
        now: Tick,
    ) -> Self {
        let (before, rest) = domains.split_at_mut(d);
        let (here, after) = rest.split_first_mut().expect("the domain exists");
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
            progress: false,
            timer: 0,
        }
    }

    /// Adds the counts of this cycle to those of the partition.
    #[inline(always)]
    pub(crate) fn finish(self) {
        if self.messages > 0 || self.progress {
            self.shared.messages += self.messages;
            self.shared.progress_at(self.now);
        }
        // Of the next cycle is also who spins.
        if self.timer > self.cycle + 1 {
            let tick = Tick(self.timer * self.here.period);
            self.shared.progress_at(tick);
        }
    }
}

impl Context<'_> {
    /// Returns the time of this evaluation in ticks.
    #[inline]
    pub fn now(&self) -> Tick {
        self.now
    }

    /// Returns the current cycle of the component's clock.
    #[inline]
    pub fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Returns the number of ticks per cycle of the component's clock.
    pub fn period(&self) -> u64 {
        self.here.period
    }

    /// Takes an obligation: the run is not complete before it is discharged. Silence with an open
    /// obligation is a deadlock.
    pub fn take_obligation(&mut self) {
        self.shared.change_obligations(self.now, 1);
    }

    /// Discharges an obligation. If none is left at the end of a tick, the run ends after the stop
    /// delay of the system ([`crate::Simulation::stop_delay`]).
    ///
    /// Panics if more obligations are discharged than were taken.
    pub fn discharge_obligation(&mut self) {
        self.shared.change_obligations(self.now, -1);
    }

    /// Requests a pause: [`crate::Simulation::run`] returns
    /// [`Outcome::Paused`](crate::Outcome::Paused). No tick that is the stop delay
    /// ([`crate::Simulation::stop_delay`]) or more after this one has been evaluated then. The
    /// system is not affected.
    pub fn pause(&mut self) {
        self.shared.wish.get_or_insert_default().pause = true;
    }

    /// Ends the run because the model detected an error, such as a violated protocol. The run ends
    /// after the stop delay of the system ([`crate::Simulation::stop_delay`]); this component is
    /// not evaluated any more. The earliest failure is reported; within one tick, that of the
    /// instance added first.
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

    /// Records that this component made progress, such as by issuing an instruction, so that the
    /// run does not count as livelocked. Sending a message counts automatically. So does
    /// [`crate::Next::Until`] with a cycle beyond the next one, once for that cycle.
    #[inline]
    pub fn made_progress(&mut self) {
        self.progress = true;
    }

    /// Wakes this component at `cycle` of its clock. The wake-up neither keeps the run alive nor
    /// counts as progress. For refresh timers, polling and monitors.
    pub fn wake_in_background(&mut self, cycle: Cycle) {
        let tick = cycle.max(self.cycle + 1).saturating_mul(self.period());
        if tick <= TICK_MAX {
            self.shared.background.insert((Tick(tick), self.me));
        }
    }

    /// Sends an event to the instrumentation if it has a listener; otherwise `probe` is not called.
    #[inline]
    pub fn probe(&mut self, probe: impl FnOnce() -> Probe) {
        if self.observed
            && let Some(sink) = &mut self.shared.sink
        {
            sink.record((self.now, self.me.domain, self.component), probe());
        }
    }

    /// True if instrumentation events have no listener.
    #[inline(always)]
    pub(crate) fn is_unobserved(&self) -> bool {
        !self.observed
    }

    #[inline(always)]
    pub(crate) fn count_message(&mut self) {
        self.messages += 1;
    }

    /// Records that a message entered the channel; `flow` returns the transaction it belongs to.
    pub(crate) fn sent(&mut self, channel: u32, flow: impl FnOnce() -> Option<u64>) {
        self.count_message();
        self.probe(|| Probe::Sent {
            channel,
            flow: flow(),
        });
    }

    pub(crate) fn taken(&mut self, channel: u32) {
        self.probe(|| Probe::Taken { channel });
    }

    /// Wakes the component under evaluation at `cycle`, which must be in the future.
    #[inline(always)]
    pub(crate) fn wake_me_at(&mut self, cycle: Cycle) {
        if cycle <= self.here.cycle_max {
            self.timer = self.timer.max(cycle);
        }
        self.here.wake(self.me.index, cycle);
    }

    /// Wakes component `index` of the same domain `cycles` from now.
    pub(crate) fn wake_in(&mut self, index: u32, cycles: u64) {
        self.here.wake(index, self.cycle + cycles);
    }

    /// Equivalent to [`Context::wake_in`] for fewer than [`crate::evaluation::schedule::NEAR`]
    /// cycles ahead.
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

    /// Wakes the component under evaluation at its first edge at or after `tick`, which must be in
    /// the future.
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

    /// Resumes the process that waits at `port` at this tick.
    pub(crate) fn end_process_wait(&mut self, port: u32) {
        self.shared.process_ports.push(port);
    }

    /// True if this evaluation may leave marks that wake the component later.
    #[inline]
    pub(crate) fn invited(&self) -> bool {
        self.shared.invited
    }

    /// Returns the record of events at the cuts of this component's partition.
    #[inline]
    pub(crate) fn across(&mut self) -> &mut CutActivity {
        &mut self.shared.across
    }
}
