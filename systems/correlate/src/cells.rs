//! Cells of a line of comma-separated text, with their places.

use std::borrow::Cow;
use std::ops::Range;

use warpweave_params::{Diagnostic, Source};

/// One line of a file, for cells and for messages about them.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Name of the file as given by the user.
    pub(crate) file: &'a str,
    pub(crate) number: usize,
    pub(crate) text: &'a str,
}

/// Value between two commas, without quotes and blanks around it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Bytes of the line that the cell covers, quotes included.
    pub(crate) place: Range<usize>,
}

impl<'a> Line<'a> {
    /// Creates an error that points at a part of the line.
    pub(crate) fn error(&self, place: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let source = Source::of_line(self.file, self.number, self.text);
        Diagnostic::error(message).at(&source.span(place.start, place.end))
    }

    /// Splits the line at its commas. A cell in quotes may hold commas, and quotes written twice.
    ///
    /// # Errors
    /// Returns an error if a quote is not closed, or if text follows a closing quote.
    pub(crate) fn cells(&self) -> Result<Vec<Cell<'a>>, Diagnostic> {
        let mut cells = Vec::new();
        let mut at = 0;
        loop {
            let (cell, end) = self.cell(at)?;
            cells.push(cell);
            if end >= self.text.len() {
                return Ok(cells);
            }
            at = end + 1;
        }
    }

    /// Reads the cell that begins at a byte. Also returns the place of the comma or end after it.
    fn cell(&self, at: usize) -> Result<(Cell<'a>, usize), Diagnostic> {
        let rest = &self.text[at..];
        let start = at + (rest.len() - rest.trim_start().len());
        let Some(inner) = self.text[start..].strip_prefix('"') else {
            let end = rest.find(',').map_or(self.text.len(), |comma| at + comma);
            let text = self.text[start.min(end)..end].trim_end();
            let start = start.min(end);
            let cell = Cell {
                text: Cow::Borrowed(text),
                place: start..start + text.len(),
            };
            return Ok((cell, end));
        };
        let mut text = Cow::Borrowed("");
        let mut left = inner;
        loop {
            let Some(quote) = left.find('"') else {
                let problem = "a quoted value does not end on its line";
                return Err(self.error(start..self.text.len(), problem));
            };
            text += &left[..quote];
            left = &left[quote + 1..];
            match left.strip_prefix('"') {
                Some(after) => {
                    text += "\"";
                    left = after;
                }
                None => break,
            }
        }
        let closed = self.text.len() - left.len();
        let after = left.trim_start();
        let end = self.text.len() - after.len();
        if !after.is_empty() && !after.starts_with(',') {
            let problem = "text after the closing quote of a value";
            return Err(self
                .error(end..end, problem)
                .hint("separate values by commas; write a quote in a quoted value twice"));
        }
        let place = start..closed;
        Ok((Cell { text, place }, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        let (file, number) = ("p.csv", 3);
        Line { file, number, text }
    }

    fn texts(text: &str) -> Vec<String> {
        let cells = line(text).cells().unwrap();
        cells
            .into_iter()
            .map(|cell| cell.text.into_owned())
            .collect()
    }

    #[test]
    fn quoted_cells_hold_commas_and_quotes() {
        assert_eq!(texts("a,b"), ["a", "b"]);
        assert_eq!(
            texts(r#""a, b" , "say ""c""",d"#),
            ["a, b", "say \"c\"", "d"]
        );
        assert_eq!(texts(r#""",x"#), ["", "x"]);
        assert_eq!(texts(""), [""]);
        assert_eq!(texts(",,"), ["", "", ""]);
        assert_eq!(texts("  ,é , x "), ["", "é", "x"]);
    }

    #[test]
    fn cells_know_their_places() {
        let places = |text: &'static str| -> Vec<&str> {
            let cells = line(text).cells().unwrap();
            cells.into_iter().map(|cell| &text[cell.place]).collect()
        };
        assert_eq!(places(r#" a ,"b""c" ,d"#), ["a", r#""b""c""#, "d"]);
    }

    #[test]
    fn broken_quotes_are_refused_with_line_and_column() {
        let refused = |text: &str| line(text).cells().unwrap_err().to_string();
        let open = refused(r#"1,"2"#);
        assert!(
            open.contains("p.csv:3:3") && open.contains("does not end"),
            "{open}"
        );
        let after = refused(r#"1,"2"3,4"#);
        assert!(
            after.contains("p.csv:3:6") && after.contains("closing quote"),
            "{after}"
        );
    }
}
