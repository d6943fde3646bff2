//! Reader for tables of values separated by commas or tabs.

use csv::{ByteRecord, ReaderBuilder};
use warpweave_params::name_hint;

use super::text::Text;
use super::{ColumnChoice, FileArray, FileInfo, FileReading};
use crate::error::InputError;

pub(super) fn read(
    asked: &FileInfo<'_>,
    text: &Text<'_>,
    how: &FileReading,
    separator: u8,
) -> Result<FileArray, InputError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(text.data);
    let mut record = ByteRecord::new();
    let mut rows = Rows {
        asked,
        text,
        separator,
        cells: 0,
    };
    let mut patterns = Vec::new();
    let mut column = None;
    while rows.next(&mut reader, &mut record)? {
        if rows.cells == 0 {
            rows.cells = record.len();
            let has_names = has_names(&record, how);
            column = rows.column(&record, how, has_names)?;
            if has_names {
                continue;
            }
        }
        if record.len() != rows.cells {
            return Err(rows.other_length(&record));
        }
        match column {
            Some(column) => patterns.push(rows.value(&record, column)?),
            None => {
                for cell in 0..rows.cells {
                    patterns.push(rows.value(&record, cell)?);
                }
            }
        }
    }
    if let (0, Some(ColumnChoice::Name(name))) = (rows.cells, &how.column) {
        return Err(text.error(
            0,
            format!("a first line that names the column `{name}`"),
            b"",
        ));
    }
    Ok(FileArray::of(asked.element, patterns))
}

/// True if the first line names the columns.
fn has_names(first: &ByteRecord, how: &FileReading) -> bool {
    let is_number = |cell: &[u8]| {
        let cell = std::str::from_utf8(cell).unwrap_or_default();
        cell.trim().parse::<f64>().is_ok()
    };
    let by_name = matches!(how.column, Some(ColumnChoice::Name(_)));
    how.header
        .unwrap_or_else(|| by_name || !first.iter().any(is_number))
}

/// Reader for the lines of a table.
struct Rows<'t> {
    asked: &'t FileInfo<'t>,
    text: &'t Text<'t>,
    separator: u8,
    /// Number of cells in the first line.
    cells: usize,
}

impl Rows<'_> {
    fn next(
        &self,
        reader: &mut csv::Reader<&[u8]>,
        record: &mut ByteRecord,
    ) -> Result<bool, InputError> {
        reader.read_byte_record(record).map_err(|error| {
            let problem = format!("is not a table: {error}");
            InputError::of_array(self.asked.file, problem, "set `format` to read other files")
        })
    }

    /// Returns the index of the requested column; `None` if all are requested.
    fn column(
        &self,
        first: &ByteRecord,
        how: &FileReading,
        has_names: bool,
    ) -> Result<Option<usize>, InputError> {
        let file = self.asked.file;
        let place = self.text.place(self.start(first, 0));
        match &how.column {
            None => Ok(None),
            Some(ColumnChoice::Number(number)) => {
                let found = usize::try_from(*number).ok();
                let found = found.filter(|number| *number < first.len());
                found.map(Some).ok_or_else(|| InputError::Text {
                    place,
                    expected: format!("a column with number {number} (counted from 0)"),
                    found: format!("{} columns", first.len()),
                })
            }
            Some(ColumnChoice::Name(name)) if !has_names => Err(InputError::of_array(
                file,
                format!("has no column names, but column `{name}` is requested"),
                "select the column by its number, from 0, or omit `header`",
            )),
            Some(ColumnChoice::Name(name)) => {
                let names: Vec<String> = first
                    .iter()
                    .map(|cell| String::from_utf8_lossy(cell).trim().to_owned())
                    .collect();
                let found = names.iter().position(|known| known == name);
                found.map(Some).ok_or_else(|| {
                    let hint = if self.text.may_quote() {
                        name_hint(name, "columns", names.iter().map(String::as_str))
                    } else {
                        "the first line must name the columns".to_owned()
                    };
                    InputError::NoColumn {
                        place,
                        column: name.clone(),
                        hint,
                    }
                })
            }
        }
    }

    fn value(&self, record: &ByteRecord, cell: usize) -> Result<u64, InputError> {
        let bytes = &record[cell];
        let element = self.asked.element;
        let number = std::str::from_utf8(bytes).ok();
        let number = number.and_then(|text| element.parse(text.trim()));
        number.ok_or_else(|| {
            let at = self.start(record, cell);
            self.text.error(at, element.expected(), bytes)
        })
    }

    fn other_length(&self, record: &ByteRecord) -> InputError {
        InputError::Text {
            place: self
                .text
                .place(self.start(record, self.cells.min(record.len() - 1))),
            expected: format!("{} cells, as many as in the first line", self.cells),
            found: record.len().to_string(),
        }
    }

    /// Returns the byte offset of a cell in the file.
    fn start(&self, record: &ByteRecord, cell: usize) -> usize {
        let data = self.text.data;
        let mut at = record.position().map_or(0, |place| place.byte() as usize);
        while data
            .get(at)
            .is_some_and(|byte| matches!(byte, b'\r' | b'\n'))
        {
            at += 1;
        }
        let (mut left, mut quoted) = (cell, false);
        while left > 0 && at < data.len() {
            quoted ^= data[at] == b'"';
            left -= usize::from(data[at] == self.separator && !quoted);
            at += 1;
        }
        at
    }
}
