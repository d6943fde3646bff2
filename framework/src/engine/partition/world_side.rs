//! The event world, as the partition that drives it sees it.

use crate::engine::partition::WORLD;
use crate::evaluation::{DomainSchedule, Failure, Shared, Target};
use crate::observe::Probe;
use crate::time::Tick;
use crate::world::{Upcoming, WorldDriver};

/// What the partition that drives the event world keeps of it; in other partitions empty.
#[derive(Default)]
pub(crate) struct WorldSide {
    /// What the world has to do next.
    upcoming: Option<Upcoming>,
    /// Where every instance is, to wake the ports at which processes wait.
    targets: Vec<Target>,
    /// The world failed in this run: it rests.
    failed: bool,
}

impl WorldSide {
    /// Learns where every instance is.
    pub(crate) fn set_targets(&mut self, targets: Vec<Target>) {
        self.targets = targets;
    }

    /// A run begins.
    pub(crate) fn begin(&mut self, upcoming: Option<Upcoming>, shared: &mut Shared) {
        self.upcoming = upcoming;
        self.failed = false;
        self.expect(shared);
    }

    /// What the world is to do counts as progress, like a timer of a component.
    fn expect(&self, shared: &mut Shared) {
        if let Some(event) = self.upcoming.filter(|event| event.foreground) {
            shared.progress_at(event.tick);
        }
    }

    /// The world failed: it rests until the next run.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    /// What it has to do next, unless it failed.
    pub(super) fn upcoming(&self) -> Option<Upcoming> {
        self.upcoming.filter(|_| !self.failed)
    }

    /// When it has something to do next, failed or not.
    pub(super) fn next_tick(&self) -> Option<Tick> {
        self.upcoming.map(|upcoming| upcoming.tick)
    }

    /// Lets the world do everything due at `now`.
    pub(super) fn run(
        &mut self,
        world: &WorldDriver,
        now: Tick,
        shared: &mut Shared,
        domains: &mut [DomainSchedule],
    ) {
        let mut ports = std::mem::take(&mut shared.process_ports);
        if (self.next_tick() == Some(now) || !ports.is_empty()) && !self.failed {
            // Components report in the order of evaluation, which must not matter.
            ports.sort_unstable();
            let step = world.run_at(now, &ports);
            if let Some(sink) = &mut shared.sink {
                for (tick, signal, value) in step.changes {
                    sink.record((tick, WORLD, WORLD), Probe::Signal { signal, value });
                }
            }
            if let Some(change) = step.obligations {
                shared.change_obligations(now, change);
            }
            for instance in step.woken {
                let target = self.targets[instance as usize];
                domains[target.domain as usize].wake_after(target.index, now);
            }
            if let Some(message) = step.failure {
                shared.failures.push(Failure {
                    tick: now,
                    component: WORLD,
                    message,
                });
            }
            if step.stopped {
                let wish = shared.wish.get_or_insert_default();
                wish.end.get_or_insert(now);
            }
            self.upcoming = step.upcoming;
            self.expect(shared);
            ports.clear();
        }
        shared.process_ports = ports;
    }
}
