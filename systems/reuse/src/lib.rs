//! Who uses again what of memory.
//!
//! ```text
//!   accesses (kernel, work-group, wavefront, line) ─► Analysis ─► Found: shares, ratios, distances, chains
//!   launch graph ──────────────────────────────────────▲
//! ```
//!
//! An access is a line that an instruction of a wavefront touches, once for each instruction. Relations between
//! kernels follow from launches from the device: a kernel and itself, a parent and its child, and siblings: kernels that
//! one *work-group* launched. Definitions are those of "Locality-aware scheduling for dynamic parallelism" (LASER),
//! sections 4 and 5; what the paper leaves open is said where it is decided.

mod analysis;
mod chains;
mod distance;
mod footprint;
mod lines;
mod ratio;
mod relation;
mod saved;
mod stack;

pub use self::analysis::{Analysis, Found, Linked, Options, Shares};
pub use self::chains::Chains;
pub use self::distance::{DISTANCE_BINS, Distances};
pub use self::lines::{lines_of, program, trace};
pub use self::ratio::{BINS, Level, Ratios};
pub use self::relation::Relation;
pub use self::stack::LruStack;

use serde::{Deserialize, Serialize};

/// Who made an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Unit {
    /// Number of the launch.
    pub kernel: u32,
    /// Linear number of the work-group.
    pub work_group: u32,
    /// What tells the wavefronts of the work-group apart.
    pub wavefront: u32,
}
