//! `warpweave new program`: writes a crate with a component.

use std::fs;
use std::path::{Path, PathBuf, absolute};

use super::component::TEMPLATE;
use warpweave_files::OutputFolder;

use super::name::check_program;
use super::not_new;
use crate::outcome::Failure;

/// Paths and texts of the files in the crate. The workload is one of Warpweave's own.
const FILES: [(&str, &str); 11] = [
    (
        "Cargo.toml",
        include_str!("../templates/program/Cargo.toml"),
    ),
    ("README.md", include_str!("../templates/program/README.md")),
    (
        ".cargo/config.toml",
        include_str!("../templates/program/.cargo/config.toml"),
    ),
    (".gitignore", "/target\n"),
    (
        "src/lib.rs",
        include_str!("../templates/program/src/lib.rs"),
    ),
    (
        "src/main.rs",
        include_str!("../templates/program/src/main.rs"),
    ),
    ("src/throttle.rs", TEMPLATE),
    (
        "scenarios/quickstart.ron",
        include_str!("../templates/program/scenarios/quickstart.ron"),
    ),
    (
        "scenarios/systems/small.ron",
        include_str!("../templates/program/scenarios/systems/small.ron"),
    ),
    (
        "scenarios/workloads/vector_add.ron",
        include_str!("../../../scenarios/workloads/vector_add.ron"),
    ),
    (
        "scenarios/workloads/cuda/vector_add.ptx",
        include_str!("../../../scenarios/workloads/cuda/vector_add.ptx"),
    ),
];

/// Placeholder for the crate's name in the template.
const NAME: &str = "new-program";
/// Placeholder for the name of the crate's library.
const LIBRARY: &str = "new_program";
/// Placeholder for the folder of Warpweave's sources, relative to the template's folder.
const SOURCES: &str = "\"../../../..\"";

/// Creates the crate's folder in the folder `out`. Returns instructions for its use.
pub(super) fn write(name: &str, out: &Path, warpweave: &Path) -> Result<String, Failure> {
    check_program(name).map_err(Failure::InputText)?;
    let sources = sources(warpweave)?;
    let folder = out.join(name);
    let written = OutputFolder::create(&folder).map_err(not_new)?;
    let path = format!("{:?}", sources.display().to_string());
    for (file, text) in FILES {
        let text = text.replace(NAME, name).replace(SOURCES, &path);
        let text = text.replace(LIBRARY, &name.replace('-', "_"));
        written.file(file, text.as_bytes())?;
    }
    // The versions that Warpweave is tested with; cargo drops what the program does not need.
    let lock = fs::read(sources.join("Cargo.lock"));
    if let Ok(lock) = lock {
        written.file("Cargo.lock", &lock)?;
    }
    written.finish().map_err(not_new)?;
    Ok(format!(
        "{} holds a program with the component Throttle:\n\n    cd {}\n    cargo test\n    cargo \
         warpweave run scenarios/quickstart.ron\n",
        folder.display(),
        folder.display()
    ))
}

/// Returns the absolute path of Warpweave's sources, or an error if it is not such a folder.
fn sources(folder: &Path) -> Result<PathBuf, Failure> {
    let no_sources = |problem: &str| {
        Failure::InputText(format!(
            "{} does not hold Warpweave's sources: {problem}\nhint: name their folder with \
             --warpweave PATH",
            folder.display()
        ))
    };
    let manifest = fs::read_to_string(folder.join("Cargo.toml"))
        .map_err(|error| no_sources(&format!("Cargo.toml: {error}")))?;
    if !manifest.lines().any(|line| line == "name = \"warpweave\"") {
        return Err(no_sources("its Cargo.toml belongs to another crate"));
    }
    absolute(folder).map_err(|error| no_sources(&error.to_string()))
}
