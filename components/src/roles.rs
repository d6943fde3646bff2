//! Roles that statistics of GPU components play.
//!
//! A run adds up and a report shows what plays them, whatever its component is called: a compute unit
//! of another crate is one by the roles of its statistics.

use warpweave_framework::Role;

/// A counter: instructions issued, one for each wavefront. Over a whole run they are those of the
/// program, or a work-group did not run exactly once.
pub const WAVEFRONT_INSTRUCTIONS: Role = Role::new("wavefront_instructions");

/// A counter: instructions issued, one for each active lane.
pub const THREAD_INSTRUCTIONS: Role = Role::new("thread_instructions");

/// A ratio: wavefront slots that held a wavefront, of all slots, both times cycles.
pub const OCCUPANCY: Role = Role::new("occupancy");

/// Counters whose sum is all issue slots of a unit: the one says where some of them went.
pub const ISSUE_SLOTS: Role = Role::new("issue_slots");
