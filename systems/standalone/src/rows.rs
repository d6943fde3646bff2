//! Tables as comma-separated text, plain or gzip.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use warpweave_files::{Input, Ledger, Unpacked};

use crate::StandaloneError;

/// Rows for which room is made at first.
const ROWS_AT_ONCE: usize = 64;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Opens a text file, unpacking it if it is gzip, whatever its name says.
///
/// # Errors
/// When the file cannot be opened.
pub fn open_text(path: &Path) -> Result<Box<dyn Read>, StandaloneError> {
    let input = Input::open(path).map_err(|e| StandaloneError::file(path, e))?;
    let stored = input.size();
    let mut reader = BufReader::with_capacity(1 << 16, input);
    let start = reader
        .fill_buf()
        .map_err(|e| StandaloneError::file(path, e))?;
    Ok(if start.starts_with(&GZIP_MAGIC) {
        Box::new(Unpacked::of(MultiGzDecoder::new(reader), stored))
    } else {
        Box::new(reader)
    })
}

/// Reads a table whose first line names its columns; columns that `T` does not know are ignored.
///
/// # Errors
/// File and line of the first row that is not a `T`.
pub fn read_rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, StandaloneError> {
    read_rows_within(path, &Ledger::default())
}

/// As [`read_rows`], with the rows charged to `ledger`.
///
/// # Errors
/// As [`read_rows`]; also when the rows take more memory than there may be.
pub fn read_rows_within<T: DeserializeOwned>(
    path: &Path,
    ledger: &Ledger,
) -> Result<Vec<T>, StandaloneError> {
    // A vector that grows is twice as large for a moment.
    let bytes = 2 * size_of::<T>() as u64;
    let mut rows = Vec::new();
    for row in csv::Reader::from_reader(open_text(path)?).deserialize() {
        if rows.len() == rows.capacity() {
            let more = rows.capacity().max(ROWS_AT_ONCE);
            ledger.charge(&path.display().to_string(), more as u64 * bytes)?;
            rows.reserve_exact(more);
        }
        rows.push(row.map_err(|error| what_failed(path, error))?);
    }
    Ok(rows)
}

/// Writes a table with its columns named in the first line.
///
/// # Errors
/// When the file cannot be written.
pub fn write_rows<T: Serialize>(
    path: &Path,
    rows: impl IntoIterator<Item = T>,
) -> Result<(), StandaloneError> {
    let file = File::create(path).map_err(|e| StandaloneError::file(path, e))?;
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    for row in rows {
        writer.serialize(row).map_err(|e| what_failed(path, e))?;
    }
    let mut inner = writer
        .into_inner()
        .map_err(|e| StandaloneError::file(path, e.into_error()))?;
    inner.flush().map_err(|e| StandaloneError::file(path, e))
}

fn what_failed(path: &Path, error: csv::Error) -> StandaloneError {
    let line = error.position().map_or(1, csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => match err.field() {
            Some(field) => format!("column {}: {}", field + 1, err.kind()),
            None => err.kind().to_string(),
        },
        _ => error.to_string(),
    };
    match error.into_kind() {
        csv::ErrorKind::Io(source) => StandaloneError::file(path, source),
        _ => StandaloneError::Line {
            path: path.to_owned(),
            line,
            problem,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        arrival: u64,
        rw: char,
    }

    fn with_file<R>(text: &[u8], test: impl FnOnce(&Path) -> R) -> R {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, text).expect("written");
        test(&path)
    }

    #[test]
    fn plain_and_gzip_tables_read_alike() {
        let text = b"arrival,rw,bank\n0,R,1\n7,W,2\n";
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).expect("in memory");
        let packed = packer.finish().expect("in memory");
        let plain: Vec<Row> = with_file(text, |p| read_rows(p).expect("well formed"));
        let unpacked: Vec<Row> = with_file(&packed, |p| read_rows(p).expect("well formed"));
        assert_eq!(plain, unpacked);
        assert_eq!(
            plain[1],
            Row {
                arrival: 7,
                rw: 'W'
            }
        );
    }

    #[test]
    fn a_bad_row_is_named_by_line_and_column() {
        let error = with_file(b"arrival,rw\n0,R\nsoon,R\n", |p| {
            read_rows::<Row>(p).expect_err("not a number").to_string()
        });
        assert!(
            error.ends_with("rows.csv:3: column 1: invalid digit found in string"),
            "{error}"
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let rows = [
            Row {
                arrival: 1,
                rw: 'R',
            },
            Row {
                arrival: 2,
                rw: 'W',
            },
        ];
        let back: Vec<Row> = with_file(b"", |p| {
            write_rows(p, &rows).expect("written");
            read_rows(p).expect("read")
        });
        assert_eq!(back, rows);
    }
}
