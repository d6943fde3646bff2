//! Power, energy and conditions of a device over time.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a device is sampled in real time"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time from one sample of the device to the next.
const PERIOD: Duration = Duration::from_millis(10);

/// Time without a sample after which energy by samples is doubtful, in seconds.
const GAP_SECONDS: f64 = 0.1;

/// Part by which two measures of the same energy may differ.
const ENERGY_TOLERANCE: f64 = 0.05;

/// Throttling reason of a device that has nothing to do.
const IDLE: u64 = 1;

/// Throttling reasons by bit, as NVML names them.
const REASONS: [&str; 9] = [
    "idle",
    "application clocks",
    "software power cap",
    "hardware slowdown",
    "sync boost",
    "software thermal slowdown",
    "hardware thermal slowdown",
    "hardware power brake",
    "display clocks",
];

/// State of a device at one moment. What the device does not tell is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Power in watts, on some devices averaged over about a second.
    pub watts: Option<f64>,
    /// Power in watts at the moment, without averaging.
    pub instant_watts: Option<f64>,
    /// Energy in millijoules since the driver was loaded.
    pub millijoules: Option<u64>,
    /// Clock of the compute units in MHz.
    pub unit_mhz: Option<u32>,
    /// Clock of the memory in MHz.
    pub memory_mhz: Option<u32>,
    /// Temperature of the GPU in degrees Celsius.
    pub celsius: Option<u32>,
    /// Reasons why clocks are lower than possible, one bit each.
    pub throttling: Option<u64>,
}

impl Reading {
    /// Returns the names of the quantities that are known.
    pub fn known(&self) -> Vec<&'static str> {
        let all = [
            ("watts", self.watts.is_some()),
            ("instant_watts", self.instant_watts.is_some()),
            ("millijoules", self.millijoules.is_some()),
            ("unit_mhz", self.unit_mhz.is_some()),
            ("memory_mhz", self.memory_mhz.is_some()),
            ("celsius", self.celsius.is_some()),
            ("throttling", self.throttling.is_some()),
        ];
        let known = all.into_iter().filter(|(_, is_known)| *is_known);
        known.map(|(name, _)| name).collect()
    }

    /// Returns the power to integrate: without averaging, if the device tells it.
    fn power(&self) -> Option<f64> {
        self.instant_watts.or(self.watts)
    }
}

/// Source of readings. It never changes clocks, limits or modes.
pub trait Sensor: Send {
    /// Reads the state of the device.
    fn read(&mut self) -> Reading;
}

/// Reading with its time in seconds of a monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of the reading in seconds.
    pub seconds: f64,
    /// State of the device at that time.
    pub reading: Reading,
}

/// Time from one moment to another in seconds of a monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Beginning of the window in seconds.
    pub from: f64,
    /// End of the window in seconds.
    pub to: f64,
}

/// Monotonic clock that begins at zero.
pub trait Clock {
    /// Returns the seconds since the beginning.
    fn seconds(&self) -> f64;
}

/// Monotonic clock of this machine, shared by sampler and runs.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic(Instant);

impl Monotonic {
    #[expect(
        clippy::new_without_default,
        reason = "every clock begins at another time"
    )]
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Monotonic {
    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Samples in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<Sample>);

/// Clocks, temperature and throttling over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Median clock of the compute units in MHz.
    pub unit_mhz: Option<u32>,
    /// Median clock of the memory in MHz.
    pub memory_mhz: Option<u32>,
    /// Highest temperature of the GPU in degrees Celsius.
    pub celsius: Option<u32>,
    /// All throttling reasons that were seen, one bit each.
    pub throttling: u64,
}

/// Energy over windows, by two measures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Joules by the counter that the device keeps.
    pub counter: Option<f64>,
    /// Joules by the trapezoid rule over samples of power.
    pub trapezoid: Option<f64>,
}

impl Energy {
    /// True if both measures are known and differ by more than 5 % of the counter's.
    pub fn differs(&self) -> bool {
        let both = self.counter.zip(self.trapezoid);
        both.is_some_and(|(counter, trapezoid)| {
            (counter - trapezoid).abs() > ENERGY_TOLERANCE * counter.abs()
        })
    }
}

impl Samples {
    /// Adds a sample. One that is not later than the last is dropped, as time does not run back.
    pub fn push(&mut self, sample: Sample) {
        let last = self.0.last();
        if last.is_none_or(|last| sample.seconds > last.seconds) {
            self.0.push(sample);
        }
    }

    pub fn all(&self) -> &[Sample] {
        &self.0
    }

    /// Returns the energy over all windows together. A measure is missing if it is missing in a
    /// sample that it needs, or if a window is not within the samples.
    pub fn energy(&self, windows: &[Window]) -> Energy {
        let power = |sample: &Sample| sample.reading.power();
        let counter = |sample: &Sample| sample.reading.millijoules.map(|it| it as f64 / 1e3);
        let trapezoid = self.curve(power).map(Curve::integral);
        Energy {
            counter: self
                .curve(counter)
                .filter(Curve::never_falls)
                .and_then(|curve| total(windows, |seconds| curve.value(seconds))),
            trapezoid: trapezoid
                .and_then(|integral| total(windows, |seconds| integral.value(seconds))),
        }
    }

    /// Returns the mean power over a window in watts, if it is known.
    pub fn watts(&self, window: Window) -> Option<f64> {
        let joules = self.energy(&[window]).trapezoid?;
        let seconds = window.to - window.from;
        (seconds > 0.0).then(|| joules / seconds)
    }

    /// True if samples are missing for a tenth of a second within a window.
    pub fn has_gap(&self, window: Window) -> bool {
        self.0.windows(2).any(|pair| {
            let (from, to) = (pair[0].seconds, pair[1].seconds);
            to - from > GAP_SECONDS && from < window.to && to > window.from
        })
    }

    /// Returns the conditions over a window, and at the samples next to it.
    pub fn conditions(&self, window: Window) -> Conditions {
        let first = self.0.partition_point(|it| it.seconds <= window.from);
        let after = self.0.partition_point(|it| it.seconds < window.to);
        let first = first.saturating_sub(1);
        let within = &self.0[first.min(self.0.len())..(after + 1).clamp(first, self.0.len())];
        let median = |value: fn(&Reading) -> Option<u32>| {
            let values = within.iter().filter_map(|sample| value(&sample.reading));
            let mut values: Vec<u32> = values.collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied()
        };
        let celsius = within.iter().filter_map(|sample| sample.reading.celsius);
        let throttling = within.iter().filter_map(|it| it.reading.throttling);
        Conditions {
            unit_mhz: median(|reading| reading.unit_mhz),
            memory_mhz: median(|reading| reading.memory_mhz),
            celsius: celsius.max(),
            throttling: throttling.fold(0, |all, reasons| all | reasons),
        }
    }

    /// Returns a value of every sample as a curve, unless one sample lacks it.
    fn curve(&self, value: impl Fn(&Sample) -> Option<f64>) -> Option<Curve> {
        let points = self.0.iter();
        let points = points.map(|sample| value(sample).map(|value| (sample.seconds, value)));
        Some(Curve(points.collect::<Option<_>>()?))
    }
}

impl Conditions {
    /// Returns the names of the throttling reasons except that of an idle device.
    pub fn reasons(&self) -> Vec<String> {
        let reasons = self.throttling & !IDLE;
        let bits = (0..u64::BITS).filter(|bit| reasons >> bit & 1 == 1);
        bits.map(|bit| match REASONS.get(bit as usize) {
            Some(name) => (*name).to_owned(),
            None => format!("reason {bit}"),
        })
        .collect()
    }
}

/// Adds the differences of a growing quantity between the ends of all windows.
fn total(windows: &[Window], value: impl Fn(f64) -> Option<f64>) -> Option<f64> {
    let differences = windows
        .iter()
        .map(|window| Some(value(window.to)? - value(window.from)?));
    differences.sum()
}

/// Points in the order of time, joined by lines.
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Returns the index of the line that a time is on, and the part of the line before it.
    fn line(&self, seconds: f64) -> Option<(usize, f64)> {
        let after = self.0.partition_point(|(at, _)| *at <= seconds);
        // The last point is on the line before it.
        let is_last = self.0.last().is_some_and(|(at, _)| *at >= seconds);
        let after = after.min(self.0.len().saturating_sub(usize::from(is_last)));
        let before = after.checked_sub(1)?;
        let ((from, _), (to, _)) = (*self.0.get(before)?, *self.0.get(after)?);
        Some((before, (seconds - from) / (to - from)))
    }

    /// Returns the value at a time within the points.
    fn value(&self, seconds: f64) -> Option<f64> {
        let (line, part) = self.line(seconds)?;
        let (from, to) = (self.0[line].1, self.0[line + 1].1);
        Some(from + part * (to - from))
    }

    fn never_falls(&self) -> bool {
        self.0.windows(2).all(|pair| pair[1].1 >= pair[0].1)
    }

    /// Returns the area under the curve from its beginning, as a function of the end.
    fn integral(self) -> Integral {
        let mut areas = vec![0.0];
        for pair in self.0.windows(2) {
            let ((from, low), (to, high)) = (pair[0], pair[1]);
            let area = areas.last().copied().unwrap_or_default();
            areas.push(area + (to - from) * f64::midpoint(low, high));
        }
        Integral { curve: self, areas }
    }
}

struct Integral {
    curve: Curve,
    areas: Vec<f64>,
}

impl Integral {
    fn value(&self, seconds: f64) -> Option<f64> {
        let (line, _) = self.curve.line(seconds)?;
        let (from, low) = self.curve.0[line];
        let high = self.curve.value(seconds)?;
        Some(self.areas[line] + (seconds - from) * f64::midpoint(low, high))
    }
}

/// Thread that samples a device until it is dropped.
pub struct Sampler {
    samples: Arc<Mutex<Samples>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts to sample every 10 ms, with times of `clock`.
    pub fn start(mut sensor: Box<dyn Sensor>, clock: Monotonic) -> Self {
        let (samples, ends) = (
            Arc::<Mutex<Samples>>::default(),
            Arc::<AtomicBool>::default(),
        );
        let (into, until) = (Arc::clone(&samples), Arc::clone(&ends));
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                let before = clock.seconds();
                let reading = sensor.read();
                let seconds = f64::midpoint(before, clock.seconds());
                into.lock().push(Sample { seconds, reading });
                std::thread::sleep(PERIOD);
            }
        });
        Self {
            samples,
            ends,
            thread: Some(thread),
        }
    }

    /// Returns the samples so far, with one at or after `seconds` unless the sensor hangs.
    pub fn samples_until(&self, seconds: f64) -> Samples {
        for _ in 0..50 {
            let samples = self.samples.lock();
            if samples.0.last().is_some_and(|last| last.seconds >= seconds) {
                return samples.clone();
            }
            drop(samples);
            std::thread::sleep(PERIOD);
        }
        self.samples.lock().clone()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the sensor has nothing to do with what was measured.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(readings: impl IntoIterator<Item = (f64, Reading)>) -> Samples {
        let mut samples = Samples::default();
        for (seconds, reading) in readings {
            samples.push(Sample { seconds, reading });
        }
        samples
    }

    fn watts(watts: f64) -> Reading {
        Reading {
            watts: Some(watts),
            ..Reading::default()
        }
    }

    fn counted(millijoules: u64) -> Reading {
        Reading {
            millijoules: Some(millijoules),
            ..Reading::default()
        }
    }

    fn window(from: f64, to: f64) -> Window {
        Window { from, to }
    }

    #[test]
    fn the_trapezoid_interpolates_its_ends() {
        let three = samples([(0.0, watts(70.0)), (0.5, watts(90.0)), (1.0, watts(80.0))]);
        let joules = |from, to| three.energy(&[window(from, to)]).trapezoid;
        assert_eq!(joules(0.0, 1.0), Some(82.5));
        assert_eq!(joules(0.25, 1.0), Some(63.75));
        assert_eq!(joules(0.25, 0.25), Some(0.0));
        // Both ends between the same two samples: 82 and 86 W.
        let short = joules(0.3, 0.4).unwrap();
        assert!((short - 8.4).abs() < 1e-12, "{short}");
        assert_eq!(three.watts(window(0.0, 1.0)), Some(82.5));
        // Nothing is known outside the samples.
        assert_eq!((joules(-0.1, 1.0), joules(0.5, 1.1)), (None, None));
    }

    #[test]
    fn energy_of_several_windows_leaves_out_what_is_between() {
        let steady = samples((0..=10).map(|at| (f64::from(at), watts(100.0))));
        let windows = [window(0.5, 1.5), window(2.0, 2.25), window(9.0, 10.0)];
        assert_eq!(steady.energy(&windows).trapezoid, Some(225.0));
    }

    #[test]
    fn the_field_without_averaging_is_preferred() {
        let both = |average, instant| Reading {
            instant_watts: Some(instant),
            ..watts(average)
        };
        let samples = samples([(0.0, both(10.0, 50.0)), (2.0, both(10.0, 70.0))]);
        assert_eq!(samples.energy(&[window(0.0, 2.0)]).trapezoid, Some(120.0));
    }

    #[test]
    fn the_counter_is_interpolated_and_missing_if_it_falls_or_is_refused() {
        let rising = samples([
            (0.0, counted(1000)),
            (1.0, counted(3000)),
            (2.0, counted(3000)),
        ]);
        let joules = |samples: &Samples| samples.energy(&[window(0.5, 2.0)]).counter;
        assert_eq!(joules(&rising), Some(1.0));
        let wraps = samples([
            (0.0, counted(u64::MAX)),
            (1.0, counted(3)),
            (2.0, counted(5)),
        ]);
        assert_eq!(joules(&wraps), None);
        let refused = samples([(0.0, counted(1)), (1.0, watts(1.0)), (2.0, counted(5))]);
        assert_eq!(joules(&refused), None);
        assert_eq!(refused.energy(&[window(0.0, 1.0)]).trapezoid, None);
        assert_eq!(joules(&Samples::default()), None);
    }

    #[test]
    fn two_measures_that_differ_by_more_than_a_twentieth_are_flagged() {
        let energy = |counter, trapezoid| Energy { counter, trapezoid };
        assert!(!energy(Some(100.0), Some(105.0)).differs());
        assert!(energy(Some(100.0), Some(105.1)).differs());
        assert!(energy(Some(100.0), Some(94.0)).differs());
        assert!(!energy(None, Some(94.0)).differs());
    }

    #[test]
    fn a_clock_that_jumps_leaves_a_gap_and_never_runs_back() {
        let jumps = samples([
            (0.0, watts(50.0)),
            (0.01, watts(50.0)),
            (0.005, watts(900.0)),
            (0.01, watts(900.0)),
            (7.0, watts(50.0)),
            (7.01, watts(50.0)),
        ]);
        assert_eq!(jumps.all().len(), 4);
        assert!(jumps.has_gap(window(0.0, 0.02)));
        assert!(jumps.has_gap(window(3.0, 4.0)));
        assert!(!jumps.has_gap(window(0.0, 0.01)) && !jumps.has_gap(window(7.0, 7.01)));
    }

    #[test]
    fn conditions_are_those_of_the_window_and_idle_is_no_throttling() {
        let at = |mhz, celsius, throttling| Reading {
            unit_mhz: Some(mhz),
            celsius: Some(celsius),
            throttling: Some(throttling),
            ..Reading::default()
        };
        let samples = samples([
            (0.0, at(300, 30, 1)),
            (1.0, at(1900, 40, 1)),
            (2.0, at(1800, 60, 4)),
            (3.0, at(1700, 50, 0x40)),
            (4.0, at(300, 45, 1)),
        ]);
        let busy = samples.conditions(window(1.0, 3.0));
        assert_eq!((busy.unit_mhz, busy.celsius), (Some(1800), Some(60)));
        assert_eq!(busy.memory_mhz, None);
        assert_eq!(
            busy.reasons(),
            ["software power cap", "hardware thermal slowdown"]
        );
        assert!(samples.conditions(window(0.2, 0.8)).reasons().is_empty());
        // Between two samples, both count.
        assert_eq!(samples.conditions(window(1.2, 1.8)).celsius, Some(60));
        assert_eq!(
            Samples::default().conditions(window(0.0, 1.0)),
            Conditions::default()
        );
        let unknown = Conditions {
            throttling: 1 << 40,
            ..Conditions::default()
        };
        assert_eq!(unknown.reasons(), ["reason 40"]);
    }

    #[test]
    fn a_sampler_reads_until_it_is_dropped() {
        struct Counting(u64);
        impl Sensor for Counting {
            fn read(&mut self) -> Reading {
                self.0 += 1;
                counted(self.0)
            }
        }
        let clock = Monotonic::new();
        let sampler = Sampler::start(Box::new(Counting(0)), clock);
        let samples = sampler.samples_until(0.03);
        assert!(samples.all().len() >= 2, "{samples:?}");
        assert!(
            samples
                .all()
                .iter()
                .zip(1..)
                .all(|(it, n)| it.reading == counted(n))
        );
    }
}
