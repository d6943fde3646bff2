//! Settings of a compute unit: [`ComputeUnitSpec`], and a file for each of its parts.

mod class_timings;
mod fetch;
mod load_store;
mod local_memory;
mod private_memory;
pub(crate) mod readonly_ports;
mod register_banks;
pub(crate) mod spare_registers;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Policy, SpecError};
use warpweave_trace::Class;

pub use self::class_timings::{ClassTiming, ClassTimings};
pub use self::fetch::FetchSpec;
pub use self::load_store::{AtomicLanes, GlobalLoads, LoadStoreSpec, MemoryPipe};
pub(crate) use self::local_memory::FIELD as SHARED_WITH_CACHE;
pub use self::local_memory::{LocalMemorySpec, SharedMemorySpec, WideAccesses};
pub use self::private_memory::PrivateMemorySpec;
pub use self::readonly_ports::{
    ConstantLanes, ConstantsSpec, TextureAnswers, TextureLoads, TexturesSpec,
};
pub(crate) use self::register_banks::BANKS_MAX;
pub use self::register_banks::RegisterBanksSpec;
pub use self::spare_registers::{
    HeadSequence, LoopExits, PrefetchDistance, SpareRegistersSpec, SpareVariant, StrideFrom,
    TailPrefetches,
};
use crate::compute_unit::limits::{LATENCY_MAX, WAVEFRONT_SLOTS_MAX};
use crate::compute_unit::scheduler::{Gto, SchedulerSite, WavefrontScheduling};
use crate::occupancy::{PARTITIONS_MAX, UnitFacts};
use crate::reuse_monitor::ReuseMonitorSpec;

/// A compute unit: wavefront schedulers, execution pipes and the load/store unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComputeUnitSpec {
    /// Index of the unit in the whole device; requests carry it.
    pub index: u16,
    /// Maximum number of resident wavefronts, 1 to 64.
    pub wavefront_slots: u32,
    /// Maximum number of resident work-groups, 1 to 64.
    pub work_group_slots: u32,
    /// Size of the register file in 32-bit registers.
    pub registers: u32,
    /// Equal partitions of the register file, 1 to 8; absent: the value of the work-group
    /// scheduler.
    #[serde(default)]
    pub register_partitions: Option<u32>,
    /// Allocation granularity of a wavefront in 32-bit registers; absent: the value of the
    /// work-group scheduler.
    #[serde(default)]
    pub register_granularity: Option<u32>,
    /// Number of wavefront schedulers, 1 to 8; slot `s` belongs to scheduler `s mod schedulers`.
    /// Each issues from at most one wavefront per cycle.
    pub schedulers: u32,
    /// Maximum number of instructions that a scheduler issues per cycle, 1 to 4, all from the
    /// chosen wavefront. Source: most machines issue one.
    #[serde(default = "one")]
    pub issues_per_cycle: u32,
    /// Instructions of a wavefront that may issue in the same cycle. Source: as in GPGPU-Sim.
    #[serde(default)]
    pub issue_together: IssueTogether,
    /// Policy by which each scheduler chooses among ready wavefronts. Source: own choice; most
    /// studies compare with `Gto`.
    #[serde(default = "Policy::plain::<Gto>")]
    pub scheduler: Policy<WavefrontScheduling>,
    /// Cycles from a dispatch message to the first issue of its wavefronts, at least 1.
    pub start_latency: u32,
    /// Instruction fetch; absent: instructions are always available.
    #[serde(default)]
    pub fetch: Option<FetchSpec>,
    /// Cycles from issue to execution for reading operands, added to the latency of every result
    /// and access. Source: own choice; the latencies of classes can hold them.
    #[serde(default)]
    pub operand_latency: u32,
    /// Banks from which operands are read; absent: all operands are read at once.
    #[serde(default)]
    pub register_banks: Option<RegisterBanksSpec>,
    /// Maximum number of execution unit results written to registers per cycle, 1 to 32; absent:
    /// any number. An instruction whose result would exceed the limit does not issue. Results of
    /// memories are not counted.
    #[serde(default)]
    pub results_per_cycle: Option<u32>,
    /// Latency and initiation interval of each instruction class.
    pub classes: ClassTimings,
    /// Cycles from one arrival of a wavefront at the barrier of its work-group to the next, 0 to
    /// 64; 0: any number in a cycle. Source: 0, own choice; an H200 takes 2, measured.
    #[serde(default)]
    pub barrier_interval: u32,
    /// Local memory shared by the resident work-groups.
    pub local_memory: LocalMemorySpec,
    /// Cycles from issue of a load from constant or argument memory to issue of a dependent
    /// instruction, at least 1. Ignored if `constants` is present.
    pub constant_latency: u32,
    /// Path of loads from constant and argument memory to a cache; absent: they take
    /// `constant_latency`.
    #[serde(default)]
    pub constants: Option<ConstantsSpec>,
    /// Path of texture reads to a cache; absent: they use the path of other loads.
    #[serde(default)]
    pub textures: Option<TexturesSpec>,
    /// Load/store unit and path to the first-level cache.
    pub load_store: LoadStoreSpec,
    /// Placement of the threads' private memory in the address space.
    pub private_memory: PrivateMemorySpec,
    /// Prefetches loads of loops into registers that a kernel leaves unallocated; absent: it does
    /// not.
    #[serde(default)]
    pub spare_registers: Option<SpareRegistersSpec>,
    /// True if the unit measures for how long wavefronts wait for loaded values, by load. Source:
    /// own choice; it changes no cycle.
    #[serde(default)]
    pub load_waits: bool,
    /// Measures reuse between related kernels at this unit; absent: no monitor.
    #[serde(default)]
    pub reuse_monitor: Option<ReuseMonitorSpec>,
}

fn one() -> u32 {
    1
}

/// Instructions of a wavefront that may issue in the same cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IssueTogether {
    /// Any instructions that do not depend on each other.
    #[default]
    Any,
    /// Instructions for different units: integer, single precision with conversions, shuffles and
    /// votes, double precision, special functions, memory, control.
    DifferentUnits,
}

impl ComputeUnitSpec {
    /// Checks that every parameter is in its range.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        SpecError::in_range(
            "wavefront_slots",
            self.wavefront_slots,
            1..=WAVEFRONT_SLOTS_MAX,
        )?;
        SpecError::in_range("work_group_slots", self.work_group_slots, 1..=64)?;
        SpecError::in_range("registers", self.registers, 1..=1 << 24)?;
        let limits = self.facts().limits();
        let partitions = limits.register_partitions;
        SpecError::in_range("register_partitions", partitions, 1..=PARTITIONS_MAX as u32)?;
        SpecError::in_range(
            "register_granularity",
            limits.register_granularity,
            1..=1 << 16,
        )?;
        SpecError::require(
            self.registers.is_multiple_of(partitions),
            "registers",
            || {
                format!(
                    "{} registers cannot be divided evenly into {partitions} partitions",
                    self.registers
                )
            },
        )?;
        SpecError::in_range("schedulers", self.schedulers, 1..=8)?;
        SpecError::in_range("issues_per_cycle", self.issues_per_cycle, 1..=4)?;
        if let Some(fetch) = &self.fetch {
            fetch.check()?;
        }
        SpecError::in_range("operand_latency", self.operand_latency, 0..=LATENCY_MAX)?;
        if let Some(banks) = &self.register_banks {
            banks.check(self.schedulers)?;
        }
        let results = self.results_per_cycle.unwrap_or(1);
        SpecError::in_range("results_per_cycle", results, 1..=32)?;
        SpecError::in_range("start_latency", self.start_latency, 1..=LATENCY_MAX)?;
        SpecError::in_range("constant_latency", self.constant_latency, 1..=LATENCY_MAX)?;
        if let Some(constants) = &self.constants {
            constants.check()?;
        }
        if let Some(textures) = &self.textures {
            textures.check()?;
        }
        for &class in Class::ALL {
            let ClassTiming { latency, interval } = self.classes.of(class);
            for (part, cycles) in [("latency", latency), ("interval", interval)] {
                SpecError::in_range(part, cycles, 1..=LATENCY_MAX).map_err(|error| {
                    SpecError::at(format!("classes.{}.{part}", class.name()), error.message)
                })?;
            }
        }
        if let Some(spares) = &self.spare_registers {
            spares.check()?;
        }
        SpecError::in_range("barrier_interval", self.barrier_interval, 0..=64)?;
        let local = &self.local_memory;
        local.check()?;
        let unit = &self.load_store;
        SpecError::require(
            [32, 64, 128].contains(&unit.line_bytes),
            "load_store.line_bytes",
            || format!("{} must be 32, 64 or 128", unit.line_bytes),
        )?;
        SpecError::in_range("load_store.queue_depth", unit.queue_depth, 1..=1024)?;
        let accesses = unit.issues_per_cycle.unwrap_or(1);
        SpecError::in_range("load_store.issues_per_cycle", accesses, 1..=8)?;
        let bytes = unit.bytes_per_cycle.unwrap_or(1);
        SpecError::in_range("load_store.bytes_per_cycle", bytes, 1..=4096)?;
        if unit.pipe == MemoryPipe::InOrder {
            let before = [Class::Load, Class::Store, Class::Atomic, Class::Prefetch];
            let before = before.map(|class| self.classes.of(class).latency);
            let before = before.into_iter().max().unwrap_or(0);
            SpecError::require(local.latency > before, "local_memory.latency", || {
                format!(
                    "{} must be greater than the {before} cycles that an access takes to reach the pipe (`classes`: load, store, atomic)",
                    local.latency
                )
            })?;
        }
        SpecError::in_range(
            "load_store.requests_per_cycle",
            unit.requests_per_cycle,
            1..=32,
        )?;
        SpecError::in_range(
            "load_store.outstanding_max",
            unit.outstanding_max,
            1..=1 << 16,
        )?;
        SpecError::in_range(
            "load_store.writeback_latency",
            unit.writeback_latency,
            0..=LATENCY_MAX,
        )?;
        let private = &self.private_memory;
        SpecError::require(
            private.base.is_multiple_of(128),
            "private_memory.base",
            || format!("{:#x} must be a multiple of 128", private.base),
        )?;
        SpecError::require(
            private.bytes_per_thread > 0 && private.bytes_per_thread.is_multiple_of(4),
            "private_memory.bytes_per_thread",
            || {
                format!(
                    "{} must be a positive multiple of 4",
                    private.bytes_per_thread
                )
            },
        )?;
        SpecError::require(
            private
                .base
                .checked_add(self.private_region(WAVEFRONT_SLOTS_MAX))
                .is_some(),
            "private_memory.base",
            || {
                format!(
                    "{:#x} leaves no room below the end of the address space",
                    private.base
                )
            },
        )
    }

    /// Returns the parameters for the policy of one scheduler.
    pub(crate) fn site(&self, scheduler: u32) -> SchedulerSite {
        let slots = (scheduler..self.wavefront_slots).step_by(self.schedulers as usize);
        SchedulerSite {
            unit: self.index,
            scheduler,
            schedulers: self.schedulers,
            slots: slots.fold(0, |mask, slot| mask | 1 << slot),
            wavefront_slots: self.wavefront_slots,
            work_group_slots: self.work_group_slots,
        }
    }

    /// Returns the parameters that the unit publishes to the work-group scheduler.
    pub(crate) fn facts(&self) -> UnitFacts {
        UnitFacts {
            wavefront_slots: self.wavefront_slots,
            work_group_slots: self.work_group_slots,
            registers: self.registers,
            register_partitions: self.register_partitions,
            register_granularity: self.register_granularity,
            local_memory_bytes: self.local_memory.bytes,
        }
    }

    /// The longest time from the last answer at a read-only port to the registers.
    pub(super) fn longest_readonly_writeback(&self) -> u32 {
        let constants = self.constants.map(|spec| spec.writeback_latency);
        let textures = self.textures.map(|spec| spec.writeback_latency);
        constants.max(textures).unwrap_or(0)
    }

    /// Returns the address range of the private memory of the unit's threads.
    pub(crate) fn private_range(&self) -> Range<u64> {
        let at = |slot| self.private_memory.base + self.private_region(slot);
        at(0)..at(self.wavefront_slots)
    }

    /// Returns the byte offset of the private region of wavefront slot `slot` from the first region
    /// of the device.
    pub(crate) fn private_region(&self, slot: u32) -> u64 {
        let number = u64::from(self.index) * u64::from(self.wavefront_slots) + u64::from(slot);
        number * 32 * u64::from(self.private_memory.bytes_per_thread)
    }
}
