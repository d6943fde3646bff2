//! Tests with PTX written by third-party compilers: the parser test files of the package `ptx-ir`.
//! The files are read from the package and are not stored here. Checked are the number of files
//! parsed, the number of launchable kernels, and the reasons for refusals. Every launch must also
//! end in an orderly way.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpweave_ptx::{
    CodeForm, DeviceMemory, EmulationError, EmulationOptions, KernelArgument, LaunchConfig, Module,
    Parameter, launch,
};

/// Runs cargo and returns its output.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).expect("it is text")
}

/// Returns the folder of a package used by these tests.
fn package(name: &str) -> PathBuf {
    // Packages of other platforms need not be here.
    let version = cargo(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.expect("cargo knows where it runs");
    let metadata = cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--offline",
        "--filter-platform",
        host,
    ]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("it is JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let package = packages
        .iter()
        .find(|package| package["name"] == name)
        .expect("it is a dependency");
    let manifest = package["manifest_path"].as_str().expect("a path");
    Path::new(manifest).parent().expect("a folder").to_owned()
}

/// Returns all files with this extension in a folder tree, sorted by name.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns a buffer address for a possible pointer, and a small number for other integers.
fn argument(parameter: &Parameter, buffer: u64) -> KernelArgument {
    if parameter.bytes == 8 && parameter.ty.bits() == 64 && !parameter.ty.is_float() {
        return KernelArgument::Pointer(buffer);
    }
    let mut bytes = vec![0; parameter.bytes as usize];
    if parameter.bytes <= 4 && !parameter.ty.is_float() {
        bytes[0] = 4;
    }
    KernelArgument::Bytes(bytes)
}

/// Returns the outcome of a single-wavefront launch with arbitrary arguments.
fn end(module: &Module, kernel: &str, parameters: &[Parameter]) -> &'static str {
    let mut memory = DeviceMemory::new();
    let buffer = memory.allocate("buffer", 1 << 20);
    let arguments: Vec<_> = parameters
        .iter()
        .map(|parameter| argument(parameter, buffer))
        .collect();
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_local_bytes: 8192,
        args: &arguments,
    };
    let options = EmulationOptions {
        step_limit: 1 << 16,
        stall_limit: 1 << 15,
        ..EmulationOptions::default()
    };
    match launch(module, kernel, config, &mut memory, &options) {
        Ok(_) => "end",
        Err(EmulationError::Memory { .. }) => "memory error",
        Err(EmulationError::Trap { .. } | EmulationError::Assertion { .. }) => "trap",
        Err(EmulationError::StepLimit { .. } | EmulationError::NoProgress { .. }) => {
            "still running"
        }
        Err(EmulationError::Spin { .. }) => "waits for ever in a loop",
        Err(EmulationError::Deadlock { .. }) => "stuck at a barrier",
        Err(EmulationError::UndefinedVariable { .. }) => "variable of another module",
        Err(EmulationError::Launch { .. }) => "shape refused",
        Err(_) => "other",
    }
}

#[test]
fn kernels_of_strangers_are_read_and_end_in_an_orderly_way() {
    let folder = package("ptx-ir").join("tests");
    let (mut whole, mut partly) = (0, 0);
    let (mut reasons, mut refusals) = (BTreeMap::new(), BTreeMap::new());
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files(&folder, "ptx") {
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("a file")).into_owned();
        let name = file.file_name().expect("a name").to_string_lossy();
        let module = match Module::parse(&name, &text) {
            Ok(module) => module,
            Err(errors) => {
                let message = errors.0.first().map(|error| error.message.clone());
                *reasons.entry(message.unwrap_or_default()).or_insert(0) += 1;
                continue;
            }
        };
        if module.refused().is_empty() {
            whole += 1;
        } else {
            partly += 1;
        }
        for refused in module.refused() {
            let message = refused
                .reasons
                .0
                .first()
                .map(|reason| reason.message.clone());
            *refusals.entry(message.unwrap_or_default()).or_insert(0) += 1;
        }
        let compiled = Module::parse_as(&name, &text, CodeForm::AsCompiled);
        let compiled = compiled.expect("what is read as written is read as compiled");
        assert_eq!(compiled.kernels().len(), module.kernels().len(), "{name}");
        for kernel in module.kernels() {
            let end = end(&module, kernel.name(), kernel.parameters());
            let ends_compiled = self::end(&compiled, kernel.name(), kernel.parameters());
            assert_eq!(end, ends_compiled, "{name}: {}", kernel.name());
            *ends.entry(end).or_insert(0) += 1;
        }
    }
    let mut said = format!("{whole} files whole, {partly} with kernels that are refused\n");
    for (what, counts) in [("files refused", reasons), ("kernels refused", refusals)] {
        let _ = writeln!(said, "\n{what}");
        for (reason, count) in counts {
            let _ = writeln!(said, "{count:4} {reason}");
        }
    }
    let _ = writeln!(said, "\nlaunches");
    for (end, count) in ends {
        let _ = writeln!(said, "{count:4} {end}");
    }
    insta::assert_snapshot!(said);
}
