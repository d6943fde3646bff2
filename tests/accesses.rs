//! Tests of `--accesses`: tap logs, and the command that reads them.

use std::fs;

use warpweave_accesses::{AccessLog, Kind};
use warpweave_files::Ledger;

use crate::harness::{Bench, Ended};

const TAPS: [&str; 6] = [
    "--set",
    r#"taps.l1=Accesses(at: "unit[*].l1.up")"#,
    "--set",
    r#"taps.misses=Accesses(at: "unit[*].l1.down")"#,
    "--set",
    r#"taps.dram=Accesses(at: "partition[*].dram.up[*]")"#,
];

/// Runs a program on the small machine with its taps logged.
fn logged(bench: &Bench, file: &str, arguments: &[&str]) -> Ended {
    let run = ["--quiet", "run", "test.ron", "--accesses", file];
    bench.warpweave(&[&run[..], &TAPS, arguments].concat())
}

#[test]
fn a_log_has_what_the_components_count_whatever_the_threads() {
    let bench = Bench::new();
    let ended = logged(&bench, "run.wwa", &["--format", "json"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let report: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let sum = |of: &str, name: &str| -> u64 {
        let is_one = |path: &str| {
            let part = path.rsplit('.').next().unwrap();
            part.split('[').next() == Some(of) && !path.starts_with("tap.")
        };
        let instances = report["stats"].as_object().unwrap().iter();
        let instances = instances.filter(|(path, _)| is_one(path));
        instances
            .map(|(_, statistics)| statistics[name]["value"].as_u64().unwrap())
            .sum()
    };
    let mut log = AccessLog::open(&bench.path("run.wwa"), &Ledger::default()).unwrap();
    let head = log.head().clone();
    let records: Vec<_> = log.records().map(Result::unwrap).collect();
    let count = |tap: &str, kind: Kind| {
        let of = records
            .iter()
            .filter(|record| head.ports[record.port as usize].tap == tap && record.kind == kind);
        of.count() as u64
    };
    assert_eq!(count("l1", Kind::Read), sum("cu", "read_requests"));
    assert_eq!(count("l1", Kind::Write), sum("cu", "write_requests"));
    assert_eq!(count("misses", Kind::Read), sum("l1", "read_misses"));
    assert_eq!(count("dram", Kind::Read), sum("l2", "read_misses"));
    assert!(count("dram", Kind::Read) > 0);
    assert!(records.is_sorted_by_key(|record| (record.tick, record.port)));
    assert_eq!(head.kernels, ["vector_add"]);

    let whole = fs::read(bench.path("run.wwa")).unwrap();
    for threads in ["2", "4"] {
        let ended = logged(&bench, "threads.wwa", &["--threads", threads]);
        assert_eq!((ended.code, ended.err.as_str()), (0, ""));
        assert_eq!(fs::read(bench.path("threads.wwa")).unwrap(), whole);
    }
}

#[test]
fn a_log_of_a_resumed_run_is_the_rest_of_the_whole_one() {
    let bench = Bench::new();
    let saving = ["--checkpoint", "run.wwc", "--checkpoint-at", "356"];
    let ended = logged(&bench, "run.wwa", &saving);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let ended = logged(&bench, "rest.wwa", &["--resume", "run.wwc"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let read = |file: &str, from_cycle: u64| -> Vec<_> {
        let mut log = AccessLog::open(&bench.path(file), &Ledger::default()).unwrap();
        let from = from_cycle * log.head().core_period;
        log.records_from(from).map(Result::unwrap).collect()
    };
    let rest = read("run.wwa", 357);
    assert!(!rest.is_empty() && rest.len() < read("run.wwa", 0).len());
    assert_eq!(read("rest.wwa", 0), rest);
}

#[test]
fn the_page_and_the_table_show_what_is_in_a_log() {
    let bench = Bench::new();
    let ended = logged(&bench, "run.wwa", &[]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let page = bench.warpweave(&["accesses", "run.wwa"]);
    assert_eq!((page.code, page.err.as_str()), (0, ""));
    let table = bench.warpweave(&[
        "accesses", "run.wwa", "--tap", "dram", "--cycles", "..400", "--format", "csv",
    ]);
    assert_eq!((table.code, table.err.as_str()), (0, ""));
    let first: Vec<_> = table.out.lines().take(5).collect();
    insta::assert_snapshot!(format!("{}\n{}", page.out, first.join("\n")));
    let all = bench.warpweave(&["accesses", "run.wwa", "--format", "csv"]);
    let log = AccessLog::open(&bench.path("run.wwa"), &Ledger::default()).unwrap();
    assert_eq!(all.out.lines().count() as u64, log.len() + 1);
}

#[test]
fn what_cannot_be_logged_or_read_is_refused_with_what_to_do() {
    let bench = Bench::new();
    let untapped = bench.warpweave(&["run", "test.ron", "--accesses", "run.wwa"]);
    assert_eq!(untapped.code, 2);
    assert!(
        untapped.err.contains("taps.l1=Accesses"),
        "{}",
        untapped.err
    );
    let nowhere = logged(&bench, "no/such/folder/run.wwa", &[]);
    assert_eq!(nowhere.code, 3, "{}", nowhere.err);
    let ended = logged(&bench, "run.wwa", &[]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let tap = bench.warpweave(&["accesses", "run.wwa", "--tap", "darm"]);
    assert_eq!(tap.code, 2);
    assert!(tap.err.contains("did you mean `dram`?"), "{}", tap.err);
    bench.write("cut.wwa", "no log");
    let cut = bench.warpweave(&["accesses", "cut.wwa"]);
    assert_eq!(cut.code, 2);
    assert!(
        cut.err.contains("too short for an access log"),
        "{}",
        cut.err
    );
}
