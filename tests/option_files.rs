//! Machines made of option files are whole, and run imported traces.

use std::fmt::Write as _;
use std::path::Path;

use crate::harness::{Bench, shown, warpweave};

const FILES: &str = "systems/accel-sim/tests/accel_sim";

/// Every machine, with its files.
const MACHINES: [(&str, &[&str]); 3] = [
    ("fermi", &["fermi.config"]),
    ("pascal", &["pascal.config", "pascal.trace.config"]),
    ("volta", &["volta.config"]),
];

/// The system file of a machine.
fn system(files: &[&str]) -> String {
    let mut arguments = vec!["system".to_owned(), "import".to_owned()];
    arguments.extend(
        files
            .iter()
            .map(|file| format!("{FILES}/option-files/{file}")),
    );
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = warpweave(&arguments);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    ended.out
}

#[test]
fn machines_of_option_files_check_without_a_word_and_run_an_imported_trace() {
    let bench = Bench::new();
    let list = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(FILES)
        .join("vectors/kernelslist.g");
    let list = list.display().to_string();
    let imported = bench.warpweave(&["trace", "import", &list, "-o", "it.trace"]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    let mut said = String::new();
    for (name, files) in MACHINES {
        bench.write("machine.ron", &system(files));
        bench.write(
            "it.ron",
            "Scenario(system: \"machine.ron\", trace: \"it.trace\", checks: true)",
        );
        let checked = bench.warpweave(&["check", "it.ron"]);
        assert_eq!((checked.code, checked.err.as_str()), (0, ""), "{name}");
        let ran = bench.warpweave(&["--quiet", "run", "it.ron", "--format", "json"]);
        let report = ran.json();
        assert_eq!(report["status"], "done", "{name}: {}", ran.err);
        let row = writeln!(
            said,
            "{name}: {} cycles, {} wavefront instructions",
            report["cycles"], report["wavefront_instructions"]
        );
        row.unwrap();
    }
    shown("machines_of_option_files", &said);
}

#[test]
fn an_option_file_that_is_wrong_ends_the_command_with_every_place() {
    let bench = Bench::new();
    bench.write("a.config", "-gpgpu_n_clusers 3\n-gpgpu_n_mem many\n");
    let ended = bench.warpweave(&["system", "import", "a.config", "b.config"]);
    assert_eq!(ended.out, "");
    shown("option_file_refused", &ended.refusal());
}
