//! What a run gave, collected from a machine by the roles that statistics of its parts play.

use std::sync::Arc;

use warpweave_components::roles;
use warpweave_framework::{InstanceStatistics, Reason, Tick, Value};

use super::Machine;
use super::measure::LazyMeasured;
use super::region::{Part, RegionResult};
use crate::energy::EnergyReport;

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// The whole program ran.
    Done,
    /// Nothing could move any more, or nothing useful did; with the report.
    Deadlock(String),
    /// A limit of the scenario was reached.
    Limit,
    /// The program computed something else than expected.
    Mismatch,
    /// A component found the model violated; with its words.
    Failed(String),
    /// Stopped from outside.
    Interrupted,
}

impl Status {
    /// How the run ended when it is also known whether the program computed what was expected of it.
    pub fn given(&self, verified: Option<bool>) -> Self {
        match (self, verified) {
            (Self::Done, Some(false)) => Self::Mismatch,
            (status, _) => status.clone(),
        }
    }

    /// Name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Deadlock(_) => "deadlock",
            Self::Limit => "limit",
            Self::Mismatch => "mismatch",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// What there is to say beyond the name.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Deadlock(text) | Self::Failed(text) => Some(text),
            _ => None,
        }
    }
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelResult {
    /// Number of the launch.
    pub number: u32,
    /// What it is in a run of a part of the program.
    pub part: Option<Part>,
    /// Name of the kernel.
    pub name: String,
    /// Work-groups in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a work-group in x, y, z.
    pub block: [u32; 3],
    /// Core cycle in which the launch left the host, if it did.
    pub launched: Option<u64>,
    /// Core cycle in which the first work-group was sent to a compute unit, if one was.
    pub started: Option<u64>,
    /// Core cycle in which the completion was readable at the host, if it was.
    pub completed: Option<u64>,
    /// Wavefront instructions of the launch.
    pub wavefront_instructions: u64,
    /// Thread instructions of the launch.
    pub thread_instructions: u64,
}

impl KernelResult {
    /// Core cycles from launch to completion, those in queues included.
    pub fn cycles(&self) -> Option<u64> {
        Some(self.completed? - self.launched?)
    }

    /// Core cycles from the start of the first work-group to completion.
    pub fn run_cycles(&self) -> Option<u64> {
        Some(self.completed? - self.started?)
    }

    /// Wavefront instructions per core cycle while it ran: what a launch waits for others before it
    /// says nothing of the kernel.
    pub fn ipc(&self) -> Option<f64> {
        let cycles = self.run_cycles().filter(|cycles| *cycles > 0)?;
        Some(self.wavefront_instructions as f64 / cycles as f64)
    }
}

/// What a simulation gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// How it ended; [`Status::Mismatch`] is for the caller, who knows the checks.
    pub status: Status,
    /// Core cycles from the first launch to the last completion (or to the end of the run, when
    /// launches are incomplete).
    pub cycles: u64,
    /// Simulated seconds of the whole run.
    pub seconds: f64,
    /// Wavefront instructions issued; see [`roles::WAVEFRONT_INSTRUCTIONS`].
    pub wavefront_instructions: u64,
    /// Thread instructions issued.
    pub thread_instructions: u64,
    /// Part of the machine's wavefront slots that held a wavefront, over the whole run; `None` where
    /// nothing reports any.
    pub occupancy: Option<f64>,
    /// Every launch that was to be simulated, in order.
    pub kernels: Vec<KernelResult>,
    /// What part of the program was simulated; `None`: all of it.
    pub region: Option<RegionResult>,
    /// What the run cost; `None` without coefficients.
    pub energy: Option<EnergyReport>,
    /// Statistics of every instance.
    pub statistics: Arc<[InstanceStatistics]>,
    /// What was measured beyond the totals.
    pub measured: LazyMeasured,
    /// Per instance: path, kind, cycles by reason in the order of [`Reason::ALL`].
    pub activity: Vec<(String, String, [u64; Reason::ALL.len()])>,
    /// Name of the core clock.
    pub core_clock: String,
    /// Messages sent through channels.
    pub messages: u64,
}

impl Simulated {
    /// Wavefront instructions per core cycle.
    pub fn ipc(&self) -> f64 {
        if self.cycles == 0 {
            0.0
        } else {
            self.wavefront_instructions as f64 / self.cycles as f64
        }
    }
}

impl Machine {
    /// What the simulation gave up to now, if it ended with `status`.
    pub fn results(&self, status: Status) -> Simulated {
        let simulation = &self.system.simulation;
        let period = self.core_period();
        let kernels = self.kernel_results();
        let cycles = self.kernel_cycles(&kernels);
        let statistics: Arc<[InstanceStatistics]> = self.statistics().into();
        let clockwork = self.clockwork();
        let last = self.cycle();
        let measured = LazyMeasured::new(&self.measurement, &clockwork, last, &statistics);
        let activity = simulation
            .instances()
            .enumerate()
            .map(|(i, (path, kind))| (path.to_owned(), kind.to_owned(), simulation.activity(i)))
            .collect();
        let [issued, threads, held, slots] = totals(&statistics);
        let energy = self.energy.as_ref().map(|energy| {
            let seconds = simulation.time().seconds(Tick(cycles * period));
            energy.report(&statistics, seconds)
        });
        Simulated {
            status: self.checked(status, issued),
            cycles,
            energy,
            seconds: simulation.time().seconds(simulation.now()),
            wavefront_instructions: issued,
            thread_instructions: threads,
            occupancy: (slots > 0).then(|| held as f64 / slots as f64),
            kernels,
            region: self.region_result(),
            statistics,
            measured,
            activity,
            core_clock: self.system.core_clock.clone(),
            messages: simulation.messages(),
        }
    }

    /// A run is not done before every instruction of the program was issued, and once only.
    fn checked(&self, status: Status, issued: u64) -> Status {
        let kernels = self.simulated_kernels();
        let expected: u64 = kernels.map(|(_, k)| k.wavefront_instructions()).sum();
        if status != Status::Done || issued == expected {
            return status;
        }
        Status::Failed(format!(
            "the compute units issued {issued} wavefront instructions, the program has \
             {expected}: every work-group must run exactly once"
        ))
    }

    fn kernel_results(&self) -> Vec<KernelResult> {
        let period = self.core_period();
        let cycle = |at: Option<Tick>| at.map(|tick| tick.0 / period);
        self.simulated_kernels()
            .map(|(number, kernel)| {
                let time = self.kernel_times.of(number);
                let counts = kernel.counts();
                KernelResult {
                    number,
                    part: self.region.as_ref().map(|region| region.part(number)),
                    name: kernel.code.name.clone(),
                    grid: kernel.grid,
                    block: kernel.block,
                    launched: cycle(time.launched),
                    started: cycle(time.started),
                    completed: cycle(time.completed),
                    wavefront_instructions: counts.instructions,
                    thread_instructions: counts.thread_instructions,
                }
            })
            .collect()
    }

    fn region_result(&self) -> Option<RegionResult> {
        let times = |kernel| {
            let time = self.kernel_times.of(kernel);
            (time.launched, time.completed)
        };
        let region = self.region.as_ref()?;
        Some(region.result(&self.program, self.core_period(), times))
    }

    /// Core cycles from the first launch to the last completion, or to now when one is missing.
    fn kernel_cycles(&self, kernels: &[KernelResult]) -> u64 {
        let Some(first) = kernels.iter().filter_map(|k| k.launched).min() else {
            return 0;
        };
        let completions: Option<Vec<u64>> = kernels.iter().map(|k| k.completed).collect();
        let last = completions.and_then(|all| all.into_iter().max());
        last.unwrap_or_else(|| self.cycle()) - first
    }
}

/// What the parts of the machine issued: wavefront instructions, thread instructions; and over all cycles
/// their wavefront slots that were held, and all of these.
pub(super) fn totals(statistics: &[InstanceStatistics]) -> [u64; 4] {
    let [mut issued, mut threads, mut held, mut slots] = [0; 4];
    for statistic in statistics.iter().flat_map(|instance| &instance.values) {
        let Some(role) = statistic.role else {
            continue;
        };
        match statistic.value {
            Value::Counter(count) if role == roles::WAVEFRONT_INSTRUCTIONS => issued += count,
            Value::Counter(count) if role == roles::THREAD_INSTRUCTIONS => threads += count,
            Value::Ratio { part, whole } if role == roles::OCCUPANCY => {
                held += part;
                slots += whole;
            }
            _ => {}
        }
    }
    [issued, threads, held, slots]
}
