//! Tests of the layering of the framework's sources: imports between folders point one way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Top-level folders and files of the sources, from the bottom up: each may use those before it.
const ROOMS: [&str; 13] = [
    "sync",
    "time",
    "state",
    "observe",
    "evaluation",
    "channel",
    "component",
    "world",
    "engine",
    "checkpoint",
    "registry",
    "test_bench",
    "verify",
];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Source file: its path without the extension, and the paths from the crate's root that it uses.
struct Source {
    path: Vec<String>,
    used: Vec<Vec<String>>,
}

fn read_all(folder: &Path, into: &mut Vec<Source>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            read_all(&entry, into);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            let inside = entry.strip_prefix(sources()).unwrap().with_extension("");
            let path: Vec<String> = inside
                .iter()
                .map(|part| part.to_str().unwrap().to_owned())
                .collect();
            let text = fs::read_to_string(&entry).unwrap();
            let used = used_by(&text);
            into.push(Source { path, used });
        }
    }
}

/// Returns the code of a file without its comments and its unit tests, which may use everything.
fn product_code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns every path that begins with `crate::`, as its parts. A group in braces counts as its
/// parent.
fn used_by(text: &str) -> Vec<Vec<String>> {
    let code = product_code(text);
    let pieces = code.split("crate::").skip(1);
    pieces
        .map(|piece| {
            let end = piece
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
                .unwrap_or(piece.len());
            let parts = piece[..end].split("::").filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        })
        .collect()
}

fn all_sources() -> Vec<Source> {
    let mut all = Vec::new();
    read_all(&sources(), &mut all);
    all.retain(|source| source.path != ["lib"] && source.path != ["channel", "ring_tests"]);
    assert!(all.len() > 50, "the sources were not found");
    all
}

#[test]
fn a_room_uses_only_those_below_it() {
    let rank = |room: &str| ROOMS.iter().position(|r| *r == room);
    let mut wrong = Vec::new();
    for Source { path, used } in all_sources() {
        let here = rank(&path[0]).unwrap_or_else(|| panic!("no such room: {}", path[0]));
        for target in used {
            match rank(&target[0]) {
                Some(there) if there <= here => {}
                Some(_) => wrong.push(format!("{} uses {}", path.join("/"), target.join("::"))),
                None => wrong.push(format!(
                    "{} takes `{}` from the root instead of from its room",
                    path.join("/"),
                    target.join("::")
                )),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that `super::` paths stay in the folder, so that the paths from the root are complete.
#[test]
fn no_folder_is_left_by_way_of_its_parent() {
    let mut folders = vec![sources()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let code = product_code(&fs::read_to_string(&path).unwrap());
            let at_the_top = folder == sources() || path.ends_with("mod.rs");
            let upward = if at_the_top {
                "super::"
            } else {
                "super::super"
            };
            assert!(!code.contains(upward), "{}: {upward}", path.display());
        }
    }
}

/// Checks that subfolders within a folder also use each other one way only.
#[test]
fn no_folder_is_part_of_a_circle() {
    let mut uses: BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for Source { path, used } in all_sources() {
        for target in used {
            let common = path
                .iter()
                .zip(&target)
                .take_while(|(here, there)| here == there)
                .count();
            let folder = path[..common].to_vec();
            let (Some(from), Some(to)) = (path.get(common), target.get(common)) else {
                continue;
            };
            let is_folder = |name: &str| {
                let inside: PathBuf = folder.iter().collect();
                sources().join(inside).join(name).is_dir()
            };
            if is_folder(from) && is_folder(to) {
                let others = uses.entry(folder).or_default();
                others.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    assert!(uses.contains_key(&vec!["engine".to_owned()]));
    for (folder, uses) in uses {
        // Removes every folder that uses none of the remaining ones; those left are in a cycle or
        // above one.
        let mut left = uses;
        loop {
            let above: BTreeSet<String> = left.keys().cloned().collect();
            let before = left.len();
            left.retain(|_, used| used.iter().any(|name| above.contains(name)));
            if left.len() == before {
                break;
            }
        }
        assert!(left.is_empty(), "in {folder:?}: {left:?}");
    }
}

#[test]
fn every_folder_says_what_it_is_for() {
    let mut folders = vec![sources()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                let text = fs::read_to_string(path.join("mod.rs"));
                let text = text.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let comment = text.lines().take_while(|l| l.starts_with("//!")).count();
                assert!(comment >= 3, "{} says little", path.display());
                folders.push(path);
            }
        }
    }
}

/// Checks that the crate's documentation and the code map list the same folders in the same order.
#[test]
fn the_pages_list_the_rooms_in_their_order() {
    let listed = |page: PathBuf, mark: &str| -> Vec<String> {
        let text = fs::read_to_string(page).unwrap();
        let rows = text.lines().filter_map(|line| {
            line.strip_prefix(mark)?
                .split('`')
                .next()
                .map(str::to_owned)
        });
        rows.collect()
    };
    assert_eq!(listed(sources().join("lib.rs"), "//! | `"), ROOMS[1..]);
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let mut listed = listed(map, "- `");
    listed.retain(|name| ROOMS.contains(&name.as_str()));
    assert_eq!(listed, ROOMS[1..]);
}
