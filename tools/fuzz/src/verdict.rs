//! Verdicts on inputs, and the faults that no input may cause.

use std::fmt;

/// Documented outcomes of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputOutcome {
    /// The input was accepted as valid.
    Accepted,
    /// The input was rejected with a reason.
    Refused,
}

/// Faults that no input may cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The code panicked while processing the input.
    Panic,
    /// The process was ended by a signal: an abort, a stack overflow.
    Abort,
    /// The process did not end within the time limit.
    Hang,
    /// The process requested more memory than the limit.
    Memory,
    /// The process returned an undocumented exit code.
    ExitCode,
    /// The error message does not give a position.
    NoPlace,
    /// Control characters reached the terminal.
    ControlCharacters,
    /// A message of more than 64 KiB.
    LongMessage,
    /// The driver failed, not the program under test.
    Driver,
}

/// Fault caused by an input, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kind of fault: the promise that is broken.
    pub kind: FaultKind,
    /// Observed evidence: the message of a panic, the last lines of standard error.
    pub seen: String,
}

/// Outcome of an input: a documented ending, or a fault.
pub type Verdict = Result<InputOutcome, Fault>;

impl Fault {
    /// Creates a fault with its evidence, cut to the useful part.
    pub fn new(kind: FaultKind, seen: &str) -> Self {
        let seen = seen.trim();
        let clipped: String = seen.chars().take(600).collect();
        Self {
            kind,
            seen: clipped,
        }
    }

    /// Returns a key shared by faults of one cause: the kind, and the first line without numbers.
    pub fn cause(&self) -> String {
        let line = self.seen.lines().next().unwrap_or_default();
        let said: String = match self.kind {
            FaultKind::ControlCharacters | FaultKind::LongMessage | FaultKind::Hang => {
                String::new()
            }
            // The place in the source says it all.
            FaultKind::Panic => line.split("src/").last().unwrap_or(line).to_owned(),
            _ => line
                .chars()
                .filter(|c| !c.is_ascii_digit())
                .take(60)
                .collect(),
        };
        format!("{:?} {said}", self.kind)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.seen)
    }
}

/// True if an error message gives a position: a file, the command line, or an override.
pub(crate) fn has_place(text: &str, files: &[String]) -> bool {
    let words = [
        "--",
        "override",
        "Usage",
        "command line",
        "unit[",
        "overrides",
        "reference/",
        "both runs",
    ];
    words.iter().any(|word| text.contains(word)) || files.iter().any(|name| text.contains(name))
}

/// Finds a control character other than line feed and tabulator, of C0 or of C1.
pub(crate) fn controls(text: &str) -> Option<char> {
    text.chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}
