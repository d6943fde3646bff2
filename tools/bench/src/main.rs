//! Speed of the kernel.
//!
//! ```text
//! cargo run --release -p warpweave-bench -- kernel                 every workload at its size
//! cargo run --release -p warpweave-bench -- kernel ring 1024 64 200000
//! valgrind --tool=callgrind target/release/warpweave-bench kernel ring 1024 64 200000
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

use std::process::ExitCode;

const USAGE: &str = "usage: warpweave-bench kernel [ring MODULES TOKENS HOPS | pipe STAGES DEPTH \
                     EVERY ITEMS | phold OBJECTS EVENTS DELAY_MAX TOTAL]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(lines) = run(&words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    for line in lines {
        println!("{line}");
    }
    ExitCode::SUCCESS
}

fn run(words: &[&str]) -> Option<Vec<String>> {
    let (&"kernel", rest) = words.split_first()? else {
        return None;
    };
    let Some((name, sizes)) = rest.split_first() else {
        return Some(vec![
            kernel::ring(1024, 64, 20_000_000),
            kernel::pipe(8, 4, 3, 1_000_000),
            kernel::phold(1024, 16, 1000, 10_000_000),
        ]);
    };
    let sizes: Vec<u64> = sizes
        .iter()
        .map(|s| s.parse().ok())
        .collect::<Option<_>>()?;
    let line = match (*name, sizes[..].as_ref()) {
        ("ring", &[modules, tokens, hops]) => kernel::ring(modules, tokens, hops),
        ("pipe", &[stages, depth, every, items]) => kernel::pipe(stages, depth, every, items),
        ("phold", &[objects, events, delay, total]) => kernel::phold(objects, events, delay, total),
        _ => return None,
    };
    Some(vec![line])
}
