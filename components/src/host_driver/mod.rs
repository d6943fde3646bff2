//! Host driver: processes a program's commands in order, with copies, launches and waits.
//!
//! ```text
//!              ┌────────────────────────────┐   gmu.launch
//!  Program ───►│ next command ─► busy until ├───────────────► GMU
//!              │ kernels in flight          │◄───────────────
//!              └────────────────────────────┘   gmu.done
//! ```
//!
//! # Ports
//!
//! | Port         | Direction | Message        | Back-pressure                                   |
//! |--------------|-----------|----------------|-------------------------------------------------|
//! | `gmu.launch` | out       | `KernelLaunch` | the host waits in front of the launch           |
//! | `gmu.done`   | in        | `KernelDone`   | none: taken in the cycle in which it is readable |
//!
//! # Timing
//!
//! The first command starts in cycle 0. For a command that starts in cycle `c`:
//!
//! - **Launch**: the message leaves in cycle `c + launch_latency_cycles`, or in the first later one
//!   with room. The next command starts in the cycle of departure.
//! - **Copy** of `b` bytes: starts in cycle `s`, the first from `c` in which the completions of all
//!   earlier launches have been readable. The next command starts in cycle
//!   `s + copy_latency_cycles + ceil(b / copy_bytes_per_cycle)`.
//! - **Synchronize**: the next command starts in that cycle `s`.
//!
//! If only a part of the program is simulated, according to a [`LaunchPlan`], skipped launches take
//! no time. Before a launch that runs, earlier launches may have to be replayed functionally, or
//! all caches emptied (`flush_caches`). The host then pauses, with no kernel in flight, for the
//! stop delay of the system.
//!
//! The obligation taken in cycle 0 is discharged in the first cycle in which all commands and
//! kernels are complete. The run ends with that cycle.
//!
//! # Not modelled
//!
//! Asynchronous copies: a copy waits for all kernels, and the host for the copy. Traffic of copies
//! in device memory and caches. Computation time of the host between commands.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Inspect, Kind, Next, Ports, Preset,
    SpecError, State, Statistics, TimeWeighted, Waits,
};
use warpweave_trace::{HostCommand, Program};

use crate::kernel_times::{KernelTimes, Moment};
use crate::launch::{KernelLaunch, LaunchMaster};
use crate::launch_plan::{LaunchMode, LaunchPlan};

/// Latencies and copy bandwidth of a host driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostDriverSpec {
    /// Latency of every copy before its first byte, in cycles.
    pub copy_latency_cycles: u32,
    /// Copy bandwidth in bytes per cycle, at least 1.
    pub copy_bytes_per_cycle: u32,
    /// Host processing time of a launch before the message leaves, in cycles.
    pub launch_latency_cycles: u32,
    /// True to empty every cache of the machine, in no time, before each launch of the host. The
    /// launch waits for all earlier ones; kernels launched from the device find what is there.
    /// Source: caches stay as they are on hardware.
    #[serde(default)]
    pub flush_caches: bool,
}

/// Current activity of the host, to which cycles are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Activity {
    /// Copying data to or from the device.
    Copy,
    /// Processing a kernel launch before it is sent.
    Launch,
    /// Waiting for room to send a launch.
    LaunchBlocked,
    /// Waiting for launched kernels to complete.
    Wait,
    /// Finished: every command of the program is complete.
    Finished,
}

/// Name and meaning of the cycle counter of each activity.
const ACTIVITIES: [(&str, &str); 5] = [
    ("copy_cycles", "cycles in which the host copied"),
    ("launch_cycles", "cycles the host worked on launches"),
    (
        "launch_blocked_cycles",
        "cycles in which a launch found no room on its way to the GMU",
    ),
    (
        "wait_cycles",
        "cycles in which the host waited for kernels to complete",
    ),
    (
        "finished_cycles",
        "cycles after the last command had completed",
    ),
];

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Step {
    /// Starts the next command of the program.
    Next,
    /// Ends a copy in this cycle.
    Copying(Cycle),
    /// Sends a launch in this cycle or later.
    Launching(Cycle, KernelLaunch),
    /// Pauses until this cycle, while launches are replayed or caches emptied, before a launch.
    Pausing(Cycle, KernelLaunch),
    Finished,
}

#[derive(Debug, Default, Serialize, Deserialize, Statistics)]
struct Counts {
    /// host commands the host has gone past
    #[statistic(name = "commands_completed", unit = "commands")]
    commands: u64,
    /// copies begun
    #[statistic(unit = "copies")]
    copies: u64,
    /// bytes of the copies to the device begun
    #[statistic(name = "copied_to_device", unit = "bytes")]
    bytes_to_device: u64,
    /// bytes of the copies to the host begun
    #[statistic(name = "copied_to_host", unit = "bytes")]
    bytes_to_host: u64,
    /// launches that left the host
    #[statistic(name = "kernels_launched", unit = "kernels")]
    launched: u64,
    /// kernels whose completion reached the host
    #[statistic(name = "kernels_completed", unit = "kernels")]
    completed: u64,
    /// Number of kernels launched from the device whose completion reached the host.
    completed_from_device: u64,
}

/// Host driver: processes the commands of the program; see the [module](self).
#[derive(Ports, State, Statistics)]
pub struct HostDriver {
    #[port]
    gmu: LaunchMaster,
    #[state(skip)]
    spec: HostDriverSpec,
    #[state(skip)]
    program: Arc<Program>,
    #[state(with = visit_times)]
    times: Option<Arc<KernelTimes>>,
    /// Plan of the launches that run, and requests for pauses; `None` in a bench without a runner.
    #[state(with = visit_plan)]
    plan: Option<Arc<LaunchPlan>>,
    started: bool,
    /// Number of commands started so far.
    position: usize,
    step: Step,
    /// Kernels launched but not completed, oldest first.
    in_flight: Vec<u32>,
    activity: Option<Activity>,
    /// kernels launched from the device whose completion reached the host
    #[statistic(flatten)]
    #[statistic(
        name = "device_kernels_completed",
        unit = "kernels",
        value = self.has_device_launches().then_some(self.counts.completed_from_device)
    )]
    counts: Counts,
    #[state(array)]
    #[statistic(with = report_activities)]
    activities: [TimeWeighted; 5],
    /// cycle in which the first launch left the host; 0 without launches
    #[statistic(
        name = "first_launch_cycle",
        unit = "cycle",
        minimum,
        value = self.first_launch.unwrap_or(0)
    )]
    first_launch: Option<Cycle>,
    /// cycle in which the last completion was readable; 0 without completions
    #[statistic(name = "last_completion_cycle", unit = "cycle", maximum)]
    last_completion: Cycle,
}

fn visit_times(times: &mut Option<Arc<KernelTimes>>, _name: &str, state: &mut State<'_>) {
    KernelTimes::state(times, Moment::Launched, state);
    KernelTimes::state(times, Moment::Completed, state);
}

fn visit_plan(plan: &mut Option<Arc<LaunchPlan>>, _name: &str, state: &mut State<'_>) {
    if let Some(plan) = plan {
        LaunchPlan::state(plan, state);
    }
}

fn report_activities(activities: &[TimeWeighted; 5], statistics: &mut Statistics<'_>) {
    let cycle = statistics.cycle();
    for ((name, meaning), level) in ACTIVITIES.into_iter().zip(activities) {
        statistics.counter(name, "cycles", meaning, level.integral(cycle));
    }
}

impl Kind for HostDriver {
    const NAME: &'static str = "HostDriver";
    const SUMMARY: &'static str = "Host that copies, launches and waits as the program did";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "fermi",
        summary: "A host beside a GTX 480. Source: own choice",
        ron: include_str!("../../../scenarios/presets/fermi/host_driver.ron"),
    }];
    type Spec = HostDriverSpec;

    fn build(spec: HostDriverSpec, environment: &Environment) -> Result<Self, SpecError> {
        SpecError::in_range("copy_bytes_per_cycle", spec.copy_bytes_per_cycle, 1..)?;
        let program = environment.resource::<Program>().ok_or_else(|| {
            SpecError::at(
                "",
                "a host driver needs a program to run, and none was given",
            )
        })?;
        program
            .check()
            .map_err(|error| SpecError::at("", error.to_string()))?;
        launched_once(&program)?;
        let plan = environment.resource::<LaunchPlan>();
        if spec.flush_caches {
            let message = "true, but nothing in this test bench empties caches";
            let plan = plan.as_ref();
            plan.ok_or_else(|| SpecError::at("flush_caches", message))?
                .announce_flushes();
        }
        Ok(Self {
            gmu: LaunchMaster::default(),
            spec,
            program,
            times: environment.resource::<KernelTimes>(),
            plan,
            started: false,
            position: 0,
            step: Step::Next,
            in_flight: Vec::new(),
            activity: None,
            counts: Counts::default(),
            activities: Default::default(),
            first_launch: None,
            last_completion: 0,
        })
    }
}

/// Checks that each kernel number is launched at most once, since it identifies the launch.
fn launched_once(program: &Program) -> Result<(), SpecError> {
    let mut launched_by = vec![None; program.kernels.len()];
    for (position, command) in program.commands.iter().enumerate() {
        if let HostCommand::Launch { kernel, .. } = *command
            && program.kernels[kernel as usize].parent.is_some()
        {
            return Err(SpecError::at(
                "",
                format!(
                    "program {} launches kernel {kernel} in command {position}, which is launched from the device",
                    program.name
                ),
            ));
        }
        if let HostCommand::Launch { kernel, .. } = *command
            && let Some(before) = launched_by[kernel as usize].replace(position)
        {
            return Err(SpecError::at(
                "",
                format!(
                    "program {} launches kernel {kernel} in commands {before} and {position}; \
                     give every launch its own entry in the list of kernels",
                    program.name
                ),
            ));
        }
    }
    Ok(())
}

impl Component for HostDriver {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if !self.started {
            self.started = true;
            ctx.take_obligation();
        }
        while let Some(done) = self.gmu.done.pop(ctx) {
            self.complete(ctx, done.kernel);
        }
        loop {
            match self.step {
                Step::Finished => return Next::Idle,
                Step::Next => {
                    if let Some(next) = self.begin(ctx) {
                        return next;
                    }
                }
                Step::Copying(until) | Step::Pausing(until, _) if ctx.cycle() < until => {
                    return Next::Until(until);
                }
                Step::Launching(at, _) if ctx.cycle() < at => return Next::Until(at),
                Step::Copying(_) => self.end_command(),
                Step::Pausing(_, launch) => {
                    if let Some(plan) = self.plan.as_ref().filter(|plan| plan.due().is_some()) {
                        let problem = if plan.is_waiting() {
                            "no work-group scheduler replayed the recorded launches"
                        } else {
                            "the caches were not emptied"
                        };
                        ctx.fail(problem.to_owned());
                        return Next::Idle;
                    }
                    self.launch(ctx, launch);
                }
                Step::Launching(_, launch) => {
                    if self.gmu.launch.try_send(ctx, launch).is_err() {
                        self.enter(ctx.cycle(), Activity::LaunchBlocked);
                        return Next::Credit;
                    }
                    self.launched(ctx, launch.kernel);
                    self.end_command();
                }
            }
        }
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Inspect for HostDriver {
    fn contents(&self, contents: &mut Contents<'_>) {
        for kernel in &self.in_flight {
            contents.thing("kernel", u64::from(*kernel));
        }
        let name = match self.step {
            Step::Copying(_) => "copy",
            Step::Launching(..) => "launch",
            Step::Next | Step::Pausing(..) | Step::Finished => return,
        };
        contents
            .thing(name, self.position as u64)
            .waits((self.activity == Some(Activity::LaunchBlocked)).then_some("room for a launch"));
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        if !self.in_flight.is_empty() {
            let kernels: Vec<_> = self.in_flight.iter().map(u32::to_string).collect();
            waits.on_port(
                "gmu.done",
                format!("kernels {} have not completed", kernels.join(", ")),
            );
        }
    }
}

impl HostDriver {
    fn has_device_launches(&self) -> bool {
        let mut kernels = self.program.kernels.iter();
        kernels.any(|kernel| kernel.parent.is_some())
    }

    /// Starts the next command, or returns the event that it waits for.
    fn begin(&mut self, ctx: &mut Context<'_>) -> Option<Next> {
        let cycle = ctx.cycle();
        let command = self.program.commands.get(self.position).copied();
        if !matches!(command, Some(HostCommand::Launch { .. })) && !self.in_flight.is_empty() {
            self.enter(cycle, Activity::Wait);
            return Some(Next::Message);
        }
        match command {
            Some(HostCommand::Launch { kernel, stream }) => {
                return self.begin_launch(ctx, KernelLaunch::plain(kernel, stream));
            }
            Some(HostCommand::CopyToDevice { bytes, .. }) => {
                self.counts.bytes_to_device += bytes;
                self.copy(cycle, bytes);
            }
            Some(HostCommand::CopyToHost { bytes, .. }) => {
                self.counts.bytes_to_host += bytes;
                self.copy(cycle, bytes);
            }
            Some(HostCommand::Synchronize) => self.end_command(),
            None => {
                self.enter(cycle, Activity::Finished);
                self.step = Step::Finished;
                ctx.discharge_obligation();
            }
        }
        None
    }

    fn launch(&mut self, ctx: &Context<'_>, launch: KernelLaunch) {
        self.enter(ctx.cycle(), Activity::Launch);
        let at = ctx.cycle() + Cycle::from(self.spec.launch_latency_cycles);
        self.step = Step::Launching(at, launch);
        if let Some(plan) = &self.plan {
            plan.begin(ctx, launch.kernel);
        }
    }

    /// Starts a launch as the plan says, if there is one, or returns the event that it waits for.
    fn begin_launch(&mut self, ctx: &mut Context<'_>, launch: KernelLaunch) -> Option<Next> {
        let Some(plan) = self.plan.clone() else {
            self.launch(ctx, launch);
            return None;
        };
        let flush = self.spec.flush_caches;
        match plan.fate(launch.kernel) {
            LaunchMode::Runs if flush || plan.is_waiting() => {
                self.enter(ctx.cycle(), Activity::Wait);
                if !self.in_flight.is_empty() {
                    return Some(Next::Message);
                }
                self.step = Step::Pausing(plan.ask(ctx, flush), launch);
            }
            LaunchMode::Runs => self.launch(ctx, launch),
            mode @ (LaunchMode::Replayed | LaunchMode::Skipped) => {
                if mode == LaunchMode::Replayed {
                    plan.postpone(launch);
                }
                self.end_command();
                plan.begin(ctx, launch.kernel);
            }
        }
        None
    }

    fn copy(&mut self, cycle: Cycle, bytes: u64) {
        self.enter(cycle, Activity::Copy);
        self.counts.copies += 1;
        let transfer = bytes.div_ceil(u64::from(self.spec.copy_bytes_per_cycle));
        self.step = Step::Copying(cycle + Cycle::from(self.spec.copy_latency_cycles) + transfer);
    }

    fn end_command(&mut self) {
        self.position += 1;
        self.counts.commands += 1;
        self.step = Step::Next;
    }

    fn launched(&mut self, ctx: &mut Context<'_>, kernel: u32) {
        let cycle = ctx.cycle();
        self.in_flight.push(kernel);
        self.record(ctx, Moment::Launched, kernel);
        self.counts.launched += 1;
        self.first_launch.get_or_insert(cycle);
    }

    fn complete(&mut self, ctx: &mut Context<'_>, kernel: u32) {
        let launched = self.program.kernels.get(kernel as usize);
        if launched.is_some_and(|kernel| kernel.parent.is_some()) {
            self.counts.completed_from_device += 1;
            self.record(ctx, Moment::Completed, kernel);
            return;
        }
        let Some(place) = self.in_flight.iter().position(|k| *k == kernel) else {
            ctx.fail(format!(
                "the GMU reports completion of kernel {kernel}, which is not in flight"
            ));
            return;
        };
        self.in_flight.remove(place);
        self.counts.completed += 1;
        self.last_completion = ctx.cycle();
        self.record(ctx, Moment::Completed, kernel);
    }

    fn record(&self, ctx: &mut Context<'_>, moment: Moment, kernel: u32) {
        if let Some(times) = &self.times {
            times.record(ctx, moment, kernel);
        }
    }

    /// Charges cycles to `activity`, starting with this one.
    fn enter(&mut self, cycle: Cycle, activity: Activity) {
        if self.activity != Some(activity) {
            if let Some(before) = self.activity.replace(activity) {
                self.activities[before as usize].set(cycle, 0);
            }
            self.activities[activity as usize].set(cycle, 1);
        }
    }
}
