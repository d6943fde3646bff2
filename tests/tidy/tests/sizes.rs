//! Checks that types and functions stay small enough to be read as a whole.
//!
//! Only product code counts. Everything may touch a type that has `impl` blocks in many files. A
//! tuple among the parameters may hide that there are too many of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use warpweave_tidy::{Krate, Module, Shape, root, source_folders};

/// Fields of a struct, or of a variant of an enum, at most.
const FIELDS_MAX: usize = 15;

/// Files with `impl` blocks of one type at most.
const FILES_MAX: usize = 5;

/// Lines of a function at most.
const LINES_MAX: usize = 150;

/// Parameters of a function at most, like Clippy's `too_many_arguments`.
const PARAMETERS_MAX: usize = 7;

/// Types over the limits, with their sizes. A size here may only shrink.
const LEFT: [&str; 2] = [
    "framework/src engine::simulation::Simulation: 7 files",
    "systems/src report::record::Record: 19 fields",
];

/// Returns the module that defines the type `name` for the code of the module at `path`.
fn definition(
    shapes: &BTreeMap<Vec<String>, Shape>,
    path: &[String],
    module: &Module,
    name: &String,
) -> Option<Vec<String>> {
    let defines = |path: &[String]| {
        let shape = shapes.get(path);
        shape.is_some_and(|shape| shape.types.contains(name))
    };
    if defines(path) {
        return Some(path.to_vec());
    }
    let imported = module.uses.iter().find(|(from, item)| {
        let is_glob = item.last().is_none();
        (is_glob || item.last() == Some(name)) && defines(from)
    });
    imported.map(|(from, _)| from.clone())
}

#[test]
fn types_and_functions_can_be_read_as_a_whole() {
    let mut over = BTreeSet::new();
    for folder in source_folders() {
        let krate = Krate::read(&root().join(&folder));
        let mut shapes = BTreeMap::new();
        for (path, module) in &krate.modules {
            let text = fs::read_to_string(&module.file).expect("the source is read");
            let shape = Shape::of(&text).unwrap_or_else(|e| panic!("{:?}: {e}", module.file));
            shapes.insert(path.clone(), shape);
        }
        let mut files: BTreeMap<(Vec<String>, &String), BTreeSet<&Vec<String>>> = BTreeMap::new();
        for (path, shape) in &shapes {
            let place = format!("{folder} {}", path.join("::"));
            let mut check = |name: &str, size: usize, max: usize, of: &str| {
                if size > max {
                    over.insert(format!("{place}::{name}: {size} {of}"));
                }
            };
            for (name, fields) in &shape.fields {
                check(name, *fields, FIELDS_MAX, "fields");
            }
            for (name, lines) in &shape.lines {
                check(name, *lines, LINES_MAX, "lines");
            }
            for (name, parameters) in &shape.spelled_out {
                check(name, *parameters, PARAMETERS_MAX, "parameters");
            }
            for name in &shape.implements {
                if let Some(home) = definition(&shapes, path, &krate.modules[path], name) {
                    files.entry((home, name)).or_default().insert(path);
                }
            }
        }
        for ((home, name), files) in files {
            if files.len() > FILES_MAX {
                let place = format!("{folder} {}::{name}", home.join("::"));
                over.insert(format!("{place}: {} files", files.len()));
            }
        }
    }
    let left: BTreeSet<String> = LEFT.into_iter().map(str::to_owned).collect();
    let new: Vec<&String> = over.difference(&left).collect();
    assert!(new.is_empty(), "too large: {new:#?}");
    let gone: Vec<&String> = left.difference(&over).collect();
    assert!(gone.is_empty(), "take them off the list `LEFT`: {gone:#?}");
}
