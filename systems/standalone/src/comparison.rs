//! Ours beside theirs: the table that a validation prints.

use std::fmt::Write as _;

use serde::Serialize;

/// How close is close enough.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Tolerance {
    /// Equal.
    Exact,
    /// Within this fraction of the reference.
    Relative(f64),
    /// At least the reference.
    AtLeast,
    /// Shown, not judged; says why.
    Information(String),
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Line {
    case: String,
    quantity: String,
    ours: f64,
    reference: f64,
    tolerance: Tolerance,
    holds: bool,
}

/// Quantities of ours beside those of a reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    lines: Vec<Line>,
}

impl Comparison {
    /// An empty table.
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
            #[expect(clippy::float_cmp, reason = "equal is what is asked for")]
            Tolerance::Exact => ours == reference,
            Tolerance::Relative(part) => (ours - reference).abs() <= part * reference.abs(),
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

    /// Whether every judged line holds, and there is any.
    pub fn holds(&self) -> bool {
        self.lines.iter().all(|l| l.holds)
            && self
                .lines
                .iter()
                .any(|l| !matches!(l.tolerance, Tolerance::Information(_)))
    }

    /// The lines that do not hold, as text.
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

    /// The table for people, with a verdict below.
    pub fn text(&self) -> String {
        let number = |x: f64| {
            if x.fract() == 0.0 && x.abs() < 1e15 {
                format!("{x:.0}")
            } else {
                format!("{x:.4}")
            }
        };
        let rows: Vec<[String; 6]> = self
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
                    (Tolerance::Exact, true) => "equal".to_owned(),
                    (Tolerance::Exact, false) => "MISS (equal)".to_owned(),
                    (Tolerance::Relative(part), true) => format!("within {} %", part * 100.0),
                    (Tolerance::Relative(part), false) => format!("MISS ({} %)", part * 100.0),
                    (Tolerance::AtLeast, true) => "reached".to_owned(),
                    (Tolerance::AtLeast, false) => "MISS (at least)".to_owned(),
                };
                [
                    l.case.clone(),
                    l.quantity.clone(),
                    number(l.ours),
                    number(l.reference),
                    difference,
                    verdict,
                ]
            })
            .collect();
        let head = ["case", "quantity", "ours", "reference", "difference", ""].map(str::to_owned);
        let width = |c: usize| {
            rows.iter()
                .chain([&head])
                .map(|r| r[c].len())
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
        let _ = writeln!(text, "{judged} compared, {missed} missed");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(!c.holds());
        assert_eq!(
            c.text(),
            "\
case    quantity         ours  reference  difference
A idle  end cycle         100        100     +0.00 %  equal
A rand  mean latency  51.5000         50     +3.00 %  within 3 %
A rand  bus use        0.5000     0.6000    -16.67 %  MISS (1 %)
A seq   end cycle           9          0           -  not judged: queues differ
3 compared, 1 missed
"
        );
        assert_eq!(
            c.misses(),
            ["A rand: bus use is 0.5, the reference has 0.6"]
        );
    }

    #[test]
    fn a_table_that_judges_nothing_does_not_hold() {
        assert!(!Comparison::new().holds());
    }
}
