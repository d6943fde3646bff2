//! Messages about a description file, with a place and a next step, laid out as rustc does.
//!
//! ```text
//! error: unknown field `wayz` in Cache
//!  --> l1.ron:1:24
//!   |
//! 1 | Cache(size: "48 KiB", wayz: 4)
//!   |                       ^^^^
//!   = hint: did you mean `ways`? fields of Cache: size, ways
//! ```
//!
//! Whatever the description holds, a message stays short and cannot steer the terminal: of a long line
//! the part around the marks is shown, of long names and values their beginning and their end, and
//! control characters appear as escapes.

mod snippet;

use std::fmt;

pub use self::snippet::Excerpt;
use self::snippet::{Marks, snippet};
use crate::printable::shortened;
use crate::source::Span;

/// Characters of a sentence that are shown.
const SENTENCE_MAX: usize = 600;

/// Characters of a hint that are shown: it may list valid names.
const HINT_MAX: usize = 2_000;

/// Further places that a message shows.
const RELATED_MAX: usize = 16;

/// Messages that are shown of one description.
const MESSAGES_MAX: usize = 100;

/// Bytes of messages shown; the first message is shown whatever its length, which has a bound of its own.
const BYTES_MAX: usize = 32 << 10;

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The description cannot be used.
    #[default]
    Error,
    /// It can, but is probably not what was meant.
    Warning,
    /// For information.
    Note,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Error => "\x1b[1;31m",
            Self::Warning => "\x1b[1;33m",
            Self::Note => "\x1b[1;32m",
        }
    }
}

/// Another place that explains a message, such as where a name was first given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What is there.
    pub message: String,
    /// Where.
    pub place: Span,
}

/// One message: what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where; absent when no text is to blame, as for a file that does not exist.
    pub place: Option<Span>,
    /// A word written beside the caret.
    pub label: Option<String>,
    /// The next step.
    pub hint: Option<String>,
    /// Further places.
    pub related: Vec<Related>,
    /// Whether nothing is wrong but that it takes more memory than there may be.
    pub over_budget: bool,
}

impl Diagnostic {
    /// A message of the given severity.
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            severity,
            message,
            place: None,
            label: None,
            hint: None,
            related: Vec::new(),
            over_budget: false,
        }
    }

    /// An error.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// A warning.
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// Sets the place.
    pub fn at(mut self, place: &Span) -> Self {
        self.place = Some(place.clone());
        self
    }

    /// Sets the word beside the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the next step.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a further place.
    pub fn related(mut self, message: impl Into<String>, place: &Span) -> Self {
        self.related.push(Related {
            message: message.into(),
            place: place.clone(),
        });
        self
    }

    /// The text form with ANSI colours, for a terminal; `Display` is the same without.
    pub fn coloured(&self) -> String {
        let mut text = String::new();
        self.render(&mut text, true)
            .expect("writing to a string succeeds");
        text
    }

    fn render(&self, out: &mut impl fmt::Write, colour: bool) -> fmt::Result {
        let paint = Paint { colour };
        let word = paint.in_(self.severity.colour(), self.severity.word());
        write!(out, "{word}: {}", shortened(&self.message, SENTENCE_MAX))?;
        let gutter = gutter_width(self);
        if let Some(place) = &self.place {
            let marks = Marks {
                colour: self.severity.colour(),
                mark: '^',
                label: self.label.as_deref(),
            };
            snippet(out, place, gutter, &paint, &marks)?;
        }
        if let Some(hint) = &self.hint {
            let hint = shortened(hint, HINT_MAX);
            match self.place {
                Some(_) => write!(out, "\n{:gutter$} = hint: {hint}", "")?,
                None => write!(out, "\nhint: {hint}")?,
            }
        }
        let note = Severity::Note;
        for Related { message, place } in self.related.iter().take(RELATED_MAX) {
            let word = paint.in_(note.colour(), note.word());
            write!(out, "\n{word}: {}", shortened(message, SENTENCE_MAX))?;
            let marks = Marks {
                colour: note.colour(),
                mark: '-',
                label: None,
            };
            snippet(out, place, gutter, &paint, &marks)?;
        }
        Ok(())
    }
}

/// Width of the line-number column, shared by all snippets of one message.
fn gutter_width(diagnostic: &Diagnostic) -> usize {
    let places = diagnostic
        .place
        .iter()
        .chain(diagnostic.related.iter().map(|r| &r.place));
    places
        .map(|place| place.position().line.to_string().len())
        .max()
        .unwrap_or(1)
}

struct Paint {
    colour: bool,
}

impl Paint {
    fn in_(&self, colour: &str, text: &str) -> String {
        if self.colour {
            format!("{colour}{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn blue(&self, text: &str) -> String {
        self.in_("\x1b[1;34m", text)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.render(f, false)
    }
}

impl std::error::Error for Diagnostic {}

/// All messages about one description, so that one run shows every mistake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// No messages yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Keeps the value of a success; records the failure otherwise.
    pub fn take<T>(&mut self, result: Result<T, impl Into<Diagnostics>>) -> Option<T> {
        result
            .map_err(|error| self.list.extend(error.into().list))
            .ok()
    }

    /// All messages in the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether any message is an error.
    pub fn has_errors(&self) -> bool {
        self.list
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether there is an error, and all that are errors are for want of memory.
    pub fn is_over_budget(&self) -> bool {
        let errors = || self.list.iter().filter(|d| d.severity == Severity::Error);
        errors().next().is_some() && errors().all(|error| error.over_budget)
    }

    /// `Ok(value)` unless an error was recorded.
    ///
    /// # Errors
    /// The messages, when at least one is an error. Mere warnings are dropped: read them before.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.has_errors() {
            Err(self)
        } else {
            Ok(value)
        }
    }

    /// The text form with ANSI colours, for a terminal; `Display` is the same without.
    pub fn coloured(&self) -> String {
        let mut text = String::new();
        self.render(&mut text, true)
            .expect("writing to a string succeeds");
        text
    }

    fn render(&self, out: &mut impl fmt::Write, colour: bool) -> fmt::Result {
        let (mut shown, mut bytes) = (0, 0);
        for diagnostic in self.list.iter().take(MESSAGES_MAX) {
            let mut message = String::new();
            diagnostic.render(&mut message, colour)?;
            if shown > 0 {
                if bytes + message.len() > BYTES_MAX {
                    break;
                }
                out.write_str("\n\n")?;
            }
            out.write_str(&message)?;
            shown += 1;
            bytes += message.len();
        }
        match self.list.len() - shown {
            0 => Ok(()),
            more => write!(out, "\n\nnote: {more} more messages are not shown"),
        }
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self {
            list: vec![diagnostic],
        }
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self {
            list: diagnostics.into_iter().collect(),
        }
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        self.list.extend(diagnostics);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.render(f, false)
    }
}

impl std::error::Error for Diagnostics {}
