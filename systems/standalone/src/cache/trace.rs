//! Reader for traces with rows `rw,addr_hex`, one 4-byte access each.

use std::path::Path;

use serde::Deserialize;

use warpweave_files::Ledger;

use crate::table::shown;
use crate::{RowProblem, StandaloneError, Table};

/// One access of 4 bytes in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub address: u64,
    /// True for a write, false for a read.
    pub write: bool,
}

#[derive(Deserialize)]
struct Row {
    rw: char,
    addr_hex: String,
}

/// Reads a trace file, plain or gzip-compressed.
///
/// # Errors
/// Returns an error with file and line of the first invalid row, or if there are no rows.
pub fn read_trace(path: &Path) -> Result<Vec<Access>, StandaloneError> {
    read_trace_within(path, &Ledger::default())
}

/// Like [`read_trace`], with the rows charged to `ledger`.
///
/// # Errors
/// Same as [`read_trace`], and an error if the rows exceed the memory budget.
pub fn read_trace_within(path: &Path, ledger: &Ledger) -> Result<Vec<Access>, StandaloneError> {
    let table = Table::<Row>::read_within(path, ledger)?.not_empty()?;
    let mut accesses = Vec::with_capacity(table.rows.len());
    for (number, row) in table.rows.iter().enumerate() {
        let access = access(row).map_err(|(column, problem, hint)| {
            table.wrong(&RowProblem {
                row: number,
                column,
                problem,
                hint: hint.to_owned(),
            })
        });
        accesses.push(access?);
    }
    Ok(accesses)
}

/// Parses the access of a row. On error returns the column, the problem and a hint.
fn access(row: &Row) -> Result<Access, (&'static str, String, &'static str)> {
    let write = match row.rw {
        'R' => false,
        'W' => true,
        other => {
            let problem = format!("`{}` is neither R nor W", other.escape_debug());
            return Err(("rw", problem, "write R for a read, W for a write"));
        }
    };
    let digits = row.addr_hex.strip_prefix("0x").unwrap_or(&row.addr_hex);
    let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let parsed = u64::from_str_radix(digits, 16).ok().filter(|_| hexadecimal);
    let address = parsed.ok_or_else(|| {
        let problem = format!("{} is not an address", shown(&row.addr_hex));
        let hint = "write up to 16 hexadecimal digits, with or without 0x";
        ("addr_hex", problem, hint)
    })?;
    Ok(Access { address, write })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Access>, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("trace.csv");
        std::fs::write(&path, text).expect("written");
        read_trace(&path).map_err(|e| e.to_string())
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
            error.contains("trace.csv:3: column rw: `X` is neither R nor W\nhint: "),
            "{error}"
        );
        let error = read("rw,addr_hex\nR,1g\n").expect_err("not hexadecimal");
        assert!(
            error.contains("trace.csv:2: column addr_hex: `1g`"),
            "{error}"
        );
    }
}
