//! Table of our results next to the reference's, as printed by a validation.

use std::fmt::Write as _;

use serde::Serialize;
use warpweave_params::shortened;

/// Maximum number of characters in a table cell.
const CELL_MAX: usize = 120;

/// Maximum number of characters in the reason for leaving something out.
const REASON_MAX: usize = 600;

/// Tolerance when comparing with the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Tolerance {
    /// Both values must be exactly equal.
    Exact,
    /// Equal after rounding to this number of decimals, as in the reference.
    Rounded(u32),
    /// Maximum difference as a fraction of the reference.
    Relative(f64),
    /// Maximum absolute difference from the reference.
    Absolute(f64),
    /// Our value is at least the reference's.
    AtLeast,
    /// Shown but not judged, for the stated reason.
    Information(String),
}

/// Line of the table: one quantity of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Line {
    case: String,
    quantity: String,
    ours: f64,
    reference: f64,
    tolerance: Tolerance,
    holds: bool,
}

/// Quantity of the reference that has no counterpart in our results.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Left {
    case: String,
    quantity: String,
    reason: String,
}

/// Comparison of our quantities with those of a reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    lines: Vec<Line>,
    not_compared: Vec<Left>,
}

impl Comparison {
    /// Creates a comparison without any lines.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a quantity of a case (such as `A rand_r_sat ram2_frfcfs`).
    pub fn add(
        &mut self,
        case: impl Into<String>,
        quantity: impl Into<String>,
        ours: f64,
        reference: f64,
        tolerance: Tolerance,
    ) {
        let holds = match tolerance {
            #[expect(clippy::float_cmp, reason = "exact equality is requested")]
            Tolerance::Exact => ours == reference,
            // Half a unit of the last place, and what the division of binary numbers adds.
            Tolerance::Rounded(decimals) => {
                (ours - reference).abs() <= 0.500_001 * 0.1_f64.powi(decimals.cast_signed())
            }
            Tolerance::Relative(part) => (ours - reference).abs() <= part * reference.abs(),
            // Differences of decimal numbers are not whole in binary ones.
            Tolerance::Absolute(difference) => {
                (ours - reference).abs() <= difference * (1.0 + 1e-9)
            }
            Tolerance::AtLeast => ours >= reference,
            Tolerance::Information(_) => true,
        };
        self.lines.push(Line {
            case: case.into(),
            quantity: quantity.into(),
            ours,
            reference,
            tolerance,
            holds,
        });
    }

    /// Records that a quantity of the reference is not compared, with the reason.
    pub fn leave_out(
        &mut self,
        case: impl Into<String>,
        quantity: impl Into<String>,
        reason: impl Into<String>,
    ) {
        self.not_compared.push(Left {
            case: case.into(),
            quantity: quantity.into(),
            reason: reason.into(),
        });
    }

    /// True if all judged lines hold and there is at least one.
    pub fn holds(&self) -> bool {
        self.lines.iter().all(|l| l.holds)
            && self
                .lines
                .iter()
                .any(|l| !matches!(l.tolerance, Tolerance::Information(_)))
    }

    /// Returns the lines that do not hold, as text.
    pub fn misses(&self) -> Vec<String> {
        let missed = self.lines.iter().filter(|l| !l.holds);
        missed
            .map(|l| {
                let Line {
                    case,
                    quantity,
                    ours,
                    reference,
                    ..
                } = l;
                format!("{case}: {quantity} is {ours}, the reference has {reference}")
            })
            .collect()
    }

    /// Formats the table as text, followed by a verdict.
    pub fn text(&self) -> String {
        let number = |x: f64| {
            if x.fract() == 0.0 && x.abs() < 1e15 {
                format!("{x:.0}")
            } else {
                format!("{x:.4}")
            }
        };
        let mut rows: Vec<[String; 6]> = self
            .lines
            .iter()
            .map(|l| {
                let difference = if l.reference == 0.0 {
                    "-".to_owned()
                } else {
                    format!("{:+.2} %", (l.ours / l.reference - 1.0) * 100.0)
                };
                let verdict = match (&l.tolerance, l.holds) {
                    (Tolerance::Information(why), _) => format!("not judged: {why}"),
                    (Tolerance::Exact | Tolerance::Rounded(_), true) => "equal".to_owned(),
                    (Tolerance::Exact | Tolerance::Rounded(_), false) => "MISS (equal)".to_owned(),
                    (Tolerance::Relative(part), true) => format!("within {} %", percent(*part)),
                    (Tolerance::Relative(part), false) => format!("MISS ({} %)", percent(*part)),
                    (Tolerance::Absolute(by), true) => format!("within {by}"),
                    (Tolerance::Absolute(by), false) => format!("MISS ({by})"),
                    (Tolerance::AtLeast, true) => "reached".to_owned(),
                    (Tolerance::AtLeast, false) => "MISS (at least)".to_owned(),
                };
                [
                    cell(&l.case),
                    cell(&l.quantity),
                    number(l.ours),
                    number(l.reference),
                    difference,
                    verdict,
                ]
            })
            .collect();
        rows.extend(self.not_compared.iter().map(|left| {
            let why = format!("not compared: {}", shortened(&left.reason, REASON_MAX));
            let none = || "-".to_owned();
            let (case, quantity) = (cell(&left.case), cell(&left.quantity));
            [case, quantity, none(), none(), none(), why]
        }));
        let head = ["case", "quantity", "ours", "reference", "difference", ""].map(str::to_owned);
        let width = |c: usize| {
            rows.iter()
                .chain([&head])
                .map(|r| r[c].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<_> = (0..6).map(width).collect();
        let mut text = String::new();
        for row in [&head].into_iter().chain(&rows) {
            let [case, quantity, ours, reference, difference, verdict] = row;
            let line = format!(
                "{case:<w0$}  {quantity:<w1$}  {ours:>w2$}  {reference:>w3$}  {difference:>w4$}  \
                 {verdict}",
                w0 = widths[0],
                w1 = widths[1],
                w2 = widths[2],
                w3 = widths[3],
                w4 = widths[4],
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let judged = |l: &&Line| !matches!(l.tolerance, Tolerance::Information(_));
        let (judged, missed) = (
            self.lines.iter().filter(judged).count(),
            self.lines.iter().filter(|l| !l.holds).count(),
        );
        let _ = writeln!(
            text,
            "{judged} compared, {missed} missed; {} shown for information, {} not compared",
            self.lines.len() - judged,
            self.not_compared.len()
        );
        text
    }
}

/// Formats a name of the reference data for the table.
fn cell(name: &str) -> String {
    shortened(name, CELL_MAX).into_owned()
}

/// Converts a fraction to percent, without artefacts of binary numbers.
fn percent(part: f64) -> f64 {
    (part * 1e6).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_have_a_bounded_place_in_the_table() {
        let long = "a\u{1b}".repeat(70_000);
        let mut c = Comparison::new();
        c.add(&long, &long, 1.0, 1.0, Tolerance::Exact);
        c.leave_out(&long, &long, &long);
        let text = c.text();
        assert!(text.len() < 8 << 10, "{} bytes", text.len());
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn the_table_shows_every_line_and_its_verdict() {
        let mut c = Comparison::new();
        c.add("A idle", "end cycle", 100.0, 100.0, Tolerance::Exact);
        c.add(
            "A rand",
            "mean latency",
            51.5,
            50.0,
            Tolerance::Relative(0.03),
        );
        c.add("A rand", "bus use", 0.5, 0.6, Tolerance::Relative(0.01));
        let why = "queues differ".to_owned();
        c.add("A seq", "end cycle", 9.0, 0.0, Tolerance::Information(why));
        c.leave_out("A oq", "mean delay", "not a crossbar");
        assert!(!c.holds());
        assert_eq!(
            c.text(),
            "\
case    quantity         ours  reference  difference
A idle  end cycle         100        100     +0.00 %  equal
A rand  mean latency  51.5000         50     +3.00 %  within 3 %
A rand  bus use        0.5000     0.6000    -16.67 %  MISS (1 %)
A seq   end cycle           9          0           -  not judged: queues differ
A oq    mean delay          -          -           -  not compared: not a crossbar
3 compared, 1 missed; 1 shown for information, 1 not compared
"
        );
        assert_eq!(
            c.misses(),
            ["A rand: bus use is 0.5, the reference has 0.6"]
        );
    }

    #[test]
    fn a_rounded_reference_is_met_to_its_last_digit() {
        let holds = |ours, reference, decimals| {
            let mut c = Comparison::new();
            c.add("A", "rate", ours, reference, Tolerance::Rounded(decimals));
            c.holds()
        };
        assert!(holds(26.8394, 26.839, 3) && holds(26.8395, 26.84, 3));
        assert!(!holds(26.8396, 26.839, 3) && !holds(26.8384, 26.839, 3));
        assert!(holds(0.00005, 0.0001, 4) && !holds(f64::NAN, 1.0, 3));
    }

    #[test]
    fn a_table_that_judges_nothing_does_not_hold() {
        assert!(!Comparison::new().holds());
    }
}
