//! Tables of comma-separated values, built in memory.

/// Table under construction. Cells are quoted only if they need it.
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

    /// Appends a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item: AsRef<str>>) {
        for cell in cells {
            let written = self.0.write_field(cell.as_ref());
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
            "name,value\n\"a,b\",\"say \"\"c\"\"\"\n,#x 'y' 1.5 é\n\"line\nfeed\",-1\n"
        );
        table.row(["more"]);
        assert_eq!(table.take(), "more\n");
    }
}
