//! Tests of the layers of every crate: imports between modules point one way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use warpweave_tidy::{Krate, Module, entries, product_code, root, source_folders};

/// Top-level modules of each crate, from the bottom up: each may use those before it.
const LAYERS: [(&str, &str); 25] = [
    (
        "framework/src",
        "sync time state observe evaluation channel component world engine checkpoint registry \
         test_bench verify",
    ),
    ("framework/derive/src", "attributes ports state statistics"),
    (
        "framework/files/src",
        "budget input full_disk output chunked paths folder",
    ),
    (
        "framework/params/src",
        "printable source diagnostic node suggest placed de entries print parse range \
         expression number condition files merge overrides quantity ser",
    ),
    ("framework/random/src", "fnv counter_rng"),
    (
        "framework/waves/src",
        "names selection perfetto tracks rows timeline vcd_fst waveform recording file waits",
    ),
    ("components/accesses/src", "record columns reader writer"),
    (
        "components/affine/src",
        "cause form symbol launch runs points domain value decode variable cfg loop_body state \
         reference address eval access arithmetic step loops footprint line_sets wavefronts cost \
         reuse window words verify",
    ),
    (
        "components/trace/src",
        "counts encoding vectors error code record shape window spill recorded stored_streams \
         arrivals cursor list stream check kernel place replay ahead launches program hash file \
         summary writer",
    ),
    (
        "components/src",
        "artefact bits bloom polynomial interleave memory building_blocks reuse_profile \
         reuse_monitor launch policy_contract roles occupancy demands locality_plan \
         work_group_table kernel_times launch_plan checkers cache compute_unit ccws clock_crossing cluster_port crossbar dram gmu \
         host_driver icc launch_unit work_group_scheduler",
    ),
    (
        "systems/ptx/src",
        "address_space half diagnostics types ast cfg alloc ops site launch_limits kernel texture lexer \
         parser lower module memory exec",
    ),
    (
        "systems/accel-sim/src",
        "error text opcodes header instruction space body kernel packed list indexed import \
         export options",
    ),
    (
        "systems/inputs/src",
        "hash mark random element csr error matrix generate arrays read source results write \
         reference",
    ),
    (
        "systems/src",
        "address digits limits registry host_program profile locality mappings taps energy elaboration \
         scenario run report",
    ),
    ("systems/conform/src", "earlier place plan properties case"),
    (
        "systems/correlate/src",
        "cells number name metric profile sums traffic launch program report quantity stall pairs \
         score correlation figure text table object page",
    ),
    ("systems/probe/src", "programs bench figures"),
    (
        "systems/reuse/src",
        "footprint ratio distance stack relation chains children analysis lines sharing",
    ),
    (
        "systems/experiments/src",
        "metric model shard file read plan store run scale judge report sweep robust",
    ),
    (
        "systems/standalone/src",
        "error rows table folder comparison own description distribution environment written \
         cache dram noc",
    ),
    ("tests/tidy/src", "code krate shape"),
    (
        "tools/bench/src",
        "workload callgrind components elaboration emulation phold limit signals floor system systemc \
         nexosim_peer rounds one gate parallel profile memory_path report",
    ),
    (
        "tools/fuzz/src",
        "checkpoints mutate indexed kind surfaces folder sealed case limits verdict shrink through \
         campaign libraries",
    ),
    (
        "tools/hardware/src",
        "driver device_library cuda micro power nvml session program live compare repeat measure set table campaign",
    ),
    (
        "tools/cli",
        "outcome host memory progress watch fields stub policies recordings arguments stats drive \
         emulation results check_program run accesses ptx affine mapping sharing analyze validate bench check session \
         compare conform correlate describe diff slurm experiment robust list new probe sweep system timeline \
         trace cli",
    ),
];

/// Files of a folder that may use each other both ways, by their folder. Every other file uses
/// those next to it one way only.
const CIRCLES: [(&str, &str); 5] = [
    // The enum of built-in policies, which each policy is part of.
    (
        "components/src/cache/replacement",
        "any bit_plru fifo lfu lru pseudo_lru random role srrip",
    ),
    ("components/src/crossbar/arbiter", "any role"),
    (
        "components/src/dram/scheduler",
        "any bank_round_robin fcfs fr_fcfs fr_fcfs_cap role row_hit_first",
    ),
    // Parts of one machine: an event lists the processes that wait for it.
    ("framework/src/world", "event process state wait"),
    // Parts of one wavefront.
    ("systems/ptx/src/exec", "spin stack wavefront"),
];

fn layers() -> impl Iterator<Item = (&'static str, Vec<&'static str>, Krate)> {
    LAYERS.into_iter().map(|(folder, layers)| {
        let layers = layers.split(' ').collect();
        (folder, layers, Krate::read(&root().join(folder)))
    })
}

#[test]
fn every_crate_lists_all_its_modules_from_the_bottom_up() {
    let listed: BTreeSet<&str> = LAYERS.iter().map(|(folder, _)| *folder).collect();
    for folder in source_folders() {
        let here = listed.contains(folder.as_str());
        assert!(
            here,
            "{folder}: list its modules in `LAYERS` of {}",
            file!()
        );
    }
    for (folder, layers, krate) in layers() {
        let listed: BTreeSet<&str> = layers.iter().copied().collect();
        let there = krate.top();
        let missing: Vec<_> = there.difference(&listed).collect();
        assert!(
            missing.is_empty(),
            "{folder}: put {missing:?} into its list in `LAYERS` of {}, after the modules used",
            file!()
        );
        let gone: Vec<_> = listed.difference(&there).collect();
        assert!(gone.is_empty(), "{folder}: {gone:?} of `LAYERS` are gone");
    }
}

#[test]
fn a_module_uses_only_those_below_it() {
    let mut wrong = Vec::new();
    for (folder, layers, krate) in layers() {
        let rank = |name: &str| layers.iter().position(|layer| *layer == name);
        for (path, module) in krate.modules.iter().filter(|(path, _)| !path.is_empty()) {
            for (used, item) in &module.uses {
                let Some(target) = used.first() else {
                    continue;
                };
                if rank(target) > rank(&path[0]) {
                    let used = [&used[..], &item[..]].concat().join("::");
                    wrong.push(format!("{folder}: {} uses {used}", path.join("::")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Checks that `super` leads no further than to the folder that a file is in.
#[test]
fn no_folder_is_left_by_way_of_its_parent() {
    let mut wrong = Vec::new();
    for (folder, _, krate) in layers() {
        for (path, module) in &krate.modules {
            let is_of_folder = module.file.ends_with("mod.rs");
            let allowed = usize::from(path.len() > 1 && !is_of_folder);
            for import in &module.imports {
                let upward = import.path.iter().filter(|part| *part == "super").count();
                if upward > allowed {
                    let written = import.path.join("::");
                    wrong.push(format!("{folder}: {} has {written}", path.join("::")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Checks that the files and folders within a folder use each other one way only.
#[test]
fn no_file_is_part_of_a_circle() {
    let mut allowed: BTreeMap<String, &str> = CIRCLES
        .into_iter()
        .map(|(folder, files)| (folder.to_owned(), files))
        .collect();
    let mut wrong = Vec::new();
    for (folder, _, krate) in layers() {
        for (inner, uses) in uses_within_folders(&krate.modules) {
            let place = [&[folder.to_owned()], &inner[..]].concat().join("/");
            for circle in circles(&uses) {
                if allowed.get(&place).is_some_and(|files| *files == circle) {
                    allowed.remove(&place);
                } else {
                    wrong.push(format!("{place}: {circle}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "circles\n{}", wrong.join("\n"));
    assert!(allowed.is_empty(), "no longer circles: {allowed:?}");
}

type Uses = BTreeMap<String, BTreeSet<String>>;

/// Returns for each folder which of its files and folders use which others, its `mod.rs` aside.
fn uses_within_folders(modules: &BTreeMap<Vec<String>, Module>) -> BTreeMap<Vec<String>, Uses> {
    let mut within: BTreeMap<Vec<String>, Uses> = BTreeMap::new();
    for (path, module) in modules {
        for (used, _) in &module.uses {
            let common = path
                .iter()
                .zip(used)
                .take_while(|(here, there)| here == there);
            let common = common.count();
            if let (Some(from), Some(to)) = (path.get(common), used.get(common)) {
                let uses = within.entry(path[..common].to_vec()).or_default();
                uses.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    within
}

/// Returns the largest sets of files that all use each other, directly or not, as lists of names.
fn circles(uses: &Uses) -> Vec<String> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = uses
        .keys()
        .map(|from| {
            let mut reached = BTreeSet::new();
            let mut next = vec![from];
            while let Some(file) = next.pop() {
                let used = uses.get(file).into_iter().flatten();
                next.extend(used.filter(|file| reached.insert(*file)));
            }
            (from, reached)
        })
        .collect();
    let circle_of = |file: &String| -> String {
        let both = reached[file].iter().filter(|other| {
            let back = reached.get(**other);
            back.is_some_and(|back| back.contains(file))
        });
        let names: Vec<&str> = both.map(|name| name.as_str()).collect();
        names.join(" ")
    };
    let circles: BTreeSet<String> = uses.keys().map(circle_of).collect();
    circles
        .into_iter()
        .filter(|circle| !circle.is_empty())
        .collect()
}

#[test]
fn every_folder_of_the_framework_says_what_it_is_for() {
    let mut folders = vec![root().join("framework/src")];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                let text = fs::read_to_string(path.join("mod.rs"));
                let text = text.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let comment = text.lines().take_while(|l| l.starts_with("//!")).count();
                assert!(comment >= 3, "{} says little", path.display());
                assert!(!product_code(&text).is_empty());
                folders.push(path);
            }
        }
    }
}

/// Checks that the crate's documentation and the code map list the framework's modules in order.
#[test]
fn the_pages_list_the_layers_of_the_framework() {
    let layers: Vec<&str> = LAYERS[0].1.split(' ').skip(1).collect();
    let listed = |page: &str, mark: &str| -> Vec<String> {
        let text = fs::read_to_string(root().join(Path::new(page))).unwrap();
        let rows = text
            .lines()
            .filter_map(|line| line.strip_prefix(mark)?.split('`').next());
        let names = rows.map(str::to_owned);
        names
            .filter(|name| layers.contains(&name.as_str()))
            .collect()
    };
    assert_eq!(listed("framework/src/lib.rs", "//! | `"), layers);
    assert_eq!(listed("ARCHITECTURE.md", "- `"), layers);
}
