//! Reader for a scenario file and the files it names; a missing file is reported with the nearest
//! existing name.

use std::path::{Path, PathBuf};

use warpweave_params::{Diagnostics, Files, Node, Placed, nearest, parse};

/// Reads and parses the scenario file itself.
pub(super) fn read_scenario(path: &Path, files: &Files) -> Result<Node, Diagnostics> {
    let source = files.description(path, &["Scenario"]);
    let source = source.map_err(|error| match nearest_beside(path) {
        Some(near) if error.hint.is_none() => error.hint(format!("did you mean `{near}`?")),
        _ => error,
    })?;
    parse(&source)
}

/// Reads the file at `path`, which may hold one of these kinds of description. It is `named` in
/// another file, where a missing file is reported.
pub(super) fn read_named(
    path: &Path,
    named: &Placed<PathBuf>,
    kinds: &[&str],
    files: &Files,
) -> Result<Node, Diagnostics> {
    let source = files.description(path, kinds).map_err(|error| {
        let problem = named.blame(error);
        match nearest_beside(path) {
            _ if problem.hint.is_some() => problem,
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint("paths are relative to the file that contains them"),
        }
    })?;
    parse(&source)
}

/// Returns the description file in the same folder with the name most similar to that of `path`.
fn nearest_beside(path: &Path) -> Option<String> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == "ron"))
        .collect();
    names.sort();
    let wanted = path.file_name()?.to_str()?;
    nearest(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}
