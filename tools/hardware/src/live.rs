//! Runs a program once on a device, with the time of every launch.

use std::collections::BTreeMap;

use warpweave_systems::host_program::{CheckResult, ExecuteError, HostProgram, LiveRun};
use warpweave_trace::Allocation;

use crate::driver::{Driver, DriverError};
use crate::session::{Session, TimedLaunch};

/// Reason why a program did not run on a device.
#[derive(Debug, thiserror::Error)]
#[error("`{program}`{stage}: {}", without_severity(&.problem.to_string()))]
pub struct RunError {
    /// Name of the program that failed.
    pub program: String,
    /// Stage of a repeated run that failed, such as `, repetition 2`; otherwise empty.
    pub stage: String,
    /// Problem of the program or of the device.
    pub problem: Box<Problem>,
}

/// Returns a diagnostic's text without the word `error` before it, for messages with their own.
pub fn without_severity(text: &str) -> &str {
    text.strip_prefix("error: ").unwrap_or(text)
}

/// Problem of a program or of its device.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The host could not execute a command; the message names the launch, if it was one.
    #[error(transparent)]
    Host(#[from] ExecuteError),
    /// The device failed between two commands of the host.
    #[error(transparent)]
    Device(#[from] DriverError),
}

/// Outcome of a program's run on a device.
#[derive(Debug)]
pub struct Ran {
    /// Launches in order, with their durations.
    pub launches: Vec<TimedLaunch>,
    /// Number of iterations of loops that the device ended.
    pub rounds: u64,
    /// Results of the program's expectations, in their order.
    pub checks: Vec<CheckResult>,
    /// Memory words of the buffers copied to the host, by name, as of the last copy.
    pub outputs: BTreeMap<String, Vec<u32>>,
    /// Memory of the buffers on the device, in their order.
    pub allocations: Vec<Allocation>,
}

/// Runs a program on a device, from its first command to its last.
///
/// # Errors
/// Returns what the program or the device could not do.
pub fn run(program: &HostProgram, driver: &mut dyn Driver) -> Result<Ran, RunError> {
    run_on(program, driver).map_err(|problem| RunError {
        program: program.name().to_owned(),
        stage: String::new(),
        problem: Box::new(problem),
    })
}

fn run_on(program: &HostProgram, driver: &mut dyn Driver) -> Result<Ran, Problem> {
    let session = Session::new(driver);
    let mut device = &session;
    let mut live = LiveRun::new(program, &mut device)?;
    live.set_up()?;
    session.time_launches();
    live.launch()?;
    let launches = session.timed_launches()?;
    live.copy_back()?;
    Ok(Ran {
        launches,
        rounds: live.rounds(),
        checks: live.check()?,
        outputs: live.outputs(),
        allocations: live.allocations(),
    })
}
