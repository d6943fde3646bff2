//! The study of prefetching into spare registers: its experiments and its unified storage.

use crate::harness::{Bench, scenarios};

/// Size of an L1 in KiB and its ways, on the machine of the study with some parameters.
fn l1(sets: &[String]) -> (u32, u32) {
    let base = scenarios().join("experiments/prefetching/base.ron");
    let mut arguments = vec!["check".to_owned(), base.display().to_string()];
    arguments.push("--resolved".to_owned());
    for set in sets {
        arguments.extend(["--set".to_owned(), set.clone()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let checked = Bench::new().warpweave(&arguments);
    assert_eq!(checked.code, 0, "{}", checked.err);
    let cache = checked.out.split("\"unit[0].l1\"").nth(1).unwrap();
    let field = |name: &str| -> u32 {
        let after = cache.split(name).nth(1).unwrap();
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    (field("size_bytes: ") / 1024, field("ways: "))
}

/// PRE-M13: kernel, resident threads, registers, registers to spare, then KiB of L1. They are left
/// without and with those to spare, before rounding to ways of 8 KiB.
const UNIFIED: [(&str, u32, u32, u32, u32, u32); 7] = [
    ("H-BFS", 1536, 15, 5, 102, 72),
    ("H-SSSP", 1536, 17, 3, 90, 72),
    ("H-MST", 1024, 21, 11, 108, 64),
    ("LS-BFS", 1024, 19, 13, 116, 64),
    ("LS-SSSP", 1024, 22, 10, 104, 64),
    ("LS-MST", 1024, 13, 19, 140, 64),
    ("STCON", 1024, 23, 9, 100, 64),
];

#[test]
fn pre_m13_the_l1_of_a_unified_storage_has_what_registers_leave() {
    for (kernel, threads, registers, spares, without, with) in UNIFIED {
        for (allocated, left) in [(false, without), (true, with)] {
            let sets = [
                "params.unified=true".to_owned(),
                format!("params.threads={threads}"),
                format!("params.registers={registers}"),
                format!("params.spares={spares}"),
                format!("params.spares_allocated={allocated}"),
            ];
            let ways = left / 8;
            assert_eq!(l1(&sets), (ways * 8, ways), "{kernel}, {allocated}");
        }
    }
    for (kib, ways) in [(16, 4), (48, 6), (64, 8), (96, 6)] {
        assert_eq!(l1(&[format!("params.l1_kib={kib}")]), (kib, ways));
    }
    assert_eq!(l1(&[]), (48, 6));
}

/// Plans at size T, where graphs are small. `e2_mechanisms.ron` has the claims of `launch.ron`.
#[test]
fn experiments_of_the_study_can_be_planned() {
    let bench = Bench::new();
    let folder = scenarios().join("experiments/prefetching");
    for name in [
        "reduced",
        "launch",
        "waits",
        "launches",
        "distances",
        "e7_unified",
        "sensitivity_mechanism",
        "sensitivity_machine",
        "sensitivity_spares",
    ] {
        let file = folder.join(format!("{name}.ron")).display().to_string();
        bench.write(
            "small.ron",
            &format!("Experiment(extends: {file:?}, size: \"T\")"),
        );
        let small = bench.path("small.ron").display().to_string();
        let planned = bench.warpweave(&["experiment", &small, "--check"]);
        assert_eq!(planned.code, 0, "{name}: {}", planned.err);
    }
}
