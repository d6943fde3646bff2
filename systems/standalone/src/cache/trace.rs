//! Traces: `rw,addr_hex`, one 4-byte access per row.

use std::path::Path;

use serde::Deserialize;
use warpweave_files::Ledger;

use crate::{StandaloneError, read_rows_within};

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Byte address.
    pub address: u64,
    /// Whether it writes.
    pub write: bool,
}

#[derive(Deserialize)]
struct Row {
    rw: char,
    addr_hex: String,
}

/// Reads a trace, plain or gzip.
///
/// # Errors
/// File and line of the first row that is not an access; rows that take more memory than `ledger` may
/// be charged.
pub fn read_trace(path: &Path, ledger: &Ledger) -> Result<Vec<Access>, StandaloneError> {
    let rows: Vec<Row> = read_rows_within(path, ledger)?;
    rows.into_iter()
        .zip(2..)
        .map(|(row, line)| {
            access(&row).map_err(|problem| StandaloneError::Line {
                path: path.to_owned(),
                line,
                problem,
            })
        })
        .collect()
}

fn access(row: &Row) -> Result<Access, String> {
    let write = match row.rw {
        'R' => false,
        'W' => true,
        other => return Err(format!("column rw: `{other}` is neither R nor W")),
    };
    let digits = row.addr_hex.trim_start_matches("0x");
    let address = u64::from_str_radix(digits, 16)
        .map_err(|e| format!("column addr_hex: `{}`: {e}", row.addr_hex))?;
    Ok(Access { address, write })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Access>, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("trace.csv");
        std::fs::write(&path, text).expect("written");
        read_trace(&path, &Ledger::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn rows_are_read_and_bad_ones_named() {
        let accesses = read("rw,addr_hex\nR,ff80\nW,0x10\n").expect("well formed");
        let expected = [(0xff80, false), (0x10, true)];
        assert_eq!(
            accesses,
            expected.map(|(address, write)| Access { address, write })
        );
        let error = read("rw,addr_hex\nR,10\nX,10\n").expect_err("no such letter");
        assert!(
            error.ends_with("trace.csv:3: column rw: `X` is neither R nor W"),
            "{error}"
        );
        let error = read("rw,addr_hex\nR,1g\n").expect_err("not hexadecimal");
        assert!(
            error.contains("trace.csv:2: column addr_hex: `1g`"),
            "{error}"
        );
    }
}
