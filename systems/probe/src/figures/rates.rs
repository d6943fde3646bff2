//! Launches, dispatch of work-groups, barriers, and latencies and rates of instructions.

use warpweave_files::Ledger;
use warpweave_trace::{KernelTrace, TraceError};

use super::{Figure, Of, Selection};
use crate::bench::{Bench, ProbeError};
use crate::programs::{ARITHMETIC, Grid, Step, kernel};

/// Returns a kernel whose wavefronts end at once.
fn empty(ledger: &Ledger, grid: Grid) -> Result<KernelTrace, TraceError> {
    kernel(ledger, grid, |_| [])
}

/// Measures launches of empty kernels.
pub(super) fn launches(bench: &Bench<'_>, see: &mut dyn FnMut(Figure)) -> Result<(), ProbeError> {
    let of = |quantity, at, unit| Of { quantity, at, unit };
    let one = bench.pair(1, |ledger, _| Ok(vec![empty(ledger, Grid::SINGLE)?]));
    let launch = of("launch", "one empty work-group", "cycles");
    see(launch.figure(one, |pair| pair.less.cycles as f64)?);
    let several = bench.pair(4, |ledger, count| {
        (0..count).map(|_| empty(ledger, Grid::SINGLE)).collect()
    });
    let next = of("launch", "behind another in its stream", "cycles");
    see(next.figure(several, |pair| {
        (pair.more.whole as f64 - pair.less.whole as f64) / 4.0
    })?);
    Ok(())
}

/// Measures the dispatch of empty work-groups.
pub(super) fn dispatch(bench: &Bench<'_>, see: &mut dyn FnMut(Figure)) -> Result<(), ProbeError> {
    let units = u64::from(bench.units());
    let dispatched = bench.pair(64 * units, |ledger, work_groups| {
        Ok(vec![empty(
            ledger,
            Grid {
                work_groups: work_groups as u32,
                wavefronts: 1,
            },
        )?])
    });
    let dispatch = Of {
        quantity: "dispatch",
        at: "empty work-groups",
        unit: "work-groups a cycle",
    };
    see(dispatch.figure(dispatched, |pair| (64 * units) as f64 / pair.cycles())?);
    Ok(())
}

/// Measures barriers of one work-group.
pub(super) fn barriers(bench: &Bench<'_>, see: &mut dyn FnMut(Figure)) -> Result<(), ProbeError> {
    for (wavefronts, at) in [
        (1, "1 wavefront"),
        (4, "4 wavefronts"),
        (32, "32 wavefronts"),
    ] {
        let barriers = bench.pair(64, |ledger, count| {
            let waits = (0..count).map(|_| Step::Barrier);
            let grid = Grid {
                work_groups: 1,
                wavefronts,
            };
            Ok(vec![kernel(ledger, grid, |_| waits.clone())?])
        });
        let barrier = Of {
            quantity: "barrier",
            at,
            unit: "cycles",
        };
        see(barrier.figure(barriers, |pair| pair.cycles() / 64.0)?);
    }
    Ok(())
}

/// Measures each class of instructions: dependent ones of one wavefront, and independent ones of
/// 32 wavefronts on each unit.
pub(super) fn arithmetic(
    bench: &Bench<'_>,
    selection: Selection<'_>,
    see: &mut dyn FnMut(Figure),
) -> Result<(), ProbeError> {
    const COUNT: u64 = 64;
    const LANES: f64 = 32.0;
    for (number, class) in ARITHMETIC.iter().enumerate() {
        let of = Of {
            quantity: "instruction latency",
            at: class.name(),
            unit: "cycles",
        };
        if selection.has(of.quantity) {
            let chained = bench.pair(COUNT, |ledger, count| {
                let chain = (0..count).map(|_| Step::Chain(number));
                Ok(vec![kernel(ledger, Grid::SINGLE, |_| chain.clone())?])
            });
            see(of.figure(chained, |pair| pair.cycles() / COUNT as f64)?);
        }
        let of = Of {
            quantity: "instruction rate",
            at: class.name(),
            unit: "lanes a cycle and unit",
        };
        if !selection.has(of.quantity) {
            continue;
        }
        let grid = Grid {
            work_groups: bench.units() * 8,
            wavefronts: 4,
        };
        let each = bench.repeats(COUNT);
        let independent = bench.pair(each, |ledger, count| {
            let free = (0..count).map(|_| Step::Free(number));
            Ok(vec![kernel(ledger, grid, |_| free.clone())?])
        });
        let done = 32.0 * each as f64 * LANES;
        see(of.figure(independent, |pair| done / pair.cycles())?);
    }
    Ok(())
}
