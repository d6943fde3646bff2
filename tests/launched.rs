//! The applications that launch kernels: what the page says of them.

use std::fmt::Write as _;

use crate::harness::{Bench, scenarios};

/// Workload, size, and what Table 2 of the LASER paper has: kernels, depth, chains of kernels and work-groups.
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

/// A row of the table.
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
        .find_map(|line| line.strip_prefix("launches from the device: "));
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
    let page = scenarios().join("../docs/dynamic-parallelism.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- table -->\n").unwrap();
    let (table, after) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        let text = format!("{before}<!-- table -->\n{rows}<!-- end -->{after}");
        std::fs::write(&page, text).unwrap();
        return;
    }
    assert_eq!(table, rows, "UPDATE_PAGES=1 writes the table anew");
}
