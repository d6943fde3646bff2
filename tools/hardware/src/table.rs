//! Formats results as comma-separated values. Lines that start with `#` describe the device.

use std::fmt::Write as _;

use crate::driver::Properties;
use crate::measure::Measurement;
use crate::micro::Figure;
use crate::power::Samples;
use crate::session::TimedLaunch;

/// Names of a measurement in a table.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'l> {
    pub algorithm: &'l str,
    /// Name of the strategy or form.
    pub strategy: &'l str,
    /// Name of the graph or other input.
    pub graph: &'l str,
    /// Number of the pass, from 0.
    pub pass: u32,
}

/// Columns of the table of measurements.
pub const MEASUREMENT_COLUMNS: [&str; 26] = [
    "algorithm",
    "strategy",
    "graph",
    "pass",
    "program",
    "vertices",
    "arcs",
    "graph_hash",
    "rounds",
    "launches",
    "runs",
    "median_ms",
    "least_ms",
    "most_ms",
    "gaps_ms",
    "joules_counter",
    "joules_trapezoid",
    "watts",
    "watts_above_idle",
    "unit_mhz",
    "memory_mhz",
    "celsius",
    "from_s",
    "to_s",
    "passed",
    "marks",
];

/// Columns of the table of launches within measurements, after the names of the measurement.
const LAUNCH_COLUMNS: &str = "launch,kernel,grid,block,dynamic_local_bytes,nanoseconds,cycles";

/// Columns of the table of power samples.
const SAMPLE_COLUMNS: &str =
    "seconds,watts,instant_watts,millijoules,unit_mhz,memory_mhz,celsius,throttling";

/// Formats a value that may be missing: an empty cell, or the value.
fn cell<T>(value: Option<T>, format: impl Fn(T) -> String) -> String {
    value.map(format).unwrap_or_default()
}

/// Formats cells as a line, with quotes where they are needed.
fn line<T: AsRef<[u8]>>(cells: impl IntoIterator<Item = T>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = writer.write_record(cells);
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the lines above a table of measurements: the device, this program, the columns of
/// [`samples`] that the device fills, and the columns.
pub fn measurements_head(device: &Properties, program: &str, sampled: &str) -> String {
    format!(
        "{}# measured by: {program}\n# sampled: {sampled}\n{}",
        head(device),
        line(MEASUREMENT_COLUMNS)
    )
}

/// Formats a measurement as a line of the table.
pub fn measurement(labels: Labels<'_>, measured: &Measurement) -> String {
    let [least, median, most] = measured.milliseconds();
    let repeated = &measured.repeated;
    let (graph, conditions) = (measured.graph, measured.conditions);
    let number = |value: Option<f64>| cell(value, |value| format!("{value:.6}"));
    let whole = |value: Option<u32>| cell(value, |value| value.to_string());
    line([
        labels.algorithm.to_owned(),
        labels.strategy.to_owned(),
        labels.graph.to_owned(),
        labels.pass.to_string(),
        measured.program.clone(),
        whole(graph.map(|graph| graph.vertices)),
        whole(graph.map(|graph| graph.arcs)),
        cell(graph, |graph| format!("{:016x}", graph.hash)),
        repeated.rounds.to_string(),
        repeated.launches.to_string(),
        repeated.nanoseconds.len().to_string(),
        format!("{median:.6}"),
        format!("{least:.6}"),
        format!("{most:.6}"),
        number(repeated.gaps().map(|nanoseconds| nanoseconds / 1e6)),
        number(measured.energy.counter),
        number(measured.energy.trapezoid),
        number(measured.watts),
        number(measured.watts_above_idle),
        whole(conditions.unit_mhz),
        whole(conditions.memory_mhz),
        whole(conditions.celsius),
        format!("{:.6}", measured.window.from),
        format!("{:.6}", measured.window.to),
        repeated.passed().to_string(),
        measured.marks.join("; "),
    ])
}

/// Returns the lines above a table of launches within measurements.
pub fn timed_launches_head(device: &Properties) -> String {
    format!(
        "{}algorithm,strategy,graph,pass,{LAUNCH_COLUMNS}\n",
        head(device)
    )
}

/// Formats the timed launches of a measurement, a line each.
pub fn timed_launches(labels: Labels<'_>, device: &Properties, launches: &[TimedLaunch]) -> String {
    let pass = labels.pass.to_string();
    let names = [labels.algorithm, labels.strategy, labels.graph, &pass];
    let mut text = String::new();
    for (number, launch) in launches.iter().enumerate() {
        let cells = launch_cells(device, number, launch);
        let cells = names.iter().map(|name| (*name).to_owned()).chain(cells);
        text.push_str(&line(cells));
    }
    text
}

/// Formats all power samples, a line each.
pub fn samples(device: &Properties, samples: &Samples) -> String {
    let mut text = format!("{}{SAMPLE_COLUMNS}\n", head(device));
    for sample in samples.all() {
        let reading = sample.reading;
        let number = |value: Option<f64>| cell(value, |value| format!("{value:.3}"));
        let whole = |value: Option<u32>| cell(value, |value| value.to_string());
        let _ = writeln!(
            text,
            "{:.6},{},{},{},{},{},{},{}",
            sample.seconds,
            number(reading.watts),
            number(reading.instant_watts),
            cell(reading.millijoules, |value| value.to_string()),
            whole(reading.unit_mhz),
            whole(reading.memory_mhz),
            whole(reading.celsius),
            cell(reading.throttling, |value| format!("{value:#x}")),
        );
    }
    text
}

fn head(device: &Properties) -> String {
    let Properties {
        name,
        driver,
        capability,
        units,
        unit_clock_khz,
        memory_clock_khz,
        l2_bytes,
        bus: _,
    } = device;
    format!(
        "# device: {name}, compute capability {capability}, {units} units, L2 of {l2_bytes} bytes\n# driver: CUDA {driver}\n# clocks as reported by the driver: units {unit_clock_khz} kHz, memory {memory_clock_khz} kHz\n"
    )
}

/// Formats a row for each launch. `cycles` is its duration in cycles of the units' stated clock.
pub fn launches(device: &Properties, program: &str, launches: &[TimedLaunch]) -> String {
    let mut text = format!("{}# program: {program}\n{LAUNCH_COLUMNS}\n", head(device));
    for (number, launch) in launches.iter().enumerate() {
        text.push_str(&line(launch_cells(device, number, launch)));
    }
    text
}

/// Formats the cells of a launch.
fn launch_cells(device: &Properties, number: usize, timed: &TimedLaunch) -> [String; 7] {
    let TimedLaunch {
        launch,
        nanoseconds,
    } = timed;
    let shape = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
    let cycles = nanoseconds * f64::from(device.unit_clock_khz) / 1e6;
    [
        number.to_string(),
        launch.kernel.clone(),
        shape(launch.grid),
        shape(launch.block),
        launch.dynamic_local_bytes.to_string(),
        format!("{nanoseconds:.0}"),
        format!("{cycles:.0}"),
    ]
}

/// Formats a row for each measured figure. A figure that cannot be true has no values, and the
/// reason in the last column.
pub fn figures(device: &Properties, figures: &[Figure]) -> String {
    let mut text = head(device);
    text.push_str("measure,what,size,median,low,high,unit,check\n");
    for figure in figures {
        let values = figure.values().filter(|_| figure.refused.is_none());
        let value = |at: usize| cell(values, |values| format!("{:.4}", values[at]));
        let refused = figure.refused.as_ref();
        text.push_str(&line([
            figure.measure.to_owned(),
            figure.what.clone(),
            figure.size.to_string(),
            value(0),
            value(1),
            value(2),
            figure.unit.to_owned(),
            refused.map_or("ok".to_owned(), |reason| format!("refused: {reason}")),
        ]));
    }
    text
}
