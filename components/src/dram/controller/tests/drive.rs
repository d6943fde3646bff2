//! Test helper that drives requests through the bare controller.

use warpweave_framework::Cycle;

use crate::dram::tests::presets::reference_geometry;
use crate::dram::{
    AnyRequestOrder, BuiltInOrder, Config, Controller, Location, Offer, Request, Timing,
};

/// Request order used by the reference simulators.
pub(crate) const FR_FCFS: AnyRequestOrder = AnyRequestOrder::BuiltIn(BuiltInOrder::FrFcfs);

/// Request in one line of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) arrival: Cycle,
    pub(crate) request: Request,
}

/// Creates the reference machine with these timings and command recording enabled.
pub(crate) fn reference(timing: Timing) -> Controller {
    let config = Config::reference(reference_geometry(), timing);
    let mut controller = Controller::new(&config, FR_FCFS);
    controller.record_commands();
    controller
}

/// Offers the requests in order from their arrival on, one per cycle, and runs until all are
/// served. Returns (accepted, done) per request. Writes have no `done`.
pub(crate) fn drive(controller: &mut Controller, trace: &[Line]) -> Vec<(Cycle, Option<Cycle>)> {
    let mut result = vec![(0, None); trace.len()];
    let mut cycle = 0;
    let mut next = 0;
    loop {
        controller.advance(cycle);
        while let Some((done, tag)) = controller.take_completion(cycle) {
            result[tag as usize].1 = Some(done);
        }
        let mut refused = false;
        if next < trace.len() && trace[next].arrival <= cycle {
            refused = controller.offer(cycle, trace[next].request) == Offer::Refused;
            if !refused {
                result[next].0 = cycle;
                next += 1;
            }
        }
        // What was refused fits at the earliest when a command has been issued.
        let arrival = trace.get(next).filter(|_| !refused);
        let arrival = arrival.map(|line| line.arrival.max(cycle + 1));
        let until = [
            arrival,
            controller.next_command(),
            controller.next_completion(),
        ];
        match until.into_iter().flatten().min() {
            Some(until) => cycle = until,
            None => return result,
        }
    }
}

/// Parses lines of `arrival,rw,bg,ba,row,col` after a header line.
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
