//! Opening of comma-separated text, plain or gzip, and writing of tables.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::Serialize;
use warpweave_files::{Input, Output, OutputError, Unpacked};

use crate::StandaloneError;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Opens a text file and decompresses it if it is gzip, regardless of its name.
///
/// # Errors
/// Returns an error if the file cannot be opened.
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

/// Writes a table with the column names in the first line.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_rows<T: Serialize>(
    path: &Path,
    rows: impl IntoIterator<Item = T>,
) -> Result<(), OutputError> {
    let mut writer = csv::Writer::from_writer(Output::create(path)?);
    for row in rows {
        let written = writer.serialize(row);
        written.map_err(|error| OutputError::of(path, error.into()))?;
    }
    let output = writer.into_inner();
    output
        .map_err(|error| OutputError::of(path, error.into_error()))?
        .finish()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::Table;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        arrival: u64,
        rw: char,
    }

    #[test]
    fn a_full_disk_keeps_the_older_table() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rows.csv");
        let rows = || (0..3000).map(|arrival| Row { arrival, rw: 'R' });
        warpweave_files::check_full_disks(&path, || write_rows(&path, rows()));
        assert_eq!(Table::<Row>::read(&path).expect("whole").rows.len(), 3000);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let rows = [(1, 'R'), (2, 'W')].map(|(arrival, rw)| Row { arrival, rw });
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rows.csv");
        write_rows(&path, &rows).expect("written");
        assert_eq!(Table::<Row>::read(&path).expect("read").rows, rows);
    }
}
