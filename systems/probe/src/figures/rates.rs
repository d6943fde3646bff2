//! Launches, dispatch of work-groups, barriers, and latencies and rates of instructions.

use warpweave_files::Ledger;

use super::{Figure, Of};
use crate::bench::{Bench, ProbeError};
use crate::programs::{ARITHMETIC, Grid, Step, kernel};

/// Measures launches of empty kernels, the dispatch of their work-groups, and barriers.
pub(super) fn launches(bench: &Bench<'_>, see: &mut dyn FnMut(Figure)) -> Result<(), ProbeError> {
    let empty = |ledger: &Ledger, grid| kernel(ledger, grid, |_| []);
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
    let dispatch = of("dispatch", "empty work-groups", "work-groups a cycle");
    see(dispatch.figure(dispatched, |pair| (64 * units) as f64 / pair.cycles())?);
    let barriers = bench.pair(64, |ledger, count| {
        let waits = (0..count).map(|_| Step::Barrier);
        let grid = Grid {
            work_groups: 1,
            wavefronts: 4,
        };
        Ok(vec![kernel(ledger, grid, |_| waits.clone())?])
    });
    let barrier = of("barrier", "4 wavefronts", "cycles");
    see(barrier.figure(barriers, |pair| pair.cycles() / 64.0)?);
    Ok(())
}

/// Measures each class of instructions: dependent ones of one wavefront, and independent ones of
/// 32 wavefronts on each unit.
pub(super) fn arithmetic(bench: &Bench<'_>, see: &mut dyn FnMut(Figure)) -> Result<(), ProbeError> {
    const COUNT: u64 = 64;
    const LANES: f64 = 32.0;
    for (number, class) in ARITHMETIC.iter().enumerate() {
        let chained = bench.pair(COUNT, |ledger, count| {
            let chain = (0..count).map(|_| Step::Chain(number));
            Ok(vec![kernel(ledger, Grid::SINGLE, |_| chain.clone())?])
        });
        let of = Of {
            quantity: "instruction latency",
            at: class.name(),
            unit: "cycles",
        };
        see(of.figure(chained, |pair| pair.cycles() / COUNT as f64)?);
        let grid = Grid {
            work_groups: bench.units() * 8,
            wavefronts: 4,
        };
        let independent = bench.pair(COUNT, |ledger, count| {
            let free = (0..count).map(|_| Step::Free(number));
            Ok(vec![kernel(ledger, grid, |_| free.clone())?])
        });
        let of = Of {
            quantity: "instruction rate",
            at: class.name(),
            unit: "lanes a cycle and unit",
        };
        let done = 32.0 * COUNT as f64 * LANES;
        see(of.figure(independent, |pair| done / pair.cycles())?);
    }
    Ok(())
}
