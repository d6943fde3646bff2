//! Repeats a program on a device, and measures its time from the first launch to the last.

use std::collections::BTreeMap;

use warpweave_systems::host_program::{CheckResult, HostProgram, LiveRun};

use crate::driver::Driver;
use crate::live::{Problem, RunError};
use crate::power::{Clock, Window};
use crate::session::{Session, TimedLaunch};

/// Number of repetitions of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetitions {
    /// Time over which the program is repeated, in seconds. A run that takes longer is measured
    /// once. With 0, `at_least` alone decides.
    pub seconds: f64,
    /// Number of runs that are measured at least, unless one takes longer than `seconds`.
    pub at_least: u32,
    /// Number of runs before the first that is measured.
    pub warm_up: u32,
    /// True to run once more with the time of every launch.
    pub launches: bool,
}

impl Default for Repetitions {
    fn default() -> Self {
        Self {
            seconds: 3.0,
            at_least: 3,
            warm_up: 1,
            launches: false,
        }
    }
}

impl Repetitions {
    /// True if a run takes longer than all runs are to take.
    fn is_exceeded_by(&self, run: &Run) -> bool {
        self.seconds > 0.0 && run.nanoseconds > self.seconds * 1e9
    }
}

/// Runs of a program on a device.
#[derive(Debug)]
pub struct Repeated {
    /// Number of iterations of loops that the device ended, in the last measured run.
    pub rounds: u64,
    /// Number of launches in the last measured run.
    pub launches: u64,
    /// Time of each measured run in nanoseconds, by device events.
    pub nanoseconds: Vec<f64>,
    /// Time of each measured run on the host's clock.
    pub windows: Vec<Window>,
    /// True if the first run took longer than asked for, and is the only one that was measured.
    pub once: bool,
    /// Results of the expectations after the first measured run, in their order.
    pub checks: Vec<CheckResult>,
    /// Results after the last measured run, if its outputs differ from those of the first.
    pub last_checks: Option<Vec<CheckResult>>,
    /// Launches of one more run with their times, if asked for.
    pub timed: Vec<TimedLaunch>,
    /// Time of that run in nanoseconds.
    pub timed_nanoseconds: Option<f64>,
}

impl Repeated {
    /// True if every expectation was met after the first and after the last run.
    pub fn passed(&self) -> bool {
        let last = self.last_checks.iter().flatten();
        self.checks.iter().chain(last).all(|check| check.passed)
    }

    /// Returns the time in nanoseconds during which none of the timed launches ran, in their run.
    pub fn gaps(&self) -> Option<f64> {
        let launches: f64 = self.timed.iter().map(|launch| launch.nanoseconds).sum();
        self.timed_nanoseconds.map(|all| all - launches)
    }
}

/// Repeats a program on a device. Before every run but the first, the device's memory is restored
/// from copies on the device, in time that is not measured.
///
/// # Errors
/// Returns what the program or the device could not do, with the stage.
pub fn repeat(
    program: &HostProgram,
    driver: &mut dyn Driver,
    clock: &dyn Clock,
    wanted: &Repetitions,
) -> Result<Repeated, RunError> {
    let mut stage = String::new();
    repeat_on(program, driver, clock, wanted, &mut stage).map_err(|problem| RunError {
        program: program.name().to_owned(),
        stage,
        problem: Box::new(problem),
    })
}

fn repeat_on(
    program: &HostProgram,
    driver: &mut dyn Driver,
    clock: &dyn Clock,
    wanted: &Repetitions,
    stage: &mut String,
) -> Result<Repeated, Problem> {
    let session = Session::new(driver);
    let mut device = &session;
    let mut live = LiveRun::new(program, &mut device)?;
    live.set_up()?;
    live.keep()?;
    let mut runs = Runs {
        live,
        session: &session,
        clock,
        is_fresh: true,
    };
    let mut measured = Vec::new();
    let mut once = false;
    for number in 1..=wanted.warm_up {
        *stage = format!(", warm-up {number}");
        let run = runs.run()?;
        if wanted.is_exceeded_by(&run) {
            once = true;
            measured.push(run);
            break;
        }
    }
    let began = clock.seconds();
    let mut first = None;
    while !once {
        *stage = format!(", repetition {}", measured.len() + 1);
        let run = runs.run()?;
        once = measured.is_empty() && wanted.is_exceeded_by(&run);
        measured.push(run);
        if first.is_none() {
            first = Some(runs.checked()?);
        }
        let enough = measured.len() >= wanted.at_least.max(1) as usize;
        if enough && clock.seconds() - began >= wanted.seconds {
            break;
        }
    }
    let (outputs, checks) = match first {
        Some(first) => first,
        None => runs.checked()?,
    };
    let last_checks = runs.checked_if_not(&outputs)?;
    let (rounds, launches) = (runs.live.rounds(), runs.live.launches());
    let (mut timed, mut timed_nanoseconds) = (Vec::new(), None);
    if wanted.launches {
        ", run with timed launches".clone_into(stage);
        runs.restore()?;
        session.time_launches();
        timed_nanoseconds = Some(runs.timed()?.nanoseconds);
        timed = session.timed_launches()?;
    }
    session.forget_marks();
    Ok(Repeated {
        rounds,
        launches,
        nanoseconds: measured.iter().map(|run| run.nanoseconds).collect(),
        windows: measured.iter().map(|run| run.window).collect(),
        once,
        checks,
        last_checks,
        timed,
        timed_nanoseconds,
    })
}

/// Run of a program that was measured once.
struct Run {
    nanoseconds: f64,
    window: Window,
}

/// Program that is run again and again.
struct Runs<'p, 'd, 's> {
    live: LiveRun<'p, 'd>,
    session: &'d Session<'s>,
    clock: &'d dyn Clock,
    /// True if nothing has run since the memory was set up.
    is_fresh: bool,
}

impl Runs<'_, '_, '_> {
    fn restore(&mut self) -> Result<(), Problem> {
        if !std::mem::take(&mut self.is_fresh) {
            self.live.restore()?;
        }
        Ok(())
    }

    /// Restores the memory, and runs the program from its first launch to its last.
    fn run(&mut self) -> Result<Run, Problem> {
        self.restore()?;
        let run = self.timed();
        self.session.forget_marks();
        run
    }

    fn timed(&mut self) -> Result<Run, Problem> {
        self.session.wait()?;
        let from = self.clock.seconds();
        let start = self.session.mark()?;
        self.live.launch()?;
        let end = self.session.mark()?;
        let nanoseconds = self.session.between(start, end)?;
        let to = self.clock.seconds();
        let window = Window { from, to };
        Ok(Run {
            nanoseconds,
            window,
        })
    }

    /// Returns the outputs of the last run, and compares them with what is expected.
    fn checked(&mut self) -> Result<(BTreeMap<String, Vec<u32>>, Vec<CheckResult>), Problem> {
        self.live.copy_back()?;
        Ok((self.live.outputs(), self.live.check()?))
    }

    /// Compares the outputs of the last run with what is expected, unless they are these.
    fn checked_if_not(
        &mut self,
        outputs: &BTreeMap<String, Vec<u32>>,
    ) -> Result<Option<Vec<CheckResult>>, Problem> {
        self.live.copy_back()?;
        if self.live.outputs() == *outputs {
            return Ok(None);
        }
        Ok(Some(self.live.check()?))
    }
}
