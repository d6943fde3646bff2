//! Front end described by the options: instruction fetch, issue width, and the pipeline stages
//! before execution.

use warpweave_params::Diagnostic;

use super::cache::{CacheText, LINE_BYTES_MAX};
use super::form::counts;
use super::option_values::OptionValues;

/// Front end of a compute unit, up to the execution units.
#[derive(Debug)]
pub(super) struct FrontEnd {
    /// Instruction fetch; `None` if instructions are always available.
    pub(super) fetch: Option<Fetch>,
    /// Maximum instructions of one warp that a scheduler issues per cycle.
    pub(super) issues: u32,
    pub(super) issue_together: &'static str,
    /// Latency of the operand read, in cycles.
    pub(super) operand_latency: u32,
    /// Memory accesses issued per cycle by all schedulers together.
    pub(super) accesses: u32,
    /// Number of entries for accesses whose requests have not been sent.
    pub(super) places: u32,
    /// Number of register banks; each serves `reads_per_cycle` reads per cycle.
    pub(super) banks: u32,
    pub(super) reads_per_cycle: u32,
    /// Number of operand collectors, where instructions wait for their operands.
    pub(super) collectors: u32,
    /// True if banks and collectors are partitioned among the schedulers.
    pub(super) sub_cores: bool,
    /// Results of execution units written back per cycle.
    pub(super) results: u32,
}

/// Instruction fetch: line size, latency and cache.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) line_bytes: u32,
    /// Cycles until fetched instructions can issue if there is no cache.
    pub(super) latency: u32,
    pub(super) has_cache: bool,
}

/// Number of instructions that are decoded in one step.
const DECODED_TOGETHER: u32 = 2;

/// Collector steps for an instruction with one register: allocation, read and departure.
const COLLECTOR_STEPS: u32 = 3;

/// Maximum number of instructions that a scheduler issues per cycle.
const ISSUES_MAX: u32 = 4;

/// Limits of a compute unit: register banks, reads per bank and cycle, collectors, and results per
/// cycle.
const BANKS_MAX: u32 = 64;
const STEPS_MAX: u32 = 8;
const COLLECTORS_MAX: u32 = 64;
const RESULTS_MAX: u32 = 32;

impl FrontEnd {
    pub(super) fn of(
        given: &OptionValues,
        schedulers: u32,
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        let issues = given.count("-gpgpu_max_insn_issue_per_warp", 1..=ISSUES_MAX, "")?;
        let different = given.flag("-gpgpu_dual_issue_diff_exec_units")?;
        let shared = given.count("-gpgpu_num_int_units", 0..=u32::MAX, "")? == 0;
        if issues > 1 && different && shared {
            let what = "integer, single-precision and branch instructions issue together, although they share one unit";
            notes.push(format!("-gpgpu_dual_issue_diff_exec_units 1: {what}"));
        }
        let steps = given.count("-gpgpu_reg_file_port_throughput", 1..=STEPS_MAX, "steps")?;
        let widths = Widths::of(given)?;
        let banks = given.count("-gpgpu_num_reg_banks", 1..=BANKS_MAX, "banks")?;
        let collectors = Collectors::of(given)?;
        Ok(Self {
            fetch: fetch(given, schedulers * issues, notes)?,
            issues,
            issue_together: if different { "DifferentUnits" } else { "Any" },
            operand_latency: COLLECTOR_STEPS.div_ceil(steps),
            accesses: widths.before.min(8),
            places: widths.before + collectors.of_accesses + widths.after + 1,
            banks,
            reads_per_cycle: steps,
            collectors: collectors.of_any,
            sub_cores: sub_cores(given, schedulers, (banks, collectors.of_any))?,
            results: widths.results,
        })
    }
}

/// Modelled pipeline widths: the access registers before and after the collectors, and the
/// write-back registers.
struct Widths {
    before: u32,
    after: u32,
    results: u32,
}

impl Widths {
    fn of(given: &OptionValues) -> Result<Self, Diagnostic> {
        let text = given.value("-gpgpu_pipeline_widths")?;
        let widths = counts(&text, ',', None)?;
        let (before, after, results, places) = match widths[..] {
            // Before release 4 there were SP, SFU and MEM only.
            [_, _, before, _, _, after, results] => {
                (before, after, results, ["third", "sixth", "seventh"])
            }
            [_, _, _, _, before, _, _, _, _, after, results, ..] => {
                (before, after, results, ["fifth", "tenth", "eleventh"])
            }
            _ => return Err(text.refuse("7 widths, or at least 11")),
        };
        let [first, second, last] = places;
        if !(1..=64).contains(&before) || !(1..=64).contains(&after) {
            return Err(text.refuse(&format!(
                "a {first} and a {second} width (memory accesses) from 1 to 64"
            )));
        }
        if !(1..=RESULTS_MAX).contains(&results) {
            let expected = format!("a width (results) from 1 to {RESULTS_MAX}, the {last}");
            return Err(text.refuse(&expected));
        }
        Ok(Self {
            before,
            after,
            results,
        })
    }
}

/// Number of collectors for accesses, and for all instructions.
struct Collectors {
    of_accesses: u32,
    of_any: u32,
}

impl Collectors {
    fn of(given: &OptionValues) -> Result<Self, Diagnostic> {
        let collectors = |kind: &str| {
            let name = format!("-gpgpu_operand_collector_num_units_{kind}");
            given.count(&name, 0..=256, "collectors")
        };
        let shared = collectors("gen")?;
        let own = given.flag("-gpgpu_enable_specialized_operand_collector")?;
        let (mut of_accesses, mut of_any) = (shared, shared);
        if own {
            let accesses = collectors("mem")?;
            let others = ["sp", "dp", "sfu", "int"].map(collectors);
            of_accesses += accesses;
            of_any += accesses;
            for count in others {
                of_any += count?;
            }
        }
        let given_by = given.value("-gpgpu_operand_collector_num_units_gen")?;
        if of_any == 0 {
            return Err(given_by.blame("at least one operand collector is required"));
        }
        Ok(Self {
            of_accesses,
            of_any: of_any.min(COLLECTORS_MAX),
        })
    }
}

/// True if banks and collectors are partitioned among the schedulers; both must then divide evenly.
fn sub_cores(
    given: &OptionValues,
    schedulers: u32,
    (banks, collectors): (u32, u32),
) -> Result<bool, Diagnostic> {
    let sub_cores = given.flag("-gpgpu_sub_core_model")?;
    if sub_cores && !(banks.is_multiple_of(schedulers) && collectors.is_multiple_of(schedulers)) {
        let model = given.value("-gpgpu_sub_core_model")?;
        return Err(model.blame(&format!(
            "{banks} register banks and {collectors} collectors cannot be divided evenly among {schedulers} schedulers"
        )));
    }
    Ok(sub_cores)
}

/// Reads the instruction fetch options; up to `issued` instructions leave per cycle.
fn fetch(
    given: &OptionValues,
    issued: u32,
    notes: &mut Vec<String>,
) -> Result<Option<Fetch>, Diagnostic> {
    const THROUGHPUT: &str = "-gpgpu_inst_fetch_throughput";
    let text = given.value("-gpgpu_cache:il1")?;
    let fetches = given.count(THROUGHPUT, 1..=1024, "fetches")?;
    let Some(cache) = CacheText::read(&text)? else {
        return Ok(None);
    };
    let line_bytes = match cache.line_bytes {
        256 | 512 => LINE_BYTES_MAX,
        bytes => bytes,
    };
    if ![32, 64, 128].contains(&line_bytes) {
        return Err(text.refuse("a line size of 32, 64, 128, 256 or 512 bytes"));
    }
    let has_cache = !given.flag("-gpgpu_perfect_inst_const_cache")?;
    // A perfect cache never holds up what issues less than it gives.
    if !has_cache && fetches * DECODED_TOGETHER >= issued {
        return Ok(None);
    }
    if fetches > 1 {
        notes.push(format!(
            "{THROUGHPUT} {fetches}: modelled as one fetch per cycle"
        ));
    }
    Ok(Some(Fetch {
        line_bytes,
        // Fetched in one cycle, decoded in the next.
        latency: 2,
        has_cache,
    }))
}
