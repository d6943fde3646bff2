//! Memory-reuse analysis by kernel, work-group and wavefront.
//!
//! ```text
//!   accesses (kernel, work-group, wavefront, line) ─► Analysis ─► Found: shares, ratios, distances, chains
//!   launch graph ──────────────────────────────────────▲
//! ```
//!
//! An access is a line touched by one wavefront instruction, counted once per instruction.
//! Relations between kernels follow from device-side launches: a kernel and itself, a parent and
//! its child, and siblings. Siblings are kernels launched by one *work-group*. Definitions follow
//! "Locality-aware scheduling for dynamic parallelism" (LASER), sections 4 and 5. Choices that the
//! paper leaves open are documented at the code that makes them.

mod analysis;
mod chains;
mod children;
mod distance;
mod footprint;
mod lines;
mod ratio;
mod relation;
pub mod sharing;
mod stack;

pub use self::analysis::{Analysis, Found, Linked, Options, Shares};
pub use self::chains::Chains;
pub use self::children::ChildRatios;
pub use self::distance::{DISTANCE_BINS, Distances};
pub use self::lines::{lines_of, program, trace};
pub use self::ratio::{BINS, Level, Ratios};
pub use self::relation::Relation;
pub use self::stack::LruStack;

use serde::{Deserialize, Serialize};

/// Source of an access: kernel, work-group and wavefront.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Unit {
    /// Number of the kernel launch, in program order.
    pub kernel: u32,
    /// Linear index of the work-group in its grid.
    pub work_group: u32,
    /// Index of the wavefront within its work-group.
    pub wavefront: u32,
}
