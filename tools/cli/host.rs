//! Measurements of the host: the only module that reads its clocks and its random numbers.
#![expect(
    clippy::disallowed_types,
    reason = "host time is reported but never used in the simulation"
)]

use std::time::{Instant, SystemTime};

use cpu_time::{ProcessTime, ThreadTime};

/// Stopwatch for wall-clock and CPU time of the process.
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

/// Stopwatch for the CPU time of one thread, started on that thread.
pub(crate) struct ThreadStopwatch(ThreadTime);

impl ThreadStopwatch {
    pub(crate) fn start() -> Self {
        Self(ThreadTime::now())
    }

    pub(crate) fn cpu_s(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Returns the current time: UTC, RFC 3339, to the second.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Returns a secret of 128 random bits as hexadecimal digits.
pub(crate) fn token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// Returns the peak resident memory of this process in bytes, or 0 if the host does not report it.
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
