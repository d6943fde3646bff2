//! Tables of the report for people and for other tools: program scale and energy.

use warpweave_systems::report::CsvTable;

use super::number::number;
use crate::judge::{BaselineRun, Bounds, Interval, StudiedEnergy, StudiedShares, Study};
use crate::scale::Program;

/// Column names of the file `scale.csv`.
const SCALE: [&str; 19] = [
    "workload",
    "work_groups_per_unit",
    "slots_without_wavefront",
    "line_bytes",
    "l1_bytes_one",
    "l1_bytes",
    "l2_bytes",
    "footprint_bytes",
    "footprint_per_l1",
    "footprint_per_l2",
    "thread_instructions",
    "bytes_per_thread_instruction",
    "line_accesses",
    "cold",
    "within_l1",
    "within_l2",
    "beyond",
    "median_distance_lines",
    "unknown",
];

/// Column names of the file `energy.csv`.
const ENERGY: [&str; 7] = [
    "point",
    "workload",
    "quantity",
    "coefficient",
    "ratio",
    "low",
    "high",
];

/// Column names of the file `gates.csv`.
const GATES: [&str; 9] = [
    "finding", "metric", "of", "relation", "bound", "median", "low", "high", "met",
];

/// Column names of the file `launches.csv`.
const LAUNCHES: [&str; 9] = [
    "metric", "point", "workload", "group", "launch", "kernel", "median", "least", "most",
];

/// Column names of the file `shares.csv`.
const SHARES: [&str; 8] = [
    "metric", "variant", "workload", "what", "of", "mean", "low", "high",
];

/// Table row of one program, formatted for the page.
pub(crate) struct ScaleRow {
    /// Name of the workload in this row.
    pub(crate) name: String,
    /// Cells in the order of [`SCALE_HEADS`].
    pub(crate) cells: [String; SCALE_HEADS.len()],
    /// Reason why the row has no numbers, if so.
    pub(crate) unknown: Option<String>,
}

/// Column headings of the scale table on the page.
pub(crate) const SCALE_HEADS: [&str; 10] = [
    "footprint, KiB",
    "/ all L1",
    "/ L2",
    "bytes / thread instr.",
    "cold, %",
    "in an L1, %",
    "in the L2, %",
    "beyond, %",
    "median, lines",
    "idle end, %",
];

/// Explanation of the scale table's columns for readers.
pub(crate) const SCALE_WORDS: &str = "Global memory of the baseline's first pair, from its trace and independent of timing. Line accesses are counted per instruction, work-group by work-group. Cold: the first access to a line. In an L1, in the L2 and beyond: later accesses, by reuse distance, which is the number of distinct lines accessed in between (the median is of these distances). Idle end, for workloads with few work-groups per unit: issue slots without any wavefront, over the whole run.";

/// Explanation of the headroom table for readers.
pub(crate) const HEADROOM_WORDS: &str = "headroom of the programs: one run each on the baseline with further overrides; speed is the inverse of the cycles in which kernels ran, relative to the baseline";

/// Returns a row for each program; empty if they were not measured.
pub(crate) fn scale_rows(study: &Study) -> Vec<ScaleRow> {
    let programs = study.scale.iter().flat_map(|scale| &scale.programs);
    programs
        .map(|program| {
            let known = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), number);
            let percent = |value: Option<f64>| known(value.map(|part| part * 100.0));
            let [cold, within_l1, within_l2, beyond] = program.parts().map(percent);
            let footprint = program.footprint.as_ref().ok();
            let median = footprint.and_then(|found| found.median);
            let idle = work_of(study, program).filter(|work| work.has_a_long_end());
            ScaleRow {
                name: program.workload.clone(),
                cells: [
                    known(program.bytes().map(|bytes| bytes as f64 / 1024.0)),
                    known(program.per_l1()),
                    known(program.per_l2()),
                    known(program.bytes_per_thread_instruction()),
                    cold,
                    within_l1,
                    within_l2,
                    beyond,
                    median.map_or_else(|| "—".to_owned(), |lines| lines.to_string()),
                    percent(idle.and_then(|work| work.slots_without_wavefront)),
                ],
                unknown: program.footprint.as_ref().err().cloned(),
            }
        })
        .collect()
}

fn work_of<'s>(study: &'s Study, program: &Program) -> Option<&'s BaselineRun> {
    study
        .work
        .iter()
        .find(|work| work.workload == program.workload)
}

/// Returns the contents of `scale.csv`. Unknown values are empty.
pub(super) fn scale_csv(study: &Study) -> String {
    let mut table = CsvTable::new(&SCALE);
    for program in study.scale.iter().flat_map(|scale| &scale.programs) {
        let real = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        let whole = |value: Option<u64>| value.map_or_else(String::new, |v| v.to_string());
        let size = |bytes: u64| whole((bytes > 0).then_some(bytes));
        let footprint = program.footprint.as_ref().ok();
        let work = work_of(study, program);
        let [cold, within_l1, within_l2, beyond] = program.parts().map(real);
        let caches = program.caches;
        let fields: [String; SCALE.len()] = [
            program.workload.clone(),
            real(work.and_then(|work| work.work_groups_per_unit)),
            real(work.and_then(|work| work.slots_without_wavefront)),
            caches.line_bytes.to_string(),
            size(caches.one_l1_bytes),
            size(caches.l1_bytes),
            size(caches.l2_bytes),
            whole(program.bytes()),
            real(program.per_l1()),
            real(program.per_l2()),
            whole(footprint.map(|found| found.thread_instructions)),
            real(program.bytes_per_thread_instruction()),
            whole(footprint.map(|found| found.line_accesses)),
            cold,
            within_l1,
            within_l2,
            beyond,
            whole(footprint.and_then(|found| found.median)),
            program
                .footprint
                .as_ref()
                .err()
                .cloned()
                .unwrap_or_default(),
        ];
        table.row(fields);
    }
    table.take()
}

/// Returns the contents of `headroom.csv`: a row for each machine and program. Unknown values are
/// empty.
pub(super) fn headroom_csv(study: &Study) -> Option<String> {
    let first = study.work.iter().find_map(|work| work.headroom.first())?;
    let mut columns = vec!["workload", "machine", "speed"];
    columns.extend(first.shown.iter().map(|(name, _)| name.as_str()));
    let mut table = CsvTable::new(&columns);
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for work in &study.work {
        for row in &work.headroom {
            let mut fields = vec![work.workload.clone(), row.machine.clone(), text(row.speed)];
            fields.extend(row.shown.iter().map(|(_, value)| text(*value)));
            table.row(fields);
        }
    }
    Some(table.take())
}

/// Returns the contents of `energy.csv`: ratios over the ranges of all coefficients, then of each
/// alone.
pub(super) fn energy_csv(energy: &StudiedEnergy) -> String {
    let mut table = CsvTable::new(&ENERGY);
    let mut line = |of: [&str; 4], bounds: Bounds| {
        let [ratio, low, high] =
            [bounds.nominal, bounds.low, bounds.high].map(|value| value.to_string());
        let [point, workload, quantity, coefficient] = of;
        table.row([point, workload, quantity, coefficient, &ratio, &low, &high]);
    };
    for row in &energy.rows {
        let of_mean = ("mean".to_owned(), row.energy, row.edp);
        for (workload, of_energy, of_edp) in std::iter::once(&of_mean).chain(&row.workloads) {
            line([&row.point, workload, "energy", ""], *of_energy);
            line([&row.point, workload, "edp", ""], *of_edp);
        }
        for (coefficient, at_least, at_most) in &row.tornado {
            let alone = Bounds {
                low: at_least.min(*at_most),
                nominal: row.energy.nominal,
                high: at_least.max(*at_most),
            };
            line([&row.point, "mean", "energy", coefficient], alone);
        }
    }
    table.take()
}

/// Returns the contents of `gates.csv`: every gate of every finding. Undefined values are empty.
pub(super) fn gates_csv(study: &Study) -> String {
    let mut table = CsvTable::new(&GATES);
    for claim in &study.claims {
        for gate in &claim.gates {
            let known = |of: fn(Interval) -> f64| {
                let value = gate.value.map(of);
                value.map_or_else(String::new, |value| value.to_string())
            };
            table.row([
                &claim.name,
                &gate.metric,
                &gate.of,
                gate.relation(),
                &gate.bound.to_string(),
                &known(|value| value.median),
                &known(|value| value.low),
                &known(|value| value.high),
                &u8::from(gate.is_met()).to_string(),
            ]);
        }
    }
    table.take()
}

/// Returns the contents of `launches.csv`: every launch that a metric measures, at every point.
pub(super) fn launches_csv(study: &Study) -> String {
    let mut table = CsvTable::new(&LAUNCHES);
    for metric in &study.metrics {
        for row in metric.launches.iter().flat_map(|launches| &launches.rows) {
            let [median, least, most] = [row.median, row.least, row.most].map(|v| v.to_string());
            table.row([
                &metric.name,
                &row.point,
                &row.workload,
                &row.group,
                &row.launch.to_string(),
                &row.kernel,
                &median,
                &least,
                &most,
            ]);
        }
    }
    table.take()
}

/// Returns the contents of `shares.csv`: total change, share of each axis and interaction of each
/// pair. There are rows for each workload and for the mean.
pub(super) fn shares_csv(all: &[StudiedShares]) -> String {
    let mut table = CsvTable::new(&SHARES);
    for shares in all {
        for row in &shares.rows {
            let workload = row.workload.as_deref().unwrap_or("mean");
            let mut line = |what: &str, of: &str, value: &Interval| {
                let [mean, low, high] =
                    [value.median, value.low, value.high].map(|v| v.to_string());
                let (metric, variant) = (shares.metric.as_str(), shares.variant.as_str());
                table.row([metric, variant, workload, what, of, &mean, &low, &high]);
            };
            line("whole", "", &row.whole);
            for (axis, value) in &row.shares {
                line("share", axis, value);
            }
            for (a, b, value) in &row.interactions {
                line("interaction", &format!("{a} × {b}"), value);
            }
        }
    }
    table.take()
}
