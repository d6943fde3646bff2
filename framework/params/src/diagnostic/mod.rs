//! Messages about a description file, with a place and a next step, formatted as rustc does.
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
//! A message stays short and cannot control the terminal, whatever the description contains. For a
//! long line only the part around the marks is shown. Long names and values are shortened to their
//! beginning and end, and control characters appear as escapes.

mod snippet;

use std::fmt;

pub use self::snippet::Excerpt;
use self::snippet::{Marks, snippet};
use crate::printable::shortened;
use crate::source::Span;

/// Maximum number of characters shown of a sentence.
const SENTENCE_MAX: usize = 600;

/// Maximum number of characters shown of a hint, which may list valid names.
const HINT_MAX: usize = 2_000;

/// Maximum number of related places that a message shows.
const RELATED_MAX: usize = 16;

/// Maximum number of messages shown for one description.
const MESSAGES_MAX: usize = 100;

/// Maximum bytes of messages shown. The first message is always shown; its length is bounded
/// separately.
const BYTES_MAX: usize = 32 << 10;

/// Severity of a message about a description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The description cannot be used because of this.
    #[default]
    Error,
    /// The description can be used, but is probably not what was meant.
    Warning,
    /// For information only; nothing has to be changed.
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

/// Another place that explains a message, such as the first definition of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Text that explains the related place.
    pub message: String,
    /// Place that the text refers to.
    pub place: Span,
}

/// One message: the problem, its place, and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity of the message: error, warning or note.
    pub severity: Severity,
    /// Describes the problem in one sentence without a full stop.
    pub message: String,
    /// Place of the problem; absent if no text is at fault, as for a missing file.
    pub place: Option<Span>,
    /// Short text written next to the caret.
    pub label: Option<String>,
    /// Suggestion for the next step, if there is one.
    pub hint: Option<String>,
    /// Further places that help to explain the message.
    pub related: Vec<Related>,
    /// True if the only problem is that the memory budget would be exceeded.
    pub over_budget: bool,
    /// True if disk, memory or another resource of the host failed, not the user's input.
    pub of_host: bool,
}

impl Diagnostic {
    /// Creates a message of the given severity.
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
            of_host: false,
        }
    }

    /// Creates a message of severity [`Severity::Error`].
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// Creates a message of severity [`Severity::Warning`].
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// Sets the place that the message points to.
    pub fn at(mut self, place: &Span) -> Self {
        self.place = Some(place.clone());
        self
    }

    /// Sets the short text next to the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the suggestion for the next step.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a further place with its own text.
    pub fn related(mut self, message: impl Into<String>, place: &Span) -> Self {
        self.related.push(Related {
            message: message.into(),
            place: place.clone(),
        });
        self
    }

    /// Returns the text form with ANSI colours, for a terminal. `Display` gives the same text
    /// without colours.
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
    /// Creates a collection without any messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message at the end of the collection.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Returns the value of a success and records the failure otherwise.
    pub fn take<T>(&mut self, result: Result<T, impl Into<Diagnostics>>) -> Option<T> {
        result
            .map_err(|error| self.list.extend(error.into().list))
            .ok()
    }

    /// Iterates over all messages in the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Returns the number of messages of all severities.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if there are no messages of any severity.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if any message is an error.
    pub fn has_errors(&self) -> bool {
        self.list
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// True if there is an error and all errors are due to the memory budget or to the host.
    pub fn is_of_host(&self) -> bool {
        let errors = || self.list.iter().filter(|d| d.severity == Severity::Error);
        errors().next().is_some() && errors().all(|error| error.over_budget || error.of_host)
    }

    /// Returns `Ok(value)` unless an error was recorded.
    ///
    /// # Errors
    /// Returns the messages if at least one is an error. Plain warnings are dropped; read them
    /// first.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.has_errors() {
            Err(self)
        } else {
            Ok(value)
        }
    }

    /// Returns the text form with ANSI colours, for a terminal. `Display` gives the same text
    /// without colours.
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
            more => write!(out, "\n\nnote: {more} more messages not shown"),
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
