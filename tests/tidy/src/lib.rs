//! Modules of the repository's crates, their imports and the sizes of what they declare, read from
//! the sources.

mod code;
mod krate;
mod shape;

pub use code::{Import, imports, product_code, test_modules};
pub use krate::{Krate, Module};
pub use shape::Shape;

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the root folder of the repository.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2);
    root.expect("this crate is two folders below the root")
}

/// Returns the folders of the sources of all crates, relative to the root of the repository.
///
/// # Panics
/// Panics if the manifest of the workspace cannot be read.
pub fn source_folders() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest exists");
    let (_, members) = manifest.split_once("members = [").expect("a workspace");
    let (members, _) = members.split_once(']').expect("a list");
    let names = members.lines().filter_map(|line| line.split('"').nth(1));
    let sources = names.map(|name| {
        let below = format!("{name}/src");
        let has_folder = root().join(&below).is_dir();
        if has_folder { below } else { name.to_owned() }
    });
    sources.collect()
}

/// Returns the entries of a folder in the order of their names.
///
/// # Panics
/// Panics if the folder cannot be read.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut entries: Vec<PathBuf> = read.map(|entry| entry.expect("readable").path()).collect();
    entries.sort();
    entries
}
