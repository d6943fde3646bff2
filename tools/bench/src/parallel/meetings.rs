//! Time of the meeting of threads between windows, by number of threads and of messages at cuts.
//!
//! Stations with equal work stand in a ring, with several lanes from each to the next. Every
//! station is a partition of its own and every wire takes one cycle, so each cycle is a window. The
//! stations time themselves, and the way of messages from core to core is part of their time. What
//! a window takes beyond a thread's share of it is the meeting.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use warpweave_framework::{
    Bundle, Component, Context, EngineOptions, Frequency, InPort, Link, Next, OutPort, Outcome,
    Ports, RunLimits, Simulation, Stateful, Statistics, SystemBuilder, Tick,
};

/// Number of stations, each a partition: two for each of the most threads.
const STATIONS: usize = 32;

/// Numbers of threads that are measured, at most one for each core.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// Number of wires from each station to the next.
const LANES: usize = 4;

/// Numbers of lanes on which a station sends in every cycle.
const BUSY_LANES: [usize; 3] = [0, 1, 4];

/// Number of dependent multiplications of a station in a cycle, about one microsecond.
const WORK: u64 = 800;

/// Number of windows that are timed.
const WINDOWS: u64 = 20_000;

/// Station with one input and one output for each lane.
#[derive(Statistics)]
struct Station {
    inputs: Vec<InPort<u64>>,
    outputs: Vec<OutPort<u64>>,
    /// Number of lanes on which it sends.
    busy_lanes: usize,
    sum: u64,
    /// Nanoseconds of its evaluations, added to those of all stations when it is dropped.
    ns: u64,
    total_ns: Arc<AtomicU64>,
}

impl Station {
    fn new(busy_lanes: usize, total_ns: &Arc<AtomicU64>) -> Self {
        Self {
            inputs: (0..LANES).map(|_| InPort::new()).collect(),
            outputs: (0..LANES).map(|_| OutPort::new()).collect(),
            busy_lanes,
            sum: 1,
            ns: 0,
            total_ns: Arc::clone(total_ns),
        }
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        self.total_ns.fetch_add(self.ns, Ordering::Relaxed);
    }
}

impl Bundle for Station {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.inputs("input", &mut self.inputs);
        ports.outputs("output", &mut self.outputs);
    }
}

impl Component for Station {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let start = Instant::now();
        let lanes = self.inputs.iter_mut().zip(&mut self.outputs);
        for (input, output) in lanes.take(self.busy_lanes) {
            self.sum ^= input.pop(ctx).unwrap_or(0);
            if output.can_send(ctx) {
                output.send(ctx, self.sum);
            }
        }
        for _ in 0..WORK {
            self.sum = black_box(self.sum.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        self.ns += start.elapsed().as_nanos() as u64;
        Next::Busy
    }
}

impl Stateful for Station {}

/// Measures all numbers of threads that the machine has cores for, and returns a table.
///
/// # Errors
/// Fails with a text if a ring cannot be built or does not run.
pub(super) fn table() -> Result<String, String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!(
        "{:>7} {:>8} {:>13} {:>14} {:>14}\n",
        "threads", "messages", "µs per window", "µs of its work", "µs per meeting"
    );
    for lanes in BUSY_LANES {
        for threads in THREADS.into_iter().filter(|threads| *threads <= cores) {
            let (window, work) = window_us(lanes, threads)?;
            let _ = writeln!(
                text,
                "{threads:>7} {:>8} {window:>13.2} {work:>14.2} {:>14.2}",
                lanes * STATIONS,
                window - work
            );
        }
    }
    Ok(text.trim_end().to_owned())
}

/// Returns the microseconds of a window and of a thread's share of the stations' work in it: those
/// of the shortest of five runs.
fn window_us(busy_lanes: usize, threads: usize) -> Result<(f64, f64), String> {
    let mut least = (f64::MAX, 0.0);
    for _ in 0..5 {
        let total_ns = Arc::new(AtomicU64::new(0));
        let mut simulation = ring(busy_lanes, &total_ns)?;
        simulation.set_options(EngineOptions {
            threads,
            partitions: STATIONS,
            shares: threads,
            ..EngineOptions::default()
        });
        let before = simulation.windows();
        let limits = RunLimits {
            until: Some(Tick(WINDOWS)),
            ..RunLimits::default()
        };
        let start = Instant::now();
        let outcome = simulation.run(&limits);
        let elapsed = start.elapsed().as_secs_f64();
        if outcome != Outcome::Limit {
            return Err(format!("the ring ended with {outcome:?}"));
        }
        let windows = (simulation.windows() - before) as f64;
        drop(simulation);
        let work = total_ns.load(Ordering::Relaxed) as f64 / 1e3 / threads as f64 / windows;
        let window = elapsed * 1e6 / windows;
        if window < least.0 {
            least = (window, work);
        }
    }
    Ok(least)
}

fn ring(busy_lanes: usize, total_ns: &Arc<AtomicU64>) -> Result<Simulation, String> {
    let mut builder = SystemBuilder::new();
    let gigahertz = Frequency::new(1_000_000_000, 1).ok_or("a clock of no frequency")?;
    let clock = builder.clock("clock", gigahertz);
    let link = Link::latency(1).capacity(4);
    for number in 0..STATIONS {
        builder.add(
            format!("station[{number}]"),
            clock,
            Station::new(busy_lanes, total_ns),
        );
    }
    for number in 0..STATIONS {
        let next = (number + 1) % STATIONS;
        for lane in 0..LANES {
            builder.connect(
                format!("station[{number}].output[{lane}]"),
                format!("station[{next}].input[{lane}]"),
                link,
            );
        }
    }
    builder.elaborate().map_err(|errors| errors.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_of_the_ring_is_a_window_and_every_lane_a_cut() {
        let mut simulation = ring(1, &Arc::default()).unwrap();
        simulation.set_options(EngineOptions {
            partitions: STATIONS,
            shares: 2,
            ..EngineOptions::default()
        });
        assert_eq!(simulation.division().cut, LANES * STATIONS);
        let limits = RunLimits {
            until: Some(Tick(10)),
            ..RunLimits::default()
        };
        let before = simulation.windows();
        assert_eq!(simulation.run(&limits), Outcome::Limit);
        assert!((10..=12).contains(&(simulation.windows() - before)));
    }
}
