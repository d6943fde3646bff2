//! Quantities that are compared: where each side has them.

use crate::launch::{Counted, OwnLaunch, Places};
use crate::metric::REGISTERS;
use crate::profile::{Profile, ProfiledLaunch};
use crate::sums::{Sum, Sums};
use crate::traffic::{SECTOR_BYTES, Traffic};

/// Value of ours, or the reason that there is none.
pub(crate) type Own = Result<f64, &'static str>;

/// Quantity with its metrics in a profile and its value in a launch of ours.
pub(crate) struct Quantity {
    pub(crate) key: &'static str,
    /// Name that fits the head of a narrow column.
    pub(crate) head: &'static str,
    pub(crate) unit: &'static str,
    /// True for counts, which may be exactly equal.
    pub(crate) is_count: bool,
    /// Metrics of the profile with factors; the first that a launch has counts.
    theirs: &'static [(&'static str, f64)],
    ours: fn(&OwnLaunch, &Places) -> Own,
}

impl Quantity {
    /// Returns the value of a launch of ours.
    pub(crate) fn ours(&self, launch: &OwnLaunch, places: &Places) -> Own {
        (self.ours)(launch, places)
    }

    /// Returns the value of a launch of the profile.
    pub(crate) fn theirs(&self, profile: &Profile, launch: &ProfiledLaunch) -> Option<f64> {
        let values = self.theirs.iter();
        let mut values =
            values.map(|(metric, factor)| Some(profile.value(launch, metric)? * factor));
        values.find_map(|value| value)
    }

    /// Returns the name of the metric that a profile should have.
    pub(crate) fn metric(&self) -> &'static str {
        self.theirs[0].0
    }
}

/// Factor by which a number of bytes becomes sectors.
const PER_BYTE: f64 = 1.0 / SECTOR_BYTES as f64;

/// Positions of those quantities that others than the tables use.
pub(crate) const CYCLES: usize = 0;
pub(crate) const THREADS: usize = 3;
pub(crate) const DRAM_READS: usize = 14;
pub(crate) const DRAM_WRITES: usize = 15;

const fn count(
    [key, head, unit]: [&'static str; 3],
    theirs: &'static [(&'static str, f64)],
    ours: fn(&OwnLaunch, &Places) -> Own,
) -> Quantity {
    Quantity {
        key,
        head,
        unit,
        is_count: true,
        theirs,
        ours,
    }
}

const fn mean(
    [key, head, unit]: [&'static str; 3],
    theirs: &'static [(&'static str, f64)],
    ours: fn(&OwnLaunch, &Places) -> Own,
) -> Quantity {
    Quantity {
        is_count: false,
        ..count([key, head, unit], theirs, ours)
    }
}

/// All quantities in the order of their presentation; cycles are the first.
pub(crate) static QUANTITIES: [Quantity; 20] = [
    mean(
        ["cycles", "cycles", "cycles"],
        &[
            ("sm__cycles_elapsed.max", 1.0),
            ("gpc__cycles_elapsed.max", 1.0),
        ],
        |launch, _| match &launch.counted {
            Counted::Timed { cycles, .. } => cycles.map(|cycles| cycles as f64),
            Counted::Traced(_) => Err(NOT_TIMED),
        },
    ),
    mean(
        ["active_cycles", "active", "cycles"],
        &[("sm__cycles_active.avg", 1.0)],
        |launch, places| {
            let active = unit(launch, places, "cycles_with_wavefronts")?;
            Ok(active.value as f64 / active.instances as f64)
        },
    ),
    count(
        ["warp_instructions", "warp i", "instructions"],
        &[
            ("smsp__inst_executed.sum", 1.0),
            ("sm__inst_executed.sum", 1.0),
        ],
        |launch, _| Ok(launch.wavefront_instructions as f64),
    ),
    count(
        ["thread_instructions", "thread i", "instructions"],
        &[("smsp__thread_inst_executed.sum", 1.0)],
        |launch, _| Ok(launch.thread_instructions as f64),
    ),
    count(
        ["l1_load_requests", "ld req", "requests"],
        &[("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1.0)],
        |launch, places| {
            traced(
                launch,
                |traffic| traffic.load_requests,
                || loads(launch, places),
            )
        },
    ),
    count(
        ["l1_load_sectors", "ld sect", "sectors"],
        &[("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 1.0)],
        |launch, places| {
            traced(
                launch,
                |traffic| traffic.load_sectors,
                || sectors(launch, places.l1.as_ref(), NO_L1, "read_sectors"),
            )
        },
    ),
    count(
        ["l1_load_sector_hits", "ld hits", "sectors"],
        &[(
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
            1.0,
        )],
        |launch, places| sectors(launch, places.l1.as_ref(), NO_L1, "read_sector_hits"),
    ),
    count(
        ["l1_store_requests", "st req", "requests"],
        &[("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 1.0)],
        |launch, places| {
            traced(
                launch,
                |traffic| traffic.store_requests,
                || stores(launch, places),
            )
        },
    ),
    count(
        ["l1_store_sectors", "st sect", "sectors"],
        &[("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 1.0)],
        |launch, places| {
            traced(
                launch,
                |traffic| traffic.store_sectors,
                || sectors(launch, places.l1.as_ref(), NO_L1, "write_sectors"),
            )
        },
    ),
    count(
        ["shared_instructions", "shared", "instructions"],
        &[("smsp__inst_executed_op_shared.sum", 1.0)],
        |launch, places| {
            traced(
                launch,
                |traffic| traffic.shared_accesses,
                || Ok(unit(launch, places, "local_accesses")?.value as f64),
            )
        },
    ),
    count(
        ["shared_conflicts", "confl", "cycles"],
        &[("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1.0)],
        |launch, places| Ok(unit(launch, places, "local_conflict_cycles")?.value as f64),
    ),
    count(
        ["l2_read_sectors", "L2 rd", "sectors"],
        &[
            ("lts__t_sectors_srcunit_tex_op_read.sum", 1.0),
            ("lts__t_sectors_op_read.sum", 1.0),
        ],
        |launch, places| sectors(launch, places.l2.as_ref(), NO_L2, "read_sectors"),
    ),
    count(
        ["l2_read_sector_hits", "L2 hits", "sectors"],
        &[
            ("lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum", 1.0),
            ("lts__t_sectors_op_read_lookup_hit.sum", 1.0),
        ],
        |launch, places| sectors(launch, places.l2.as_ref(), NO_L2, "read_sector_hits"),
    ),
    count(
        ["l2_write_sectors", "L2 wr", "sectors"],
        &[
            ("lts__t_sectors_srcunit_tex_op_write.sum", 1.0),
            ("lts__t_sectors_op_write.sum", 1.0),
        ],
        |launch, places| sectors(launch, places.l2.as_ref(), NO_L2, "write_sectors"),
    ),
    count(
        ["dram_read_sectors", "DRAM rd", "sectors"],
        &[
            ("dram__sectors_read.sum", 1.0),
            ("dram__bytes_read.sum", PER_BYTE),
        ],
        |launch, places| dram_sectors(launch, places, "reads"),
    ),
    count(
        ["dram_write_sectors", "DRAM wr", "sectors"],
        &[
            ("dram__sectors_write.sum", 1.0),
            ("dram__bytes_write.sum", PER_BYTE),
        ],
        |launch, places| dram_sectors(launch, places, "writes"),
    ),
    mean(
        ["active_warps", "warps", "wavefronts"],
        &[("sm__warps_active.avg.per_cycle_active", 1.0)],
        |launch, places| {
            let resident = unit(launch, places, "wavefronts_mean")?.part;
            let active = unit(launch, places, "cycles_with_wavefronts")?.value;
            quotient(resident, active)
        },
    ),
    mean(
        ["occupancy", "occup", "%"],
        &[("sm__warps_active.avg.pct_of_peak_sustained_active", 1.0)],
        |launch, places| {
            let Sum { part, whole, .. } = unit(launch, places, "achieved_occupancy")?;
            Ok(100.0 * quotient(*part, *whole)?)
        },
    ),
    mean(
        ["issue_active", "issue", ""],
        &[("smsp__issue_active.avg.per_cycle_active", 1.0)],
        issue_active,
    ),
    count(
        ["registers", "regs", "registers"],
        &[(REGISTERS, 1.0)],
        |launch, _| launch.registers.map(f64::from).ok_or(NO_REGISTERS),
    ),
];

const NOT_TIMED: &str = "a program that was not simulated has no timing";
const NO_UNITS: &str = "no part counts cycles with wavefronts: name the compute units by `--units`";
const NO_L1: &str = "no cache is called `l1`: name the first level by `--l1`";
const NO_L2: &str = "no cache is called `l2`: name the second level by `--l2`";
const NO_DRAM: &str = "no part counts activates and bytes: name the memory by `--dram`";
const NO_SECTORS: &str = "the cache counts no sectors: it has no `sector_bytes`";
const NO_STATISTIC: &str = "the parts do not report it";
const NO_REGISTERS: &str = "the report is of an older program, without registers";
const WITH_ATOMICS: &str = "loads and atomics are counted together, and the launch has atomics";
const OTHER_PATHS: &str = "the launch prefetches or loads through textures, which count apart";

/// Returns a value of an emulated program, or what `timed` says of a simulated one.
fn traced(launch: &OwnLaunch, of: fn(&Traffic) -> u64, timed: impl FnOnce() -> Own) -> Own {
    match &launch.counted {
        Counted::Traced(traffic) => Ok(of(traffic) as f64),
        Counted::Timed { .. } => timed(),
    }
}

/// Returns the statistics of a launch.
pub(crate) fn sums(launch: &OwnLaunch) -> Result<&Sums, &'static str> {
    match &launch.counted {
        Counted::Timed { sums, .. } => sums.as_ref().map_err(|why| *why),
        Counted::Traced(_) => Err(NOT_TIMED),
    }
}

/// Returns a statistic of the compute units.
fn unit<'l>(launch: &'l OwnLaunch, places: &Places, name: &str) -> Result<&'l Sum, &'static str> {
    let sums = sums(launch)?;
    let units = places.units.as_ref().ok_or(NO_UNITS)?;
    sums.get(units, name).ok_or(NO_STATISTIC)
}

fn quotient(part: u64, whole: u64) -> Own {
    if whole == 0 {
        return Err("nothing was counted");
    }
    Ok(part as f64 / whole as f64)
}

/// Returns a counter of sectors of a level.
fn sectors(launch: &OwnLaunch, level: Option<&String>, none: &'static str, name: &str) -> Own {
    let sums = sums(launch)?;
    let level = level.ok_or(none)?;
    Ok(sums.get(level, name).ok_or(NO_SECTORS)?.value as f64)
}

/// Returns the wavefront instructions that load from global memory.
fn loads(launch: &OwnLaunch, places: &Places) -> Own {
    if unit(launch, places, "instructions_atomic")?.value > 0 {
        return Err(WITH_ATOMICS);
    }
    Ok(unit(launch, places, "load_latency")?.whole as f64)
}

/// Returns the wavefront instructions that store to global memory.
fn stores(launch: &OwnLaunch, places: &Places) -> Own {
    let value = |name: &str| unit(launch, places, name).map_or(0, |sum| sum.value);
    if value("prefetch_requests") > 0 || value("texture_loads") > 0 {
        return Err(OTHER_PATHS);
    }
    let accesses = unit(launch, places, "requests_per_access")?.whole;
    let answered = unit(launch, places, "load_latency")?.whole;
    let stores = accesses.checked_sub(answered).ok_or(OTHER_PATHS)?;
    Ok(stores as f64)
}

/// Returns the sectors that the memory's bursts of one direction moved.
fn dram_sectors(launch: &OwnLaunch, places: &Places, direction: &str) -> Own {
    let sums = sums(launch)?;
    let dram = places.dram.as_ref().ok_or(NO_DRAM)?;
    let value = |name: &str| {
        sums.get(dram, name)
            .map(|sum| sum.value)
            .ok_or(NO_STATISTIC)
    };
    let bursts = value("reads")? + value("writes")?;
    let moved = value(direction)?;
    if moved == 0 {
        return Ok(0.0);
    }
    Ok(moved as f64 * (value("bytes")? as f64 / bursts as f64) * PER_BYTE)
}

/// Returns the issued slots over those of schedulers with a wavefront.
fn issue_active(launch: &OwnLaunch, places: &Places) -> Own {
    let sums = sums(launch)?;
    let units = places.units.as_ref().ok_or(NO_UNITS)?;
    let (mut issued, mut active) = (0, 0);
    for (outcome, slots) in sums.slots(units) {
        issued += if outcome == "issued" { slots } else { 0 };
        active += if outcome == "no_wavefront" { 0 } else { slots };
    }
    quotient(issued, active)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::metric::canonical;
    use crate::report::{CyclesFrom, PlaceNames, run_of_report};

    #[test]
    fn every_metric_of_a_quantity_is_read_from_profiles() {
        for quantity in &QUANTITIES {
            for (metric, _) in quantity.theirs {
                assert_eq!(canonical(metric), Some(*metric), "{}", quantity.key);
            }
        }
        for (at, key) in [
            (CYCLES, "cycles"),
            (THREADS, "thread_instructions"),
            (DRAM_READS, "dram_read_sectors"),
            (DRAM_WRITES, "dram_write_sectors"),
        ] {
            assert_eq!(QUANTITIES[at].key, key);
        }
    }

    /// Values of the only launch of a run with these statistics of unit, caches and memory.
    fn values(unit: Value, dram: Value) -> impl Fn(&str) -> Own {
        let report = json!({
            "schema_version": 2,
            "kernels": [{
                "number": 0, "name": "k", "grid": [1, 1, 1], "block": [32, 1, 1],
                "launched": 5, "started": 10, "completed": 105,
                "wavefront_instructions": 3, "thread_instructions": 96,
            }],
            "stats": {
                "cu[0]": unit, "cu[1]": unit, "dram": dram,
                "l1": {"read_hits": counter(4), "read_sectors": counter(9)},
                "l2": {"read_hits": counter(4)},
            },
        });
        let names = PlaceNames::default();
        let run = run_of_report("r", &report.to_string(), CyclesFrom::Launch, &names).unwrap();
        move |key| {
            let quantity = QUANTITIES
                .iter()
                .find(|quantity| quantity.key == key)
                .unwrap();
            quantity.ours(&run.launches[0], &run.places)
        }
    }

    fn counter(value: u64) -> Value {
        json!({"value": value, "unit": "", "combination": "sum"})
    }

    fn ratio(part: u64, whole: u64) -> Value {
        json!({"value": null, "part": part, "whole": whole, "unit": "", "combination": "sum"})
    }

    fn unit_with(atomics: u64) -> Value {
        json!({
            "cycles_with_wavefronts": counter(50), "wavefronts_mean": ratio(400, 100),
            "achieved_occupancy": ratio(400, 1600), "instructions_atomic": counter(atomics),
            "load_latency": ratio(70, 7), "requests_per_access": ratio(20, 10),
            "slots_issued": counter(30), "slots_memory": counter(50),
            "slots_no_wavefront": counter(20), "local_accesses": counter(6),
        })
    }

    #[test]
    fn values_of_a_run_follow_from_its_statistics() {
        let dram = json!({"activates": counter(1), "bytes": counter(640), "reads": counter(6),
            "writes": counter(4)});
        let value = values(unit_with(0), dram);
        for (key, expected) in [
            ("cycles", 100.0),
            ("active_cycles", 50.0),
            ("warp_instructions", 3.0),
            ("l1_load_requests", 14.0),
            ("l1_store_requests", 6.0),
            ("l1_load_sectors", 9.0),
            ("shared_instructions", 12.0),
            ("dram_read_sectors", 12.0),
            ("dram_write_sectors", 8.0),
            ("active_warps", 8.0),
            ("occupancy", 25.0),
            ("issue_active", 0.375),
        ] {
            let found = value(key);
            assert!(
                found.is_ok_and(|x| (x - expected).abs() < 1e-9),
                "{key}: {found:?}"
            );
        }
    }

    #[test]
    fn what_a_run_lacks_has_its_reason() {
        let value = values(unit_with(1), json!({"bytes": counter(1)}));
        assert_eq!(value("l1_load_requests"), Err(WITH_ATOMICS));
        assert_eq!(value("l2_read_sectors"), Err(NO_SECTORS));
        assert_eq!(value("dram_read_sectors"), Err(NO_DRAM));
        assert_eq!(value("shared_conflicts"), Err(NO_STATISTIC));
        assert!(value("registers").is_err());
    }
}
