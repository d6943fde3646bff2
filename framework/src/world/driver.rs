//! Driver of the event world: the only interface from the engine to the world.

use crate::observe::Sample;
use crate::time::Tick;
use crate::world::World;
use crate::world::wave::SignalLine;

/// The world of a system. Processes hold handles of the world that owns them; dropping the driver
/// breaks that reference cycle.
pub(crate) struct WorldDriver {
    world: World,
}

/// Next pending work of a world.
#[derive(Clone, Copy)]
pub(crate) struct Upcoming {
    pub(crate) tick: Tick,
    /// True if this work, or later work, keeps a run alive.
    pub(crate) foreground: bool,
}

/// Effects of a world's work at one tick on the rest of the system.
pub(crate) struct WorldStep {
    /// Changes of signals, if recorded: tick, number of the signal, value.
    pub(crate) changes: Vec<(Tick, u32, Sample)>,
    /// Obligations taken minus those discharged, if there were any.
    pub(crate) obligations: Option<i64>,
    /// Instances to be woken: ports at which processes began to wait.
    pub(crate) woken: Vec<u32>,
    /// Describes an error detected by the model.
    pub(crate) failure: Option<String>,
    /// True if the model requested the end of the run.
    pub(crate) stopped: bool,
    pub(crate) upcoming: Option<Upcoming>,
}

impl WorldDriver {
    pub(crate) fn new() -> Self {
        Self {
            world: World::new(),
        }
    }

    /// Returns a handle of the world for models.
    pub(crate) fn world(&self) -> World {
        self.world.clone()
    }

    /// Sets the clock periods in ticks; called at elaboration.
    pub(crate) fn set_periods(&self, periods: Vec<u64>) {
        self.world.core.world.borrow_mut().periods = periods;
    }

    /// Returns the instances that share more than channels with the world: the ports of processes.
    pub(crate) fn instances_of_ports(&self) -> Vec<u32> {
        let state = self.world.core.world.borrow();
        state
            .ports
            .entries
            .iter()
            .map(|port| port.instance)
            .collect()
    }

    /// Returns the name of the first process, if there is one.
    pub(crate) fn first_process(&self) -> Option<String> {
        let state = self.world.core.world.borrow();
        (!state.processes.entries.is_empty()).then(|| state.process_name(0).to_owned())
    }

    /// Returns every suspended process with its wait condition.
    pub(crate) fn waiting(&self) -> Vec<(String, String)> {
        self.world.core.world.borrow().waiting()
    }

    /// Returns every existing signal and FIFO that has a waveform.
    pub(crate) fn signals(&self) -> Vec<SignalLine> {
        self.world.core.world.borrow().waves.lines()
    }

    /// Enables or disables the recording of signal changes in [`WorldStep::changes`].
    pub(crate) fn record_changes(&self, record: bool) {
        self.world
            .core
            .world
            .borrow_mut()
            .waves
            .keep_changes(record);
    }

    /// Returns the next time at which the world has pending work.
    pub(crate) fn upcoming(&self) -> Option<Upcoming> {
        self.world.core.world.borrow_mut().upcoming()
    }

    /// Advances time to `tick`, at most to that of [`WorldDriver::upcoming`].
    pub(crate) fn pass_time(&self, tick: Tick) {
        self.world.core.world.borrow_mut().pass_time(tick.0);
    }

    /// Performs all work at `tick`; `ports` are those of processes whose waits components have
    /// ended.
    pub(crate) fn run_at(&self, tick: Tick, ports: &[u32]) -> WorldStep {
        self.world.core.run_at(tick, ports);
        let mut state = self.world.core.world.borrow_mut();
        let taken = std::mem::take(&mut state.taken);
        let discharged = std::mem::take(&mut state.discharged);
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        WorldStep {
            changes: state.waves.take_changes(),
            obligations: (taken > 0 || discharged > 0).then(|| count(taken) - count(discharged)),
            woken: std::mem::take(&mut state.ports.wakes),
            failure: state.failure.take(),
            stopped: std::mem::take(&mut state.stopped),
            upcoming: state.upcoming(),
        }
    }
}

impl Drop for WorldDriver {
    fn drop(&mut self) {
        let mut state = self.world.core.world.borrow_mut();
        let added = std::mem::take(&mut state.processes.added);
        let updates = std::mem::take(&mut state.updates);
        let listeners = (state.waves.take_sink(), state.reports.take_listener());
        // What they give back when they go must find the world free.
        drop(state);
        let bodies = self.world.core.bodies.take();
        drop((added, bodies, updates, listeners));
    }
}
