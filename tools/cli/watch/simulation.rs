//! Board for the page of a simulation.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use warpweave_components::roles;
use warpweave_framework::{InstanceStatistics, Reason, Value};
use warpweave_systems::{Machine, Progress};

use crate::host::Stopwatch;

/// Minimum time between two looks at the machine, in seconds.
const LOOK_S: f64 = 1.0;

/// Number of busiest resources that are shown.
const BUSIEST: usize = 8;

/// State of a simulation, as a page shows it. It is looked at only after a request, because a look
/// costs time.
pub(crate) struct SimulationBoard {
    asked: AtomicBool,
    look: Mutex<Option<Look>>,
}

/// State of the machine at one time.
#[derive(Clone)]
pub(crate) struct Look {
    pub(crate) progress: Progress,
    /// Number of finished work-groups and their total.
    pub(crate) work_groups: Option<(u64, u64)>,
    pub(crate) wavefront_instructions: u64,
    /// Seconds of wall-clock time since the simulation began.
    pub(crate) seconds: f64,
    /// Number of issue slots by outcome, without `slots_`.
    pub(crate) slots: Vec<(String, u64)>,
    /// Cycles of all components of a kind by what they did, in the order of [`Reason::ALL`].
    pub(crate) activity: Vec<(String, [u64; Reason::ALL.len()])>,
    /// Busiest shared resources, with the fraction of cycles in which each was busy.
    pub(crate) busiest: Vec<(String, f64)>,
}

impl SimulationBoard {
    pub(crate) fn new() -> Self {
        Self {
            asked: AtomicBool::new(true),
            look: Mutex::new(None),
        }
    }

    /// Returns the last look, and requests another.
    pub(crate) fn last(&self) -> Option<Look> {
        self.asked.store(true, Ordering::Relaxed);
        self.look.lock().clone()
    }
}

/// Observer of a simulation, which fills a board.
pub(crate) struct Observer<'b> {
    board: &'b SimulationBoard,
    clock: Stopwatch,
    looked: Cell<f64>,
}

impl SimulationBoard {
    /// Begins to observe a simulation, and starts its clock.
    pub(crate) fn observer(&self) -> Observer<'_> {
        Observer {
            board: self,
            clock: Stopwatch::start(),
            looked: Cell::new(f64::NEG_INFINITY),
        }
    }
}

impl Observer<'_> {
    /// Looks at the machine if a browser has asked since the last look.
    pub(crate) fn show(&self, machine: &Machine) {
        if !self.board.asked.load(Ordering::Relaxed) {
            return;
        }
        let seconds = self.clock.wall_s();
        if seconds - self.looked.get() < LOOK_S {
            return;
        }
        self.looked.set(seconds);
        self.board.asked.store(false, Ordering::Relaxed);
        let statistics = machine.statistics();
        let instructions = statistics.iter();
        let instructions = instructions.flat_map(|of| of.playing(roles::WAVEFRONT_INSTRUCTIONS));
        *self.board.look.lock() = Some(Look {
            progress: machine.progress(),
            work_groups: machine.work_groups(),
            wavefront_instructions: instructions.map(count).sum(),
            seconds,
            slots: slots(&statistics),
            activity: activity(machine),
            busiest: busiest(&statistics),
        });
    }
}

fn count(value: &Value) -> u64 {
    match value {
        Value::Counter(count) => *count,
        _ => 0,
    }
}

/// Sums the issue slots of all units by outcome, in the order of the first unit.
fn slots(statistics: &[InstanceStatistics]) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for of in statistics {
        for value in of
            .values
            .iter()
            .filter(|value| value.role == Some(roles::ISSUE_SLOTS))
        {
            let name = value.name.to_string();
            let name = name.strip_prefix("slots_").unwrap_or(&name);
            let number = count(&value.value);
            match all.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += number,
                None => all.push((name.to_owned(), number)),
            }
        }
    }
    all
}

/// Sums the activity of all components by kind, in the order of their first instances.
fn activity(machine: &Machine) -> Vec<(String, [u64; Reason::ALL.len()])> {
    let simulation = &machine.system().simulation;
    let mut all: Vec<(String, [u64; Reason::ALL.len()])> = Vec::new();
    for (number, (_, kind)) in simulation.instances().enumerate() {
        let cycles = simulation.activity(number);
        match all.iter_mut().find(|(known, _)| known == kind) {
            Some((_, sums)) => sums.iter_mut().zip(cycles).for_each(|(sum, c)| *sum += c),
            None => all.push((kind.to_owned(), cycles)),
        }
    }
    all
}

fn busiest(statistics: &[InstanceStatistics]) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for of in statistics {
        for value in of
            .values
            .iter()
            .filter(|value| value.role == Some(roles::UTILISATION))
        {
            if let Value::Ratio {
                part,
                whole: whole @ 1..,
            } = value.value
            {
                let name = format!("{}.{}", of.path, value.name);
                all.push((name, part as f64 / whole as f64));
            }
        }
    }
    all.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
    all.truncate(BUSIEST);
    all
}
