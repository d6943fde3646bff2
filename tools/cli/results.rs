//! Results folder: report, resolved system, and a manifest for repeating the run.

use std::fs;
use std::path::Path;

use serde::Serialize;
use warpweave_files::{Claim, Output, OutputError, PathError, Paths};
use warpweave_systems::report::{Host, Report, SCHEMA_VERSION};
use warpweave_systems::{Machine, Scenario, StateLog};
use warpweave_trace::Program;

use crate::arguments::program_name;
use crate::outcome::Failure;

/// File that marks a folder as holding finished results. It is written last.
const MANIFEST: &str = "manifest.json";

/// Results folder of one run, claimed until the results are written.
pub(crate) struct Results {
    claim: Claim,
}

#[derive(Serialize)]
struct Manifest<'a> {
    schema_version: u32,
    warpweave_version: &'static str,
    /// Command line that repeats the run.
    command: Vec<String>,
    scenario: FileId,
    system: FileId,
    /// Files that the system file includes or extends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system_parts: Vec<FileId>,
    /// Workload of the run, or the trace that was run instead.
    workload: FileId,
    seed: u64,
    trace_hash: String,
    status: &'static str,
    complete: bool,
    files: Vec<&'a str>,
    /// Number of core cycles between two lines of the state hashes, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    state_hash_every: Option<u64>,
    host: &'a Host,
}

#[derive(Serialize)]
struct FileId {
    path: String,
    blake3: Option<String>,
}

impl FileId {
    fn of(path: &Path) -> Self {
        let hash = fs::read(path)
            .ok()
            .map(|bytes| blake3::hash(&bytes).to_string());
        Self {
            path: path.display().to_string(),
            blake3: hash,
        }
    }
}

const FILES: [&str; 4] = ["report.json", "report.txt", "scenario.ron", "system.ron"];

const STATE_HASHES: &str = "state-hashes.csv";
const INTERVALS: &str = "intervals.csv";
const ALL_FILES: [&str; 6] = [
    FILES[0],
    FILES[1],
    FILES[2],
    FILES[3],
    STATE_HASHES,
    INTERVALS,
];

impl Results {
    /// Creates the folder. Fails if it already holds results or is claimed by a run that has not
    /// ended.
    pub(crate) fn claim(folder: &Path) -> Result<Self, Failure> {
        // Checked after claiming, since the previous owner of the claim may have finished.
        let claim = Claim::of(folder)?;
        if folder.join(MANIFEST).exists() {
            return Err(Failure::InputText(format!(
                "{} already holds finished results\nhint: choose another folder, or remove it",
                folder.display()
            )));
        }
        Ok(Self { claim })
    }

    /// Adds the files of the folder to the outputs of the run.
    pub(crate) fn name(&self, paths: &mut Paths) -> Result<(), PathError> {
        let mut files = ALL_FILES.iter().chain([&MANIFEST]);
        files.try_for_each(|name| paths.writes("--out", &self.claim.folder().join(name)))
    }

    /// Writes all files, the manifest last, and releases the folder.
    pub(crate) fn write(
        self,
        scenario: &Scenario,
        machine: &Machine,
        program: &Program,
        report: &Report,
        log: Option<&StateLog>,
    ) -> Result<(), Failure> {
        let mut command = vec![program_name(), "run".to_owned()];
        command.extend(scenario.stated.given.iter().cloned());
        for set in &scenario.stated.sets {
            command.extend(["--set".to_owned(), set.clone()]);
        }
        let intervals = report.simulated.measured.intervals_csv();
        let of_choice = [
            log.map(|_| STATE_HASHES),
            intervals.as_ref().map(|_| INTERVALS),
        ];
        let manifest = Manifest {
            schema_version: SCHEMA_VERSION,
            warpweave_version: env!("CARGO_PKG_VERSION"),
            command,
            scenario: FileId::of(&scenario.paths.scenario),
            system: FileId::of(&scenario.paths.system),
            system_parts: scenario
                .paths
                .system_parts
                .iter()
                .map(|path| FileId::of(path))
                .collect(),
            workload: FileId::of(&scenario.paths.work),
            seed: scenario.seed,
            trace_hash: program.hash().to_string(),
            status: report.status.name(),
            complete: report
                .simulated
                .kernels
                .iter()
                .all(|k| k.completed.is_some()),
            files: FILES
                .into_iter()
                .chain(of_choice.into_iter().flatten())
                .collect(),
            state_hash_every: log.map(StateLog::every),
            host: &report.host,
        };
        let manifest =
            serde_json::to_string_pretty(&manifest).expect("the manifest has text keys only");
        let resolved = warpweave_params::to_ron(&machine.system().resolved.to_node());
        let texts = [
            report.to_json(),
            report.to_text(),
            scenario.stated.text.clone(),
            resolved,
        ];
        for (name, text) in FILES.iter().zip(&texts) {
            self.file(name, text)?;
        }
        if let Some(log) = log {
            self.file(STATE_HASHES, &log.to_csv(machine))?;
        }
        if let Some(intervals) = &intervals {
            self.file(INTERVALS, intervals)?;
        }
        Ok(self.file(MANIFEST, &manifest)?)
    }

    fn file(&self, name: &str, text: &str) -> Result<(), OutputError> {
        Output::write(&self.claim.folder().join(name), text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a full disk is what is tested")]

    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use warpweave_files::with_room;
    use warpweave_systems::standard_registry;

    use super::*;

    #[test]
    fn a_full_disk_leaves_whole_files_and_no_manifest() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/quickstart.ron");
        let scenario = Scenario::load(
            &path,
            &["limits.cycles=1000", "measure.every_cycles=600"].map(str::to_owned),
        );
        let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
        let executed = scenario.emulate().unwrap();
        let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
        let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
        let mut log = StateLog::new(500);
        let status = machine.advance(1000, &Arc::new(AtomicBool::new(false)));
        log.record(&mut machine).unwrap();
        let simulated = machine.results(status.unwrap());
        let results = (executed.verified, executed.checks);
        let report = Report::of(&scenario, simulated, results, Host::default());
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole");
        let write = |folder: &Path| {
            let results = Results::claim(folder).unwrap_or_else(|_| panic!("it is free"));
            results.write(&scenario, &machine, &executed.program, &report, Some(&log))
        };
        assert!(write(&whole).is_ok());
        let sizes = ALL_FILES.map(|name| whole.join(name).metadata().unwrap().len());
        let all = sizes.iter().sum::<u64>() + whole.join(MANIFEST).metadata().unwrap().len();
        let old = folder.path().join("old");
        let rooms = (0..all).step_by(all as usize / 40).chain([all - 1]);
        for room in rooms {
            fs::create_dir(&old).unwrap();
            for name in ALL_FILES {
                fs::write(old.join(name), "of a run that did not end").unwrap();
            }
            let failed = with_room(room, || write(&old));
            assert!(matches!(failed, Err(Failure::Machine(_))), "{room}");
            for (entry, name) in ALL_FILES.iter().map(|name| (old.join(name), name)) {
                let found = fs::read(&entry).unwrap();
                let is_old = found == b"of a run that did not end";
                assert!(
                    is_old || found == fs::read(whole.join(name)).unwrap(),
                    "{room}: {name}"
                );
            }
            assert_eq!(
                fs::read_dir(&old).unwrap().count(),
                ALL_FILES.len(),
                "{room}"
            );
            fs::remove_dir_all(&old).unwrap();
        }
        assert!(with_room(all, || write(&old)).is_ok());
    }
}
