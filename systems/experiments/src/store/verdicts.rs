//! Verdicts of every series. Those of a series whose machine or inputs have changed since cannot be
//! judged again, so this file is their only copy.

use std::collections::BTreeMap;
use std::io;

use warpweave_files::{Input, Ledger, Output, OutputError};

use super::Folder;
use crate::model::ClaimRow;

/// File with the verdicts, by the number of their series.
const FILE: &str = "verdicts.json";

/// Verdicts on all claims, by the number of the series.
pub type Verdicts = BTreeMap<u32, Vec<ClaimRow>>;

impl Folder {
    /// Returns the verdicts of all series that were judged.
    ///
    /// # Errors
    /// Returns an error if the file exists but cannot be read.
    pub fn verdicts(&self) -> Result<Verdicts, OutputError> {
        let path = self.path(FILE);
        if !path.exists() {
            return Ok(Verdicts::new());
        }
        let cannot = |error: String| OutputError::of(&path, io::Error::other(error));
        let input = Input::open(&path).map_err(|error| cannot(error.to_string()))?;
        let text = input.read_text(&Ledger::default());
        let text = text.map_err(|error| cannot(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| cannot(error.to_string()))
    }

    /// Stores the verdicts of a series and keeps those of the others. Without verdicts nothing
    /// changes.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub(super) fn keep_verdicts(
        &self,
        series: u32,
        claims: &[ClaimRow],
    ) -> Result<(), OutputError> {
        if claims.is_empty() {
            return Ok(());
        }
        let mut all = self.verdicts()?;
        all.insert(series, claims.to_vec());
        let text = serde_json::to_string_pretty(&all).expect("every key is a number");
        Output::write(&self.path(FILE), text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_of_earlier_series_stay() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::claim(&folder.path().join("r")).unwrap();
        let claim = |verdict: &str| ClaimRow {
            name: "it is faster".to_owned(),
            verdict: verdict.to_owned(),
            median: Some(0.25),
            ..ClaimRow::default()
        };
        assert_eq!(folder.verdicts().unwrap(), Verdicts::new());
        folder.keep_verdicts(1, &[claim("reproduced")]).unwrap();
        folder.keep_verdicts(2, &[claim("unresolved")]).unwrap();
        // A series that is not complete has none, and judging again replaces its own.
        folder.keep_verdicts(3, &[]).unwrap();
        folder.keep_verdicts(2, &[claim("void")]).unwrap();
        let kept = [(1, vec![claim("reproduced")]), (2, vec![claim("void")])];
        assert_eq!(folder.verdicts().unwrap(), Verdicts::from(kept));
        std::fs::write(folder.path(FILE), "{").unwrap();
        assert!(folder.verdicts().is_err());
    }
}
