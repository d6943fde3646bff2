//! Tables of comma-separated values, built in memory.

use std::borrow::Cow;

use warpweave_params::printable;

/// Table under construction. Cells are quoted only if they need it, and hold neither control
/// characters nor formulas.
pub struct CsvTable(csv::Writer<Vec<u8>>);

impl Default for CsvTable {
    /// Creates a table without rows.
    fn default() -> Self {
        let mut builder = csv::WriterBuilder::new();
        // Rows of any length, so that none can be refused.
        Self(builder.flexible(true).from_writer(Vec::new()))
    }
}

impl CsvTable {
    /// Creates a table whose first row names the columns.
    pub fn new(columns: &[&str]) -> Self {
        let mut table = Self::default();
        table.row(columns);
        table
    }

    /// Appends a row. Control characters are escaped. A text that a spreadsheet would take for a
    /// formula is preceded by an apostrophe; numbers stay as they are.
    pub fn row(&mut self, cells: impl IntoIterator<Item: AsRef<str>>) {
        for cell in cells {
            let written = self.0.write_field(harmless(cell.as_ref()).as_ref());
            written.expect("writing to memory succeeds");
        }
        let ended = self.0.write_record(None::<&[u8]>);
        ended.expect("writing to memory succeeds");
    }

    /// Number of bytes so far, except for those of the last few rows.
    pub fn bytes(&self) -> usize {
        self.0.get_ref().len()
    }

    /// Returns the text of all rows added since the last call.
    pub fn take(&mut self) -> String {
        let rows = std::mem::take(self);
        let bytes = rows.0.into_inner().expect("writing to memory succeeds");
        String::from_utf8(bytes).expect("cells are text")
    }
}

/// Characters, plain and full-width, with which a spreadsheet lets a formula begin.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Returns the text of a cell without control characters and not as a formula.
fn harmless(cell: &str) -> Cow<'_, str> {
    let safe = printable(cell);
    let is_plain = !safe.starts_with(FORMULA) || safe == "-" || safe.parse::<f64>().is_ok();
    if is_plain {
        safe
    } else {
        Cow::Owned(format!("'{safe}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cells_that_need_quotes_have_them() {
        let mut table = CsvTable::new(&["name", "value"]);
        table.row(["a,b", "say \"c\""]);
        table.row(["", "#x 'y' 1.5 é"]);
        table.row(["line\nfeed", "-1"]);
        assert_eq!(
            table.take(),
            "name,value\n\"a,b\",\"say \"\"c\"\"\"\n,#x 'y' 1.5 é\nline\\nfeed,-1\n"
        );
        table.row(["more"]);
        assert_eq!(table.take(), "more\n");
    }

    #[test]
    fn no_cell_steers_a_terminal_or_is_a_formula_and_numbers_stay() {
        let cell = |text: &str| {
            let mut table = CsvTable::default();
            table.row([text]);
            table.take()
        };
        for formula in [
            "=1+2",
            "+1+2",
            "-1+2",
            "@SUM(A1)",
            "=\"a\"&B1",
            "--1",
            "＝1",
            "-x",
        ] {
            let cell = cell(formula);
            assert!(cell.trim_start_matches('"').starts_with('\''), "{cell}");
        }
        for number in ["-3", "+0.5", "-1e-5", "-inf", "-"] {
            assert_eq!(cell(number), format!("{number}\n"));
        }
        assert_eq!(cell("\t=1"), "\\t=1\n");
        assert_eq!(cell("\r=1"), "\\r=1\n");
        assert_eq!(
            cell("\u{1b}[31mred\u{202e}\0"),
            "\\u{1b}[31mred\\u{202e}\\u{0}\n"
        );
    }
}
