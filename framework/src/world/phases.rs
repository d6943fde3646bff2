//! Phases of a tick: timed notifications, then evaluate, update and delta until no process is
//! runnable.

use crate::time::Tick;
use crate::world::Core;
use crate::world::driver::Upcoming;
use crate::world::process::{Body, Finished, Readiness, fetch};
use crate::world::state::{FEW, WorldState};

impl Core {
    /// Performs all work at `tick`; `ports` are those whose waits components have ended.
    pub(super) fn run_at(&self, tick: Tick, ports: &[u32]) {
        let mut state = self.world.borrow_mut();
        state.pass_time(tick.0);
        state.start(ports);
        drop(state);
        let mut deltas = 0;
        loop {
            self.evaluate(deltas == 0);
            if !self.world.borrow().has_work() {
                return;
            }
            self.update();
            let mut state = self.world.borrow_mut();
            state.notify_deltas();
            if !state.has_work() || state.failure.is_some() {
                return;
            }
            deltas += 1;
            if deltas > state.limits.deltas {
                state.fail_in_circles("delta cycles");
                return;
            }
        }
    }

    /// Runs every runnable process, and those they notify immediately. In the first round of a tick
    /// their data is scattered in memory and is prefetched together. Waiting for each cache miss in
    /// turn would take longer than running them.
    #[inline(never)]
    fn evaluate(&self, first: bool) {
        let mut bodies = self.bodies.borrow_mut();
        let mut runs = 0;
        loop {
            let mut state = self.world.borrow_mut();
            if state.processes.chores {
                drop(state);
                self.do_chores(&mut bodies, runs);
                continue;
            }
            let Some(&process) = state.processes.runnable.get(runs) else {
                state.processes.runnable.clear();
                state.processes.current = None;
                return;
            };
            if runs % TOGETHER == 0 && !state.prepare(runs, first.then_some(&bodies)) {
                return;
            }
            runs += 1;
            state.processes.readiness[process as usize] = Readiness::Waiting;
            state.processes.current = Some(process);
            drop(state);
            if bodies[process as usize].as_mut().run() {
                self.end(process, &mut bodies);
            }
        }
    }

    #[inline(never)]
    fn end(&self, process: u32, bodies: &mut [Body]) {
        bodies[process as usize] = Box::pin(Finished);
        self.world.borrow_mut().end_process(process);
    }

    /// Installs new bodies and removes those of killed processes, with their pending runs after the
    /// first `runs`.
    #[inline(never)]
    fn do_chores(&self, bodies: &mut Vec<Body>, runs: usize) {
        let mut state = self.world.borrow_mut();
        state.processes.chores = false;
        state.set_run_limit();
        bodies.append(&mut state.processes.added);
        state.processes.current = None;
        while let Some(process) = state.processes.killed.pop() {
            let mut turn = 0;
            state.processes.runnable.retain(|other| {
                turn += 1;
                turn <= runs || *other != process
            });
            let body = std::mem::replace(&mut bodies[process as usize], Box::pin(Finished));
            // What it gives back when it goes must find the world free.
            drop(state);
            drop(body);
            state = self.world.borrow_mut();
        }
    }

    fn update(&self) {
        let mut state = self.world.borrow_mut();
        if state.updates.is_empty() {
            return;
        }
        let mut updates = std::mem::take(&mut state.spare.updates);
        std::mem::swap(&mut updates, &mut state.updates);
        drop(state);
        for channel in updates.drain(..) {
            channel.update();
        }
        self.world.borrow_mut().spare.updates = updates;
    }
}

/// Number of bodies that are prefetched together.
const TOGETHER: usize = 16;

impl WorldState {
    /// Prefetches those of `bodies` that run after the first `runs`. Returns false if too many have
    /// run in this evaluation phase.
    #[inline(never)]
    fn prepare(&mut self, runs: usize, bodies: Option<&Vec<Body>>) -> bool {
        if runs >= self.limits.runs {
            self.processes.runnable.drain(..runs);
            self.processes.current = None;
            self.fail_in_circles("immediate notifications");
            return false;
        }
        let next = &self.processes.runnable[runs..];
        if let Some(bodies) = bodies
            && next.len() > FEW
        {
            for process in &next[..next.len().min(TOGETHER)] {
                fetch(bodies, *process);
            }
        }
        true
    }

    /// Returns the next pending work of the world.
    pub(super) fn upcoming(&mut self) -> Option<Upcoming> {
        if self.has_work() {
            return Some(Upcoming {
                tick: Tick(self.now),
                foreground: true,
            });
        }
        let tick = self.events.queue.next_tick()?;
        Some(Upcoming {
            tick: Tick(tick),
            foreground: self.events.queue.has_foreground(),
        })
    }

    pub(super) fn pass_time(&mut self, tick: u64) {
        if tick > self.now {
            self.now = tick;
            self.events.queue.advance(&mut self.events.list, tick);
        }
    }
}
