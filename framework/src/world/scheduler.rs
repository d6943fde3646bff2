//! The phases of a tick: timed notifications, then evaluate, update and delta until all is quiet.

use super::agenda::FEW;
use super::process::{Body, Readiness, fetch};
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
            self.evaluate(deltas == 0);
            if !self.core.agenda.borrow().has_work() {
                return;
            }
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

    /// Runs every runnable process, and those they notify immediately. The first time at a tick
    /// they are anywhere in memory, and fetched together: waiting for them one by one takes longer
    /// than running them.
    #[inline(never)]
    fn evaluate(&self, first: bool) {
        let mut bodies = self.core.bodies.borrow_mut();
        let mut runs = 0;
        loop {
            let mut agenda = self.core.agenda.borrow_mut();
            if agenda.chores {
                drop(agenda);
                self.do_chores(&mut bodies);
                continue;
            }
            let Some(&process) = agenda.runnable.get(runs) else {
                agenda.runnable.clear();
                agenda.current = None;
                return;
            };
            if runs % TOGETHER == 0 && !agenda.prepare(runs, first.then_some(&bodies)) {
                return;
            }
            runs += 1;
            // Without a body it was killed while it waited for its turn.
            if let Some(body) = &mut bodies[process as usize] {
                agenda.readiness[process as usize] = Readiness::Waiting;
                agenda.current = Some(process);
                drop(agenda);
                if body.as_mut().run() {
                    self.end(process, &mut bodies);
                }
            }
        }
    }

    #[inline(never)]
    fn end(&self, process: u32, bodies: &mut [Body]) {
        bodies[process as usize] = None;
        self.core.agenda.borrow_mut().end_process(process);
    }

    /// Puts new bodies in their places and takes those of killed processes away.
    #[inline(never)]
    fn do_chores(&self, bodies: &mut Vec<Body>) {
        let mut agenda = self.core.agenda.borrow_mut();
        agenda.chores = false;
        agenda.set_run_limit();
        bodies.append(&mut agenda.added);
        agenda.current = None;
        while let Some(process) = agenda.killed.pop() {
            let body = bodies[process as usize].take();
            // What it gives back when it goes must find the world free.
            drop(agenda);
            drop(body);
            agenda = self.core.agenda.borrow_mut();
        }
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

/// So many bodies are fetched together.
const TOGETHER: usize = 16;

impl Agenda {
    /// Has the cache fetch those of `bodies` that run after the first `runs`. Refuses if too many
    /// have run in this evaluation phase.
    #[inline(never)]
    fn prepare(&mut self, runs: usize, bodies: Option<&Vec<Body>>) -> bool {
        if runs >= self.run_limit {
            self.runnable.drain(..runs);
            self.current = None;
            self.fail_in_circles("immediate notifications");
            return false;
        }
        let next = &self.runnable[runs..];
        if let Some(bodies) = bodies
            && next.len() > FEW
        {
            for process in &next[..next.len().min(TOGETHER)] {
                fetch(bodies, *process);
            }
        }
        true
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
