//! Bandwidths: loads and stores of all units at a time.

use super::{Figure, Of, Selection, bytes, footprints, is_main_memory};
use crate::bench::{ACCESSES, Bench, Pair, ProbeError};
use crate::programs::{Grid, LINE, Step, kernel};

/// Largest footprint that every unit loads as a whole.
const OF_A_UNIT: u64 = 64 << 10;

/// Addresses of streams whose lines are touched once.
const FRESH: u64 = 1 << 37;

/// Returns a launch that fills the units.
pub(super) fn everywhere(bench: &Bench<'_>) -> Grid {
    Grid {
        work_groups: bench.units() * 8,
        wavefronts: 4,
    }
}

/// Measures loads by footprint; every work-group loads all lines of a small one.
pub(super) fn reads(
    bench: &Bench<'_>,
    largest_bytes: u64,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    let grid = everywhere(bench);
    for footprint in footprints(largest_bytes.min(OF_A_UNIT)).skip(1).step_by(2) {
        let lines = footprint / LINE;
        let once = lines / u64::from(grid.wavefronts);
        let pair = bench.steady(grid, once, |ledger, accesses| {
            let stream = |wavefront: u64| {
                // Work-groups begin at different lines, and their wavefronts next to each other.
                let (work_group, number) = (wavefront / 4, wavefront % 4);
                let line = move |n| (37 * work_group + number + 4 * n) % lines;
                (0..accesses).map(move |n| Step::Load(line(n) * LINE))
            };
            Ok(vec![kernel(ledger, grid, stream)?])
        });
        let of = Of {
            quantity: "read bandwidth",
            at: &bytes(footprint),
            unit: "bytes a cycle",
        };
        see(rate(of, grid, pair)?);
    }
    Ok(())
}

/// Measures loads that bypass the first level, by footprint; all wavefronts share the lines out.
pub(super) fn reads_past(
    bench: &Bench<'_>,
    largest_bytes: u64,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    let grid = everywhere(bench);
    for footprint in footprints(largest_bytes).skip(1).step_by(2) {
        let lines = footprint / LINE;
        let once = lines.div_ceil(grid.all());
        let pair = bench.steady(grid, once, |ledger, accesses| {
            let stream = |wavefront: u64| {
                let line = move |n| (wavefront + n * grid.stride()) % lines;
                (0..accesses).map(move |n| Step::LoadPast(line(n) * LINE))
            };
            Ok(vec![kernel(ledger, grid, stream)?])
        });
        let is_last = pair.as_ref().is_ok_and(|(_, pair)| is_main_memory(pair));
        let of = Of {
            quantity: "read bandwidth past the first level",
            at: &bytes(footprint),
            unit: "bytes a cycle",
        };
        see(rate(of, grid, pair)?);
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Returns the bytes that this number of accesses of each wavefront moves.
fn moved(grid: Grid, accesses: u64) -> f64 {
    (grid.all() * accesses * LINE) as f64
}

/// Returns the figure of the bytes that a pair of runs with these accesses moves in a cycle.
///
/// # Errors
/// Returns the errors of [`probe`](super::probe).
fn rate(
    of: Of<'_>,
    grid: Grid,
    pair: Result<(u64, Pair), ProbeError>,
) -> Result<Figure, ProbeError> {
    let (accesses, pair) = match pair {
        Ok((accesses, pair)) => (accesses, Ok(pair)),
        Err(error) => (0, Err(error)),
    };
    of.figure(pair, |pair| moved(grid, accesses) / pair.cycles())
}

/// Measures stores by footprint; all wavefronts share the lines out, each at least one.
pub(super) fn writes(
    bench: &Bench<'_>,
    largest_bytes: u64,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    let grid = everywhere(bench);
    let shared_out = |footprint: &u64| footprint / LINE >= grid.all();
    let footprints = footprints(largest_bytes).skip(1).step_by(2);
    for footprint in footprints.filter(shared_out) {
        let lines = footprint / LINE;
        let pair = bench.steady(grid, lines.div_ceil(grid.all()), |ledger, accesses| {
            let stream = |wavefront: u64| {
                let line = move |n| (wavefront + n * grid.stride()) % lines;
                (0..accesses).map(move |n| Step::Store(line(n) * LINE))
            };
            Ok(vec![kernel(ledger, grid, stream)?])
        });
        let of = Of {
            quantity: "write bandwidth",
            at: &bytes(footprint),
            unit: "bytes a cycle",
        };
        see(rate(of, grid, pair)?);
    }
    Ok(())
}

/// Measures loads and stores of lines that are touched once.
pub(super) fn memory(
    bench: &Bench<'_>,
    selection: Selection<'_>,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    type Access = fn(u64) -> Step;
    let grid = everywhere(bench);
    let clock = bench.clock_hz()?;
    let kinds: [(&str, Access); 2] = [
        ("read bandwidth", Step::Load),
        ("write bandwidth", Step::Store),
    ];
    for (quantity, access) in kinds.into_iter().filter(|kind| selection.has(kind.0)) {
        let each = bench.repeats(ACCESSES);
        let pair = bench.pair(each, |ledger, accesses| {
            let stream = |wavefront: u64| {
                let line = move |n| FRESH / LINE + n * grid.stride() + wavefront;
                (0..accesses).map(move |n| access(line(n) * LINE))
            };
            Ok(vec![kernel(ledger, grid, stream)?])
        });
        let of = Of {
            quantity,
            at: "untouched lines",
            unit: "bytes a cycle",
        };
        let figure = of.figure(pair, |pair| moved(grid, each) / pair.cycles())?;
        let in_seconds = Figure {
            value: figure.value.map(|value| value * clock / 1e9),
            unit: "GB/s",
            ..figure.clone()
        };
        see(figure);
        see(in_seconds);
    }
    Ok(())
}
