//! Exit codes of the program and messages on standard error.
//!
//! 0 done; 1 simulation or verification failed; 2 bad input; 3 host failure; 130 interrupted. If
//! several apply, 1 takes precedence over 3 and 3 over 130.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use warpweave_accel_sim::AccelSimError;
use warpweave_files::{ClaimError, OVER_BUDGET_HINT, OutputError, PathError};
use warpweave_params::{Diagnostic, Diagnostics, printable, printable_lines, shortened};
use warpweave_systems::Status;
use warpweave_systems::host_program::{EmulationError, ExecuteError};
use warpweave_systems::report::Colour;
use warpweave_trace::TraceError;

/// Exit code of a run that was ended by a signal.
pub(crate) const INTERRUPTED: u8 = 130;

/// Reasons that a command could not complete.
pub(crate) enum Failure {
    /// The user's input is invalid, with diagnostics.
    Input(Diagnostics),
    /// The user's input is invalid, with a formatted message.
    InputText(String),
    /// The program under simulation cannot be run.
    Program(String),
    /// The program under simulation reached a limit of its emulation.
    Limit(String),
    /// Disk, memory or another host resource failed.
    Machine(String),
    /// Standard output was closed by its reader.
    OutputClosed,
}

pub(crate) type CommandResult = Result<ExitCode, Failure>;

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Input(diagnostics)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Input(diagnostic.into())
    }
}

impl From<ExecuteError> for Failure {
    fn from(error: ExecuteError) -> Self {
        let over_budget = error.is_over_budget();
        match error {
            ExecuteError::Description(problem) => Self::Input((*problem).into()),
            ExecuteError::Launch { message, .. } if over_budget => {
                let message = Diagnostic {
                    over_budget,
                    ..*message
                };
                Self::Input(message.hint(OVER_BUDGET_HINT).into())
            }
            ExecuteError::Launch { ref source, .. }
                if matches!(**source, EmulationError::StreamBytes { .. }) =>
            {
                Self::Limit(error.to_string())
            }
            ExecuteError::Launch { ref source, .. }
                if matches!(**source, EmulationError::Disk(_)) =>
            {
                Self::Machine(error.to_string())
            }
            ExecuteError::Trace(TraceError::Write(error)) => error.into(),
            error => Self::Program(error.to_string()),
        }
    }
}

impl From<AccelSimError> for Failure {
    fn from(error: AccelSimError) -> Self {
        match error {
            AccelSimError::Input(problem) => Self::Input((*problem).into()),
            AccelSimError::Output(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Self::InputText(format!(
                    "{} already exists, and an export never overwrites\nhint: choose another folder, or remove it",
                    error.path.display()
                ))
            }
            AccelSimError::Output(error) => error.into(),
            AccelSimError::Trace(TraceError::OverBudget(error)) => Diagnostic::from(error).into(),
            error => Self::Machine(error.to_string()),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Self::Machine(error.to_string())
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        match error {
            PathError::Unwritable(error) => error.into(),
            other => Self::InputText(other.to_string()),
        }
    }
}

impl From<ClaimError> for Failure {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Output(error) => error.into(),
            ClaimError::Taken(_) => Self::InputText(format!(
                "{error}\nhint: choose another folder, or wait until that run ends"
            )),
        }
    }
}

impl Failure {
    /// Prints the error message and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (text, code) = match self {
            Self::Input(diagnostics) => {
                diagnostics_to_stderr(&diagnostics);
                let code = if diagnostics.is_of_host() { 3 } else { 2 };
                return ExitCode::from(code);
            }
            Self::InputText(text) | Self::Program(text) => (error_line(&text), 2),
            Self::Limit(text) => (error_line(&text), 1),
            Self::Machine(text) => (error_line(&text), 3),
            Self::OutputClosed => (String::new(), 3),
        };
        to_stderr(&text);
        ExitCode::from(code)
    }
}

fn error_line(text: &str) -> String {
    if text.starts_with("error") {
        text.to_owned()
    } else {
        format!("error: {text}")
    }
}

/// Prints diagnostics, coloured if the terminal supports it. Quoted input is made safe for the
/// terminal.
pub(crate) fn diagnostics_to_stderr(diagnostics: &Diagnostics) {
    let text = if wants_colour(&io::stderr()) {
        diagnostics.coloured()
    } else {
        diagnostics.to_string()
    };
    let _ = writeln!(io::stderr(), "{text}");
}

/// Exits with the requested help or version, or with an argument error. Quoted arguments may hold
/// anything, so they are made safe for a terminal first.
pub(crate) fn leave_with(error: &clap::Error) -> ! {
    let text = error.to_string();
    let fit = |line: &str| line.len() <= LINE_MAX && matches!(printable(line), Cow::Borrowed(_));
    if !error.use_stderr() || text.lines().all(fit) {
        error.exit()
    }
    to_stderr(&text);
    std::process::exit(error.exit_code())
}

/// Maximum number of characters in a message line; only very long file names exceed it.
const LINE_MAX: usize = 2_000;

/// Prints a message to standard error, with control characters of inputs made harmless. A failure
/// to print is ignored.
pub(crate) fn to_stderr(text: &str) {
    if !text.is_empty() {
        for line in text.trim_end().lines() {
            let _ = writeln!(io::stderr(), "{}", shortened(line, LINE_MAX));
        }
    }
}

/// True if output may be coloured: it goes to a terminal, and `NO_COLOR` is not set.
pub(crate) fn wants_colour(to: &impl IsTerminal) -> bool {
    to.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes data to standard output, with control characters of inputs made harmless.
pub(crate) fn to_stdout(text: &str) -> Result<(), Failure> {
    write_to_stdout(&printable_lines(text))
}

/// Writes a page that makes control characters of inputs harmless itself.
pub(crate) fn page_to_stdout(page: impl Fn(Colour) -> String) -> Result<(), Failure> {
    let colour = if wants_colour(&io::stdout()) {
        Colour::On
    } else {
        Colour::Off
    };
    write_to_stdout(&page(colour))
}

fn write_to_stdout(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                Failure::OutputClosed
            } else {
                Failure::Machine(format!("cannot write to standard output: {error}"))
            }
        })
}

/// Returns the exit code for the results of a run.
pub(crate) fn code_of(status: &Status, verified: Option<bool>) -> u8 {
    match status {
        _ if verified == Some(false) => 1,
        Status::Done => 0,
        Status::Interrupted => INTERRUPTED,
        Status::Deadlock(_) | Status::Limit | Status::Mismatch | Status::Failed(_) => 1,
    }
}

/// Ends a command whose work is done. Reports failed writes and returns the exit code, which is
/// `code` if all succeeded.
pub(crate) fn ended(code: u8, writing: impl IntoIterator<Item = Result<(), Failure>>) -> ExitCode {
    let mut lost = false;
    for failure in writing.into_iter().filter_map(Result::err) {
        failure.report();
        lost = true;
    }
    ExitCode::from(if lost && code != 1 { 3 } else { code })
}
