//! Sharing of lines and words among the work-groups of a launch, after the CTA-clustering paper.
//!
//! A touch is an access of a wavefront instruction to a line or to a word of 4 bytes, once per
//! instruction. The first touch in a launch is no reuse. A later one is *intra* if the same
//! work-group touched the line or word before, and otherwise *inter*.

mod class;
mod counts;
mod kernel;
mod launch;
mod score;

pub use self::class::{COALESCED_FROM, SHARED_FROM, SharingClass};
pub use self::counts::{Reuses, SharingCounts};
pub use self::kernel::sharing_of;
pub use self::launch::{Effect, LaunchSharing, Touch, TouchOrder};
pub use self::score::{ClusterOrder, cluster_score};

/// Number of bytes in a word.
const WORD_BYTES: u64 = 4;
