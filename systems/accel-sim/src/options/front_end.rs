//! The front end that options describe: how instructions come, how many issue, what they pass before they execute.

use warpweave_params::Diagnostic;

use super::cache::CacheText;
use super::form::counts;
use super::given::Given;

/// What is in front of the execution units.
#[derive(Debug)]
pub(super) struct FrontEnd {
    /// None: instructions are there when they are needed.
    pub(super) fetch: Option<Fetch>,
    /// Instructions of one warp that a scheduler issues in a cycle.
    pub(super) issues: u32,
    pub(super) issue_together: &'static str,
    /// Cycles to read operands.
    pub(super) operand_latency: u32,
    /// Accesses that all schedulers issue in a cycle.
    pub(super) accesses: u32,
    /// Places for accesses whose requests have not been sent.
    pub(super) places: u32,
}

/// How instructions come.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) line_bytes: u32,
    /// Cycles until they can issue, where there is no cache.
    pub(super) latency: u32,
    pub(super) has_cache: bool,
}

/// Instructions that are decoded together.
const DECODED_TOGETHER: u32 = 2;

/// Steps of a collector for an instruction with one register: it is taken, it reads, its instruction leaves.
const COLLECTOR_STEPS: u32 = 3;

/// Most that a scheduler issues in a cycle.
const ISSUES_MAX: u32 = 4;

impl FrontEnd {
    pub(super) fn of(
        given: &Given,
        schedulers: u32,
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        let issues = given.count("-gpgpu_max_insn_issue_per_warp", 1..=ISSUES_MAX, "")?;
        let different = given.flag("-gpgpu_dual_issue_diff_exec_units")?;
        let shared = given.count("-gpgpu_num_int_units", 0..=u32::MAX, "")? == 0;
        if issues > 1 && different && shared {
            let what = "integers, single precision and branches issue together, although they have one unit";
            notes.push(format!("-gpgpu_dual_issue_diff_exec_units 1: {what}"));
        }
        let steps = given.count("-gpgpu_reg_file_port_throughput", 1..=1024, "steps")?;
        let (accesses, places) = places(given)?;
        Ok(Self {
            fetch: fetch(given, schedulers * issues, notes)?,
            issues,
            issue_together: if different { "DifferentUnits" } else { "Any" },
            operand_latency: COLLECTOR_STEPS.div_ceil(steps),
            accesses,
            places,
        })
    }
}

/// Accesses that are issued in a cycle, and that wait: in registers before and after collectors, in
/// collectors, and one in the unit.
fn places(given: &Given) -> Result<(u32, u32), Diagnostic> {
    let text = given.value("-gpgpu_pipeline_widths")?;
    let widths = counts(&text, ',', None)?;
    let (Some(&before), Some(&after)) = (widths.get(4), widths.get(9)) else {
        return Err(text.refuse("at least 10 widths"));
    };
    if !(1..=64).contains(&before) || !(1..=64).contains(&after) {
        return Err(
            text.refuse("1 to 64 as the fifth and tenth width, which are those of accesses")
        );
    }
    let collectors = |name| given.count(name, 0..=256, "collectors");
    let of_all = collectors("-gpgpu_operand_collector_num_units_gen")?;
    let own = if given.flag("-gpgpu_enable_specialized_operand_collector")? {
        collectors("-gpgpu_operand_collector_num_units_mem")?
    } else {
        0
    };
    Ok((before.min(8), before + of_all + own + after + 1))
}

/// How instructions come where up to `issued` of them leave in a cycle.
fn fetch(given: &Given, issued: u32, notes: &mut Vec<String>) -> Result<Option<Fetch>, Diagnostic> {
    const THROUGHPUT: &str = "-gpgpu_inst_fetch_throughput";
    let text = given.value("-gpgpu_cache:il1")?;
    let fetches = given.count(THROUGHPUT, 1..=1024, "fetches")?;
    let Some(cache) = CacheText::read(&text)? else {
        return Ok(None);
    };
    let line_bytes = cache.line_bytes;
    if ![32, 64, 128].contains(&line_bytes) {
        return Err(text.refuse("lines of 32, 64 or 128 bytes"));
    }
    let has_cache = !given.flag("-gpgpu_perfect_inst_const_cache")?;
    // A perfect cache never holds up what issues less than it gives.
    if !has_cache && fetches * DECODED_TOGETHER >= issued {
        return Ok(None);
    }
    if fetches > 1 {
        notes.push(format!("{THROUGHPUT} {fetches}: one fetch in a cycle"));
    }
    Ok(Some(Fetch {
        line_bytes,
        // Fetched in one cycle, decoded in the next.
        latency: 2,
        has_cache,
    }))
}
