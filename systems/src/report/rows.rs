//! Launches as the rows of a table.

use crate::run::KernelResult;

/// Launches listed one by one; more are summed up per kernel.
const LAUNCHES_SHOWN: usize = 12;

/// One launch, or all launches of a kernel.
#[derive(Debug, PartialEq)]
pub(super) struct KernelRow {
    /// With its number if it is one launch of several.
    pub(super) name: String,
    pub(super) launches: usize,
    pub(super) work_groups: u64,
    /// First launch and first start.
    pub(super) launched: Option<u64>,
    pub(super) started: Option<u64>,
    /// The last completion; none while a launch is open.
    pub(super) ended: Option<u64>,
    /// Whether every launch completed.
    pub(super) completed: bool,
    /// Sum over the completed launches, each from its start.
    pub(super) cycles: u64,
    pub(super) instructions: u64,
}

impl KernelRow {
    /// Wavefront instructions per cycle.
    pub(super) fn ipc(&self) -> f64 {
        super::evidence::quotient(self.instructions, self.cycles)
    }
}

/// The rows in the order of the first launch.
pub(super) fn kernel_rows(kernels: &[KernelResult]) -> Vec<KernelRow> {
    let mut rows: Vec<(String, Vec<&KernelResult>)> = Vec::new();
    for kernel in kernels {
        let name = if kernels.len() <= LAUNCHES_SHOWN {
            format!("{} #{}", kernel.name, kernel.number)
        } else {
            kernel.name.clone()
        };
        match rows.iter_mut().find(|(n, _)| *n == name) {
            Some((_, launches)) => launches.push(kernel),
            None => rows.push((name, vec![kernel])),
        }
    }
    let row = |(name, launches): (String, Vec<&KernelResult>)| {
        let first =
            |of: fn(&KernelResult) -> Option<u64>| launches.iter().filter_map(|k| of(k)).min();
        // As long as one launch runs, so does the row.
        let ends: Option<Vec<u64>> = launches.iter().map(|k| k.completed).collect();
        let groups = launches.iter().map(|k| {
            let axes = k.grid.iter().map(|n| u64::from(*n));
            axes.product::<u64>()
        });
        KernelRow {
            name,
            launches: launches.len(),
            work_groups: groups.sum(),
            launched: first(|k| k.launched),
            started: first(|k| k.started),
            completed: ends.is_some(),
            ended: ends.and_then(|ends| ends.into_iter().max()),
            cycles: launches.iter().filter_map(|k| k.run_cycles()).sum(),
            instructions: launches.iter().map(|k| k.wavefront_instructions).sum(),
        }
    };
    rows.into_iter().map(row).collect()
}
