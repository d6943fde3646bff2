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

/// Counters whose sum is all issue slots of a unit: the one says where some of them went. The
/// first that a unit reports are the slots that issued. Reports show the names without `slots_`, and
/// `slots_memory`, `slots_load_store_full` and `slots_no_wavefront` mean what they mean in this crate's
/// compute unit.
pub const ISSUE_SLOTS: Role = Role::new("issue_slots");

/// Counters named `REASON_slots_PART`, of the issue slots that `slots_REASON` counts (`issued` is one): how many went to
/// the part in the name, as far as it is known. Parts are known when a wait ends, so those of an interval
/// may have been lost before.
pub const ISSUE_SLOT_PARTS: Role = Role::new("issue_slot_parts");

/// A ratio: look-ups of a cache that found what they looked for, of all.
pub const HIT_RATE: Role = Role::new("hit_rate");

/// Means over loads, named `load_latency_` and a level of the memory hierarchy: cycles from the issue of
/// a load to its last response, of those loads whose last response that level supplied.
pub const LOAD_LATENCY: Role = Role::new("load_latency");

/// A ratio: cycles in which something that several parts share did what it is there for, such as a link
/// that moved a flit, of all cycles. An index at the end of the name tells alike ones of one
/// component apart.
pub const UTILISATION: Role = Role::new("utilisation");

/// A counter: work-groups that have ended, counted where they are given out. How far a run has come is
/// told by it.
pub const WORK_GROUPS: Role = Role::new("work_groups");
