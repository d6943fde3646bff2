//! Storage of results: one complete file per run, and the series.
//!
//! `reports.rs` holds the runs. `sqlite.rs` and `export.rs` convert them for other tools. Their
//! output can be regenerated at any time.

mod collect;
mod export;
mod reports;
mod series;
mod sqlite;
mod verdicts;

use std::path::{Path, PathBuf};

use warpweave_files::{Claim, ClaimError};

use crate::model::RunId;

pub use self::collect::Collection;
#[cfg(test)]
pub(crate) use self::export::claims as claims_csv;
pub use self::reports::Reports;
pub use self::series::SeriesError;
pub use self::verdicts::Verdicts;

/// Returns the axis levels of a run as a JSON object.
fn levels(id: &RunId) -> serde_json::Map<String, serde_json::Value> {
    let levels = id.point.levels.iter();
    levels
        .map(|(axis, level)| (axis.clone(), level.clone().into()))
        .collect()
}

/// Result folder of an experiment, claimed by this process. Other processes may add reports of
/// runs, and nothing else.
#[derive(Debug)]
pub struct Folder {
    claim: Claim,
    reports: Reports,
}

impl Folder {
    /// Claims a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if another process holds it, or it cannot be written.
    pub fn claim(folder: &Path) -> Result<Self, ClaimError> {
        let claim = Claim::of(folder)?;
        let reports = Reports::in_folder(folder)?;
        Ok(Self { claim, reports })
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.claim.folder().join(name)
    }

    /// Returns the reports of the runs.
    pub fn reports(&self) -> &Reports {
        &self.reports
    }
}
