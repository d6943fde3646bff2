//! Checks the table of what limits the look-ahead of each machine in the repository.

use std::fmt::Write as _;

use crate::harness::{Bench, scenarios};

/// Page of the table, and the numbers of threads that it shows.
const PAGE: &str = "../docs/parallel-engine.md";
const THREADS: [u32; 2] = [2, 8];

/// Files of machines below `scenarios/systems`, in order. `common.ron` is none: it is extended.
fn machines() -> Vec<String> {
    let root = scenarios().join("systems");
    let mut names = Vec::new();
    for folder in ["", "accelsim/"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if let Some(name) = name.strip_suffix(".ron")
                && name != "common"
            {
                names.push(format!("{folder}{name}"));
            }
        }
    }
    names.sort_unstable();
    names
}

/// Returns the look-ahead that `check` prints, in cycles, and the wires that limit it.
fn look_ahead(bench: &Bench, threads: u32) -> (String, Vec<String>) {
    let threads = threads.to_string();
    let ended = bench.warpweave(&["check", "machine.ron", "--quiet", "--threads", &threads]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let cycles = ended.out.split_once(" of look-ahead, ").unwrap().1;
    let cycles = cycles.split(' ').next().unwrap().to_owned();
    let wires = ended.out.lines().filter_map(|line| {
        let wires = line.split_once("look-ahead limited by ")?.1;
        let (ends, counted) = wires.split_once(": ")?;
        let latency = counted.split_once("latency ")?.1;
        Some(format!("`{ends}` {latency}"))
    });
    (cycles, wires.collect())
}

#[test]
fn the_table_of_look_ahead_is_what_check_prints_for_each_machine() {
    let mut rows =
        "| machine | 2 threads | 8 threads | wires that limit it on 8, latency |\n|---|---:|---:|---|\n"
            .to_owned();
    let root = scenarios().display().to_string();
    for machine in machines() {
        let system = format!("{root}/systems/{machine}.ron");
        let workload = format!("{root}/workloads/vector_add.ron");
        let text = format!("Scenario(system: \"{system}\", workload: \"{workload}\")");
        let bench = Bench::new();
        bench.write("machine.ron", &text);
        let [two, eight] = THREADS.map(|threads| look_ahead(&bench, threads));
        let wires = eight.1.join(", ");
        let _ = writeln!(rows, "| `{machine}` | {} | {} | {wires} |", two.0, eight.0);
    }
    let page = scenarios().join(PAGE);
    let text = std::fs::read_to_string(&page).unwrap();
    let head = "<!-- look-ahead -->\n";
    let (before, rest) = text.split_once(head).unwrap();
    let (table, after) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        let text = format!("{before}{head}{rows}<!-- end -->{after}");
        std::fs::write(&page, text).unwrap();
        return;
    }
    assert_eq!(table, rows, "UPDATE_PAGES=1 writes the table anew");
}
