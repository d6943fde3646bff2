//! Measurements of the machine the program runs on: the only place that reads its clocks.
#![expect(
    clippy::disallowed_types,
    reason = "host time is reported, never simulated with"
)]

use std::time::{Instant, SystemTime};

use cpu_time::{ProcessTime, ThreadTime};

/// Wall-clock and CPU time since it was started.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: ProcessTime,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: ProcessTime::now(),
        }
    }

    pub(crate) fn wall_s(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    pub(crate) fn cpu_s(&self) -> f64 {
        self.cpu.elapsed().as_secs_f64()
    }
}

/// CPU time of one thread since it was started on that thread.
pub(crate) struct ThreadStopwatch(ThreadTime);

impl ThreadStopwatch {
    pub(crate) fn start() -> Self {
        Self(ThreadTime::now())
    }

    pub(crate) fn cpu_s(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// The time now: UTC, RFC 3339, to the second.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Largest resident memory of this process so far; 0 where the system does not say.
pub(crate) fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix("kB")?
                .trim()
                .parse()
                .ok()
        })
        .map_or(0, |kib: u64| kib * 1024)
}
