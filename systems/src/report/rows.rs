//! Kernel launches as the rows of a table.

use crate::run::KernelResult;

/// Maximum number of launches listed individually; beyond it they are summed per kernel.
const LAUNCHES_SHOWN: usize = 12;

/// Row for one launch, or for all launches of a kernel.
#[derive(Debug, PartialEq)]
pub(super) struct KernelRow {
    /// Name of the kernel, with the launch number if there are several launches.
    pub(super) name: String,
    /// Numbers of the launches.
    pub(super) launches: Vec<u32>,
    pub(super) work_groups: u64,
    /// Core cycle of the first launch; that of the first start follows.
    pub(super) launched: Option<u64>,
    pub(super) started: Option<u64>,
    /// Core cycle of the last completion; `None` while a launch is incomplete.
    pub(super) ended: Option<u64>,
    /// True if every launch of the row completed.
    pub(super) completed: bool,
    /// Sum of cycles over the completed launches, each from its start.
    pub(super) cycles: u64,
    pub(super) instructions: u64,
}

impl KernelRow {
    /// Returns the wavefront instructions per cycle.
    pub(super) fn ipc(&self) -> f64 {
        super::evidence::quotient(self.instructions, self.cycles)
    }
}

/// Returns the rows in the order of the first launch.
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
            launches: launches.iter().map(|k| k.number).collect(),
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
