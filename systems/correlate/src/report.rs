//! Launches from the report of a run.

use serde::Deserialize;
use warpweave_params::name_hint;
use warpweave_systems::report::SCHEMA_VERSION;

use crate::launch::{Counted, OwnLaunch, OwnRun, Places};
use crate::sums::Sums;

/// Begin of the cycles of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CyclesFrom {
    /// The launch, or the completion before it where that is later.
    #[default]
    Launch,
    /// The first work-group that was sent to a compute unit.
    FirstWorkGroup,
}

/// Patterns of parts of the machine as given by the user.
#[derive(Clone, Debug, Default)]
pub struct PlaceNames {
    pub units: Option<String>,
    pub l1: Option<String>,
    pub l2: Option<String>,
    pub dram: Option<String>,
}

#[derive(Deserialize)]
struct ReportObject {
    schema_version: u32,
    #[serde(default)]
    kernels: Vec<KernelObject>,
    roofline: Option<RooflineObject>,
    stats: Sums,
}

#[derive(Deserialize)]
struct RooflineObject {
    issue_ceiling: f64,
    memory_peak: Option<f64>,
}

#[derive(Deserialize)]
struct KernelObject {
    number: u32,
    name: String,
    grid: [u32; 3],
    block: [u32; 3],
    launched: Option<u64>,
    started: Option<u64>,
    completed: Option<u64>,
    wavefront_instructions: u64,
    thread_instructions: u64,
    registers: Option<u32>,
    stats: Option<Sums>,
}

impl KernelObject {
    /// Returns the cycles of the launch. `before` is the last completion of an earlier launch.
    fn cycles(&self, from: CyclesFrom, before: u64) -> Result<u64, &'static str> {
        let completed = self.completed.ok_or("the launch did not complete")?;
        let begin = match from {
            CyclesFrom::Launch => self.launched.map(|launched| launched.max(before)),
            CyclesFrom::FirstWorkGroup => self.started,
        };
        let begin = begin.ok_or("the launch did not start")?;
        completed.checked_sub(begin).ok_or(BESIDE)
    }
}

const BESIDE: &str = "other kernels ran at the same time";
const NOT_MEASURED: &str = "the run was not measured by kernel: `--set measure.kernels=true`";

/// Returns the launches of a run from the text of its report.
///
/// # Errors
/// Returns a message if the text is no report of this version, or if a pattern names no part.
pub fn run_of_report(
    name: &str,
    json: &str,
    from: CyclesFrom,
    names: &PlaceNames,
) -> Result<OwnRun, String> {
    let report: ReportObject =
        serde_json::from_str(json).map_err(|error| format!("this is not a run report: {error}"))?;
    if report.schema_version != SCHEMA_VERSION {
        return Err(format!(
            "the report has version {}, but this program reads version {SCHEMA_VERSION}",
            report.schema_version
        ));
    }
    let places = Places::of(&report.stats, names)?;
    let beside = beside_others(&report.kernels);
    let ceilings = report
        .roofline
        .and_then(|of| Some((of.issue_ceiling, of.memory_peak?)));
    let is_alone = report.kernels.len() == 1;
    let mut whole = Some(report.stats);
    let mut before = 0;
    let mut launches = Vec::new();
    for (kernel, beside) in report.kernels.into_iter().zip(beside) {
        let cycles = kernel.cycles(from, before);
        before = before.max(kernel.completed.unwrap_or(0));
        // Those of the run are exact; those of a kernel begin and end a few cycles later.
        let own = whole.take().filter(|_| is_alone).or(kernel.stats);
        let sums = if beside {
            Err(BESIDE)
        } else {
            own.ok_or(NOT_MEASURED)
        };
        launches.push(OwnLaunch {
            number: kernel.number,
            kernel: kernel.name,
            grid: kernel.grid,
            block: kernel.block,
            wavefront_instructions: kernel.wavefront_instructions,
            thread_instructions: kernel.thread_instructions,
            registers: kernel.registers,
            counted: Counted::Timed {
                cycles: if beside { Err(BESIDE) } else { cycles },
                sums,
            },
        });
    }
    Ok(OwnRun {
        name: name.to_owned(),
        launches,
        places,
        ceilings,
    })
}

/// Returns for each launch whether another one ran at the same time.
fn beside_others(kernels: &[KernelObject]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..kernels.len()).collect();
    order.sort_by_key(|at| kernels[*at].started.unwrap_or(u64::MAX));
    let mut beside = vec![false; kernels.len()];
    let mut latest: Option<(u64, usize)> = None;
    for at in order {
        let Some(started) = kernels[at].started else {
            continue;
        };
        let end = kernels[at].completed.unwrap_or(u64::MAX);
        if let Some((until, other)) = latest
            && started < until
        {
            beside[at] = true;
            beside[other] = true;
        }
        if latest.is_none_or(|(until, _)| end > until) {
            latest = Some((end, at));
        }
    }
    beside
}

impl Places {
    /// Finds the parts of a machine by their names and statistics, unless they are given.
    fn of(stats: &Sums, names: &PlaceNames) -> Result<Self, String> {
        let has = |pattern: &str, name: &str| stats.get(pattern, name).is_some();
        let last = |pattern: &str| {
            let last = pattern.rsplit('.').next().unwrap_or_default();
            last.split('[').next().unwrap_or_default().to_owned()
        };
        let find = |given: &Option<String>, option: &str, fits: &dyn Fn(&str) -> bool| {
            let Some(given) = given else {
                return Ok(stats
                    .patterns()
                    .find(|pattern| fits(pattern))
                    .map(str::to_owned));
            };
            if stats.patterns().any(|pattern| pattern == given) {
                return Ok(Some(given.clone()));
            }
            let hint = name_hint(given, "parts", stats.patterns());
            Err(format!(
                "--{option} {given}: the run has no such parts\nhint: {hint}"
            ))
        };
        let is_cache = |pattern: &str, names: &[&str]| {
            has(pattern, "read_hits") && names.contains(&last(pattern).as_str())
        };
        Ok(Self {
            units: find(&names.units, "units", &|pattern| {
                has(pattern, "cycles_with_wavefronts")
            })?,
            l1: find(&names.l1, "l1", &|pattern| {
                is_cache(pattern, &["l1", "l1d"])
            })?,
            l2: find(&names.l2, "l2", &|pattern| is_cache(pattern, &["l2"]))?,
            dram: find(&names.dram, "dram", &|pattern| {
                has(pattern, "activates") && has(pattern, "bytes")
            })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn counter(value: u64) -> Value {
        json!({"value": value, "unit": "", "combination": "sum"})
    }

    fn kernel(number: u32, times: [u64; 3], stats: Option<Value>) -> Value {
        let mut kernel = json!({
            "number": number, "name": "k", "grid": [1, 1, 1], "block": [32, 1, 1],
            "launched": times[0], "started": times[1], "completed": times[2],
            "wavefront_instructions": 3, "thread_instructions": 96,
        });
        if let Some(stats) = stats {
            kernel["stats"] = stats;
        }
        kernel
    }

    fn report(kernels: &[Value]) -> String {
        json!({
            "schema_version": 2, "kernels": kernels,
            "stats": {
                "cluster[0].cu[0]": {"cycles_with_wavefronts": counter(9)},
                "cluster[0].l1[0]": {"read_hits": counter(1), "read_sectors": counter(5)},
                "cluster[0].l1c[0]": {"read_hits": counter(1)},
                "l2[0]": {"read_hits": counter(1)},
                "dram": {"activates": counter(1), "bytes": counter(64)},
            },
        })
        .to_string()
    }

    fn run(json: &str, from: CyclesFrom) -> Result<OwnRun, String> {
        run_of_report("r", json, from, &PlaceNames::default())
    }

    fn cycles(run: &OwnRun) -> Vec<Result<u64, &'static str>> {
        let of = |launch: &OwnLaunch| match &launch.counted {
            Counted::Timed { cycles, .. } => *cycles,
            Counted::Traced(_) => Err("traced"),
        };
        run.launches.iter().map(of).collect()
    }

    #[test]
    fn a_launch_that_waited_for_another_counts_from_its_completion() {
        let json = report(&[
            kernel(0, [10, 30, 100], None),
            kernel(1, [20, 105, 150], None),
        ]);
        assert_eq!(
            cycles(&run(&json, CyclesFrom::Launch).unwrap()),
            [Ok(90), Ok(50)]
        );
        let from_group = run(&json, CyclesFrom::FirstWorkGroup).unwrap();
        assert_eq!(cycles(&from_group), [Ok(70), Ok(45)]);
    }

    #[test]
    fn launches_that_ran_at_the_same_time_have_no_cycles_of_their_own() {
        let stats = Some(json!({}));
        let json = report(&[
            kernel(0, [0, 10, 100], stats.clone()),
            kernel(1, [0, 20, 90], stats.clone()),
            kernel(2, [95, 100, 150], stats),
        ]);
        let run = run(&json, CyclesFrom::Launch).unwrap();
        assert_eq!(cycles(&run), [Err(BESIDE), Err(BESIDE), Ok(50)]);
    }

    #[test]
    fn a_run_of_one_launch_needs_no_measurement_by_kernel() {
        let sums = |run: &OwnRun, at: usize| match &run.launches[at].counted {
            Counted::Timed { sums, .. } => sums.clone().map(|sums| {
                sums.get("cluster[*].l1[*]", "read_sectors")
                    .map(|sum| sum.value)
            }),
            Counted::Traced(_) => Err("traced"),
        };
        let one = run(&report(&[kernel(0, [0, 1, 2], None)]), CyclesFrom::Launch).unwrap();
        assert_eq!(sums(&one, 0), Ok(Some(5)));
        let two = report(&[
            kernel(0, [0, 1, 2], None),
            kernel(1, [3, 4, 5], Some(json!({}))),
        ]);
        let two = run(&two, CyclesFrom::Launch).unwrap();
        assert!(sums(&two, 0).unwrap_err().contains("measure.kernels=true"));
        assert_eq!(sums(&two, 1), Ok(None));
    }

    #[test]
    fn parts_of_the_machine_are_found_or_named() {
        let json = report(&[]);
        let run = run(&json, CyclesFrom::Launch).unwrap();
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            run.places,
            Places {
                units: some("cluster[*].cu[*]"),
                l1: some("cluster[*].l1[*]"),
                l2: some("l2[*]"),
                dram: some("dram"),
            }
        );
        let names = PlaceNames {
            l1: some("cluster[*].l1x[*]"),
            ..PlaceNames::default()
        };
        let error = run_of_report("r", &json, CyclesFrom::Launch, &names).unwrap_err();
        assert!(
            error.contains("--l1") && error.contains("cluster[*].l1[*]"),
            "{error}"
        );
    }

    #[test]
    fn other_json_is_refused_with_its_place() {
        let error = run("{\n \"schema_version\": 2}", CyclesFrom::Launch).unwrap_err();
        assert!(
            error.contains("not a run report") && error.contains("line 2"),
            "{error}"
        );
        let error = run("{\"schema_version\": 9, \"stats\": {}}", CyclesFrom::Launch);
        assert!(error.unwrap_err().contains("version 9"));
    }
}
