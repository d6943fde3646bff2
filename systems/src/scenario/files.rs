//! The scenario file and the files that it names; of a missing one, the nearest that is there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpweave_params::{Diagnostics, Node, Placed, Source, nearest, parse};

/// Reads the scenario itself.
pub(super) fn read_scenario(path: &Path) -> Result<(Arc<Source>, Node), Diagnostics> {
    let source = Source::read(path).map_err(|error| match nearest_beside(path) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    })?;
    let node = parse(&source)?;
    Ok((source, node))
}

/// Reads the file at `path`, which is `named` in another one; a missing file is reported there.
pub(super) fn read_named(path: &Path, named: &Placed<PathBuf>) -> Result<Node, Diagnostics> {
    let source = Source::read(path).map_err(|error| {
        named.blame(error).hint(match nearest_beside(path) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "paths are relative to the file that names them".to_owned(),
        })
    })?;
    parse(&source)
}

/// The description file in the same folder whose name is most like that of `path`.
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
