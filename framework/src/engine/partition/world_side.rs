//! The event world, as seen by the partition that drives it.

use crate::engine::partition::WORLD;
use crate::evaluation::{DomainSchedule, Failure, Shared, Target};
use crate::observe::Probe;
use crate::time::Tick;
use crate::world::{Upcoming, WorldDriver};

/// Data about the event world in the partition that drives it; empty in other partitions.
#[derive(Default)]
pub(crate) struct WorldSide {
    /// Next pending work of the world.
    upcoming: Option<Upcoming>,
    /// Location of every instance, to wake the ports at which processes wait.
    targets: Vec<Target>,
    /// True if the world failed in this run and is suspended.
    failed: bool,
}

impl WorldSide {
    /// Sets the locations of all instances.
    pub(crate) fn set_targets(&mut self, targets: Vec<Target>) {
        self.targets = targets;
    }

    /// Prepares for a new run with this pending work of the world.
    pub(crate) fn begin(&mut self, upcoming: Option<Upcoming>, shared: &mut Shared) {
        self.upcoming = upcoming;
        self.failed = false;
        self.expect(shared);
    }

    /// Counts pending work of the world as progress, like a timer of a component.
    fn expect(&self, shared: &mut Shared) {
        if let Some(event) = self.upcoming.filter(|event| event.foreground) {
            shared.progress_at(event.tick);
        }
    }

    /// Marks the world as failed, which suspends it until the next run.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    /// Returns the next pending work of the world, unless it failed.
    pub(super) fn upcoming(&self) -> Option<Upcoming> {
        self.upcoming.filter(|_| !self.failed)
    }

    /// Returns the tick of the next pending work of the world, failed or not.
    pub(super) fn next_tick(&self) -> Option<Tick> {
        self.upcoming.map(|upcoming| upcoming.tick)
    }

    /// Lets the world perform all work due at `now`.
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
