//! Modules of a crate, with the modules that each uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::code::{Import, imports, product_code, test_modules};
use crate::entries;

/// Module in a file of its own.
#[derive(Debug)]
pub struct Module {
    /// File that holds the module.
    pub file: PathBuf,
    /// Imports as written, of the product code.
    pub imports: Vec<Import>,
    /// Modules that it uses, each with the rest of the path: an item, or nothing for the module.
    pub uses: BTreeSet<(Vec<String>, Vec<String>)>,
}

/// All modules of a crate except those of its tests.
#[derive(Debug)]
pub struct Krate {
    /// Modules by their path; the root of the crate has the empty path.
    pub modules: BTreeMap<Vec<String>, Module>,
}

impl Krate {
    /// Reads the sources in a folder.
    ///
    /// # Panics
    /// Panics if a file cannot be read.
    pub fn read(sources: &Path) -> Self {
        let mut texts = BTreeMap::new();
        read_all(sources, &mut Vec::new(), &mut texts);
        let of_tests: Vec<Vec<String>> = texts
            .iter()
            .flat_map(|(path, (_, text))| {
                let names = test_modules(text).into_iter();
                names.map(|name| [&path[..], &[name]].concat())
            })
            .collect();
        texts.retain(|path, _| !of_tests.iter().any(|tests| path.starts_with(tests)));
        let mut found = BTreeMap::new();
        for (path, (_, text)) in &texts {
            let below = texts
                .keys()
                .filter(|other| other.len() == path.len() + 1 && other.starts_with(path));
            let submodules: Vec<String> = below.filter_map(|p| p.last().cloned()).collect();
            found.insert(path.clone(), imports(&product_code(text), &submodules));
        }
        let names = names(&found);
        let modules = found.iter().map(|(path, imports)| {
            let targets = imports.iter().map(|import| absolute(path, &import.path));
            let uses = targets.map(|target| resolved(&found, &names, target));
            let module = Module {
                file: texts[path].0.clone(),
                imports: imports.clone(),
                uses: uses.filter(|(module, _)| module != path).collect(),
            };
            (path.clone(), module)
        });
        Self {
            modules: modules.collect(),
        }
    }

    /// Returns the top-level modules.
    pub fn top(&self) -> BTreeSet<&str> {
        let first = self.modules.keys().filter_map(|path| path.first());
        first.map(String::as_str).collect()
    }
}

type Texts = BTreeMap<Vec<String>, (PathBuf, String)>;

fn read_all(folder: &Path, path: &mut Vec<String>, into: &mut Texts) {
    for entry in entries(folder) {
        let stem = entry.file_stem().and_then(|stem| stem.to_str());
        let name = stem.unwrap_or_default().to_owned();
        if entry.is_dir() {
            // A folder without sources of the crate holds texts that it includes.
            if matches!(name.as_str(), "templates" | "snapshots" | "tests") {
                continue;
            }
            path.push(name);
            read_all(&entry, path, into);
            path.pop();
        } else if entry.extension().is_some_and(|ending| ending == "rs") && name != "main" {
            let text = fs::read_to_string(&entry).expect("a source is text");
            let is_of_folder = name == "mod" || name == "lib";
            let own = (!is_of_folder).then_some(name);
            into.insert(path.iter().cloned().chain(own).collect(), (entry, text));
        }
    }
}

type Names = BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>;

/// Returns the items that each module imports, by the names they have there.
fn names(found: &BTreeMap<Vec<String>, Vec<Import>>) -> Names {
    let of = |(path, imports): (&Vec<String>, &Vec<Import>)| {
        let named = imports.iter().filter_map(|import| {
            let name = import.name.clone()?;
            Some((name, absolute(path, &import.path)))
        });
        (path.clone(), named.collect())
    };
    found.iter().map(of).collect()
}

/// Returns the path from the root of what `import` names within the module at `path`.
fn absolute(path: &[String], import: &[String]) -> Vec<String> {
    let mut base = path.to_vec();
    let mut rest = import;
    match rest.first().map(String::as_str) {
        Some("crate") => {
            base.clear();
            rest = &rest[1..];
        }
        Some("self") => rest = &rest[1..],
        _ => {}
    }
    while let Some("super") = rest.first().map(String::as_str) {
        base.pop();
        rest = &rest[1..];
    }
    let rest = rest.iter().filter(|segment| *segment != "self");
    base.into_iter().chain(rest.cloned()).collect()
}

/// Follows re-exports to the module that has the item. Returns the module and the rest of the path.
fn resolved(
    found: &BTreeMap<Vec<String>, Vec<Import>>,
    names: &Names,
    mut target: Vec<String>,
) -> (Vec<String>, Vec<String>) {
    for _ in 0..8 {
        let lengths = (0..=target.len()).rev();
        let mut modules = lengths.filter(|&length| found.contains_key(&target[..length]));
        let length = modules.next().unwrap_or(0);
        let (module, rest) = target.split_at(length);
        let next = rest.first().and_then(|first| names.get(module)?.get(first));
        match next {
            Some(next) if next.len() != target.len() || next[..] != target[..] => {
                let next = [&next[..], &rest[1..]].concat();
                if next == target {
                    return (module.to_vec(), rest.to_vec());
                }
                target = next;
            }
            _ => return (module.to_vec(), rest.to_vec()),
        }
    }
    (target, Vec::new())
}
