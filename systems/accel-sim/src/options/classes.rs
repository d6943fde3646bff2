//! Latencies and initiation intervals of the instruction classes.

use warpweave_params::Diagnostic;

use super::form::{LATENCY_MAX, PipeTiming, Unit, counts, pair};
use super::option_values::OptionValues;

/// Latency and initiation interval of each class, by its name in a compute unit.
pub(super) type Classes = Vec<(&'static str, PipeTiming)>;

/// Number of execution units of each kind, and of the schedulers that share them.
struct Units {
    schedulers: u32,
    int: u32,
    sp: u32,
    dp: u32,
    sfu: u32,
}

impl Units {
    fn of(given: &OptionValues, schedulers: u32) -> Result<Self, Diagnostic> {
        let count = |name, least| given.count(name, least..=1024, "units");
        let sp = count("-gpgpu_num_sp_units", 1)?;
        let sfu = count("-gpgpu_num_sfu_units", 1)?;
        let or = |count: u32, other: u32| if count == 0 { other } else { count };
        Ok(Self {
            schedulers,
            int: or(count("-gpgpu_num_int_units", 0)?, sp),
            sp,
            dp: or(count("-gpgpu_num_dp_units", 0)?, sfu),
            sfu,
        })
    }

    /// Returns the pace seen by one scheduler if all schedulers share `units` units.
    fn shared(&self, pace: PipeTiming, units: u32) -> PipeTiming {
        let interval = (pace.interval * self.schedulers).div_ceil(units.max(1));
        PipeTiming {
            interval: interval.clamp(1, LATENCY_MAX),
            ..pace
        }
    }
}

/// Paces of execution units before sharing among schedulers.
struct PipeTimings {
    int: [PipeTiming; 4],
    fp: [PipeTiming; 3],
    dp: [PipeTiming; 3],
    sfu: PipeTiming,
}

/// Returns the instruction classes of a compute unit with `schedulers` schedulers.
pub(super) fn classes(
    given: &OptionValues,
    schedulers: u32,
    notes: &mut Vec<String>,
) -> Result<Classes, Diagnostic> {
    let units = Units::of(given, schedulers)?;
    let traced = of_traces(given);
    let paces = if traced {
        let pace = |class: &str| pair(&given.value(&of_trace(class))?);
        let [int, sp, dp, sfu] = [pace("int")?, pace("sp")?, pace("dp")?, pace("sfu")?];
        PipeTimings {
            int: [int, int, sfu, int],
            fp: [sp, sp, sfu],
            dp: [dp, dp, dp],
            sfu,
        }
    } else {
        of_ptx(given, notes)?
    };
    let int = paces.int.map(|pace| units.shared(pace, units.int));
    let fp = paces.fp.map(|pace| units.shared(pace, units.sp));
    let dp = paces.dp.map(|pace| units.shared(pace, units.dp));
    let special = units.shared(paces.sfu, units.sfu);
    let with_special = |pace: PipeTiming| if traced { special } else { pace };
    let branch = match Unit::read(&given.value("-specialized_unit_1")?)? {
        unit if unit.on && unit.name == "BRA" => {
            let pace = pair(&given.value("-trace_opcode_latency_initiation_spec_op_1")?)?;
            units.shared(pace, unit.units)
        }
        _ => int[0],
    };
    let through = |pace: PipeTiming| PipeTiming {
        latency: (pace.latency + AROUND_UNIT).min(LATENCY_MAX),
        ..pace
    };
    let at_once = |pace: PipeTiming| PipeTiming { latency: 1, ..pace };
    let computes = [
        ("int_add", int[0]),
        ("int_mul", int[1]),
        ("int_div", with_special(int[2])),
        ("fp_add", fp[0]),
        ("fp_mul", fp[1]),
        ("fp_div", with_special(fp[2])),
        ("dp_add", dp[0]),
        ("dp_mul", dp[1]),
        ("dp_div", dp[2]),
        ("special", special),
        ("convert", int[0]),
        ("shuffle", int[3]),
        ("vote", int[0]),
    ];
    // A warp continues as soon as it has issued one of these.
    let controls = [("branch", branch), ("barrier", int[0]), ("fence", int[0])];
    let computes = computes.map(|(class, pace)| (class, through(pace)));
    let controls = controls.map(|(class, pace)| (class, at_once(pace)));
    let accesses = ["load", "store", "atomic"].map(|class| (class, ACCESS));
    let exit = PipeTiming {
        latency: 1,
        interval: 1,
    };
    let mut all = Vec::from(computes);
    all.extend(controls);
    all.extend(accesses);
    all.push(("exit", exit));
    Ok(all)
}

/// Returns the name of the option that sets a class's pace for traces.
fn of_trace(class: &str) -> String {
    format!("-trace_opcode_latency_initiation_{class}")
}

/// True if the options give paces for traces.
pub(super) fn of_traces(given: &OptionValues) -> bool {
    let mut classes = ["int", "sp", "dp", "sfu"].iter();
    classes.any(|class| given.is_given(&of_trace(class)))
}

/// Cycles that an instruction spends in pipeline registers: before and after its unit, and at
/// write-back.
pub(super) const AROUND_UNIT: u32 = 3;

/// Pace of an access from operand read to first request: into the unit, and out of it.
const ACCESS: PipeTiming = PipeTiming {
    latency: 2,
    interval: 1,
};

/// Latency and initiation interval of shuffles where the files give none.
const SHUFFLE: [u32; 2] = [32, 4];

/// Reads the paces for PTX programs: add, max, mul, mad, div, followed by shuffle.
fn of_ptx(given: &OptionValues, notes: &mut Vec<String>) -> Result<PipeTimings, Diagnostic> {
    let mut list = |class: &str| -> Result<Vec<PipeTiming>, Diagnostic> {
        let mut read = |what: &str, shuffle: u32| -> Result<Vec<u32>, Diagnostic> {
            let name = format!("-ptx_opcode_{what}_{class}");
            let value = given.value(&name)?;
            let mut cycles = counts(&value, ',', None)?;
            if class == "int" && cycles.len() == 5 {
                cycles.push(shuffle);
                let value = value.in_a_line();
                notes.push(format!(
                    "{name} {value}: the number for shuffles is absent, {shuffle} is assumed"
                ));
            }
            Ok(cycles)
        };
        let [latency, interval] = SHUFFLE;
        let (latencies, intervals) = (read("latency", latency)?, read("initiation", interval)?);
        let paces = latencies.iter().zip(intervals);
        let paces = paces.map(|(latency, interval)| PipeTiming {
            latency: (*latency).clamp(1, LATENCY_MAX),
            interval: interval.clamp(1, LATENCY_MAX),
        });
        Ok(paces.collect())
    };
    let (int, fp, dp) = (list("int")?, list("fp")?, list("dp")?);
    Ok(PipeTimings {
        int: [int[0], int[3], int[4], int[5]],
        fp: [fp[0], fp[3], fp[4]],
        dp: [dp[0], dp[3], dp[4]],
        sfu: list("sfu")?[0],
    })
}
