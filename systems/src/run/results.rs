//! Results of a run, collected from a machine's statistics by their roles.

use std::sync::Arc;

use warpweave_components::roles;
use warpweave_framework::{InstanceStatistics, Reason, Tick, Value};

use super::Machine;
use super::measure::LazyMeasured;
use super::region::{Part, RegionResult};
use crate::energy::EnergyReport;

/// Final status of a run, with its details.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// The run completed the whole program.
    Done,
    /// The machine made no useful progress any more; holds the report.
    Deadlock(String),
    /// The run reached a limit of the scenario.
    Limit,
    /// The program did not compute the expected results.
    Mismatch,
    /// A component found a violation of the model; holds its message.
    Failed(String),
    /// The run was interrupted from outside.
    Interrupted,
}

impl Status {
    /// Returns the status after taking the check of the program's results into account.
    pub fn given(&self, verified: Option<bool>) -> Self {
        match (self, verified) {
            (Self::Done, Some(false)) => Self::Mismatch,
            (status, _) => status.clone(),
        }
    }

    /// Returns the name of the status in reports.
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

    /// Returns further details of the status, if any.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Deadlock(text) | Self::Failed(text) => Some(text),
            _ => None,
        }
    }
}

/// Results of one kernel launch in the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelResult {
    /// Number of the launch within the program.
    pub number: u32,
    /// Treatment of the launch if only a part of the program is simulated.
    pub part: Option<Part>,
    /// Name of the kernel that was launched.
    pub name: String,
    /// Number of work-groups in x, y, z.
    pub grid: [u32; 3],
    /// Threads per work-group in x, y, z.
    pub block: [u32; 3],
    /// Core cycle in which the launch left the host, if it did.
    pub launched: Option<u64>,
    /// Core cycle in which the first work-group was dispatched to a compute unit, if one was.
    pub started: Option<u64>,
    /// Core cycle in which the completion was visible at the host, if it was.
    pub completed: Option<u64>,
    /// Number of wavefront instructions of the launch.
    pub wavefront_instructions: u64,
    /// Number of thread instructions of the launch.
    pub thread_instructions: u64,
}

impl KernelResult {
    /// Returns the core cycles from launch to completion, including queueing.
    pub fn cycles(&self) -> Option<u64> {
        Some(self.completed? - self.launched?)
    }

    /// Returns the core cycles from the start of the first work-group to completion.
    pub fn run_cycles(&self) -> Option<u64> {
        Some(self.completed? - self.started?)
    }

    /// Returns the wavefront instructions per core cycle while the kernel ran. Waiting for earlier
    /// launches is excluded, since it says nothing about the kernel.
    pub fn ipc(&self) -> Option<f64> {
        let cycles = self.run_cycles().filter(|cycles| *cycles > 0)?;
        Some(self.wavefront_instructions as f64 / cycles as f64)
    }
}

/// Results of a timing simulation, without host measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Final status; [`Status::Mismatch`] is set by the caller, which knows the checks.
    pub status: Status,
    /// Core cycles from the first launch to the last completion (or to the end of the run, if
    /// launches are incomplete).
    pub cycles: u64,
    /// Simulated time of the whole run, in seconds.
    pub seconds: f64,
    /// Number of wavefront instructions issued; see [`roles::WAVEFRONT_INSTRUCTIONS`].
    pub wavefront_instructions: u64,
    /// Number of thread instructions that were issued.
    pub thread_instructions: u64,
    /// Fraction of the machine's wavefront slots that were occupied, over the whole run; `None` if
    /// no component reports it.
    pub occupancy: Option<f64>,
    /// Results of every launch to be simulated, in order.
    pub kernels: Vec<KernelResult>,
    /// Simulated region of the program; `None` for all of it.
    pub region: Option<RegionResult>,
    /// Energy of the run; `None` without coefficients.
    pub energy: Option<EnergyReport>,
    /// Statistics of every instance, shared between results.
    pub statistics: Arc<[InstanceStatistics]>,
    /// Measurements beyond the totals, computed on first use.
    pub measured: LazyMeasured,
    /// Activity of each instance: path, kind, and cycles by reason in the order of [`Reason::ALL`].
    pub activity: Vec<(String, String, [u64; Reason::ALL.len()])>,
    /// Name of the core clock, whose cycles are reported.
    pub core_clock: String,
    /// Number of messages sent through channels.
    pub messages: u64,
}

impl Simulated {
    /// Returns the wavefront instructions per core cycle.
    pub fn ipc(&self) -> f64 {
        if self.cycles == 0 {
            0.0
        } else {
            self.wavefront_instructions as f64 / self.cycles as f64
        }
    }
}

impl Machine {
    /// Returns the results so far, for a run that ended with `status`.
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

    /// Returns a failure instead of success unless every instruction of the program was issued
    /// exactly once.
    fn checked(&self, status: Status, issued: u64) -> Status {
        let kernels = self.simulated_kernels();
        let expected: u64 = kernels.map(|(_, k)| k.wavefront_instructions()).sum();
        if status != Status::Done || issued == expected {
            return status;
        }
        Status::Failed(format!(
            "the compute units issued {issued} wavefront instructions, but the program has {expected}: every work-group must run exactly once"
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

    /// Returns the core cycles from the first launch to the last completion, or to now if one is
    /// missing.
    fn kernel_cycles(&self, kernels: &[KernelResult]) -> u64 {
        let Some(first) = kernels.iter().filter_map(|k| k.launched).min() else {
            return 0;
        };
        let completions: Option<Vec<u64>> = kernels.iter().map(|k| k.completed).collect();
        let last = completions.and_then(|all| all.into_iter().max());
        last.unwrap_or_else(|| self.cycle()) - first
    }
}

/// Returns the machine's issued wavefront and thread instructions. Also returns the occupied and
/// total wavefront slots, summed over all cycles.
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
