//! Comparison of our hits with those of the reference simulator.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use warpweave_components::cache::replacement::{BitPlru, Fifo, Lfu, Lru, Replacement};
use warpweave_framework::Policy;
use warpweave_params::name_hint;

use super::functional::{Functional, GEOMETRIES, Preset};
use super::timed::Bench;
use super::trace::{Access, read_trace};
use crate::folder::table_named;
use crate::table::shown;
use crate::{Comparison, Own, RowProblem, StandaloneError, Table, Tolerance};

/// Row of the table of the reference.
#[derive(Deserialize)]
struct Row {
    trace: String,
    geometry: String,
    policy: String,
    size_bytes: u32,
    ways: u32,
    line_bytes: u32,
    l2_size_bytes: u32,
    l2_ways: u32,
    accesses: Option<u64>,
    hits: Option<u64>,
    misses: Option<u64>,
    l2_hits: Option<u64>,
    l2_misses: Option<u64>,
    note: Option<String>,
}

impl Row {
    fn counted(&self) -> Counted {
        [
            self.accesses,
            self.hits,
            self.misses,
            self.l2_hits,
            self.l2_misses,
        ]
    }
}

/// Accesses, hits and misses, then hits and misses of the second level. `None` if the reference has
/// no number.
type Counted = [Option<u64>; 5];

/// Row of the table in a user's own data.
#[derive(Deserialize)]
struct OwnRow {
    trace: String,
    policy: Option<String>,
    accesses: Option<u64>,
    hits: Option<u64>,
    misses: Option<u64>,
    l2_hits: Option<u64>,
    l2_misses: Option<u64>,
}

impl OwnRow {
    fn counted(&self) -> Counted {
        [
            self.accesses,
            self.hits,
            self.misses,
            self.l2_hits,
            self.l2_misses,
        ]
    }
}

/// Reference hits and misses of one trace, access by access.
#[derive(Deserialize)]
struct HitBits {
    trace: String,
    policy: Option<String>,
    hit_bits: String,
}

/// Name and geometry of the reference table of hit bits.
const HIT_BITS: (&str, &str) = ("hitbits_L1_16k_4w", "L1_16k_4w");

/// Name of the table of hit bits in a user's own data.
const OWN_HIT_BITS: &str = "hitbits";

/// Replacement policies that a reference may name.
const POLICIES: [&str; 4] = ["LRU", "FIFO", "LFU", "BIT_PLRU"];

fn policy(name: &str) -> Option<Policy<Replacement>> {
    Some(match name {
        "LRU" => Policy::plain::<Lru>(),
        "FIFO" => Policy::plain::<Fifo>(),
        "LFU" => Policy::plain::<Lfu>(),
        "BIT_PLRU" => Policy::plain::<BitPlru>(),
        _ => return None,
    })
}

/// Returns the tolerance for the misses of a policy on a trace. The reference chooses randomly
/// among unmarked ways where `BitPlru` takes the lowest. The effect is large if a loop slightly
/// exceeds its sets, small for random accesses, and zero elsewhere.
fn tolerance(policy: &str, trace: &str) -> Tolerance {
    match (policy, trace) {
        ("BIT_PLRU", "conflict_4k" | "loop_20k" | "loop_64k") => {
            let why = "the reference chooses randomly among unmarked ways, which decides this loop";
            Tolerance::Information(why.to_owned())
        }
        ("BIT_PLRU", "rand_32k" | "rand_256k" | "zipf") => Tolerance::Relative(0.018),
        _ => Tolerance::Exact,
    }
}

/// Traces of the folder, cached after the first read.
struct Traces<'a> {
    folder: &'a Path,
    read: BTreeMap<String, Vec<Access>>,
}

impl<'a> Traces<'a> {
    fn of(folder: &'a Path) -> Self {
        Self {
            folder,
            read: BTreeMap::new(),
        }
    }

    fn get(&mut self, name: &str) -> Result<&[Access], StandaloneError> {
        if !self.read.contains_key(name) {
            let path = table_named(self.folder, &format!("{name}.trace"))?;
            self.read.insert(name.to_owned(), read_trace(&path)?);
        }
        Ok(&self.read[name])
    }
}

/// Compares with the reference data in `folder`: `summary.csv`, the table of hit bits, and the
/// traces that they name.
///
/// # Errors
/// Returns an error if the folder lacks these files, or a row does not belong to the reference.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    let mut comparison = Comparison::new();
    let mut traces = Traces::of(folder);
    let summary = Table::<Row>::read(&folder.join("summary.csv"))?.not_empty()?;
    for (number, row) in summary.rows.iter().enumerate() {
        let replacement =
            known(&row.policy).map_err(|problem| wrong(&summary, number, "policy", problem))?;
        let preset =
            preset_of(row).map_err(|problem| wrong(&summary, number, "geometry", problem))?;
        let cache = Functional::new(preset, &replacement)?;
        let case = format!("{} {} {}", row.trace, row.geometry, row.policy);
        if row.hits.is_none() {
            let note = row.note.as_deref().unwrap_or("no number");
            comparison.leave_out(&case, "hits", format!("the reference has {}", shown(note)));
        }
        let gate = tolerance(&row.policy, &row.trace);
        let trace = traces.get(&row.trace)?;
        compare_counts(&mut comparison, &case, cache, trace, row.counted(), &gate);
    }
    let bits = Table::<HitBits>::read(&table_named(folder, HIT_BITS.0)?)?.not_empty()?;
    let preset = GEOMETRIES.iter().find(|p| p.name == HIT_BITS.1);
    let preset = preset.expect("the geometry is in the list");
    for (number, row) in bits.rows.iter().enumerate() {
        let name = row.policy.as_deref().unwrap_or_default();
        let replacement = known(name).map_err(|problem| wrong(&bits, number, "policy", problem))?;
        let cache = Functional::new(preset, &replacement)?;
        let case = format!("{} {} {name}", row.trace, preset.name);
        let gate = match tolerance(name, &row.trace) {
            Tolerance::Relative(_) => Tolerance::Information(
                "the reference chooses randomly among unmarked ways".to_owned(),
            ),
            gate => gate,
        };
        compare_hit_bits(
            &mut comparison,
            case,
            cache,
            traces.get(&row.trace)?,
            row,
            gate,
        );
    }
    Ok(comparison)
}

/// Compares a cache with a user's own data in `folder`. `summary.csv` has the column `trace` and
/// any of `policy, accesses, hits, misses, l2_hits, l2_misses`. `hitbits.csv` has `trace, hit_bits`
/// and `policy`. The folder also holds the traces that they name. The policy is that of the row, or
/// that of the description if the preset is one.
///
/// # Errors
/// Returns an error if the folder has neither table, or a row, a trace or the preset is invalid.
pub fn validate_own(folder: &Path, own: &Own<'_>) -> Result<Comparison, StandaloneError> {
    let held = Held::of(own)?;
    let mut comparison = Comparison::new();
    let mut traces = Traces::of(folder);
    let tables = ["summary", OWN_HIT_BITS].map(|name| table_named(folder, name));
    if let [Err(_), Err(_)] = tables {
        return Err(StandaloneError::Request(format!(
            "neither summary.csv nor {OWN_HIT_BITS}.csv exists in {}\nhint: see docs/reference-data.md",
            folder.display()
        )));
    }
    let [summary, bits] = tables.map(Result::ok);
    if let Some(path) = summary {
        let table = Table::<OwnRow>::read(&path)?.not_empty()?;
        for (number, row) in table.rows.iter().enumerate() {
            let cache = held
                .build(row.policy.as_deref())
                .map_err(|problem| wrong(&table, number, "policy", problem))?;
            let case = held.case(&row.trace, row.policy.as_deref());
            let gate = own.tolerance(Tolerance::Exact);
            let trace = traces.get(&row.trace)?;
            let any = compare_counts(&mut comparison, &case, cache, trace, row.counted(), &gate);
            if !any {
                comparison.leave_out(&case, "hits", "the row has no number");
            }
        }
    }
    if let Some(path) = bits {
        let table = Table::<HitBits>::read(&path)?.not_empty()?;
        for (number, row) in table.rows.iter().enumerate() {
            let cache = held
                .build(row.policy.as_deref())
                .map_err(|problem| wrong(&table, number, "policy", problem))?;
            let case = held.case(&row.trace, row.policy.as_deref());
            let trace = traces.get(&row.trace)?;
            compare_hit_bits(&mut comparison, case, cache, trace, row, own.one_by_one());
        }
    }
    Ok(comparison)
}

/// Cache that is compared with a user's own data.
enum Held<'a> {
    Named(&'static Preset),
    Described(Box<Bench>, &'a Own<'a>),
}

impl<'a> Held<'a> {
    fn of(own: &'a Own<'a>) -> Result<Self, StandaloneError> {
        if let Some(preset) = GEOMETRIES.iter().find(|p| p.name == own.preset) {
            return Ok(Self::Named(preset));
        }
        let path = Path::new(own.preset);
        if path.extension().is_none_or(|e| e != "ron") {
            let names = GEOMETRIES.iter().map(|p| p.name);
            return Err(StandaloneError::Request(format!(
                "unknown preset {}\nhint: {}, or name a .ron file",
                shown(own.preset),
                name_hint(own.preset, "presets", names)
            )));
        }
        let bench = Bench::read(path)?;
        let tags = Functional::described(&bench.cache, own.environment);
        tags.map_err(|e| bench.refused(e))?;
        Ok(Self::Described(Box::new(bench), own))
    }

    /// Creates the empty cache. On error returns the problem with the policy and a hint.
    fn build(&self, policy: Option<&str>) -> Result<Functional, (String, String)> {
        let built = match self {
            Self::Named(preset) => Functional::new(preset, &known(policy.unwrap_or("LRU"))?),
            Self::Described(bench, own) => Functional::described(&bench.cache, own.environment),
        };
        built.map_err(|e| (format!("{}: {}", e.field, e.message), String::new()))
    }

    fn case(&self, trace: &str, policy: Option<&str>) -> String {
        match self {
            Self::Named(preset) => {
                format!("{trace} {} {}", preset.name, policy.unwrap_or("LRU"))
            }
            Self::Described(_, own) => format!("{trace} {}", own.preset),
        }
    }
}

/// Returns the policy of this name. On error returns the problem and a hint.
fn known(name: &str) -> Result<Policy<Replacement>, (String, String)> {
    policy(name).ok_or_else(|| {
        let problem = format!("no policy is named {}", shown(name));
        (problem, name_hint(name, "policies", POLICIES))
    })
}

fn wrong<T>(
    table: &Table<T>,
    row: usize,
    column: &'static str,
    (problem, hint): (String, String),
) -> StandaloneError {
    table.wrong(&RowProblem {
        row,
        column,
        problem,
        hint,
    })
}

fn preset_of(row: &Row) -> Result<&'static Preset, (String, String)> {
    let second = (row.l2_ways > 0).then_some((row.l2_size_bytes, row.l2_ways));
    GEOMETRIES
        .iter()
        .find(|p| {
            p.name == row.geometry
                && (p.first.size_bytes, p.first.ways, p.first.line_bytes)
                    == (row.size_bytes, row.ways, row.line_bytes)
                && p.second.map(|s| (s.size_bytes, s.ways)) == second
        })
        .ok_or_else(|| {
            let names = GEOMETRIES.iter().map(|p| p.name);
            (
                format!("no preset {} of this size", shown(&row.geometry)),
                name_hint(&row.geometry, "presets", names),
            )
        })
}

/// Compares the counts that both have. Returns true if there were any.
fn compare_counts(
    comparison: &mut Comparison,
    case: &str,
    mut cache: Functional,
    trace: &[Access],
    [accesses, hits, misses, l2_hits, l2_misses]: Counted,
    gate: &Tolerance,
) -> bool {
    for access in trace {
        cache.access(*access);
    }
    let ours = cache.counts();
    let pairs = [
        ("accesses", Some(ours.accesses), accesses),
        ("hits", Some(ours.hits), hits),
        ("misses", Some(ours.misses), misses),
        ("L2 hits", ours.l2_hits, l2_hits),
        ("L2 misses", ours.l2_misses, l2_misses),
    ];
    let mut any = false;
    for (quantity, ours, theirs) in pairs {
        let tolerance = match quantity {
            "accesses" => Tolerance::Exact,
            _ => gate.clone(),
        };
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                any = true;
                comparison.add(case, quantity, ours as f64, theirs as f64, tolerance);
            }
            (None, Some(_)) => {
                comparison.leave_out(case, quantity, "the cache has no second level");
            }
            (_, None) => {}
        }
    }
    any
}

fn compare_hit_bits(
    comparison: &mut Comparison,
    case: String,
    mut cache: Functional,
    trace: &[Access],
    row: &HitBits,
    gate: Tolerance,
) {
    let theirs = row.hit_bits.as_bytes();
    let equal = trace
        .iter()
        .zip(theirs)
        .filter(|&(access, bit)| *bit == if cache.access(*access) { b'1' } else { b'0' })
        .count();
    // A table of another length than its trace cannot be equal.
    let compared = trace.len().max(theirs.len());
    let quantity = "accesses with equal results";
    comparison.add(case, quantity, equal as f64, compared as f64, gate);
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Returns a folder with the first accesses of six reference traces, compressed like the
    /// complete data.
    fn prefixes() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let table = include_str!("testdata/prefixes.csv");
        let mut summary = String::from(
            "trace,geometry,policy,size_bytes,ways,line_bytes,l2_size_bytes,l2_ways,accesses,hits,\
             misses,l2_hits,l2_misses,note\n",
        );
        let mut bits = String::from("trace,policy,hit_bits\n");
        for row in table.lines().skip(1) {
            let [name, lru, fifo, numbers] = row.split(',').collect::<Vec<_>>()[..] else {
                panic!("four columns: {row}");
            };
            let mut trace = String::from("rw,addr_hex\n");
            for number in numbers.split(' ') {
                let number = u64::from_str_radix(number, 16).expect("hexadecimal");
                writeln!(trace, "R,{:x}", number * 128).expect("a string");
            }
            std::fs::write(folder.path().join(format!("{name}.trace.csv.gz")), trace)
                .expect("written");
            for (policy, hit_bits) in [("LRU", lru), ("FIFO", fifo)] {
                writeln!(bits, "{name},{policy},{hit_bits}").expect("a string");
                let (all, hits) = (hit_bits.len(), hit_bits.matches('1').count());
                writeln!(
                    summary,
                    "{name},L1_16k_4w,{policy},16384,4,128,0,0,{all},{hits},{},,,",
                    all - hits
                )
                .expect("a string");
            }
        }
        std::fs::write(folder.path().join("summary.csv"), summary).expect("written");
        std::fs::write(folder.path().join(format!("{}.csv.gz", HIT_BITS.0)), bits)
            .expect("written");
        folder
    }

    #[test]
    fn prefixes_of_the_reference_are_reproduced_access_by_access() {
        let folder = prefixes();
        let comparison = validate(folder.path()).expect("a whole folder");
        assert!(comparison.holds(), "{}", comparison.text());
        assert!(comparison.text().contains("48 compared, 0 missed;"));
    }

    #[test]
    fn one_wrong_bit_is_a_miss() {
        let folder = prefixes();
        let path = folder.path().join(format!("{}.csv.gz", HIT_BITS.0));
        let bits = std::fs::read_to_string(&path).expect("written above");
        std::fs::write(&path, bits.replacen(",0", ",1", 1)).expect("written");
        let comparison = validate(folder.path()).expect("a whole folder");
        assert_eq!(comparison.misses().len(), 1);
    }

    /// Tests a cache that differs from the reference in its policy.
    #[test]
    fn another_policy_misses() {
        let folder = prefixes();
        let path = folder.path().join(format!("{}.csv.gz", HIT_BITS.0));
        let bits = std::fs::read_to_string(&path).expect("written above");
        let swapped = bits
            .replace(",LRU,", ",other,")
            .replace(",FIFO,", ",LRU,")
            .replace(",other,", ",FIFO,");
        std::fs::write(&path, swapped).expect("written");
        let comparison = validate(folder.path()).expect("a whole folder");
        assert!(comparison.misses().len() >= 2, "{}", comparison.text());
    }

    #[test]
    fn every_policy_without_chance_is_judged_exactly() {
        for policy in ["LRU", "FIFO", "LFU"] {
            assert_eq!(tolerance(policy, "zipf"), Tolerance::Exact);
        }
        assert_eq!(tolerance("BIT_PLRU", "stream_4B"), Tolerance::Exact);
    }

    #[test]
    fn a_count_that_the_reference_lacks_is_named() {
        let folder = prefixes();
        let path = folder.path().join("summary.csv");
        let summary = std::fs::read_to_string(&path).expect("written above");
        let row = "zipf,L1_32k_dm,BIT_PLRU,32768,1,128,0,0,,,,,,init refused\n";
        std::fs::write(&path, summary + row).expect("written");
        let text = validate(folder.path()).expect("a whole folder").text();
        assert!(
            text.contains("not compared: the reference has `init refused`"),
            "{text}"
        );
        assert!(text.ends_with("1 not compared\n"), "{text}");
    }

    #[test]
    fn a_folder_without_the_table_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = validate(folder.path())
            .expect_err("nothing there")
            .to_string();
        assert!(error.contains("summary.csv"), "{error}");
    }
}
