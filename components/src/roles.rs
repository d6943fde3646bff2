//! Roles of the statistics that GPU components report.
//!
//! A run sums the statistics with a role and a report shows them, independent of the component's
//! name. A compute unit of another crate is recognised by the roles of its statistics.

use warpweave_framework::Role;

/// A counter: wavefront instructions issued. Over a whole run the sum must match the program,
/// otherwise a work-group did not run exactly once.
pub const WAVEFRONT_INSTRUCTIONS: Role = Role::new("wavefront_instructions");

/// A counter: thread instructions issued, one for each active lane.
pub const THREAD_INSTRUCTIONS: Role = Role::new("thread_instructions");

/// A ratio: occupied wavefront slots to all slots, both summed over cycles.
pub const OCCUPANCY: Role = Role::new("occupancy");

/// Counters whose sum is all issue slots of a unit, divided by outcome. The first one a unit
/// reports counts the slots that issued. Reports show the names without `slots_`. The names
/// `slots_memory`, `slots_load_store_full` and `slots_no_wavefront` have the same meaning as in
/// this crate's compute unit.
pub const ISSUE_SLOTS: Role = Role::new("issue_slots");

/// Counters named `REASON_slots_PART`, which divide the issue slots that `slots_REASON` counts
/// (`issued` is one) by the known part. A part is known only when a wait ends, so those of an
/// interval may have been lost earlier.
pub const ISSUE_SLOT_PARTS: Role = Role::new("issue_slot_parts");

/// A ratio: cache hits to all look-ups of a cache.
pub const HIT_RATE: Role = Role::new("hit_rate");

/// Mean latencies of loads, named `load_latency_` and a level of the memory hierarchy. Counts
/// cycles from the issue of a load to its last response, for loads whose last response came from
/// that level.
pub const LOAD_LATENCY: Role = Role::new("load_latency");

/// A ratio: cycles in which a shared resource was busy, such as a link that moved a flit, to all
/// cycles. An index at the end of the name distinguishes several of one component.
pub const UTILISATION: Role = Role::new("utilisation");

/// A counter: completed work-groups, counted by the dispatcher. Used to measure the progress of a
/// run.
pub const WORK_GROUPS: Role = Role::new("work_groups");
