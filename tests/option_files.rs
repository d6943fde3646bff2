//! Checks that machines made from option files are complete and run imported traces.

use std::path::Path;

use crate::harness::{Bench, shown, warpweave};

const FILES: &str = "systems/accel-sim/tests/accel_sim";

/// Names of the machines with their option files.
const MACHINES: [(&str, &[&str]); 3] = [
    ("fermi", &["fermi.config"]),
    ("pascal", &["pascal.config", "pascal.trace.config"]),
    ("volta", &["volta.config"]),
];

/// Returns the system file generated from a machine's option files.
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
    bench.import_trace();
    let mut said = String::new();
    for (name, files) in MACHINES {
        bench.write("machine.ron", &system(files));
        said += &bench.run_trace(name, Path::new("machine.ron"));
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
