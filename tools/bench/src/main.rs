//! Speed of the kernel and of whole systems.
//!
//! ```text
//! cargo run --release -p warpweave-bench -- kernel                 every workload at its size
//! cargo run --release -p warpweave-bench -- kernel ring 1024 64 200000
//! cargo run --release -p warpweave-bench -- parallel               efficiency of dividing the work
//! cargo run --release -p warpweave-bench -- parallel instructions  the same in instructions
//! valgrind --tool=callgrind target/release/warpweave-bench kernel ring 1024 64 200000
//! cargo run --release -p warpweave-bench -- system                 the two speed scenarios
//! cargo run --release -p warpweave-bench -- system scenarios/bfs_60.ron workload.block=128
//! ```
//!
//! Instructions per unit are the difference of two callgrind runs of different length, divided by
//! the difference in units; host time is shown for orientation only.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program: tables on stdout, errors on stderr"
)]

mod kernel;
mod parallel;
mod phold;
mod signals;
mod system;

use std::process::ExitCode;

const USAGE: &str = "usage: warpweave-bench kernel [ring MODULES TOKENS HOPS | pipe STAGES DEPTH \
                     EVERY ITEMS | phold OBJECTS EVENTS DELAY_MAX TOTAL | \
                     signals WIDTH DEPTH TICKS]
       warpweave-bench parallel [[instructions] REPEATS|EVERY SCENARIO [PATH=VALUE ...]]
       warpweave-bench system [SCENARIO [PATH=VALUE ...]]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let lines = match words.split_first() {
        Some((&"kernel", rest)) => kernel_lines(rest).ok_or_else(|| USAGE.to_owned()),
        Some((&"parallel", rest)) => parallel::command(rest),
        Some((&"system", [])) => system::SCENARIOS
            .iter()
            .map(|path| system::measure(path, &[]))
            .collect(),
        Some((&"system", [path, sets @ ..])) => {
            let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
            system::measure(path, &sets).map(|line| vec![line])
        }
        _ => Err(USAGE.to_owned()),
    };
    match lines {
        Ok(lines) => {
            for line in lines {
                println!("{line}");
            }
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn kernel_lines(words: &[&str]) -> Option<Vec<String>> {
    let Some((name, sizes)) = words.split_first() else {
        return Some(vec![
            kernel::ring(1024, 64, 20_000_000),
            kernel::pipe(8, 4, 3, 1_000_000),
            phold::phold(1024, 16, 1000, 10_000_000),
            signals::signals(64, 16, 5000),
        ]);
    };
    let sizes: Vec<u64> = sizes
        .iter()
        .map(|s| s.parse().ok())
        .collect::<Option<_>>()?;
    let line = match (*name, sizes[..].as_ref()) {
        ("ring", &[modules, tokens, hops]) => kernel::ring(modules, tokens, hops),
        ("pipe", &[stages, depth, every, items]) => kernel::pipe(stages, depth, every, items),
        ("phold", &[objects, events, delay, total]) => phold::phold(objects, events, delay, total),
        ("signals", &[width, depth, ticks]) => signals::signals(width, depth, ticks),
        _ => return None,
    };
    Some(vec![line])
}
