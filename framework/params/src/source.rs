//! Source texts, positions and spans in them.

use std::fmt;
use std::sync::Arc;

/// Longest text accepted, in bytes: a description file is written by hand.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 20;

/// One text with a name: a file, or the text of an override.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    /// Byte offset of the first character of each line.
    line_starts: Vec<u32>,
    /// Number of lines in the file before the text.
    lines_before: usize,
    /// Number of leading bytes that messages may show.
    quoted: usize,
}

/// A line and column for human readers, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number, starting at one for the first line.
    pub line: usize,
    /// Column in characters, starting at one.
    pub column: usize,
}

impl Source {
    /// Creates a source with a name. Messages show the name before `:line:column`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        let text = text.into();
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(newlines.map(|(at, _)| at as u32 + 1))
            .collect();
        Arc::new(Self {
            name: name.into(),
            text,
            line_starts,
            lines_before: 0,
            quoted: usize::MAX,
        })
    }

    /// Creates a source from one line, with its number counted from one, of a text not held in
    /// memory.
    pub fn of_line(name: impl Into<String>, number: usize, line: impl Into<String>) -> Arc<Self> {
        let mut source = Self::new(name, line);
        if let Some(source) = Arc::get_mut(&mut source) {
            source.lines_before = number.saturating_sub(1);
        }
        source
    }

    /// Creates a source of which messages show at most the first `characters` characters.
    pub(crate) fn quoted_up_to(name: String, text: String, characters: usize) -> Arc<Self> {
        let cut = text.char_indices().nth(characters);
        let mut source = Self::new(name, text);
        if let (Some(source), Some((at, _))) = (Arc::get_mut(&mut source), cut) {
            source.quoted = at;
        }
        source
    }

    /// Returns the name that messages show for this source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the complete text of the source.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line and column of a byte offset; offsets past the end give the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self
            .line_starts
            .partition_point(|start| *start as usize <= offset)
            .max(1);
        let start = self.line_starts[line - 1] as usize;
        Position {
            line: self.lines_before + line,
            column: self.text[start..offset].chars().count() + 1,
        }
    }

    /// Returns the text of a line (from one) without its line break; empty if there is no such
    /// line.
    pub fn line(&self, line: usize) -> &str {
        let Some(start) = line
            .checked_sub(self.lines_before + 1)
            .and_then(|index| self.line_starts.get(index))
        else {
            return "";
        };
        let rest = &self.text[*start as usize..];
        rest.split('\n')
            .next()
            .unwrap_or_default()
            .trim_end_matches('\r')
    }

    /// Returns the part of a line (from one) that messages may show; `None` if no part of it may be
    /// shown.
    pub(crate) fn quotable(&self, line: usize) -> Option<&str> {
        let start = self.line_start(line);
        let text = self.line(line);
        if start + text.len() <= self.quoted {
            return Some(text);
        }
        let shown = self.quoted.checked_sub(start).filter(|shown| *shown > 0)?;
        Some(&text[..shown])
    }

    /// Returns the byte offset of the first character of a line (from one), which must exist.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.line_starts[line - 1 - self.lines_before] as usize
    }

    /// Returns the byte offset of a position; columns past the end of a line give the end of that
    /// line.
    pub fn offset(&self, position: Position) -> usize {
        let index = position.line.saturating_sub(self.lines_before + 1);
        let Some(start) = self.line_starts.get(index) else {
            return self.text.len();
        };
        let line = self.line(position.line);
        let skipped = line.char_indices().nth(position.column.saturating_sub(1));
        *start as usize + skipped.map_or(line.len(), |(at, _)| at)
    }

    /// Creates a span in this text from two byte offsets.
    pub fn span(self: &Arc<Self>, start: usize, end: usize) -> Span {
        let end = end.min(self.text.len());
        Span {
            source: Arc::clone(self),
            start: start.min(end) as u32,
            end: end as u32,
        }
    }
}

/// A range of a source text.
#[derive(Clone, PartialEq, Eq)]
pub struct Span {
    /// Source text that contains the range.
    pub source: Arc<Source>,
    /// Byte offset of the first byte.
    pub start: u32,
    /// Byte offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the source text that the span covers.
    pub fn text(&self) -> &str {
        self.source
            .text
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    /// Returns the line and column of the first character.
    pub fn position(&self) -> Position {
        self.source.position(self.start as usize)
    }

    /// Returns the line and column just past the last character.
    pub fn end_position(&self) -> Position {
        self.source.position(self.end as usize)
    }

    /// Returns the first character of the range, to point at when the whole range would fill a
    /// page.
    pub fn head(&self) -> Self {
        let width = self.text().chars().next().map_or(0, char::len_utf8);
        Self {
            end: self.start + width as u32,
            ..self.clone()
        }
    }

    /// Returns the part of this range between two byte offsets relative to its start.
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let clamp = |offset: usize| (self.start as usize + offset).min(self.end as usize) as u32;
        Self {
            source: Arc::clone(&self.source),
            start: clamp(start),
            end: clamp(end),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position();
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}+{}", self.end - self.start)
    }
}
