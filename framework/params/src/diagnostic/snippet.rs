//! Excerpt of a source line in a message, and the marks under it.

use std::fmt;

use unicode_width::UnicodeWidthChar;

use super::Paint;
use crate::printable::{push_printable, shortened};
use crate::source::{Position, Span};

/// Columns a tab takes in a shown source line, as in rustc.
const TAB: &str = "    ";

/// Maximum number of columns shown of a source line; rustc uses the same when the terminal width is
/// unknown.
const COLUMNS_MAX: usize = 140;

/// Columns shown before the marks when the line has to be cut in front of them.
const COLUMNS_BEFORE: usize = 40;

/// Replaces a part of a line that is not shown.
const CUT: &str = "…";

/// Maximum number of characters shown of a file name.
const NAME_MAX: usize = 240;

/// Style and text of the marks under a source line.
pub(super) struct Marks<'a> {
    /// ANSI escape sequence of the marks' colour.
    pub(super) colour: &'a str,
    /// Character repeated below the marked source text.
    pub(super) mark: char,
    /// Short text written next to the marks.
    pub(super) label: Option<&'a str>,
}

/// Writes the arrow line, the source line and its marks, beginning with a line break.
pub(super) fn snippet(
    out: &mut impl fmt::Write,
    place: &Span,
    gutter: usize,
    paint: &Paint,
    marks: &Marks<'_>,
) -> fmt::Result {
    let (start, end) = (place.position(), place.end_position());
    let arrow = paint.blue("-->");
    let bar = paint.blue("|");
    let name = shortened(place.source.name(), NAME_MAX);
    let Position { line, column } = start;
    write!(out, "\n{:gutter$}{arrow} {name}:{line}:{column}", "")?;
    let Some(whole) = place.source.quotable(line) else {
        return Ok(());
    };
    write!(out, "\n{:gutter$} {bar}", "")?;

    let number = paint.blue(&format!("{line:>gutter$}"));
    let from = (place.start as usize - place.source.line_start(line)).min(whole.len());
    let covered = if line == end.line {
        (place.end - place.start) as usize
    } else {
        usize::MAX
    };
    let to = from.saturating_add(covered).min(whole.len());
    let shown = Excerpt::of(whole, from, to);
    let gap = if shown.text.is_empty() { "" } else { " " };
    write!(out, "\n{number} {bar}{gap}{}", shown.text)?;

    let below: String = std::iter::repeat_n(marks.mark, shown.marked.max(1)).collect();
    let below = paint.in_(marks.colour, &below);
    let before = " ".repeat(shown.before);
    write!(out, "\n{:gutter$} {bar} {before}{below}", "")?;
    if let Some(label) = marks.label {
        write!(out, " {}", shortened(label, NAME_MAX))?;
    }
    if line != end.line {
        write!(out, " ... to line {}", end.line)?;
    }
    Ok(())
}

/// Part of a source line as displayed: safe for a terminal and limited in width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Text of the excerpt, with control characters escaped.
    pub text: String,
    /// Number of columns before the marked part.
    pub before: usize,
    /// Number of columns of the marked part that are shown.
    pub marked: usize,
}

impl Excerpt {
    /// Creates the excerpt of `line` around the marked bytes from `from` to `to`.
    pub fn of(line: &str, from: usize, to: usize) -> Self {
        let room = if fits(line) {
            COLUMNS_MAX
        } else {
            COLUMNS_BEFORE
        };
        let (mut start, mut columns) = (from, 0);
        for (at, c) in line[..from].char_indices().rev() {
            columns += width(c);
            if columns > room {
                break;
            }
            start = at;
        }

        let mut excerpt = Self {
            text: String::new(),
            before: 0,
            marked: 0,
        };
        columns = 0;
        if start > 0 {
            excerpt.text.push_str(CUT);
            excerpt.before += 1;
            columns += 1;
        }
        for (at, c) in line[start..].char_indices().map(|(at, c)| (start + at, c)) {
            columns += width(c);
            if columns > COLUMNS_MAX {
                excerpt.text.push_str(CUT);
                break;
            }
            match c {
                '\t' => excerpt.text.push_str(TAB),
                _ => push_printable(&mut excerpt.text, c),
            }
            if at < from {
                excerpt.before += width(c);
            } else if at < to {
                excerpt.marked += width(c);
            }
        }
        excerpt
    }
}

/// True if the line can be shown whole.
fn fits(line: &str) -> bool {
    let mut columns = 0;
    line.chars().all(|c| {
        columns += width(c);
        columns <= COLUMNS_MAX
    })
}

/// Returns the number of columns that a character takes when displayed.
fn width(c: char) -> usize {
    if c == '\t' {
        return TAB.len();
    }
    let mut shown = String::new();
    push_printable(&mut shown, c);
    shown.chars().map(|c| c.width().unwrap_or(0)).sum()
}
