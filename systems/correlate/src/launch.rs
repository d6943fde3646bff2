//! Launches of ours, from whatever source they come.

use crate::sums::Sums;
use crate::traffic::Traffic;

/// One of our runs, with its launches in order.
#[derive(Clone, Debug, Default)]
pub struct OwnRun {
    /// Name as given by the user.
    pub name: String,
    pub launches: Vec<OwnLaunch>,
    /// Parts of the machine from which counters are taken; none without a machine.
    pub(crate) places: Places,
    /// Thread instructions per cycle that issue slots allow, and bytes per cycle of memory.
    pub(crate) ceilings: Option<(f64, f64)>,
}

/// Launch of a run, or of a program that was only emulated.
#[derive(Clone, Debug)]
pub struct OwnLaunch {
    /// Number of the launch within its program.
    pub(crate) number: u32,
    pub(crate) kernel: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) wavefront_instructions: u64,
    pub(crate) thread_instructions: u64,
    /// Registers that the program needs per thread; older reports do not have them.
    pub(crate) registers: Option<u32>,
    pub(crate) counted: Counted,
}

/// Values of a launch that depend on how it was run.
#[derive(Clone, Debug)]
pub(crate) enum Counted {
    /// Values of a launch that was simulated on a machine.
    Timed {
        /// Core cycles of the launch, or the reason that there are none.
        cycles: Result<u64, &'static str>,
        /// Statistics while the launch ran, or the reason that there are none.
        sums: Result<Sums, &'static str>,
    },
    /// Accesses of a launch that was only emulated.
    Traced(Traffic),
}

/// Patterns of the instances that are compute units, caches and memories.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Places {
    pub(crate) units: Option<String>,
    pub(crate) l1: Option<String>,
    pub(crate) l2: Option<String>,
    pub(crate) dram: Option<String>,
}
