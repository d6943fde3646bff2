//! Temporary working folder, and helpers that run the program there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

/// Path of the repository's folder of description files.
pub(crate) fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// Runs the program in the repository's folder.
pub(crate) fn warpweave(arguments: &[&str]) -> Ended {
    run_in(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

fn run_in(folder: &Path, arguments: &[&str]) -> Ended {
    Ended::of(&command_in(folder, arguments).output().unwrap())
}

fn command_in(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpweave"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("WARPWEAVE_LOG")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// Result of a finished run of the program.
pub(crate) struct Ended {
    /// Exit code; -1 after a signal.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// Parses the JSON report on standard output.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{e}\nexit {}\n{}\n{}", self.code, self.out, self.err))
    }

    /// Formats exit code and standard error for one snapshot.
    pub(crate) fn refusal(&self) -> String {
        assert!(!self.err.contains("panicked"), "{}", self.err);
        format!("exit {}\n{}", self.code, self.err)
    }
}

/// Temporary folder with a scenario `test.ron`: vector addition of 256 elements on `tiny.ron`. All
/// files are copied there so that a test can break one.
pub(crate) struct Bench {
    folder: TempDir,
}

const SCENARIO: &str = r#"Scenario(
    summary: "256 additions on the tiny machine",
    system: "systems/tiny.ron",
    workload: "workloads/vector_add.ron",
    overrides: { "workload.n": 256, "workload.block": 64 },
)
"#;

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copy = |from: &str| {
            let to = folder.path().join(from);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(scenarios().join(from), to).unwrap();
        };
        for name in [
            "systems/tiny.ron",
            "workloads/vector_add.ron",
            "workloads/bfs.ron",
        ] {
            copy(name);
        }
        for name in ["workloads/cuda/vector_add.ptx", "workloads/cuda/bfs.ptx"] {
            copy(name);
        }
        let bench = Self { folder };
        bench.write("test.ron", SCENARIO);
        bench
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    /// Replaces the first occurrence of `old`, which must be present, with `new`.
    pub(crate) fn edit(self, file: &str, old: &str, new: &str) -> Self {
        let text = self.read(file);
        assert!(text.contains(old), "{file} has no `{old}`");
        self.write(file, &text.replacen(old, new, 1));
        self
    }

    /// Runs the program in the folder.
    pub(crate) fn warpweave(&self, arguments: &[&str]) -> Ended {
        run_in(self.folder.path(), arguments)
    }

    /// Prepares the program to run in the folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        command_in(self.folder.path(), arguments)
    }

    /// Imports the committed Accel-Sim trace as `it.trace`.
    pub(crate) fn import_trace(&self) {
        let list = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("systems/accel-sim/tests/accel_sim/vectors/kernelslist.g");
        let list = list.display().to_string();
        let imported = self.warpweave(&["trace", "import", &list, "-o", "it.trace"]);
        assert_eq!(imported.code, 0, "{}", imported.err);
    }

    /// Checks the system at a path with `it.trace`, expecting no remarks, and runs it. Returns a
    /// line with cycles and wavefront instructions.
    pub(crate) fn run_trace(&self, name: &str, system: &Path) -> String {
        let system = system.to_str().expect("paths of tests are text");
        let scenario = format!("Scenario(system: {system:?}, trace: \"it.trace\", checks: true)");
        self.write("it.ron", &scenario);
        let checked = self.warpweave(&["check", "it.ron"]);
        assert_eq!((checked.code, checked.err.as_str()), (0, ""), "{name}");
        let ran = self.warpweave(&["--quiet", "run", "it.ron", "--format", "json"]);
        let report = ran.json();
        assert_eq!(report["status"], "done", "{name}: {}", ran.err);
        format!(
            "{name}: {} cycles, {} wavefront instructions\n",
            report["cycles"], report["wavefront_instructions"]
        )
    }

    /// Runs `test.ron` quietly, with `sets` as overrides.
    pub(crate) fn run(&self, sets: &[&str]) -> Ended {
        let mut arguments = vec!["run", "test.ron", "--quiet"];
        for set in sets {
            arguments.extend(["--set", set]);
        }
        self.warpweave(&arguments)
    }
}

/// Reads every file below a folder. Host measurements are removed from JSON objects.
pub(crate) fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inner = files_below(&path).into_iter();
            found.extend(inner.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        if let Ok(serde_json::Value::Object(mut object)) = serde_json::from_slice(&bytes) {
            object.remove("host");
            bytes = serde_json::Value::from(object).to_string().into_bytes();
        }
        found.insert(name, bytes);
    }
    found
}

/// Returns the printed output of a successful run.
pub(crate) fn told(ended: Ended) -> String {
    assert_eq!(ended.code, 0, "{}{}", ended.err, ended.out);
    ended.out
}

/// Compares a text with the snapshot of this name.
pub(crate) fn shown(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Crate outside this workspace, with the dependencies of a new program. Cargo would compile all of
/// Warpweave again for it, so the compiler links it with what the workspace has built.
pub(crate) struct Outside {
    folder: PathBuf,
    name: &'static str,
    /// Folder of what is compiled.
    built: PathBuf,
}

/// Library of each crate that an outside crate names, as built for this test.
static LIBRARIES: LazyLock<BTreeMap<String, PathBuf>> = LazyLock::new(|| {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--no-run", "--offline"])
        .args(["--message-format=json", "--quiet"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output();
    let messages = told(Ended::of(&output.unwrap()));
    let message = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    let library = |message: serde_json::Value| {
        let name = message["target"]["name"].as_str()?.to_owned();
        let of_tests = message["profile"]["test"].as_bool()?;
        // Crates of build scripts and macros are built a second time, without optimisation.
        let is_target = name == "warpweave" || message["profile"]["opt_level"] == "1";
        let files = message["filenames"].as_array()?.iter();
        let files = files.filter_map(|file| file.as_str()).map(PathBuf::from);
        let mut libraries = files.filter(|file| file.extension().is_some_and(|end| end == "rlib"));
        let file = libraries.next()?;
        (is_target && !of_tests).then_some((name, file))
    };
    let libraries = messages.lines().filter_map(message).filter_map(library);
    let named = ["schemars", "serde", "warpweave"];
    libraries
        .filter(|(name, _)| named.contains(&name.as_str()))
        .collect()
});

impl Outside {
    /// Returns the crate with this name in a folder.
    pub(crate) fn at(folder: PathBuf, name: &'static str) -> Self {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&built).unwrap();
        Self {
            folder,
            name,
            built,
        }
    }

    /// Runs a command of cargo that compiles nothing.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO"))
            .args(arguments)
            .args(["--offline", "--quiet"])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output();
        told(Ended::of(&output.unwrap()))
    }

    /// Compiles the library, if there is one, and the program.
    pub(crate) fn build(&self) {
        let library = self.name.replace('-', "_");
        if self.folder.join("src/lib.rs").exists() {
            let file = format!("lib{library}.rlib");
            self.compile("src/lib.rs", &file, &["--crate-type=lib"]);
            self.compile("src/main.rs", self.name, &["--extern", &library]);
        } else {
            self.compile("src/main.rs", self.name, &[]);
        }
    }

    /// Runs the unit tests in a file of the crate and returns their output.
    pub(crate) fn test(&self, file: &str) -> String {
        self.compile(file, "unit_tests", &["--test"]);
        told(self.run_as("unit_tests", &self.folder, &[]))
    }

    fn compile(&self, file: &str, to: &str, more: &[&str]) {
        let compiler = Path::new(env!("CARGO")).with_file_name("rustc");
        let dependencies = Path::new(env!("CARGO_BIN_EXE_warpweave")).with_file_name("deps");
        let mut command = Command::new(compiler);
        command
            .args([file, "--edition=2024", "-Copt-level=1", "-Ccodegen-units=2"])
            .arg(format!("--crate-name={}", self.name.replace('-', "_")))
            .args(more)
            .arg(format!("-Ldependency={}", dependencies.display()))
            .arg(format!("-L{}", self.built.display()))
            .arg("-o")
            .arg(self.built.join(to))
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        for (library, path) in &*LIBRARIES {
            command.arg(format!("--extern={library}={}", path.display()));
        }
        told(Ended::of(&command.output().unwrap()));
    }

    /// Runs the crate's program in its folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.run_in(&self.folder, arguments)
    }

    /// Runs the crate's program in another folder.
    pub(crate) fn run_in(&self, folder: &Path, arguments: &[&str]) -> Ended {
        self.run_as(self.name, folder, arguments)
    }

    fn run_as(&self, name: &str, folder: &Path, arguments: &[&str]) -> Ended {
        let output = Command::new(self.built.join(name))
            .args(arguments)
            .current_dir(folder)
            .env_remove("WARPWEAVE_LOG")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output();
        Ended::of(&output.unwrap())
    }

    /// Runs the crate's program and returns its output. The run must succeed.
    pub(crate) fn program(&self, arguments: &[&str]) -> String {
        told(self.run(arguments))
    }
}
