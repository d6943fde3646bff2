//! Results of a run, collected from a machine's statistics by their roles.

use std::sync::Arc;

use warpweave_components::roles;
use warpweave_framework::{InstanceStatistics, Reason, Tick, Value};

use super::Machine;
use super::measure::LazyMeasured;
use super::region::{Part, RegionResult};
use crate::energy::EnergyReport;
use crate::taps::RequestsByKernel;

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
    /// Registers that the program needs per thread.
    pub registers: u32,
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

/// Time in which kernels ran, as part of the whole run. Copies, launch latencies and waits of the
/// host are outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTime {
    /// Core cycles in which at least one kernel ran: from its first work-group to its completion.
    pub cycles: u64,
    /// Core cycles without a running kernel before the last kernel started.
    pub before_cycles: u64,
    /// Core cycles of the whole run.
    pub run_cycles: u64,
}

impl KernelTime {
    /// Adds up the times of all kernels. Kernels that ran side by side count once, and one that did
    /// not complete ran to the end.
    fn of(kernels: &[KernelResult], run_cycles: u64) -> Self {
        let mut times: Vec<(u64, u64)> = kernels
            .iter()
            .filter_map(|kernel| Some((kernel.started?, kernel.completed.unwrap_or(run_cycles))))
            .collect();
        times.sort_unstable();
        let mut time = Self {
            run_cycles,
            ..Self::default()
        };
        let mut end = 0;
        for (started, ended) in times {
            time.before_cycles += started.saturating_sub(end);
            time.cycles += ended.saturating_sub(started.max(end));
            end = end.max(ended);
        }
        time
    }

    /// Returns the part of `count`, which grew evenly over the run, that belongs to `cycles`.
    pub fn part(&self, count: u64, cycles: u64) -> u64 {
        let whole = u128::from(self.run_cycles.max(1));
        let part = u128::from(count) * u128::from(cycles) / whole;
        u64::try_from(part).unwrap_or(u64::MAX).min(count)
    }
}

/// Activity that the engine counts, for every kind of component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineActivity {
    /// Cycles of each instance by reason, in the order of [`Reason::ALL`], after its path and kind.
    pub instances: Vec<(String, String, [u64; Reason::ALL.len()])>,
    /// Number of messages sent through channels.
    pub messages: u64,
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
    /// Time in which at least one kernel ran.
    pub kernel_time: KernelTime,
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
    /// Memory requests of each kernel; empty unless kernels are measured and may run side by side.
    pub requests_by_kernel: RequestsByKernel,
    /// Activity of the components and of the channels between them.
    pub activity: EngineActivity,
    /// Name of the core clock, whose cycles are reported.
    pub core_clock: String,
}

impl Simulated {
    /// Returns the fraction of the wavefront slots that were occupied while kernels ran; `None` if
    /// none ran, or no component reports it.
    pub fn occupancy_in_kernels(&self) -> Option<f64> {
        let KernelTime {
            cycles, run_cycles, ..
        } = self.kernel_time;
        let occupancy = self.occupancy.filter(|_| cycles > 0)?;
        Some((occupancy * run_cycles as f64 / cycles as f64).min(1.0))
    }

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
        let instances = simulation
            .instances()
            .enumerate()
            .map(|(i, (path, kind))| (path.to_owned(), kind.to_owned(), simulation.activity(i)))
            .collect();
        let [issued, threads, held, slots] = totals(&statistics);
        let energy = self.observation.energy.as_ref().map(|energy| {
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
            // Cycles are counted from 0.
            kernel_time: KernelTime::of(&kernels, last + 1),
            kernels,
            region: self.region_result(),
            statistics,
            measured,
            requests_by_kernel: self.taps.requests_by_kernel(last, simulation.now()),
            activity: EngineActivity {
                instances,
                messages: simulation.messages(),
            },
            core_clock: self.system.core_clock.clone(),
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
                    registers: kernel.registers_per_thread(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_side_by_side_count_once_and_an_open_one_runs_to_the_end() {
        let kernel = |started, completed| KernelResult {
            number: 0,
            part: None,
            name: String::new(),
            grid: [1; 3],
            block: [1; 3],
            registers: 1,
            launched: started,
            started,
            completed,
            wavefront_instructions: 0,
            thread_instructions: 0,
        };
        let time = |kernels: &[KernelResult]| {
            let time = KernelTime::of(kernels, 100);
            (time.cycles, time.before_cycles)
        };
        assert_eq!(time(&[]), (0, 0));
        assert_eq!(time(&[kernel(None, None)]), (0, 0));
        let apart = [kernel(Some(50), Some(60)), kernel(Some(10), Some(20))];
        assert_eq!(time(&apart), (20, 40));
        let inside = [kernel(Some(10), Some(60)), kernel(Some(20), Some(30))];
        assert_eq!(time(&inside), (50, 10));
        let open = [kernel(Some(10), Some(20)), kernel(Some(15), None)];
        assert_eq!(time(&open), (90, 10));
    }
}
