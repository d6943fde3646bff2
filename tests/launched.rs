//! Checks the documented figures of applications that launch kernels.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use warpweave_systems::{Machine, Scenario, Status, standard_registry};

use crate::harness::{Bench, scenarios};

/// Workload, size, and the values of Table 2 of the LASER paper: kernels, depth, chains of kernels
/// and work-groups.
const COMBINATIONS: [(&str, &str, &str); 16] = [
    ("amr", "T", "1261 | 24 | 6, 1.5 | 6, 1.5"),
    ("bfs", "small-T", "1030 | 1 | 1, 1 | 240, 11"),
    ("bfs", "citation-T", "126 | 23 | 1, 1 | 240, 37"),
    ("bfs", "T", "6899 | 6 | 27, 3 | 240, 17"),
    ("colouring", "citation-T", "221 | 87 | 1, 1 | 443, 2"),
    ("colouring", "T", "924 | 139 | 10, 6 | 18, 4"),
    ("join", "gaussian-T", "159 | 1 | 21, 4 | 227, 4"),
    ("join", "T", "6725 | 1 | 721, 361 | 7, 2"),
    ("mandelbrot", "T", "1025 | 6 | 1, 1 | 1, 1"),
    ("spmm", "T", "1025 | 1 | 1024, 28 | 256, 23"),
    ("spmm", "large-T", "5121 | 1 | 824, 39 | 256, 72"),
    ("quicksort", "T", "56 | 24 | 48, 28 | 48, 28"),
    ("radix_sort", "T", "4765 | 24 | 176, 21 | 176, 21"),
    ("alignment", "T", "24 | 1 | 22, 19 | 289, 16"),
    ("sssp", "citation-T", "6524 | 23 | 2612, 121 | 165, 7"),
    ("sssp", "T", "16087 | 6 | 5830, 219 | 189, 28"),
];

/// Formats one row of the table for a workload and size.
fn row(bench: &Bench, workload: &str, size: &str, published: &str) -> String {
    let root = scenarios().display().to_string();
    bench.write(
        "program.ron",
        &format!(
            "Scenario(system: \"{root}/systems/laser.ron\", size: \"{size}\", \
             workload: \"{root}/workloads/{workload}_device.ron\")"
        ),
    );
    let run = |arguments: &[&str]| {
        let ended = bench.warpweave(arguments);
        assert_eq!(ended.code, 0, "{workload} {size}: {}", ended.err);
        ended.out
    };
    run(&["--quiet", "trace", "record", "program.ron", "program.trace"]);
    let info = run(&["trace", "info", "program.trace"]);
    let kernels = info
        .lines()
        .filter(|line| line.starts_with("kernel "))
        .count();
    let launches = info
        .lines()
        .find_map(|line| line.strip_prefix("device launches: "));
    let numbers: Vec<&str> = launches
        .expect("it launches")
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .collect();
    let [launched, depth, width] = numbers[..] else {
        panic!("{launches:?}")
    };
    let of_host = kernels - launched.parse::<usize>().unwrap();
    let table = run(&["analyze", "reuse", "program.trace", "--format", "csv"]);
    let number = |key: &str| -> u64 {
        let row = table.lines().find_map(|row| row.strip_prefix(key));
        row.expect("it is there").parse().unwrap()
    };
    let chain = |level: &str| {
        let of = |key: &str| number(&format!("chain,{level},,{key},"));
        let mean = of("units") as f64 / of("chains") as f64;
        format!("{}, {mean:.1}", of("longest"))
    };
    let (of_kernels, of_groups) = (chain("kernel"), chain("work_group"));
    format!(
        "| `{workload}_device` {size} | {kernels} | {of_host} | {depth} | {width} | {of_kernels} | {of_groups} | {published} |"
    )
}

#[test]
fn the_table_of_applications_is_what_they_do() {
    let bench = Bench::new();
    let mut rows = String::from(
        "| program, size | kernels | of the host | depth | width | kernel chain | work-group chain | paper: kernels | \
         depth | kernel chain | work-group chain |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (workload, size, published) in COMBINATIONS {
        let _ = writeln!(rows, "{}", row(&bench, workload, size, published));
    }
    compare("table", &rows);
}

/// Compares the measured rows with the page's table of this name.
fn compare(name: &str, rows: &str) {
    // Tests that write the page write one after the other.
    static PAGE: Mutex<()> = Mutex::new(());
    let _writing = PAGE.lock();
    let page = scenarios().join("../docs/dynamic-parallelism.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let head = format!("<!-- {name} -->\n");
    let (before, rest) = text.split_once(&head).unwrap();
    let (table, after) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        let text = format!("{before}{head}{rows}<!-- end -->{after}");
        std::fs::write(&page, text).unwrap();
        return;
    }
    assert_eq!(table, rows, "UPDATE_PAGES=1 writes the table anew");
}

/// Emulation orders permitted by a program's launches.
const ORDERS: [&[&str]; 5] = [
    &[],
    &["emulation.order=Reversed"],
    &["emulation.order=Shuffled(seed: 1)"],
    &["emulation.order=Shuffled(seed: 2)"],
    &["emulation.resident_work_groups=3", "emulation.quantum=5"],
];

/// Formats the minimum and maximum of some numbers, or the single value if all are equal.
fn spread(numbers: &[u64]) -> String {
    let (least, most) = (numbers.iter().min().unwrap(), numbers.iter().max().unwrap());
    match most - least {
        0 => format!("{least} | 0"),
        range => {
            let percent = range as f64 / *least as f64 * 100.0;
            format!("{least} to {most} | {percent:.1}")
        }
    }
}

#[test]
fn every_order_of_emulation_leaves_the_same_results() {
    let mut rows = String::from(
        "| program, size | kernels | spread, % | wavefront instructions | spread, % |\n|---|---|---|---|---|\n",
    );
    for (workload, size, _) in COMBINATIONS {
        let (mut kernels, mut instructions, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        for order in ORDERS {
            let executed = program(workload, size, order).emulate().unwrap();
            assert_eq!(executed.verified, Some(true), "{workload} {size} {order:?}");
            kernels.push(executed.program.kernels.len() as u64);
            let of_kernels = executed.program.kernels.iter();
            instructions.push(of_kernels.map(|k| k.wavefront_instructions()).sum::<u64>());
            outputs.push(executed.outputs);
        }
        for (order, other) in ORDERS.iter().zip(&outputs) {
            assert!(*other == outputs[0], "{workload} {size} {order:?}");
        }
        let (kernels, instructions) = (spread(&kernels), spread(&instructions));
        let _ = writeln!(
            rows,
            "| `{workload}_device` {size} | {kernels} | {instructions} |"
        );
    }
    compare("orders", &rows);
}

/// Builds the scenario of a program on the machine of the LASER paper.
fn program(workload: &str, size: &str, sets: &[&str]) -> Scenario {
    let root = scenarios().display().to_string();
    let bench = Bench::new();
    bench.write(
        "program.ron",
        &format!(
            "Scenario(system: \"{root}/systems/laser.ron\", size: \"{size}\", workload: \"{root}/workloads/{workload}_device.ron\")"
        ),
    );
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::load(&bench.path("program.ron"), &sets);
    scenario.unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn quicksort_launches_24_deep_and_is_sorted() {
    let scenario = program("quicksort", "S", &["workload.threshold=2"]);
    let executed = scenario.emulate().unwrap();
    assert_eq!(executed.verified, Some(true));
    assert_eq!(executed.refused_launches, 0);
    // The host's, and those of 24 launches below one another.
    assert_eq!(executed.program.launch_graph().widths().len(), 25);
    let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
    let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
    let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    assert_eq!(simulated.status, Status::Done);
}
