//! Measures time, power and energy of a program on a device.
#![expect(clippy::disallowed_methods, reason = "a device is idle in real time")]

use warpweave_systems::host_program::HostProgram;

use crate::driver::Driver;
use crate::live::RunError;
use crate::power::{Clock, Conditions, Energy, Monotonic, Sampler, Samples, Sensor, Window};
use crate::repeat::{Repeated, Repetitions, repeat};

/// Graph that a measured program works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredGraph {
    /// Number of vertices of the graph.
    pub vertices: u32,
    /// Number of arcs of the graph.
    pub arcs: u32,
    /// Hash of the graph's arrays: equal on two machines that measured the same graph.
    pub hash: u64,
}

/// Repeated runs of a program with power and conditions.
#[derive(Debug)]
pub struct Measurement {
    pub program: String,
    /// First graph of the program, if it has one.
    pub graph: Option<MeasuredGraph>,
    pub repeated: Repeated,
    /// Energy of one run, the mean of all measured ones.
    pub energy: Energy,
    /// Mean power of the measured runs in watts.
    pub watts: Option<f64>,
    /// The same less the power of the idle device.
    pub watts_above_idle: Option<f64>,
    /// Conditions from the first measured run to the last.
    pub conditions: Conditions,
    /// Time from the first measured run to the last.
    pub window: Window,
    /// Reasons to doubt the figures, in plain words.
    pub marks: Vec<String>,
}

/// Meter of a device's power, which samples while programs run.
pub struct Meter {
    clock: Monotonic,
    sampler: Option<Sampler>,
    /// Power of the idle device in watts, if it was measured.
    idle_watts: Option<f64>,
}

impl Meter {
    /// Starts to sample a sensor. Without one, only times are measured.
    pub fn start(sensor: Option<Box<dyn Sensor>>) -> Self {
        let clock = Monotonic::new();
        Self {
            clock,
            sampler: sensor.map(|sensor| Sampler::start(sensor, clock)),
            idle_watts: None,
        }
    }

    /// Waits while the device is idle, and keeps its power for later measurements. Returns at once
    /// without a sensor.
    pub fn measure_idle(&mut self, seconds: f64) -> Option<f64> {
        let sampler = self.sampler.as_ref()?;
        // From a sample on, as nothing is known before the first.
        let begun = sampler.samples_until(self.clock.seconds());
        let from = begun.all().last()?.seconds;
        std::thread::sleep(std::time::Duration::from_secs_f64(seconds.max(0.0)));
        let window = Window {
            from,
            to: self.clock.seconds(),
        };
        self.idle_watts = self.samples_of(window).watts(window);
        self.idle_watts
    }

    /// Returns the samples so far, which cover a window that has passed.
    fn samples_of(&self, window: Window) -> Samples {
        let sampler = self.sampler.as_ref();
        sampler.map_or_else(Samples::default, |it| it.samples_until(window.to))
    }

    /// Returns the names of the quantities that the device tells, or `nothing`.
    pub fn sampled(&self) -> String {
        let now = self.clock.seconds();
        let samples = self.samples_of(Window { from: now, to: now });
        let reading = samples.all().last().map(|sample| sample.reading);
        let told = reading.map_or_else(Vec::new, |reading| reading.known());
        if told.is_empty() {
            return "nothing".to_owned();
        }
        told.join(" ")
    }

    pub fn samples(&self) -> Samples {
        let now = self.clock.seconds();
        self.samples_of(Window { from: now, to: now })
    }

    /// Repeats a program, and measures it.
    ///
    /// # Errors
    /// Returns what the program or the device could not do.
    pub fn measure(
        &self,
        program: &HostProgram,
        driver: &mut dyn Driver,
        wanted: &Repetitions,
    ) -> Result<Measurement, RunError> {
        let repeated = repeat(program, driver, &self.clock, wanted)?;
        let ends = (repeated.windows.first(), repeated.windows.last());
        let window = Window {
            from: ends.0.map_or(0.0, |first| first.from),
            to: ends.1.map_or(0.0, |last| last.to),
        };
        let samples = self.samples_of(window);
        let has_sensor = self.sampler.is_some();
        Ok(Measurement::of(
            program,
            repeated,
            &samples,
            self.idle_watts,
            has_sensor,
        ))
    }
}

impl Measurement {
    /// Combines repeated runs with the samples taken at the same time.
    pub fn of(
        program: &HostProgram,
        repeated: Repeated,
        samples: &Samples,
        idle_watts: Option<f64>,
        has_sensor: bool,
    ) -> Self {
        let windows = &repeated.windows;
        let window = Window {
            from: windows.first().map_or(0.0, |first| first.from),
            to: windows.last().map_or(0.0, |last| last.to),
        };
        let all = samples.energy(windows);
        let runs = windows.len().max(1) as f64;
        let seconds: f64 = windows.iter().map(|window| window.to - window.from).sum();
        let joules = all.trapezoid.or(all.counter);
        let watts = joules.filter(|_| seconds > 0.0).map(|it| it / seconds);
        let conditions = samples.conditions(window);
        let mut marks = Vec::new();
        if repeated.once {
            marks.push("measured once".to_owned());
        }
        if repeated.last_checks.is_some() {
            marks.push("outputs differ between runs".to_owned());
        }
        if all.differs() {
            marks.push("energy by counter and by power differ by more than 5 %".to_owned());
        }
        if has_sensor && samples.has_gap(window) {
            marks.push("samples are missing".to_owned());
        }
        for reason in conditions.reasons() {
            marks.push(format!("throttled: {reason}"));
        }
        let graph = program.graphs().next().map(|(_, graph)| MeasuredGraph {
            vertices: graph.vertices(),
            arcs: graph.arcs(),
            hash: graph.hash(),
        });
        Self {
            program: program.name().to_owned(),
            graph,
            energy: Energy {
                counter: all.counter.map(|joules| joules / runs),
                trapezoid: all.trapezoid.map(|joules| joules / runs),
            },
            watts,
            watts_above_idle: watts.zip(idle_watts).map(|(watts, idle)| watts - idle),
            conditions,
            window,
            marks,
            repeated,
        }
    }

    /// Returns the least, the median and the largest time of a run in milliseconds.
    pub fn milliseconds(&self) -> [f64; 3] {
        let mut times = self.repeated.nanoseconds.clone();
        times.sort_by(f64::total_cmp);
        let at = |index: usize| times.get(index).map_or(0.0, |time| time / 1e6);
        let middle = times.len() / 2;
        let median = if times.len().is_multiple_of(2) {
            f64::midpoint(at(middle.saturating_sub(1)), at(middle))
        } else {
            at(middle)
        };
        [at(0), median, at(times.len().saturating_sub(1))]
    }
}
