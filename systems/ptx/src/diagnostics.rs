//! Errors of the PTX front end, with position, problem and suggestion.

use std::fmt;

use warpweave_params::{Excerpt, shortened};

/// Maximum characters shown of a name or a sentence.
const TEXT_MAX: usize = 600;

/// A half-open byte range of the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn to(self, end: Span) -> Span {
        Span {
            start: self.start,
            end: end.end.max(self.start),
        }
    }
}

/// An error with a byte range; becomes a [`Diagnostic`] once the source is known.
#[derive(Clone, Debug)]
pub(crate) struct SpannedError {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// True for valid PTX that the emulator cannot execute: only kernels that reach it are
    /// rejected, not the module.
    pub(crate) is_unsupported: bool,
}

impl SpannedError {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            hint: None,
            is_unsupported: false,
        }
    }

    /// Creates a complaint about PTX that the emulator cannot execute.
    pub(crate) fn unsupported(span: Span, message: impl Into<String>) -> Self {
        Self {
            is_unsupported: true,
            ..Self::new(span, message)
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds "did you mean" if one of `names` is similar to `wrong`.
    pub(crate) fn nearest<'n>(self, wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        match nearest_name(wrong, names) {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None => self,
        }
    }
}

/// Returns the name most similar to `wrong`, if it is similar enough to suggest.
pub(crate) fn nearest_name<'n>(
    wrong: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let mut best: Option<(f64, &str)> = None;
    for name in names {
        let score = strsim::jaro_winkler(wrong, name);
        if score > 0.7 && best.is_none_or(|(old, _)| score > old) {
            best = Some((score, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Source text with its file name and line start offsets.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    line_starts: Vec<u32>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        let mut line_starts = vec![0];
        for (at, byte) in text.bytes().enumerate() {
            if byte == b'\n' {
                line_starts.push(at as u32 + 1);
            }
        }
        Self {
            file,
            text,
            line_starts,
        }
    }

    /// Returns the one-based line of a byte offset.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        self.line_starts.partition_point(|&start| start <= offset) as u32
    }

    /// Returns the one-based column of a byte offset, in characters.
    pub(crate) fn column(&self, offset: u32) -> u32 {
        let start = self.line_starts[self.line(offset) as usize - 1] as usize;
        let before = self.text.get(start..offset as usize).unwrap_or_default();
        before.chars().count() as u32 + 1
    }

    pub(crate) fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    pub(crate) fn diagnostic(&self, complaint: SpannedError) -> Diagnostic {
        let line = self.line(complaint.span.start);
        let start = self.line_starts[line as usize - 1] as usize;
        let rest = &self.text[start..];
        let text = rest.split(['\n', '\r']).next().unwrap_or_default();
        let before = text.floor_char_boundary(complaint.span.start as usize - start);
        let width = (complaint.span.end - complaint.span.start) as usize;
        let after = text.floor_char_boundary(before.saturating_add(width));
        Diagnostic {
            file: self.file.to_owned(),
            line,
            column: text[..before].chars().count() as u32 + 1,
            width: (after - before) as u32,
            message: complaint.message,
            excerpt: Excerpt::of(text, before, after),
            hint: complaint.hint,
        }
    }
}

/// A problem found in a PTX file, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// File name as passed to [`Module::parse`](crate::Module::parse).
    pub file: String,
    /// Line of the problem, counted from one.
    pub line: u32,
    /// Column in characters, counted from one.
    pub column: u32,
    /// Length of the faulty part of the line, in bytes.
    pub width: u32,
    /// Description of the problem, in one sentence.
    pub message: String,
    /// Part of the line that is shown.
    pub excerpt: Excerpt,
    /// Suggested fix, if there is one.
    pub hint: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, .. } = self;
        let file = shortened(&self.file, TEXT_MAX);
        let message = shortened(&self.message, TEXT_MAX);
        writeln!(f, "{file}:{line}:{column}: {message}")?;
        let Excerpt {
            text,
            before,
            marked,
        } = &self.excerpt;
        writeln!(f, "{line} | {text}")?;
        let gutter = " ".repeat(line.to_string().len());
        let marks = "^".repeat((*marked).max(1));
        write!(f, "{gutter} | {}{marks}", " ".repeat(*before))?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {}", shortened(hint, TEXT_MAX))?;
        }
        Ok(())
    }
}

/// All problems found in a PTX file, in text order; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diagnostic) in self.0.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}
