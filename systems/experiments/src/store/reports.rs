//! Reports of runs, one complete file each, in a folder to which several processes may write.

use std::path::{Path, PathBuf};

use warpweave_files::{Input, Ledger, Output, OutputError, Unpacked};
use warpweave_systems::report::Record;

use crate::model::{FailureCounts, Outcome};
use crate::plan::Plan;

/// zstd compression level of reports; 3 is the library's default.
const LEVEL: i32 = 3;

/// Reports of runs in a results folder, by the key of the run. Interrupted runs are saved there
/// until they have a report.
///
/// Several processes may write to it at the same time. A file gets its name only when complete, and
/// the key determines every byte of a report.
#[derive(Clone, Debug)]
pub struct Reports {
    results: PathBuf,
}

impl Reports {
    /// Names the reports in a results folder, which need not exist.
    pub fn of(results: &Path) -> Self {
        let results = results.to_owned();
        Self { results }
    }

    /// Opens the reports in a results folder, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written.
    pub fn in_folder(results: &Path) -> Result<Self, OutputError> {
        let reports = Self::of(results);
        reports.create("runs")?;
        Ok(reports)
    }

    fn create(&self, name: &str) -> Result<(), OutputError> {
        let folder = self.results.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| OutputError::of(&folder, error))
    }

    fn run(&self, key: &str) -> PathBuf {
        self.results.join("runs").join(format!("{key}.json.zst"))
    }

    fn failure(&self, key: &str) -> PathBuf {
        self.results.join("failed").join(format!("{key}.txt"))
    }

    fn unfinished(&self, key: &str) -> PathBuf {
        self.results.join("unfinished").join(format!("{key}.wwc"))
    }

    /// True if the report of a run is stored.
    pub fn holds(&self, key: &str) -> bool {
        self.run(key).is_file()
    }

    /// Stores the report of a run, which then needs no checkpoint.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails.
    pub fn store(&self, key: &str, json: &str) -> Result<(), OutputError> {
        let path = self.run(key);
        let packed = zstd::encode_all(json.as_bytes(), LEVEL);
        let packed = packed.map_err(|error| OutputError::of(&path, error))?;
        Output::write(&path, &packed)?;
        // One that remains costs disk space alone.
        let _ = std::fs::remove_file(self.unfinished(key));
        Ok(())
    }

    /// Returns the checkpoint of an interrupted run, if there is one.
    pub(crate) fn checkpoint(&self, key: &str) -> Option<PathBuf> {
        Some(self.unfinished(key)).filter(|path| path.is_file())
    }

    /// Returns the path at which an interrupted run is to be saved.
    ///
    /// # Errors
    /// Returns an error if its folder cannot be created.
    pub(crate) fn new_checkpoint(&self, key: &str) -> Result<PathBuf, OutputError> {
        self.create("unfinished")?;
        Ok(self.unfinished(key))
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

    /// Records for other processes that runs failed without a report.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails.
    pub fn store_failures(&self, plan: &Plan, failed: &FailureCounts) -> Result<(), OutputError> {
        for (&at, why) in failed {
            let path = self.failure(&plan.runs[at].identity.run);
            self.create("failed")?;
            Output::write(&path, why.as_bytes())?;
        }
        Ok(())
    }

    /// Returns the recorded failures of those runs of a plan that have no report.
    pub fn failures(&self, plan: &Plan) -> FailureCounts {
        let failure = |(at, key): (usize, &str)| {
            let input = Input::open(&self.failure(key)).ok()?;
            let why = input.read_text(&Ledger::default()).ok()?;
            (!self.holds(key)).then_some((at, why))
        };
        let keys = plan.runs.iter().map(|run| run.identity.run.as_str());
        keys.enumerate().filter_map(failure).collect()
    }
}
