//! Our hits beside those of the reference simulator.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use warpweave_components::cache::replacement::{BitPlru, Fifo, Lfu, Lru, Replacement};
use warpweave_framework::Policy;

use super::functional::{Functional, GEOMETRIES, Preset};
use super::trace::{Access, read_trace};
use warpweave_files::Ledger;

use crate::{Comparison, StandaloneError, Tolerance, read_rows};

/// A row of the table of the reference.
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
}

/// The reference's hits and misses of one trace, access by access.
#[derive(Deserialize)]
struct HitBits {
    trace: String,
    policy: String,
    hit_bits: String,
}

/// The geometry of the table of hit bits.
const HIT_BITS: (&str, &str) = ("hitbits_L1_16k_4w.csv.gz", "L1_16k_4w");

/// The policy under the reference's name, and why it is not judged, if it is not.
fn policy(name: &str) -> Option<(Policy<Replacement>, Option<&'static str>)> {
    Some(match name {
        "LRU" => (Policy::plain::<Lru>(), None),
        "FIFO" => (Policy::plain::<Fifo>(), None),
        "LFU" => (Policy::plain::<Lfu>(), Some("ties are broken differently")),
        "BIT_PLRU" => (
            Policy::plain::<BitPlru>(),
            Some("the reference draws among unmarked ways"),
        ),
        _ => return None,
    })
}

/// Traces of the folder, read once.
struct Traces<'a> {
    folder: &'a Path,
    read: BTreeMap<String, Vec<Access>>,
}

impl Traces<'_> {
    fn get(&mut self, name: &str) -> Result<&[Access], StandaloneError> {
        if !self.read.contains_key(name) {
            let path = self.folder.join(format!("{name}.trace.csv.gz"));
            self.read
                .insert(name.to_owned(), read_trace(&path, &Ledger::default())?);
        }
        Ok(&self.read[name])
    }
}

/// Compares with the reference data in `folder`: `summary.csv`, the table of hit bits, and the traces
/// that they name.
///
/// # Errors
/// When the folder does not hold them.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    let mut comparison = Comparison::new();
    let mut traces = Traces {
        folder,
        read: BTreeMap::new(),
    };
    for row in read_rows::<Row>(&folder.join("summary.csv"))? {
        compare_counts(&mut comparison, traces.get(&row.trace)?, &row)?;
    }
    for row in read_rows::<HitBits>(&folder.join(HIT_BITS.0))? {
        compare_hit_bits(&mut comparison, traces.get(&row.trace)?, &row)?;
    }
    Ok(comparison)
}

fn preset_of(row: &Row) -> Result<&'static Preset, StandaloneError> {
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
            StandaloneError::Request(format!(
                "summary.csv: no preset `{}` of this size; `warpweave bench cache --help` lists \
                 them",
                row.geometry
            ))
        })
}

fn judged(why_not: Option<&str>) -> Tolerance {
    why_not.map_or(Tolerance::Exact, |why| {
        Tolerance::Information(why.to_owned())
    })
}

fn unknown(policy: &str) -> StandaloneError {
    StandaloneError::Request(format!("no policy of ours goes by the name `{policy}`"))
}

fn compare_counts(
    comparison: &mut Comparison,
    trace: &[Access],
    row: &Row,
) -> Result<(), StandaloneError> {
    let (replacement, why_not) = policy(&row.policy).ok_or_else(|| unknown(&row.policy))?;
    let mut cache =
        Functional::new(preset_of(row)?, &replacement).map_err(|e| StandaloneError::refused(&e))?;
    for access in trace {
        cache.access(*access);
    }
    let ours = cache.counts();
    let case = format!("{} {} {}", row.trace, row.geometry, row.policy);
    let pairs = [
        ("accesses", Some(ours.accesses), row.accesses),
        ("hits", Some(ours.hits), row.hits),
        ("misses", Some(ours.misses), row.misses),
        ("L2 hits", ours.l2_hits, row.l2_hits),
        ("L2 misses", ours.l2_misses, row.l2_misses),
    ];
    for (quantity, ours, theirs) in pairs {
        // The reference leaves blank what it refused to run, and levels that are not there.
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let tolerance = judged(why_not.filter(|_| quantity != "accesses"));
            comparison.add(
                case.clone(),
                quantity,
                ours as f64,
                theirs as f64,
                tolerance,
            );
        }
    }
    Ok(())
}

fn compare_hit_bits(
    comparison: &mut Comparison,
    trace: &[Access],
    row: &HitBits,
) -> Result<(), StandaloneError> {
    let (replacement, why_not) = policy(&row.policy).ok_or_else(|| unknown(&row.policy))?;
    let preset = GEOMETRIES
        .iter()
        .find(|p| p.name == HIT_BITS.1)
        .expect("the geometry is in the list");
    let mut cache =
        Functional::new(preset, &replacement).map_err(|e| StandaloneError::refused(&e))?;
    let theirs = row.hit_bits.as_bytes();
    let equal = trace
        .iter()
        .zip(theirs)
        .filter(|&(access, bit)| cache.access(*access) == (*bit == b'1'))
        .count();
    // A table of another length than its trace cannot be equal.
    let compared = trace.len().max(theirs.len());
    let case = format!("{} {} {}", row.trace, HIT_BITS.1, row.policy);
    let quantity = "accesses alike, one by one";
    comparison.add(
        case,
        quantity,
        equal as f64,
        compared as f64,
        judged(why_not),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The first accesses of six traces of the reference, packed as the whole folder is.
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
        std::fs::write(folder.path().join(HIT_BITS.0), bits).expect("written");
        folder
    }

    #[test]
    fn prefixes_of_the_reference_are_reproduced_access_by_access() {
        let folder = prefixes();
        let comparison = validate(folder.path()).expect("a whole folder");
        assert!(comparison.holds(), "{}", comparison.text());
        assert!(comparison.text().ends_with("48 compared, 0 missed\n"));
    }

    #[test]
    fn one_wrong_bit_is_a_miss() {
        let folder = prefixes();
        let path = folder.path().join(HIT_BITS.0);
        let bits = std::fs::read_to_string(&path).expect("written above");
        std::fs::write(&path, bits.replacen(",0", ",1", 1)).expect("written");
        let comparison = validate(folder.path()).expect("a whole folder");
        assert_eq!(comparison.misses().len(), 1);
    }

    /// A cache that is not the one of the reference: its other policy.
    #[test]
    fn another_policy_misses() {
        let folder = prefixes();
        let path = folder.path().join(HIT_BITS.0);
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
    fn a_folder_without_the_table_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = validate(folder.path())
            .expect_err("nothing there")
            .to_string();
        assert!(error.contains("summary.csv"), "{error}");
    }
}
