//! Series of an experiment, one for each of its states. None is ever removed.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpweave_files::{Input, Ledger, Output, OutputError};

use super::Folder;
use crate::model::Series;

/// File with the series. It is the only copy, and the database is generated from it.
const FILE: &str = "series.json";

/// Error from opening a series.
#[derive(Debug, Error)]
pub enum SeriesError {
    /// The experiment differs from that of the last series, and no note was given.
    #[error(
        "the experiment differs from series {number}, opened on {opened}: it, or a file that its runs read, has changed\nhint: `--note \"why\"` opens series {}", number + 1
    )]
    Changed {
        /// Number of the last series.
        number: u32,
        /// Time at which that series was opened.
        opened: String,
    },
    /// The file of the series cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The file of the series cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    number: u32,
    hash: String,
    opened: String,
    note: String,
    program_version: String,
}

impl Folder {
    /// Returns all series so far, in order.
    ///
    /// # Errors
    /// Returns [`SeriesError::Unreadable`] if the file cannot be read.
    pub fn series(&self) -> Result<Vec<Series>, SeriesError> {
        let path = self.path(FILE);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let cannot =
            |error: String| SeriesError::Unreadable(format!("{}: {error}", path.display()));
        let input = Input::open(&path).map_err(|error| cannot(error.to_string()))?;
        let text = input.read_text(&Ledger::default());
        let text = text.map_err(|error| cannot(error.to_string()))?;
        let stored: Vec<Stored> =
            serde_json::from_str(&text).map_err(|error| cannot(error.to_string()))?;
        Ok(stored.into_iter().map(Stored::into_series).collect())
    }

    /// Opens the series that results belong to: the last one if its hash is `hash`, otherwise a new
    /// one. A new series is opened at time `now` (UTC, RFC 3339), and needs a note unless it is the
    /// first. Returns all series.
    ///
    /// # Errors
    /// Returns a [`SeriesError`] if a note is missing or the file cannot be read or written.
    pub fn open_series(
        &self,
        hash: &str,
        now: &str,
        note: Option<&str>,
    ) -> Result<Vec<Series>, SeriesError> {
        let mut all = self.series()?;
        let number = match (all.last(), note) {
            (Some(last), _) if last.hash == hash => return Ok(all),
            (Some(Series { number, opened, .. }), None) => {
                return Err(SeriesError::Changed {
                    number: *number,
                    opened: opened.clone(),
                });
            }
            (last, _) => last.map_or(0, |last| last.number) + 1,
        };
        all.push(Series {
            number,
            hash: hash.to_owned(),
            opened: now.to_owned(),
            note: note.unwrap_or_default().to_owned(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        let stored: Vec<_> = all.iter().map(Stored::of).collect();
        let text = serde_json::to_string_pretty(&stored).expect("every key is text");
        Output::write(&self.path(FILE), text.as_bytes())?;
        Ok(all)
    }
}

impl Stored {
    fn of(series: &Series) -> Self {
        Self {
            number: series.number,
            hash: series.hash.clone(),
            opened: series.opened.clone(),
            note: series.note.clone(),
            program_version: series.program_version.clone(),
        }
    }

    fn into_series(self) -> Series {
        Series {
            number: self.number,
            hash: self.hash,
            opened: self.opened,
            note: self.note,
            program_version: self.program_version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_needs_a_note_and_nothing_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::claim(&folder.path().join("r")).unwrap();
        let open = |hash, note| folder.open_series(hash, "2026-01-01T00:00:00Z", note);
        assert_eq!(open("a", None).unwrap().len(), 1);
        assert_eq!(open("a", Some("not needed")).unwrap().len(), 1);
        let refused = open("b", None).unwrap_err().to_string();
        assert!(
            refused.contains("--note") && refused.contains("series 2"),
            "{refused}"
        );
        assert_eq!(open("b", Some("the clock was wrong")).unwrap().len(), 2);
        let back = open("a", Some("back again")).unwrap();
        assert_eq!(
            back.iter().map(|series| series.number).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        assert_eq!(folder.series().unwrap(), back);
    }
}
