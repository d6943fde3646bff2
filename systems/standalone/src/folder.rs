//! Tables of a folder: plain (`NAME.csv`) or compressed (`NAME.csv.gz`).

use std::path::{Path, PathBuf};

use crate::StandaloneError;
use crate::table::shown;

const ENDINGS: [&str; 2] = [".csv", ".csv.gz"];

/// Lists every table of a folder, in name order.
///
/// # Errors
/// Returns an error if the folder cannot be listed.
pub(crate) fn tables_of(folder: &Path) -> Result<Vec<PathBuf>, StandaloneError> {
    let listing = std::fs::read_dir(folder).map_err(|e| StandaloneError::file(folder, e))?;
    let mut tables = Vec::new();
    for entry in listing {
        let path = entry.map_err(|e| StandaloneError::file(folder, e))?.path();
        let name = name_of(&path);
        if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            tables.push(path);
        }
    }
    tables.sort();
    Ok(tables)
}

/// Finds the table with a name that another table refers to.
///
/// # Errors
/// Fails if there is none, listing the names tried, or if the name is a path.
pub(crate) fn table_named(folder: &Path, name: &str) -> Result<PathBuf, StandaloneError> {
    if name.is_empty() || name.contains(['/', '\\']) || name.contains("..") {
        return Err(StandaloneError::Request(format!(
            "{} is not a table name in {}\nhint: a name must not contain folders",
            shown(name),
            folder.display()
        )));
    }
    let candidates = ENDINGS.map(|ending| folder.join(format!("{name}{ending}")));
    let found = candidates.iter().find(|path| path.is_file());
    found.cloned().ok_or_else(|| {
        let [plain, packed] = ENDINGS.map(|ending| format!("{}{ending}", shown(name)));
        StandaloneError::Request(format!(
            "neither {plain} nor {packed} exists in {}",
            folder.display()
        ))
    })
}

pub(crate) fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Strips the file endings of a table from a name.
pub(crate) fn stem(name: &str) -> &str {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    plain.strip_suffix(".csv").unwrap_or(plain)
}
