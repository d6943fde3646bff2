//! Table reader for comma-separated text, plain or gzip, that keeps the line number of each row.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use csv::StringRecord;
use serde::de::DeserializeOwned;
use warpweave_files::Ledger;
use warpweave_params::nearest;

use crate::{StandaloneError, open_text};

/// Maximum number of rows; they are numbered with 32 bits.
const ROWS_MAX: usize = u32::MAX as usize;

/// Number of rows reserved at first.
const ROWS_AT_ONCE: usize = 64;

/// Maximum line length in bytes. A line may hold a bit for each access of a trace.
const LINE_MAX: u64 = 1 << 26;

/// Maximum number of characters of a cell shown in a message.
const SHOWN: usize = 40;

/// Maximum number of columns listed in a message.
const COLUMNS_SHOWN: usize = 32;

/// Table with its file and line numbers, used to locate errors.
#[derive(Clone, Debug)]
pub struct Table<T> {
    /// Path of the file that was read.
    path: PathBuf,
    /// Line number of each row, counted from 1.
    lines: Vec<u64>,
    pub rows: Vec<T>,
    /// Column names from the first line.
    pub columns: Vec<String>,
}

/// Problem found in one row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowProblem {
    /// Index of the row, counted from 0.
    pub row: usize,
    /// Name of the column or columns at fault.
    pub column: &'static str,
    /// Description of the problem, for the message.
    pub problem: String,
    /// Hint on how to fix the problem.
    pub hint: String,
}

impl<T: DeserializeOwned> Table<T> {
    /// Reads a table whose first line names its columns. Columns unknown to `T` are ignored, as are
    /// blanks around names and values.
    ///
    /// # Errors
    /// Returns an error with file, line and column for the first invalid cell. Also fails if a
    /// column is named twice, or one needed by `T` is missing.
    pub fn read(path: &Path) -> Result<Self, StandaloneError> {
        Self::read_within(path, &Ledger::default())
    }

    /// Reads a table like [`Table::read`] and charges the rows to `ledger`.
    ///
    /// # Errors
    /// Fails like [`Table::read`], and if the rows exceed the memory budget.
    pub fn read_within(path: &Path, ledger: &Ledger) -> Result<Self, StandaloneError> {
        // A vector that grows is twice as large for a moment.
        let bytes = 2 * (size_of::<T>() + size_of::<u64>()) as u64;
        let mut lines = Lines {
            path,
            reader: BufReader::new(open_text(path)?),
            bytes: Vec::new(),
            number: 0,
        };
        let (mut names, mut record) = (StringRecord::new(), StringRecord::new());
        lines.next(&mut names)?;
        no_name_twice(path, &names)?;
        let mut table = Self {
            path: path.to_owned(),
            lines: Vec::new(),
            rows: Vec::new(),
            columns: names.iter().map(str::to_owned).collect(),
        };
        while let Some(line) = lines.next(&mut record)? {
            if record.len() != names.len() {
                let problem = format!(
                    "{} values in a table of {} columns",
                    record.len(),
                    names.len()
                );
                let hint = "write one value for each column; a value may be empty";
                return Err(StandaloneError::at(path, line, problem, hint));
            }
            let row = record
                .deserialize(Some(&names))
                .map_err(|error| no_such_row(path, line, &names, &record, &error))?;
            if table.rows.len() == ROWS_MAX {
                let problem = format!("more than {ROWS_MAX} rows");
                return Err(StandaloneError::at(path, line, problem, "divide the table"));
            }
            if table.rows.len() == table.rows.capacity() {
                let more = table.rows.capacity().max(ROWS_AT_ONCE);
                ledger.charge(&path.display().to_string(), more as u64 * bytes)?;
                table.rows.reserve_exact(more);
                table.lines.reserve_exact(more);
            }
            table.rows.push(row);
            table.lines.push(line);
        }
        Ok(table)
    }
}

/// Iterator over the lines of a table, skipping blank ones.
struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<Box<dyn Read>>,
    bytes: Vec<u8>,
    number: u64,
}

impl Lines<'_> {
    /// Reads the values of the next line. Returns its line number, or `None` at the end.
    fn next(&mut self, record: &mut StringRecord) -> Result<Option<u64>, StandaloneError> {
        record.clear();
        loop {
            self.bytes.clear();
            let mut line = self.reader.by_ref().take(LINE_MAX + 1);
            let read = line.read_until(b'\n', &mut self.bytes);
            let read = read.map_err(|e| StandaloneError::file(self.path, e))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if read as u64 > LINE_MAX {
                let problem = format!("a line of more than {LINE_MAX} bytes");
                return Err(self.wrong(problem));
            }
            let text = match std::str::from_utf8(&self.bytes) {
                Ok(text) => text.trim_start_matches('\u{feff}').trim(),
                Err(error) => {
                    let before = &self.bytes[..error.valid_up_to()];
                    let column = before.split(|byte| *byte == b',').count();
                    return Err(self.wrong(format!("column {column}: not UTF-8 text")));
                }
            };
            if text.contains('"') {
                let mut quoted = csv::ReaderBuilder::new()
                    .has_headers(false)
                    .trim(csv::Trim::All)
                    .from_reader(text.as_bytes());
                let read = quoted.read_record(record);
                read.map_err(|error| self.wrong(error.to_string()))?;
                return Ok(Some(self.number));
            }
            if !text.is_empty() {
                text.split(',')
                    .for_each(|value| record.push_field(value.trim()));
                return Ok(Some(self.number));
            }
        }
    }

    fn wrong(&self, problem: String) -> StandaloneError {
        let hint = "a table is comma-separated text, plain or gzip";
        StandaloneError::at(self.path, self.number, problem, hint)
    }
}

impl<T> Table<T> {
    /// Returns the table if it has at least one row.
    ///
    /// # Errors
    /// Returns an error if the table has no rows.
    pub fn not_empty(self) -> Result<Self, StandaloneError> {
        if self.rows.is_empty() {
            let hint = "the first line must name the columns; every further line is a row";
            return Err(StandaloneError::at(
                &self.path,
                1,
                "the table has no rows",
                hint,
            ));
        }
        Ok(self)
    }

    /// True if the first line names this column.
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// Converts a problem with a row into an error with file and line.
    pub fn wrong(&self, problem: &RowProblem) -> StandaloneError {
        let RowProblem {
            row,
            column,
            problem,
            hint,
        } = problem;
        let line = self.line(*row);
        let problem = format!("column {column}: {problem}");
        StandaloneError::at(&self.path, line, problem, hint)
    }

    /// Adds the position of a row to an error about something that does not exist. Other errors
    /// pass unchanged.
    pub fn asks_for(
        &self,
        row: usize,
        column: &'static str,
        error: StandaloneError,
    ) -> StandaloneError {
        let StandaloneError::Request(problem) = error else {
            return error;
        };
        self.wrong(&RowProblem {
            row,
            column,
            problem,
            hint: String::new(),
        })
    }

    /// Returns the line number of a row.
    pub fn line(&self, row: usize) -> u64 {
        self.lines[row]
    }
}

/// Formats a cell for a message: truncated, with control characters escaped.
pub(crate) fn shown(cell: &str) -> String {
    let start: String = cell.chars().take(SHOWN).collect();
    let more = if start.len() < cell.len() { "…" } else { "" };
    format!("`{}{more}`", start.escape_debug())
}

fn no_name_twice(path: &Path, names: &StringRecord) -> Result<(), StandaloneError> {
    for (number, name) in names.iter().enumerate() {
        if !name.is_empty() && names.iter().take(number).any(|other| other == name) {
            return Err(StandaloneError::at(
                path,
                1,
                format!("column {} repeats the name {}", number + 1, shown(name)),
                "give each column a unique name",
            ));
        }
    }
    Ok(())
}

fn no_such_row(
    path: &Path,
    line: u64,
    names: &StringRecord,
    record: &StringRecord,
    error: &csv::Error,
) -> StandaloneError {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else {
        return StandaloneError::at(path, line, error.to_string(), "");
    };
    let mut kind = err.kind().to_string();
    if let Some((end, _)) = kind.char_indices().nth(2 * SHOWN) {
        kind.truncate(end);
        kind.push('…');
    }
    let kind = kind.escape_debug().to_string();
    let missing = kind.strip_prefix("missing field `");
    if let Some(name) = missing.and_then(|rest| rest.strip_suffix('`')) {
        let problem = format!("no column `{name}`");
        return StandaloneError::at(path, 1, problem, &columns_hint(name, names));
    }
    let number = err.field().unwrap_or(0);
    let cell = |of: &StringRecord| of.get(number as usize).map_or_else(String::new, shown);
    let problem = format!(
        "column {} ({}): {}: {kind}",
        number + 1,
        cell(names),
        cell(record)
    );
    StandaloneError::at(path, line, problem, "")
}

/// Suggests the column meant by an unknown name and lists the columns present.
fn columns_hint(name: &str, names: &StringRecord) -> String {
    let short = || names.iter().filter(|other| other.len() <= SHOWN);
    let meant = nearest(name, short()).map_or_else(String::new, |other| {
        format!("is `{}` meant? ", other.escape_debug())
    });
    let there: Vec<_> = names.iter().take(COLUMNS_SHOWN).map(shown).collect();
    format!("{meant}the first line names {}", there.join(", "))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Row {
        arrival: u64,
        rw: char,
    }

    fn read(text: &[u8]) -> Result<Table<Row>, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, text).expect("written");
        let place = format!("{}/", folder.path().display());
        Table::read(&path).map_err(|e| e.to_string().replace(&place, ""))
    }

    fn refused(text: &str) -> String {
        read(text.as_bytes()).expect_err("refused")
    }

    #[test]
    fn plain_and_gzip_tables_read_alike() {
        let text = b"arrival,rw,bank\n0,R,1\n7,W,2\n";
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).expect("in memory");
        let packed = packer.finish().expect("in memory");
        let plain = read(text).expect("well formed").rows;
        let unpacked = read(&packed).expect("well formed").rows;
        assert_eq!(plain, unpacked);
        let last = Row {
            arrival: 7,
            rw: 'W',
        };
        assert_eq!(plain[1], last);
    }

    #[test]
    fn blanks_around_names_and_values_are_ignored() {
        let table = read(b"arrival, rw\n 3 , R\n").expect("well formed");
        assert_eq!(
            table.rows,
            [Row {
                arrival: 3,
                rw: 'R'
            }]
        );
    }

    #[test]
    fn a_bad_value_is_named_by_line_and_column_and_shown() {
        assert_eq!(
            refused("arrival,rw\n0,R\nsoon,R\n"),
            "rows.csv:3: column 1 (`arrival`): `soon`: invalid digit found in string"
        );
        let long = format!("arrival,rw\n0,{}\u{1b}[31m\n", "x".repeat(1 << 20));
        let error = refused(&long);
        assert!(
            error.starts_with("rows.csv:2: column 2 (`rw`): `xxx"),
            "{error}"
        );
        assert!(error.len() < 250, "{} bytes", error.len());
        let error = refused("arrival,rw\n\u{1b}[31m,R\n");
        assert!(error.contains(r"`\u{1b}[31m`"), "{error}");
    }

    #[test]
    fn a_missing_column_is_named_with_the_nearest_one() {
        assert_eq!(
            refused("arival,rw\n0,R\n"),
            "rows.csv:1: no column `arrival`\n\
             hint: is `arival` meant? the first line names `arival`, `rw`"
        );
    }

    #[test]
    fn a_column_named_twice_is_refused() {
        assert_eq!(
            refused("arrival,rw,arrival\n0,R,1\n"),
            "rows.csv:1: column 3 repeats the name `arrival`\nhint: give each column a unique name"
        );
    }

    #[test]
    fn a_row_of_another_length_is_refused() {
        assert_eq!(
            refused("arrival,rw\n0,R\n1\n"),
            "rows.csv:3: 1 values in a table of 2 columns\n\
             hint: write one value for each column; a value may be empty"
        );
    }

    #[test]
    fn what_is_no_text_is_refused_at_its_place() {
        let error = read(b"arrival,rw\n0,R\n0,\xff\n").expect_err("no text");
        assert!(
            error.starts_with("rows.csv:3: column 2: not UTF-8 text"),
            "{error}"
        );
    }

    #[test]
    fn rows_know_their_line_even_after_blank_ones() {
        let table = read(b"arrival,rw\n\n0,R\n\n\n1,R\n").expect("well formed");
        assert_eq!((table.line(0), table.line(1)), (3, 6));
        let dos = read(b"\xef\xbb\xbfarrival,rw\r\n\"0\",R\r\n1,R\r\n").expect("well formed");
        assert_eq!((dos.line(0), dos.line(1)), (2, 3));
        let problem = RowProblem {
            row: 1,
            column: "rw",
            problem: "no".to_owned(),
            hint: "yes".to_owned(),
        };
        let error = table.wrong(&problem).to_string();
        assert!(
            error.ends_with("rows.csv:6: column rw: no\nhint: yes"),
            "{error}"
        );
    }

    #[test]
    fn an_empty_table_is_refused_where_rows_are_needed() {
        for text in ["", "arrival,rw\n", "\n\n"] {
            let table = read(text.as_bytes()).expect("no row to be wrong");
            let error = table.not_empty().expect_err("empty").to_string();
            assert!(
                error.contains("rows.csv:1: the table has no rows"),
                "{error}"
            );
        }
    }
}
