//! Traces of requests through the bare controller, compared with the public simulators.

use std::io::Read as _;

use super::super::mapping::tests::reference_geometry;
use super::super::timing::tests::{preset_a, preset_d, preset_r};
use super::*;

/// One line of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) arrival: Cycle,
    pub(crate) request: Request,
}

/// The queues of the reference runs.
pub(crate) fn reference_queues() -> Queues {
    Queues {
        reads: 32,
        writes: 32,
        write_high: 25,
        write_low: 6,
    }
}

/// The reference machine with these timings.
pub(crate) fn reference(timing: Timing) -> Controller {
    let mut controller = Controller::new(&reference_geometry(), timing, reference_queues(), true);
    controller.record_commands();
    controller
}

/// Offers each request from its arrival on, one per cycle and in order, and runs until all are
/// served. Returns (accepted, done) per request; writes are never done.
pub(crate) fn drive(controller: &mut Controller, trace: &[Line]) -> Vec<(Cycle, Option<Cycle>)> {
    let mut result = vec![(0, None); trace.len()];
    let mut cycle = 0;
    let mut next = 0;
    loop {
        controller.advance(cycle);
        while let Some((done, tag)) = controller.take_completion(cycle) {
            result[tag as usize].1 = Some(done);
        }
        let mut accepted = false;
        if next < trace.len() && trace[next].arrival <= cycle {
            accepted = controller.offer(cycle, trace[next].request) != Offer::Refused;
            if accepted {
                result[next].0 = cycle;
                next += 1;
            }
        }
        let arrival = trace.get(next).map(|line| line.arrival.max(cycle + 1));
        let arrival = arrival.filter(|&a| accepted || a > cycle + 1 || next_fits(controller, trace, next));
        let until = [arrival, controller.next_command(), controller.next_completion()];
        match until.into_iter().flatten().min() {
            Some(until) => cycle = until,
            None => return result,
        }
    }
}

fn next_fits(controller: &Controller, trace: &[Line], next: usize) -> bool {
    controller.has_room(trace[next].request.write)
}

/// The cycle after the last data beat of a run.
pub(crate) fn end_cycle(controller: &Controller) -> Cycle {
    let timing = &controller.timing;
    let end = |issued: &Issued| match issued.command {
        Command::Read { .. } => issued.cycle + Cycle::from(timing.read_data_end()),
        Command::Write { .. } => issued.cycle + Cycle::from(timing.write_data_end()),
        _ => 0,
    };
    controller.commands().iter().map(end).max().unwrap_or(0)
}

/// Reads `arrival,rw,bg,ba,row,col` lines (a header first).
pub(crate) fn parse_trace(text: &str) -> Vec<Line> {
    let lines = text.lines().skip(1).enumerate();
    lines
        .map(|(tag, line)| {
            let f: Vec<&str> = line.split(',').collect();
            let n = |i: usize| f[i].parse::<u64>().unwrap();
            let location = Location {
                bank: (n(2) * 4 + n(3)) as u32,
                row: n(4) as u32,
                column: n(5) as u32,
            };
            Line {
                arrival: n(0),
                request: Request {
                    access: u64::from(location.row) << 32 | u64::from(location.bank) << 16 | n(5),
                    location,
                    write: f[1] == "W",
                    tag: tag as u32,
                },
            }
        })
        .collect()
}

fn gunzip(path: &str) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text
}

#[test]
fn local_reference() {
    let Ok(root) = std::env::var("DRAM_REFERENCE") else {
        return;
    };
    let summary = std::fs::read_to_string(format!("{root}/summary.csv")).unwrap();
    for (preset, timing) in [("A", preset_a()), ("D", preset_d()), ("R", preset_r())] {
        for trace_name in std::fs::read_dir(format!("{root}/traces")).unwrap() {
            let name = trace_name.unwrap().file_name().into_string().unwrap();
            let name = name.trim_end_matches(".csv.gz");
            let trace = parse_trace(&gunzip(&format!("{root}/traces/{name}.csv.gz")));
            for tool in ["ram1_frfcfs", "ram2_frfcfs"] {
                let mut timing = timing;
                if tool == "ram2_frfcfs" {
                    timing.t_32aw = 0;
                }
                let mut controller = reference(timing);
                if tool == "ram1_frfcfs" {
                    controller.queues.write_low = 6;
                }
                let result = drive(&mut controller, &trace);
                let end = end_cycle(&controller);
                let key = format!("{name},{preset},{tool},");
                if let Some(line) = summary.lines().find(|l| l.starts_with(&key)) {
                    let f: Vec<&str> = line.split(',').collect();
                    let golden: f64 = f[14].parse().unwrap();
                    let s = controller.stats();
                    println!(
                        "{key} end {end} golden {golden} diff {:+.3}% act {} ({}) pre {} ({}) prea {} ({}) ref {} ({})",
                        (end as f64 / golden - 1.0) * 100.0,
                        s.activates, f[7], s.precharges, f[8], s.precharges_all, f[9], s.refreshes, f[12]
                    );
                }
                let file = format!("{root}/per_request/{preset}_{tool}_{name}.csv.gz");
                if std::fs::exists(&file).unwrap() {
                    let mut agree = 0;
                    let mut first = None;
                    let text = gunzip(&file);
                    for (line, (i, r)) in text.lines().skip(1).zip(result.iter().enumerate()) {
                        let got = format!("{i},{},{}", r.0, r.1.map_or(-1, |d| d as i64));
                        if got == line {
                            agree += 1;
                        } else if first.is_none() {
                            first = Some((got, line.to_owned()));
                        }
                    }
                    println!("  PER REQUEST {preset} {tool} {name}: {agree} of {} first {first:?}", trace.len());
                }
            }
        }
    }
}
