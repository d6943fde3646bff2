//! Output of a comparison as a readable text page.

use std::fmt::{self, Write as _};

use warpweave_params::printable;

use super::{Cell, Change, Comparison, Parameter, Row};
use crate::digits::grouped;
use crate::report::paint::{Colour, TextStyle, WIDTH, columns, cut};

/// Maximum number of statistics shown on the page.
const STATISTICS: usize = 20;
/// Maximum number of parameters shown on the page.
const PARAMETERS: usize = 20;
/// Width in columns of labels; those of values and changes follow.
const LABELS: usize = 40;
const VALUES: usize = 14;
const CHANGES: usize = 10;
/// Width in columns of a bar of issue slots, and of its label.
const BAR: usize = 48;
const BAR_LABELS: usize = 28;
/// Suffix of a change that may be noise.
const NOISE: &str = " ~";

impl Comparison {
    /// Returns the differences as text, largest changes first. Control characters in the input do
    /// not reach the terminal.
    pub fn to_text(&self, colour: Colour) -> String {
        let mut page = Page {
            out: String::new(),
            colour,
        };
        page.write(self).expect("writing to a string succeeds");
        page.out
    }

    /// True if any side has several runs.
    pub(super) fn has_repetitions(&self) -> bool {
        self.sides.iter().any(|side| side.runs > 1)
    }
}

struct Page {
    out: String,
    colour: Colour,
}

impl Page {
    fn write(&mut self, comparison: &Comparison) -> fmt::Result {
        for (side, letter) in comparison.sides.iter().zip(letters()) {
            let runs = match side.runs {
                1 => String::new(),
                runs => format!(", {runs} runs"),
            };
            let tone = if side.status == "done" {
                TextStyle::Good
            } else {
                TextStyle::Bad
            };
            writeln!(
                self.out,
                "{} {} ({}{runs}) {}",
                self.colour.paint(TextStyle::Title, &letter),
                printable(&side.name),
                printable(&side.scenario),
                self.colour.paint(tone, &printable(&side.status)),
            )?;
        }
        if !comparison.same_program {
            let words = "the runs executed different numbers of instructions";
            writeln!(self.out, "{}", self.colour.paint(TextStyle::Bad, words))?;
        }
        self.table("", &comparison.totals, comparison)?;
        self.table("kernels", &comparison.kernels, comparison)?;
        self.slots(comparison)?;
        let overrides = "overrides that differ";
        self.parameters(overrides, &comparison.overrides, comparison)?;
        match &comparison.system {
            Some(system) => self.parameters("system as built", system, comparison)?,
            None => writeln!(
                self.out,
                "\nsystem as built: unknown; compare results folders to see it"
            )?,
        }
        let statistics = &comparison.statistics;
        let shown = statistics.len().min(STATISTICS);
        let title = format!(
            "statistics by relative change ({shown} of {} that differ, {} are equal)",
            statistics.len(),
            comparison.equal
        );
        self.table(&title, &statistics[..shown], comparison)?;
        self.alone(comparison)?;
        if comparison.has_repetitions() {
            writeln!(
                self.out,
                "\nvalues are medians;{NOISE} within noise: the ranges of the runs overlap"
            )?;
        }
        Ok(())
    }

    /// Writes the issue slots while kernels ran, of all kernels and of each measured one. With
    /// colours there is a bar for each side as well.
    fn slots(&mut self, comparison: &Comparison) -> fmt::Result {
        let title = "issue slots while kernels ran, %";
        if self.colour == Colour::Off || comparison.slots.is_empty() {
            return self.table(title, &comparison.slots, comparison);
        }
        writeln!(self.out, "\n{}", self.colour.paint(TextStyle::Title, title))?;
        for place in comparison.slot_places() {
            let place_name = if place.is_empty() {
                "all kernels"
            } else {
                place
            };
            for (side, letter) in letters().enumerate().take(comparison.sides.len()) {
                let shares = comparison.slot_shares(place, side);
                let counts: Vec<u64> = shares.iter().map(|share| (share * 1e6) as u64).collect();
                let pieces = columns(&counts, BAR).into_iter().enumerate();
                let bar: String = pieces
                    .map(|(outcome, width)| self.block(outcome, width))
                    .collect();
                let name = if side == 0 { place_name } else { "" };
                let name = cut(&printable(name), BAR_LABELS - 1);
                writeln!(self.out, "  {name:<BAR_LABELS$}{letter} {bar}")?;
            }
        }
        let mut width = 0;
        for (outcome, name) in comparison.slot_outcomes().into_iter().enumerate() {
            let name = printable(name);
            let own = name.chars().count() + 4;
            if width + own > WIDTH {
                writeln!(self.out)?;
                width = 0;
            }
            width += own;
            write!(self.out, "  {} {name}", self.block(outcome, 1))?;
        }
        writeln!(self.out)?;
        self.table("", &comparison.slots, comparison)
    }

    /// Returns a piece of a bar in the colour of an outcome.
    fn block(&self, outcome: usize, width: usize) -> String {
        let text = "█".repeat(width);
        self.colour.paint(TextStyle::Part(outcome), &text)
    }

    /// Writes the parts that some sides do not have, with the number of their statistics.
    fn alone(&mut self, comparison: &Comparison) -> fmt::Result {
        if comparison.alone.is_empty() {
            return Ok(());
        }
        let title = "parts that not every side has";
        writeln!(self.out, "\n{}", self.colour.paint(TextStyle::Title, title))?;
        for part in comparison.alone.iter().take(PARAMETERS) {
            let sides = letters().zip(&part.has).filter(|(_, has)| **has);
            let sides: Vec<String> = sides.map(|(letter, _)| letter).collect();
            writeln!(
                self.out,
                "  {:<width$}only {}, {} statistics",
                label(&part.place),
                sides.join(", "),
                part.rows.len(),
                width = LABELS - 2
            )?;
        }
        match comparison.alone.len().saturating_sub(PARAMETERS) {
            0 => Ok(()),
            more => writeln!(self.out, "  and {more} more"),
        }
    }

    fn table(&mut self, title: &str, rows: &[Row], comparison: &Comparison) -> fmt::Result {
        if rows.is_empty() {
            return Ok(());
        }
        if !title.is_empty() {
            writeln!(self.out, "\n{}", self.colour.paint(TextStyle::Title, title))?;
        }
        let mut head = format!("{:LABELS$}", "");
        for (at, (_, letter)) in comparison.sides.iter().zip(letters()).enumerate() {
            write!(head, "{letter:>VALUES$}")?;
            if at > 0 {
                write!(head, "{:>CHANGES$}  ", "change")?;
            }
        }
        writeln!(self.out, "{}", head.trim_end())?;
        for row in rows {
            let name = if row.place.is_empty() {
                row.name.clone()
            } else {
                format!("{} {}", row.place, row.name)
            };
            let mut line = format!("  {:<width$}", label(&name), width = LABELS - 2);
            for (at, cell) in row.cells.iter().enumerate() {
                let value = cell.as_ref().map_or("-".to_owned(), value);
                write!(line, "{value:>VALUES$}")?;
                if at > 0 {
                    let change = row.change(at);
                    let noise = change.is_some_and(Change::is_noise);
                    let words = format!("{:>CHANGES$}", change_of(change));
                    let tone = if noise {
                        TextStyle::Quiet
                    } else {
                        TextStyle::Title
                    };
                    line.push_str(&self.colour.paint(tone, &words));
                    line.push_str(if noise { NOISE } else { "  " });
                }
            }
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn parameters(
        &mut self,
        title: &str,
        parameters: &[Parameter],
        comparison: &Comparison,
    ) -> fmt::Result {
        let title = self.colour.paint(TextStyle::Title, title);
        if parameters.is_empty() {
            return writeln!(self.out, "\n{title}: no difference");
        }
        writeln!(self.out, "\n{title}")?;
        for parameter in parameters.iter().take(PARAMETERS) {
            let many = match parameter.instances {
                1 => String::new(),
                many => format!(" x{many}"),
            };
            writeln!(self.out, "  {}{many}", printable(&parameter.path))?;
            let values = parameter.values.iter().zip(letters());
            let values = values.take(comparison.sides.len()).map(|(value, letter)| {
                let value = value.as_deref().unwrap_or("-");
                format!("{letter} {}", cut(&printable(value), LABELS))
            });
            writeln!(self.out, "    {}", values.collect::<Vec<_>>().join("   "))?;
        }
        match parameters.len().saturating_sub(PARAMETERS) {
            0 => Ok(()),
            more => writeln!(self.out, "  and {more} more"),
        }
    }
}

impl Change {
    /// True if the ranges of the two sides overlap, so the change may be noise.
    pub(super) fn is_noise(self) -> bool {
        self.within_noise == Some(true) && self.rank > 0.0
    }
}

/// Returns the labels of the sides: A, B, C, ….
pub(super) fn letters() -> impl Iterator<Item = String> {
    (0..).map(|at: usize| match u8::try_from(at) {
        Ok(at @ 0..26) => char::from(b'A' + at).to_string(),
        _ => format!("#{}", at + 1),
    })
}

/// Shortens a label but keeps its end, where names differ.
fn label(text: &str) -> String {
    let width = LABELS - 3;
    let text = printable(text);
    let count = text.chars().count();
    if count <= width {
        return text.into_owned();
    }
    let kept = text.chars().skip(count - width + 1);
    std::iter::once('…').chain(kept).collect()
}

/// Formats a value with few digits.
pub(super) fn value(cell: &Cell) -> String {
    let x = cell.value;
    if x.fract() == 0.0 && (0.0..1e15).contains(&x) {
        return grouped(x as u64);
    }
    match x.abs() {
        size if !(1e-3..1e9).contains(&size) => format!("{x:.3e}"),
        size if size >= 100.0 => format!("{x:.1}"),
        _ => format!("{x:.3}"),
    }
}

/// Formats a change in percent, or a remark if there is no percentage.
pub(super) fn change_of(change: Option<Change>) -> String {
    match change {
        None => "-".to_owned(),
        Some(change) if change.rank == 0.0 => "=".to_owned(),
        Some(Change { relative: None, .. }) => "new".to_owned(),
        Some(Change {
            relative: Some(relative),
            ..
        }) if relative.abs() >= 10.0 => format!("x{:.1}", relative + 1.0),
        Some(Change {
            relative: Some(relative),
            ..
        }) => format!("{:+.1}%", relative * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_percent_factors_or_words() {
        let change = |relative, rank| {
            change_of(Some(Change {
                relative,
                rank,
                within_noise: None,
            }))
        };
        assert_eq!(change(Some(0.052), 0.1), "+5.2%");
        assert_eq!(change(Some(-0.5), 0.5), "-50.0%");
        assert_eq!(change(Some(39.0), 1.0), "x40.0");
        assert_eq!(change(None, 1.0), "new");
        assert_eq!(change(Some(0.0), 0.0), "=");
        assert_eq!(change_of(None), "-");
    }

    #[test]
    fn sides_beyond_the_alphabet_have_numbers() {
        let letters: Vec<_> = letters().take(28).collect();
        assert_eq!((letters[0].as_str(), letters[25].as_str()), ("A", "Z"));
        assert_eq!(letters[26], "#27");
    }
}
