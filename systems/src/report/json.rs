//! Report as one JSON object with stable keys.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use warpweave_framework::{InstanceStatistics, Reason, Statistic, Value};
use warpweave_params::printable_json;

use super::evidence::Slots;
use super::roofline::Roofline;
use super::{Host, Report, SCHEMA_VERSION};
use crate::energy::EnergyReport;
use crate::host_program::CheckResult;
use crate::run::{Interval, KernelResult, Part, RegionResult, Simulated};
use crate::scenario::AppliedOverride;
use crate::taps::RequestsAt;

impl Report {
    /// Returns the report as indented JSON. Everything outside `host` is the same for equal runs.
    pub fn to_json(&self) -> String {
        self.json(Some(&self.host))
    }

    /// Returns the JSON without `host`: equal bytes for equal runs.
    pub fn to_json_without_host(&self) -> String {
        self.json(None)
    }

    fn json(&self, host: Option<&Host>) -> String {
        let simulated = &self.simulated;
        let object = Object {
            schema_version: SCHEMA_VERSION,
            scenario: &self.scenario,
            summary: &self.summary,
            overrides: &self.overrides,
            verdict: Verdict::of(self),
            totals: Totals::of(simulated),
            kernels: simulated
                .kernels
                .iter()
                .map(|kernel| Kernel::of(kernel, simulated))
                .collect(),
            parts: Parts::of(simulated),
            energy: simulated.energy.as_ref(),
            stats: Instances(&simulated.statistics),
            activity: Activities(&simulated.activity.instances),
            host,
        };
        let text = serde_json::to_string_pretty(&object);
        printable_json(&text.expect("every key is text and every number finite")).into_owned()
    }
}

/// Report as a JSON object. Its parts have no objects of their own: their keys are keys of the
/// report.
#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    scenario: &'a str,
    summary: &'a str,
    overrides: &'a [AppliedOverride],
    #[serde(flatten)]
    verdict: Verdict<'a>,
    #[serde(flatten)]
    totals: Totals<'a>,
    kernels: Vec<Kernel<'a>>,
    #[serde(flatten)]
    parts: Parts<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    energy: Option<&'a EnergyReport>,
    stats: Instances<'a>,
    activity: Activities<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a Host>,
}

/// Status of the run, and the checks of the program's results.
#[derive(Serialize)]
struct Verdict<'a> {
    status: &'static str,
    detail: Option<&'a str>,
    verified: Option<bool>,
    verified_note: Option<&'static str>,
    checks: Vec<Check<'a>>,
}

impl<'a> Verdict<'a> {
    fn of(report: &'a Report) -> Self {
        Self {
            status: report.status.name(),
            detail: report.status.detail(),
            verified: report.verified,
            verified_note: report.verified_note(),
            checks: report.checks.iter().map(Check::of).collect(),
        }
    }
}

/// Totals of the whole run, over all kernels.
#[derive(Serialize)]
struct Totals<'a> {
    cycles: u64,
    simulated_s: f64,
    wavefront_instructions: u64,
    thread_instructions: u64,
    ipc: f64,
    occupancy: Option<f64>,
    kernel_time: KernelTimeObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    roofline: Option<Roofline>,
    core_clock: &'a str,
}

impl<'a> Totals<'a> {
    fn of(simulated: &'a Simulated) -> Self {
        let slots = Slots::of(&simulated.statistics).in_kernels(&simulated.kernel_time);
        Self {
            cycles: simulated.cycles,
            simulated_s: simulated.seconds,
            wavefront_instructions: simulated.wavefront_instructions,
            thread_instructions: simulated.thread_instructions,
            ipc: simulated.ipc(),
            occupancy: simulated.occupancy,
            roofline: Roofline::of(simulated, &slots),
            kernel_time: KernelTimeObject::of(simulated, slots),
            core_clock: &simulated.core_clock,
        }
    }
}

/// Measurements of parts of the run, each only if it was requested.
#[derive(Serialize)]
struct Parts<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<RegionObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside_kernels: Option<Instances<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overlaps: Vec<Overlap<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Vec<IntervalObject<'a>>>,
}

impl<'a> Parts<'a> {
    fn of(simulated: &'a Simulated) -> Self {
        let measured = &simulated.measured;
        let intervals = measured.intervals.as_ref();
        Self {
            region: simulated.region.as_ref().map(RegionObject::of),
            outside_kernels: measured.outside_kernels.as_deref().map(Instances),
            overlaps: measured.overlaps.iter().map(Overlap::of).collect(),
            intervals: intervals.map(|all| all.iter().map(IntervalObject::of).collect()),
        }
    }
}

/// Time in which kernels ran, with what the machine did in it.
#[derive(Serialize)]
struct KernelTimeObject {
    cycles: u64,
    run_cycles: u64,
    occupancy: Option<f64>,
    slots: Pairs,
}

impl KernelTimeObject {
    fn of(simulated: &Simulated, slots: Slots) -> Self {
        let time = &simulated.kernel_time;
        let totals = slots.totals();
        Self {
            cycles: time.cycles,
            run_cycles: time.run_cycles,
            occupancy: simulated.occupancy_in_kernels(),
            slots: Pairs(slots.names.into_iter().zip(totals).collect()),
        }
    }
}

/// Map with its entries in their own order.
struct Pairs(Vec<(String, u64)>);

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, count)| (name, count)))
    }
}

#[derive(Serialize)]
pub(super) struct Check<'a> {
    buffer: &'a str,
    reference: &'a str,
    passed: bool,
    detail: &'a str,
}

impl<'a> Check<'a> {
    pub(super) fn of(check: &'a CheckResult) -> Self {
        Self {
            buffer: &check.buffer,
            reference: &check.reference,
            passed: check.passed,
            detail: &check.detail,
        }
    }
}

#[derive(Serialize)]
struct Kernel<'a> {
    number: u32,
    name: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    registers: u32,
    #[serde(flatten)]
    times: Times,
    wavefront_instructions: u64,
    thread_instructions: u64,
    ipc: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Instances<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<Requests<'a>>,
}

impl<'a> Kernel<'a> {
    fn of(kernel: &'a KernelResult, simulated: &'a Simulated) -> Self {
        let measured = simulated.measured.kernels.as_ref();
        let stats = measured.and_then(|k| k.get(&kernel.number));
        let requests = simulated.requests_by_kernel.get(&kernel.number);
        Self {
            number: kernel.number,
            name: &kernel.name,
            grid: kernel.grid,
            block: kernel.block,
            registers: kernel.registers,
            times: Times::of(kernel),
            wavefront_instructions: kernel.wavefront_instructions,
            thread_instructions: kernel.thread_instructions,
            ipc: kernel.ipc(),
            part: kernel.part,
            stats: stats.map(|stats| Instances(stats)),
            requests: requests.map(|requests| Requests(requests)),
        }
    }
}

/// Core cycles of a launch: when it reached which stage, and how long it took.
#[derive(Serialize)]
struct Times {
    launched: Option<u64>,
    started: Option<u64>,
    completed: Option<u64>,
    cycles: Option<u64>,
    run_cycles: Option<u64>,
}

impl Times {
    fn of(kernel: &KernelResult) -> Self {
        Self {
            launched: kernel.launched,
            started: kernel.started,
            completed: kernel.completed,
            cycles: kernel.cycles(),
            run_cycles: kernel.run_cycles(),
        }
    }
}

/// Map of port pattern to name to value and unit.
struct Requests<'a>(&'a [RequestsAt]);

impl Serialize for Requests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ports = self.0.iter().map(|ports| &ports.statistics);
        serializer.collect_map(ports.map(|ports| (&ports.path, Named(&ports.values))))
    }
}

/// Simulated part of the program, as a JSON object.
#[derive(Serialize)]
struct RegionObject {
    outside: &'static str,
    /// Number of launches in the program; the next fields split it by treatment.
    launches: u32,
    region: u32,
    before: u32,
    warmed: u32,
    skipped: u32,
    cycles: Option<u64>,
    wavefront_instructions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<EstimateObject>,
}

/// Estimated duration of the program from a sample, as a JSON object.
#[derive(Serialize)]
struct EstimateObject {
    cycles: u64,
    low: u64,
    high: u64,
    confidence: f64,
    launches: u32,
    simulated: u32,
    whole: bool,
}

impl RegionObject {
    fn of(region: &RegionResult) -> Self {
        let estimate = region.estimate.as_ref().map(|estimate| EstimateObject {
            cycles: estimate.cycles,
            low: estimate.interval[0],
            high: estimate.interval[1],
            confidence: 0.95,
            launches: estimate.launches,
            simulated: estimate.simulated,
            whole: estimate.whole,
        });
        Self {
            outside: region.outside.name(),
            launches: region.launches,
            region: region.count(Part::Region),
            before: region.count(Part::Before),
            warmed: region.count(Part::Warmed),
            skipped: region.count(Part::Skipped),
            cycles: region.cycles,
            wavefront_instructions: region.wavefront_instructions,
            estimate,
        }
    }
}

/// Kernels that ran concurrently, with their statistics.
#[derive(Serialize)]
struct Overlap<'a> {
    kernels: &'a [u32],
    stats: Instances<'a>,
}

impl<'a> Overlap<'a> {
    fn of((kernels, statistics): &'a (Vec<u32>, Vec<InstanceStatistics>)) -> Self {
        Self {
            kernels,
            stats: Instances(statistics),
        }
    }
}

#[derive(Serialize)]
struct IntervalObject<'a> {
    from_cycle: u64,
    to_cycle: u64,
    stats: Instances<'a>,
}

impl<'a> IntervalObject<'a> {
    fn of(interval: &'a Interval) -> Self {
        Self {
            from_cycle: interval.from_cycle,
            to_cycle: interval.to_cycle,
            stats: Instances(&interval.statistics),
        }
    }
}

/// Map of instance path to name to value and unit.
struct Instances<'a>(&'a [InstanceStatistics]);

impl Serialize for Instances<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|i| (&i.path, Named(&i.values))))
    }
}

struct Named<'a>(&'a [Statistic]);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|s| (&s.name, One(s))))
    }
}

struct One<'a>(&'a Statistic);

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.value {
            Value::Counter(n) | Value::Number(n) => map.serialize_entry("value", n)?,
            Value::Gauge(x) => map.serialize_entry("value", &x.is_finite().then_some(*x))?,
            Value::Ratio { part, whole } => {
                let value = (*whole > 0).then(|| *part as f64 / *whole as f64);
                map.serialize_entry("value", &value)?;
                map.serialize_entry("part", part)?;
                map.serialize_entry("whole", whole)?;
            }
            Value::Histogram(h) => {
                map.serialize_entry("value", &h.mean())?;
                map.serialize_entry("count", &h.count())?;
                map.serialize_entry("sum", &h.sum())?;
                map.serialize_entry("min", &h.min())?;
                map.serialize_entry("max", &h.max())?;
                map.serialize_entry("power_of_two_buckets", h.buckets())?;
            }
            Value::Series(s) => {
                map.serialize_entry("value", s.sums())?;
                map.serialize_entry("interval_cycles", &s.interval())?;
            }
        }
        map.serialize_entry("unit", self.0.unit)?;
        let combination = self.0.combination;
        map.serialize_entry("combination", combination.name())?;
        if let Some(weight) = combination.weight() {
            map.serialize_entry("weight", weight)?;
        }
        map.end()
    }
}

/// Map of instance path to reason to cycles.
struct Activities<'a>(&'a [(String, String, [u64; Reason::ALL.len()])]);

impl Serialize for Activities<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(path, _, cycles)| (path, Reasons(cycles))),
        )
    }
}

struct Reasons<'a>(&'a [u64; Reason::ALL.len()]);

impl Serialize for Reasons<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Reason::ALL.iter().zip(self.0).map(|(r, c)| (r.name(), c)))
    }
}
