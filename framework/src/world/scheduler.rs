//! The phases of a tick: timed notifications, then evaluate, update and delta until all is quiet.

use super::process::{Body, Readiness};
use super::{Agenda, World};
use crate::time::Tick;

/// The next thing a world has to do.
#[derive(Clone, Copy)]
pub(crate) struct Upcoming {
    pub(crate) tick: Tick,
    /// Whether it, or something after it, keeps a run alive.
    pub(crate) foreground: bool,
}

impl World {
    /// Tells the world the clock periods; at elaboration.
    pub(crate) fn set_periods(&self, periods: Vec<u64>) {
        self.core.agenda.borrow_mut().periods = periods;
    }

    /// Name of the first process, if there is any.
    pub(crate) fn first_process(&self) -> Option<String> {
        let agenda = self.core.agenda.borrow();
        (!agenda.processes.is_empty()).then(|| agenda.process_name(0).to_owned())
    }

    /// The next time at which the world has something to do.
    pub(crate) fn upcoming(&self) -> Option<Upcoming> {
        let mut agenda = self.core.agenda.borrow_mut();
        if agenda.has_work() {
            return Some(Upcoming {
                tick: Tick(agenda.now),
                foreground: true,
            });
        }
        let tick = agenda.queue.next_tick()?;
        Some(Upcoming {
            tick: Tick(tick),
            foreground: agenda.queue.has_foreground(),
        })
    }

    /// Lets time pass to `tick`, not after that of [`World::upcoming`].
    pub(crate) fn pass_time(&self, tick: Tick) {
        self.core.agenda.borrow_mut().pass_time(tick.0);
    }

    /// Does everything at `tick`; `ports` are those whose wait components have ended.
    pub(crate) fn run_at(&self, tick: Tick, ports: &[u32]) {
        let mut agenda = self.core.agenda.borrow_mut();
        agenda.pass_time(tick.0);
        agenda.start(ports);
        drop(agenda);
        let mut deltas = 0;
        loop {
            self.evaluate();
            self.update();
            let mut agenda = self.core.agenda.borrow_mut();
            agenda.notify_deltas();
            if !agenda.has_work() || agenda.failure.is_some() {
                return;
            }
            deltas += 1;
            if deltas > agenda.delta_limit {
                agenda.fail_in_circles("delta cycles");
                return;
            }
        }
    }

    /// Runs every runnable process, and those they notify immediately.
    fn evaluate(&self) {
        let mut bodies = self.core.bodies.borrow_mut();
        let (mut runs, mut limit) = (0, self.core.agenda.borrow().run_limit());
        loop {
            let mut agenda = self.core.agenda.borrow_mut();
            if agenda.chores {
                agenda = self.do_chores(agenda, &mut bodies);
                limit = agenda.run_limit();
            }
            let Some(&process) = agenda.runnable.get(runs) else {
                agenda.runnable.clear();
                agenda.current = None;
                return;
            };
            if runs >= limit {
                agenda.runnable.drain(..runs);
                agenda.current = None;
                agenda.fail_in_circles("immediate notifications");
                return;
            }
            runs += 1;
            let readiness = &mut agenda.readiness[process as usize];
            if *readiness != Readiness::Queued {
                // Killed while it waited for its turn.
                continue;
            }
            *readiness = Readiness::Waiting;
            agenda.current = Some(process);
            drop(agenda);
            let body = &mut bodies[process as usize];
            if let Some(running) = body
                && running.as_mut().run()
            {
                *body = None;
                self.core.agenda.borrow_mut().end_process(process);
            }
        }
    }

    /// Puts new bodies in their places and takes those of killed processes away.
    #[cold]
    fn do_chores<'a>(
        &'a self,
        mut agenda: std::cell::RefMut<'a, Agenda>,
        bodies: &mut Vec<Body>,
    ) -> std::cell::RefMut<'a, Agenda> {
        agenda.chores = false;
        bodies.append(&mut agenda.added);
        agenda.current = None;
        while let Some(process) = agenda.killed.pop() {
            let body = bodies[process as usize].take();
            // What it gives back when it goes must find the world free.
            drop(agenda);
            drop(body);
            agenda = self.core.agenda.borrow_mut();
        }
        agenda
    }

    fn update(&self) {
        let mut agenda = self.core.agenda.borrow_mut();
        if agenda.updates.is_empty() {
            return;
        }
        let mut updates = std::mem::take(&mut agenda.spare_updates);
        std::mem::swap(&mut updates, &mut agenda.updates);
        drop(agenda);
        for channel in updates.drain(..) {
            channel.update();
        }
        self.core.agenda.borrow_mut().spare_updates = updates;
    }

    /// Obligations taken and discharged since the last call.
    pub(crate) fn obligations(&self) -> (u64, u64) {
        let mut agenda = self.core.agenda.borrow_mut();
        (
            std::mem::take(&mut agenda.taken),
            std::mem::take(&mut agenda.discharged),
        )
    }

    /// Whether somebody has asked for the end of the run since the last call.
    pub(crate) fn take_stop(&self) -> bool {
        std::mem::take(&mut self.core.agenda.borrow_mut().stopped)
    }

    /// Every suspended process with what it waits for.
    pub(crate) fn waiting(&self) -> Vec<(String, String)> {
        self.core.agenda.borrow().waiting()
    }
}

impl Agenda {
    /// How often processes may run in one evaluation phase.
    fn run_limit(&self) -> usize {
        self.delta_limit as usize * self.processes.len()
    }

    fn pass_time(&mut self, tick: u64) {
        if tick > self.now {
            self.now = tick;
            self.queue.advance(&mut self.events, tick);
        }
    }
}

/// The world as its system holds it. Processes hold handles of the world that holds them; the end
/// of the system unties that knot.
pub(crate) struct OwnedWorld(pub(crate) World);

impl Drop for OwnedWorld {
    fn drop(&mut self) {
        let mut agenda = self.0.core.agenda.borrow_mut();
        let added = std::mem::take(&mut agenda.added);
        let updates = std::mem::take(&mut agenda.updates);
        let listeners = (agenda.waves.take_sink(), agenda.reports.take_listener());
        // What they give back when they go must find the world free.
        drop(agenda);
        let bodies = self.0.core.bodies.take();
        drop((added, bodies, updates, listeners));
    }
}
