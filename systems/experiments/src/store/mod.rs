//! Storage of results: one complete file per run, and the series.
//!
//! `sqlite.rs` and `export.rs` convert them for other tools. Their output can be regenerated at any
//! time.

mod collect;
mod export;
mod series;
mod sqlite;
mod verdicts;

use std::path::{Path, PathBuf};

use warpweave_files::{Claim, ClaimError, Input, Ledger, Output, OutputError, Unpacked};
use warpweave_systems::report::Record;

use crate::model::{Outcome, RunId};

pub use self::collect::Collection;
#[cfg(test)]
pub(crate) use self::export::claims as claims_csv;
pub use self::series::SeriesError;
pub use self::verdicts::Verdicts;

/// Returns the axis levels of a run as a JSON object.
fn levels(id: &RunId) -> serde_json::Map<String, serde_json::Value> {
    let levels = id.point.levels.iter();
    levels
        .map(|(axis, level)| (axis.clone(), level.clone().into()))
        .collect()
}

/// Result folder of an experiment, claimed by this process.
#[derive(Debug)]
pub struct Folder {
    claim: Claim,
}

/// zstd compression level of reports; 3 is the library's default.
const LEVEL: i32 = 3;

impl Folder {
    /// Claims a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if another process holds it, or it cannot be written.
    pub fn claim(folder: &Path) -> Result<Self, ClaimError> {
        let claim = Claim::of(folder)?;
        let runs = folder.join("runs");
        std::fs::create_dir_all(&runs).map_err(|error| OutputError::of(&runs, error))?;
        Ok(Self { claim })
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.claim.folder().join(name)
    }

    fn run(&self, key: &str) -> PathBuf {
        self.path("runs").join(format!("{key}.json.zst"))
    }

    /// True if the report of a run is stored.
    pub fn holds(&self, key: &str) -> bool {
        self.run(key).is_file()
    }

    /// Stores the report of a run.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails.
    pub fn store(&self, key: &str, json: &str) -> Result<(), OutputError> {
        let path = self.run(key);
        let packed = zstd::encode_all(json.as_bytes(), LEVEL);
        let packed = packed.map_err(|error| OutputError::of(&path, error))?;
        Output::write(&path, &packed)
    }

    /// Reads the report of a run; `None` if it is not stored.
    ///
    /// # Errors
    /// Returns an error if the file exists but is not a report.
    pub fn read(&self, key: &str) -> Option<Result<Record, String>> {
        let path = self.run(key);
        path.is_file().then(|| {
            let cannot =
                |error: String| format!("{}: {error}; remove it to repeat the run", path.display());
            let input = Input::open(&path).map_err(|error| cannot(error.to_string()))?;
            let size = input.size();
            let packed = zstd::Decoder::new(input).map_err(|error| cannot(error.to_string()))?;
            let bytes = Unpacked::of(packed, size).read_charged("a report", &Ledger::default());
            let bytes = bytes.map_err(|error| cannot(error.to_string()))?;
            let text = String::from_utf8(bytes).map_err(|error| cannot(error.to_string()))?;
            Record::from_json(&text).map_err(cannot)
        })
    }

    /// Returns the outcome of a run, if it has ended.
    pub fn outcome(&self, key: &str) -> Option<Outcome> {
        Some(match self.read(key)? {
            Ok(record) if record.status == "done" => Outcome::Done(Box::new(record)),
            Ok(record) => {
                let detail = record.detail.as_deref().unwrap_or_default();
                let detail = detail.lines().next().unwrap_or_default();
                let colon = if detail.is_empty() { "" } else { ": " };
                Outcome::Failed(format!("{}{colon}{detail}", record.status))
            }
            Err(error) => Outcome::Failed(error),
        })
    }
}
