//! GPU hardware components for the Warpweave event kernel.
//!
//! One file (or folder) per component. Memory-side components use the [`memory`] protocol, the
//! launch path uses [`launch`]. Utilities for authors of other components are in
//! [`building_blocks`].

pub mod artefact;
mod bits;
pub mod bloom;
pub mod building_blocks;
pub mod cache;
pub mod ccws;
pub mod checkers;
pub mod clock_crossing;
pub mod cluster_port;
pub mod compute_unit;
pub mod crossbar;
pub mod demands;
pub mod dram;
pub mod gmu;
pub mod host_driver;
pub mod icc;
pub mod interleave;
pub mod kernel_times;
pub mod launch;
pub mod launch_plan;
pub mod launch_unit;
pub mod locality_plan;
pub mod memory;
pub mod occupancy;
mod policy_contract;
mod polynomial;
pub mod reuse_monitor;
pub mod reuse_profile;
pub mod roles;
pub mod work_group_scheduler;
pub mod work_group_table;
