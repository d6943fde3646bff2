//! What is asked of the end that an input takes.

use std::fmt;

/// How an input ended that was dealt with as documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputOutcome {
    /// It was taken.
    Accepted,
    /// It was refused with a reason.
    Refused,
}

/// What must not happen to any input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// A panic.
    Panic,
    /// The process was ended by a signal: an abort, a stack overflow.
    Abort,
    /// It did not end in time.
    Hang,
    /// More memory was asked for than there was.
    Memory,
    /// An exit code that the documentation does not have.
    ExitCode,
    /// A refusal that does not say where.
    NoPlace,
    /// Characters that control a terminal reached it.
    ControlCharacters,
    /// A message of more than 64 KiB.
    LongMessage,
    /// The driver failed, not the program.
    Driver,
}

/// What happened that must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which promise it breaks.
    pub kind: FaultKind,
    /// What was seen: the message of a panic, the last lines of standard error.
    pub seen: String,
}

/// How an input ended.
pub type Verdict = Result<InputOutcome, Fault>;

impl Fault {
    /// A fault with what was seen of it, as far as it is of use.
    pub fn new(kind: FaultKind, seen: &str) -> Self {
        let seen = seen.trim();
        let clipped: String = seen.chars().take(600).collect();
        Self {
            kind,
            seen: clipped,
        }
    }

    /// What faults of one cause have in common: the kind, and what the first line says beside numbers.
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

/// Whether a refusal says where: in which file, on the command line, or in which override.
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

/// Control characters other than line feeds and tabulators, of C0 and of C1.
pub(crate) fn controls(text: &str) -> Option<char> {
    text.chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}
