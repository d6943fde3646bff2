//! Latencies: chains of accesses of one wavefront.

use warpweave_files::Ledger;
use warpweave_trace::{KernelTrace, TraceError};

use super::bandwidth::everywhere;
use super::{Figure, Of, bytes, footprints, is_main_memory};
use crate::bench::{Bench, ProbeError};
use crate::programs::{Grid, LINE, Step, kernel};

/// Loads in a walk over a footprint, at most.
const WALK: u64 = 4096;

/// Addresses of measurements whose lines no other has touched.
const FRESH: u64 = 1 << 36;

/// Measures loads by footprint, in an order without pattern, once the lines were brought in. In the
/// longer run, a small footprint is walked twice as often. Other wavefronts bring in the lines of a
/// large one, of which twice as many are visited.
pub(super) fn loads(
    bench: &Bench<'_>,
    largest_bytes: u64,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    for footprint in footprints(largest_bytes) {
        let lines = footprint / LINE;
        let visited = lines.min(WALK);
        let walk = |ledger: &Ledger, walks: u64| {
            let visits = (0..walks * visited).map(move |n| Step::Chase(place(n % lines, lines)));
            kernel(ledger, Grid::SINGLE, |_| visits.clone())
        };
        let pair = bench.pair(1, |ledger, walks| {
            let before = if visited < lines {
                sweep(bench, ledger, lines)?
            } else {
                walk(ledger, 1)?
            };
            Ok(vec![before, walk(ledger, walks)?])
        });
        let is_last = pair.as_ref().is_ok_and(is_main_memory);
        let of = Of {
            quantity: "load latency",
            at: &bytes(footprint),
            unit: "cycles",
        };
        see(of.figure(pair, |pair| pair.cycles() / visited as f64)?);
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Returns the address of the `n`-th line of a walk over this number of lines, a power of two. The
/// order has a full period and no constant stride.
fn place(n: u64, lines: u64) -> u64 {
    let mask = lines - 1;
    // The bits of an odd multiple, mixed: a permutation of the lines.
    let n = n.wrapping_mul(0x9E37_79B1) & mask;
    let half = (mask.count_ones() / 2).max(1);
    let n = (n ^ (n >> half)) & mask;
    (n.wrapping_mul(5) & mask) * LINE
}

/// Returns a kernel by which all units load every line once.
fn sweep(bench: &Bench<'_>, ledger: &Ledger, lines: u64) -> Result<KernelTrace, TraceError> {
    let grid = everywhere(bench);
    let stride = grid.stride();
    kernel(ledger, grid, |wavefront| {
        let mine = (wavefront..lines).step_by(stride as usize);
        mine.map(|line| Step::Load(line * LINE))
    })
}

/// Measures loads that find their line in main memory only, of lines next to each other and of
/// lines in other rows.
pub(super) fn memory(bench: &Bench<'_>, see: &mut dyn FnMut(Figure)) -> Result<(), ProbeError> {
    const LOADS: u64 = 256;
    let cases = [
        ("untouched, next line", LINE),
        ("untouched, 1 MiB apart", (1 << 20) + LINE),
    ];
    for (at, apart) in cases {
        let pair = bench.pair(LOADS, |ledger, loads| {
            let visits = (0..loads).map(|n| Step::Chase(FRESH + n * apart));
            Ok(vec![kernel(ledger, Grid::SINGLE, |_| visits.clone())?])
        });
        let of = Of {
            quantity: "load latency",
            at,
            unit: "cycles",
        };
        see(of.figure(pair, |pair| pair.cycles() / LOADS as f64)?);
    }
    Ok(())
}

/// Measures loads of local memory by the number of lanes that share a bank.
pub(super) fn local_memory(
    bench: &Bench<'_>,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    const LOADS: u64 = 64;
    for lanes in [1, 2, 4, 8, 16, 32] {
        let pair = bench.pair(LOADS, |ledger, loads| {
            let visits = (0..loads).map(|_| Step::Local(lanes));
            Ok(vec![kernel(ledger, Grid::SINGLE, |_| visits.clone())?])
        });
        let at = match lanes {
            1 => "without conflicts".to_owned(),
            lanes => format!("{lanes} banks apart"),
        };
        let of = Of {
            quantity: "local memory latency",
            at: &at,
            unit: "cycles",
        };
        see(of.figure(pair, |pair| pair.cycles() / LOADS as f64)?);
    }
    Ok(())
}

/// Measures atomics on a line that is present, by the lanes that take part, and by wavefronts.
pub(super) fn atomics(bench: &Bench<'_>, see: &mut dyn FnMut(Figure)) -> Result<(), ProbeError> {
    const UPDATES: u64 = 64;
    for (at, lanes, apart) in [
        ("one lane", 1, 4),
        ("32 lanes, one word", 32, 0),
        ("32 lanes, one line", 32, 4),
        ("32 lanes, a line each", 32, LINE),
    ] {
        let pair = bench.pair(UPDATES, |ledger, updates| {
            let visits = (0..updates).map(|_| Step::Atomic(0, lanes, apart));
            Ok(vec![kernel(ledger, Grid::SINGLE, |_| visits.clone())?])
        });
        let of = Of {
            quantity: "atomic latency",
            at,
            unit: "cycles",
        };
        see(of.figure(pair, |pair| pair.cycles() / UPDATES as f64)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_visits_each_line_once() {
        for bits in 3..13 {
            let lines = 1 << bits;
            let mut places: Vec<_> = (0..lines).map(|n| place(n, lines) / LINE).collect();
            let strides: std::collections::BTreeSet<_> =
                places.windows(2).map(|p| p[1].wrapping_sub(p[0])).collect();
            assert!(
                lines < 16 || strides.len() > 4,
                "{lines} lines: {strides:?}"
            );
            places.sort_unstable();
            assert_eq!(places, (0..lines).collect::<Vec<_>>());
        }
    }
}
