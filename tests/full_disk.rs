//! Checks that a full disk leaves either the old or the complete new file, and never loses a
//! report.
//!
//! Two kinds of disk are used: a small mounted file system where the host permits it, and elsewhere
//! a file-size limit. The limit ends a write after any byte. Writes within this process are tested
//! with `warpweave_files::check_full_disks`.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Stdio};

use crate::harness::{Bench, Ended, files_below};

/// Content of the older file under every name.
const OLD: &str = "what was there before";

/// Command that writes into the folder `disk`, and the older files there that it replaces.
struct Job {
    arguments: &'static [&'static str],
    over: &'static [&'static str],
}

const JOBS: [Job; 8] = [
    Job {
        arguments: &[
            "run",
            "test.ron",
            "--quiet",
            "--out",
            "disk/r",
            "--state-hash",
            "100",
            "--record",
            "disk/a.vcd",
            "--record",
            "disk/a.fst",
            "--record",
            "disk/a.pftrace",
            "--checkpoint",
            "disk/a.wwc",
            "--checkpoint-at",
            "300",
        ],
        over: &[
            "r/report.txt",
            "r/report.json",
            "a.vcd",
            "a.fst",
            "a.pftrace",
            "a.wwc",
        ],
    },
    // Without the recordings, which fill the disk before the results come.
    Job {
        arguments: &[
            "run",
            "test.ron",
            "--quiet",
            "--out",
            "disk/r",
            "--state-hash",
            "100",
        ],
        over: &[
            "r/report.txt",
            "r/report.json",
            "r/system.ron",
            "r/state-hashes.csv",
        ],
    },
    Job {
        arguments: &["trace", "record", "test.ron", "disk/a.trace"],
        over: &["a.trace"],
    },
    Job {
        arguments: &[
            "bench",
            "cache",
            "--trace",
            "cache.csv",
            "--preset",
            "L1_16k_4w",
            "--per-request",
            "disk/a.csv",
        ],
        over: &["a.csv"],
    },
    Job {
        arguments: &[
            "bench",
            "noc",
            "--trace",
            "noc.csv",
            "--preset",
            "voq_i1",
            "--per-request",
            "disk/a.csv",
        ],
        over: &["a.csv"],
    },
    Job {
        arguments: &[
            "bench",
            "dram",
            "--trace",
            "dram.csv",
            "--preset",
            "A",
            "--per-request",
            "disk/a.csv",
            "--commands",
            "disk/b.csv",
        ],
        over: &["a.csv", "b.csv"],
    },
    Job {
        arguments: &["new", "component", "WriteCounter", "--out", "disk"],
        over: &[],
    },
    Job {
        arguments: &["new", "program", "my-gpu", "--out", "disk"],
        over: &[],
    },
];

fn bench() -> Bench {
    let bench = Bench::new();
    let table = |header: &str, row: &dyn Fn(u32) -> String| {
        let rows = (0..2000).map(|n| row(n) + "\n");
        format!("{header}\n{}", rows.collect::<String>())
    };
    bench.write(
        "cache.csv",
        &table("rw,addr_hex", &|n| format!("R,{:x}", n * 64)),
    );
    bench.write(
        "noc.csv",
        &table("create,src,dst,flits", &|n| format!("{n},0,1,1")),
    );
    bench.write(
        "dram.csv",
        &table("arrival,rw,address", &|n| format!("{},R,{}", n * 9, n * 64)),
    );
    bench
}

/// Sets up the folder `disk` as it is before the command.
fn prepare(bench: &Bench, folder: &str, job: &Job) {
    let _ = fs::remove_dir_all(bench.path(folder));
    fs::create_dir(bench.path(folder)).unwrap();
    for name in job.over {
        bench.write(&format!("{folder}/{name}"), OLD);
    }
}

/// Filters out lines that depend on the host's speed.
fn steady(out: &str) -> Vec<&str> {
    let lines = out.lines();
    let measured = ["host:", "speed", "simulated in"];
    lines
        .filter(|line| !measured.iter().any(|word| line.starts_with(word)))
        .collect()
}

/// Tries every job on disks of increasing size, provided by `run`. The callback runs the command
/// with the folder `before` as `disk` and copies the result to `after`.
fn old_or_whole(rooms: &[u64], run: impl Fn(&Bench, u64, &[&str]) -> Ended) {
    let bench = bench();
    for job in &JOBS {
        prepare(&bench, "disk", job);
        let usual = bench.warpweave(job.arguments);
        assert_eq!(usual.code, 0, "{:?}: {}", job.arguments, usual.err);
        let whole = files_below(&bench.path("disk"));
        let mut failed = 0;
        for room in rooms {
            prepare(&bench, "before", job);
            let _ = fs::remove_dir_all(bench.path("after"));
            let ended = run(&bench, *room, job.arguments);
            let told = format!("{:?} with room {room}: {}", job.arguments, ended.err);
            let left = files_below(&bench.path("after"));
            for (name, bytes) in &left {
                let is_old = bytes == OLD.as_bytes() && job.over.contains(&name.as_str());
                assert!(is_old || whole.get(name) == Some(bytes), "{name}: {told}");
            }
            if ended.code == 0 {
                assert!(left == whole, "{told}");
                assert_eq!(ended.err, usual.err, "{told}");
            } else {
                failed += 1;
                assert_eq!(ended.code, 3, "{told}");
                assert!(ended.err.contains("error: "), "{told}");
                // A recording that is lost takes no results with it.
                let results = whole.iter().filter(|(name, _)| name.starts_with("r/"));
                let all = results
                    .clone()
                    .all(|(name, bytes)| left.get(name) == Some(bytes));
                assert!(all || !left.contains_key("r/manifest.json"), "{told}");
            }
            if job.arguments[0] != "new" {
                assert!(
                    steady(&ended.out) == steady(&usual.out),
                    "{told}{}",
                    ended.out
                );
            }
        }
        assert!(failed > 0, "{:?} finds room for everything", job.arguments);
        assert!(failed < rooms.len(), "{:?} never finds room", job.arguments);
    }
}

/// True if the command succeeds.
fn works(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|o| o.status.success())
}

/// Runs the program through a script that receives it and its arguments.
fn scripted(bench: &Bench, by: &[&str], script: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new(by[0]);
    command
        .args(&by[1..])
        .args(["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_warpweave")])
        .args(arguments)
        .current_dir(bench.path("."))
        .env_remove("WARPWEAVE_LOG")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    Ended::of(&command.output().unwrap())
}

#[test]
fn a_small_file_system_that_fills_up_leaves_old_or_whole_files_and_every_report() {
    let mount = "mount -t tmpfs -o size=64k none /mnt";
    let ways = [
        &["unshare", "--mount"][..],
        &["unshare", "--mount", "--map-root-user"],
    ];
    let way = ways
        .iter()
        .find(|way| works(&[way, &["sh", "-c", mount][..]].concat()));
    let Some(way) = way else {
        eprintln!("no file system can be mounted here: the limit on the size of files stands in");
        return;
    };
    // Beside the older files, of which each takes a page.
    let rooms = [0, 1, 2, 3, 5, 8, 21, 55, 144, 377, 1000];
    old_or_whole(&rooms, |bench, room, arguments| {
        let older = files_below(&bench.path("before")).len() as u64;
        let kib = (older + room).max(1) * 4;
        let script = format!(
            "rm -rf disk; mkdir disk after; mount -t tmpfs -o size={kib}k none disk || exit 99
             cp -r before/. disk/ || exit 98; \"$@\"; code=$?; cp -r disk/. after/; exit $code"
        );
        scripted(bench, way, &script, arguments)
    });
}

#[test]
fn a_write_that_fails_after_any_byte_leaves_old_or_whole_files_and_every_report() {
    if !works(&["prlimit", "--version"]) {
        eprintln!(
            "the size of files cannot be limited here: only the tests in this process stand in"
        );
        return;
    }
    let rooms = [
        0, 1, 7, 100, 511, 1000, 2500, 4096, 6000, 10_000, 20_000, 50_000, 1_000_000,
    ];
    old_or_whole(&rooms, |bench, room, arguments| {
        // A process that ignores the signal gets an error instead.
        let script = format!(
            "rm -rf disk; cp -r before disk; trap '' XFSZ; prlimit --fsize={room} -- \"$@\"; code=$?
             mv disk after; exit $code"
        );
        scripted(bench, &["env"], &script, arguments)
    });
}
