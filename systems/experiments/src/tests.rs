//! Small experiment in a folder of its own, for the tests of this crate.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Folder with a base scenario on the tiny machine.
pub(crate) struct Bench {
    folder: TempDir,
}

/// Experiment file used by most tests, with `{}` in place of more fields.
const EXPERIMENT: &str = r#"Experiment(
    summary: "A test",
    base: "base.ron",
    workloads: { "add": (file: "WORKLOADS/vector_add.ron", sets: { "workload.n": 256, "workload.block": 64 }) },
    variants: { "plain": {}, "narrow": { "unit[*].l1.ways": 1 } },
    baseline: "plain",
    metrics: { "ipc": (value: "ipc", kind: Ratio, better: Larger) },
    MORE
)
"#;

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = Self { folder };
        let scenarios = scenarios();
        let base = format!(
            "Scenario(system: \"{0}/systems/tiny.ron\", workload: \"{0}/workloads/bfs.ron\")",
            scenarios.display()
        );
        bench.write("base.ron", &base);
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes `test.ron` with additional fields and returns its path.
    pub(crate) fn experiment(&self, more: &str) -> PathBuf {
        let workloads = scenarios().join("workloads").display().to_string();
        let text = EXPERIMENT.replace("WORKLOADS", &workloads);
        self.write("test.ron", &text.replace("MORE", more));
        self.path("test.ron")
    }
}

pub(crate) fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}
