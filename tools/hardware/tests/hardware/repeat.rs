//! Repetition and its measurement, on the double with a clock of its own.

use std::cell::Cell;
use std::rc::Rc;

use warpweave_hardware::measure::Measurement;
use warpweave_hardware::power::{Clock, Reading, Sample, Samples};
use warpweave_hardware::repeat::{Repeated, Repetitions, repeat};
use warpweave_hardware::table::{self, Labels, MEASUREMENT_COLUMNS};

use crate::double::Double;
use crate::live::loaded;

/// Host's clock that runs with the double's.
struct SameClock(Rc<Cell<f64>>);

impl Clock for SameClock {
    fn seconds(&self) -> f64 {
        self.0.get() / 1e9
    }
}

fn wanted(seconds: f64, at_least: u32, warm_up: u32) -> Repetitions {
    Repetitions {
        seconds,
        at_least,
        warm_up,
        launches: false,
    }
}

/// Repeats a workload whose buffers change in every launch.
fn repeated(double: &mut Double, wanted: &Repetitions) -> Repeated {
    let loaded = loaded("workloads/lud.ron", &["size=T"]);
    let clock = SameClock(Rc::clone(&double.clock));
    repeat(loaded.program(), double, &clock, wanted).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_program_is_repeated_as_often_and_as_long_as_asked() {
    let once = repeated(&mut Double::new(), &wanted(0.0, 1, 0));
    let run = once.nanoseconds[0];
    assert!(run > 0.0 && !once.once && once.passed());
    let runs = |seconds, at_least| {
        let found = repeated(&mut Double::new(), &wanted(seconds, at_least, 1));
        assert!(found.passed() && !found.once);
        assert!(
            found
                .nanoseconds
                .iter()
                .all(|time| (time - run).abs() < 0.5),
            "{found:?}"
        );
        found.nanoseconds.len()
    };
    // The limit that is reached last decides.
    assert_eq!(runs(1.5 * run / 1e9, 4), 4);
    assert_eq!(runs(2.5 * run / 1e9, 2), 3);
}

#[test]
fn a_run_longer_than_asked_for_is_measured_once_and_says_so() {
    for (warm_up, launched) in [(0, 1), (1, 1), (3, 1)] {
        let mut double = Double::new();
        let found = repeated(&mut double, &wanted(1e-9, 5, warm_up));
        assert!(found.once && found.passed());
        assert_eq!(found.nanoseconds.len(), 1);
        let launches = found.launches as usize * launched;
        assert_eq!(double.launches.len(), launches);
    }
}

#[test]
fn memory_is_restored_on_the_device_in_time_that_is_not_measured() {
    let mut double = Double::new();
    let found = repeated(&mut double, &wanted(0.0, 3, 2));
    // Each of the five runs but the first begins with a copy, and one copy was kept.
    let bytes = double.copied / 5;
    assert!(
        bytes >= 64 * 64 * 4 && double.copied == 5 * bytes,
        "{}",
        double.copied
    );
    assert_eq!(double.launches.len(), 5 * found.launches as usize);
    assert!(found.last_checks.is_none() && found.passed());
}

#[test]
fn swapped_buffers_begin_every_run_as_they_were() {
    let loaded = loaded("workloads/hotspot.ron", &["size=T"]);
    let mut double = Double::new();
    let clock = SameClock(Rc::clone(&double.clock));
    let found = repeat(loaded.program(), &mut double, &clock, &wanted(0.0, 4, 0)).unwrap();
    assert!(found.passed() && found.last_checks.is_none());
}

#[test]
fn launches_are_timed_in_a_run_of_their_own_with_the_gaps_between() {
    let mut double = Double::new();
    double.launch_nanoseconds = 700.0;
    let wanted = Repetitions {
        launches: true,
        ..wanted(0.0, 2, 0)
    };
    let found = repeated(&mut double, &wanted);
    assert_eq!(found.nanoseconds.len(), 2);
    assert_eq!(found.timed.len(), found.launches as usize);
    assert_eq!(double.launches.len(), 3 * found.launches as usize);
    // A mark costs 700 ns: that which begins a launch is part of its time, that after it is not.
    let gaps = found.gaps().unwrap();
    let expected = 700.0 * (found.launches + 1) as f64;
    assert!((gaps - expected).abs() < 1e-6, "{gaps} {expected}");
}

#[test]
fn a_refusal_in_the_middle_names_program_repetition_and_launch() {
    let launches = repeated(&mut Double::new(), &wanted(0.0, 1, 0)).launches as usize;
    let said = |refuses: usize| {
        let loaded = loaded("workloads/lud.ron", &["size=T"]);
        let mut double = Double::new();
        double.refuses = Some(refuses);
        let clock = SameClock(Rc::clone(&double.clock));
        let failed = repeat(loaded.program(), &mut double, &clock, &wanted(0.0, 3, 1));
        failed.unwrap_err().to_string()
    };
    let warm_up = said(2);
    assert!(
        warm_up.starts_with("`lud`, warm-up 1: ") && warm_up.contains("launch 2 failed: "),
        "{warm_up}"
    );
    let second = said(2 * launches + 5);
    assert!(
        second.starts_with("`lud`, repetition 2: ") && second.contains("launch 5 failed: "),
        "{second}"
    );
    assert!(second.contains("CUDA_ERROR_LAUNCH_FAILED"), "{second}");
}

#[test]
fn outputs_that_are_wrong_are_found_after_repetition() {
    let mut double = Double::new();
    double.lies = true;
    assert!(!repeated(&mut double, &wanted(0.0, 2, 0)).passed());
}

/// Samples of a device that draws this many watts, of which its counter misses a part.
fn samples(watts: f64, counted: f64, throttling: u64, end: f64) -> Samples {
    let mut samples = Samples::default();
    for step in 0..=100_i32 {
        let seconds = (f64::from(step) / 100.0) * end;
        samples.push(Sample {
            seconds,
            reading: Reading {
                watts: Some(watts),
                instant_watts: None,
                // A counter that is finer than a millijoule, as these runs take microseconds.
                millijoules: Some((seconds * watts * counted * 1e3) as u64),
                unit_mhz: Some(1900),
                memory_mhz: None,
                celsius: Some(50),
                throttling: Some(throttling),
            },
        });
    }
    samples
}

#[test]
fn a_measurement_has_energy_of_a_run_conditions_and_marks() {
    let loaded = loaded(
        "workloads/bfs.ron",
        &["workload.graph=Grid(width: 9, height: 9)"],
    );
    let measure = |counted: f64, throttling: u64| {
        let mut double = Double::new();
        let clock = SameClock(Rc::clone(&double.clock));
        let found = repeat(loaded.program(), &mut double, &clock, &wanted(0.0, 3, 0)).unwrap();
        let end = double.clock.get() / 1e9;
        let samples = samples(5e9, counted, throttling, end);
        Measurement::of(loaded.program(), found, &samples, Some(1e9), true)
    };
    let good = measure(1.0, 1);
    assert!(good.marks.is_empty(), "{:?}", good.marks);
    let [least, median, most] = good.milliseconds();
    assert!(most - least < 1e-9 && (least..=most).contains(&median) && least > 0.0);
    let joules = 5e9 * median / 1e3;
    let near = |found: Option<f64>, expected: f64| {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    };
    near(good.energy.trapezoid, joules);
    near(good.energy.counter, joules);
    near(good.watts, 5e9);
    near(good.watts_above_idle, 4e9);
    let graph = good.graph.unwrap();
    assert_eq!((graph.vertices, graph.arcs), (81, 288));
    let doubtful = measure(0.9, 4 | 1);
    assert_eq!(
        doubtful.marks,
        [
            "energy by counter and by power differ by more than 5 %",
            "throttled: software power cap"
        ]
    );

    let device = Double::new().properties;
    let labels = Labels {
        algorithm: "BFS",
        strategy: "levels, plain",
        graph: "grid",
        pass: 1,
    };
    let table = table::measurements_head(&device, "warpweave-hardware 0.1.0", "watts")
        + &table::measurement(labels, &doubtful);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows[3], "# measured by: warpweave-hardware 0.1.0");
    assert_eq!(rows[4], "# sampled: watts");
    assert_eq!(rows[5], MEASUREMENT_COLUMNS.join(","));
    let start = format!(
        "BFS,\"levels, plain\",grid,1,bfs,81,288,{:016x},{},{},3,",
        graph.hash, doubtful.repeated.rounds, doubtful.repeated.launches
    );
    assert!(rows[6].starts_with(&start), "{}", rows[6]);
    assert!(rows[6].contains(",1900,,50,"), "{}", rows[6]);
    assert!(rows[6].ends_with(&doubtful.marks.join("; ")), "{}", rows[6]);
}

#[test]
fn without_a_sensor_only_times_are_known() {
    let loaded = loaded("workloads/vector_add.ron", &["workload.n=100"]);
    let mut double = Double::new();
    let clock = SameClock(Rc::clone(&double.clock));
    let found = repeat(loaded.program(), &mut double, &clock, &wanted(0.0, 2, 0)).unwrap();
    let measured = Measurement::of(loaded.program(), found, &Samples::default(), None, false);
    assert!(measured.marks.is_empty() && measured.graph.is_none());
    assert_eq!((measured.watts, measured.energy.counter), (None, None));
    let device = Double::new().properties;
    let labels = Labels {
        algorithm: "sum",
        strategy: "",
        graph: "",
        pass: 0,
    };
    let row = table::measurement(labels, &measured);
    assert!(row.starts_with("sum,,,0,vector_add,,,,0,1,2,"), "{row}");
    assert!(table::samples(&device, &Samples::default()).ends_with("throttling\n"));
}
