//! What a description may set of a compute unit.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Policy, SpecError};
use warpweave_trace::Class;

use super::fetch::FetchSpec;
use super::read_paths::{ConstantsSpec, TexturesSpec};
use super::register_file::BANKS_MAX;
use super::{Gto, SchedulerSite, SharedMemorySpec, WavefrontScheduling};
use crate::occupancy::{PARTITIONS_MAX, UnitFacts};
use crate::reuse_monitor::ReuseMonitorSpec;

/// Wavefront slots a unit can have at most: one bit of a mask each.
pub(super) const WAVEFRONT_SLOTS_MAX: u32 = 64;
/// Longest latency or interval accepted, in cycles.
pub(super) const LATENCY_MAX: u32 = 1 << 16;

/// A compute unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComputeUnitSpec {
    /// Number of the unit, counted over the whole machine; requests carry it.
    pub index: u16,
    /// Wavefronts resident at a time, 1 to 64.
    pub wavefront_slots: u32,
    /// Work-groups resident at a time, 1 to 64.
    pub work_group_slots: u32,
    /// 32-bit registers of the register file.
    pub registers: u32,
    /// Equal partitions of the register file, 1 to 8; absent: what the work-group scheduler states.
    #[serde(default)]
    pub register_partitions: Option<u32>,
    /// Registers are allocated to a wavefront in multiples of this many 32-bit registers; absent: what
    /// the work-group scheduler states.
    #[serde(default)]
    pub register_granularity: Option<u32>,
    /// Wavefront schedulers, 1 to 8; slot `s` belongs to scheduler `s mod schedulers`. Each issues
    /// in at most one wavefront per cycle.
    pub schedulers: u32,
    /// Instructions that a scheduler issues per cycle at most, 1 to 4, all of the wavefront chosen. Source: most
    /// machines issue one.
    #[serde(default = "one")]
    pub issues_per_cycle: u32,
    /// Which instructions of a wavefront issue in one cycle. Source: as in GPGPU-Sim.
    #[serde(default)]
    pub issue_together: IssueTogether,
    /// How each scheduler chooses among wavefronts that can issue. Source: own choice; most studies
    /// compare with `Gto`.
    #[serde(default = "Policy::plain::<Gto>")]
    pub scheduler: Policy<WavefrontScheduling>,
    /// Cycles from a dispatch message to the first issue of its wavefronts, at least 1.
    pub start_latency: u32,
    /// How instructions are fetched; absent: they are there when they are needed.
    #[serde(default)]
    pub fetch: Option<FetchSpec>,
    /// Cycles from issue to execution, in which operands are read: added to the latency of every result and of
    /// every access. Source: own choice; the latencies of classes can hold them.
    #[serde(default)]
    pub operand_latency: u32,
    /// Banks that operands are read from; absent: all operands are read at once.
    #[serde(default)]
    pub register_banks: Option<RegisterBanksSpec>,
    /// Results of execution units that are written to registers per cycle at most, 1 to 32; absent: any number.
    /// An instruction whose result would be one more does not issue. Results of memories are not counted.
    #[serde(default)]
    pub results_per_cycle: Option<u32>,
    /// Latency and initiation interval per instruction class.
    pub classes: ClassTimings,
    /// The local memory of resident work-groups.
    pub local_memory: LocalMemorySpec,
    /// Cycles from issue of a load from constant or argument memory to issue of an instruction
    /// that needs its result, at least 1. It says nothing where there are `constants`.
    pub constant_latency: u32,
    /// The path of loads from constant and argument memory to a cache; absent: they take `constant_latency`.
    #[serde(default)]
    pub constants: Option<ConstantsSpec>,
    /// The path of reads of textures to a cache; absent: they go with other loads.
    #[serde(default)]
    pub textures: Option<TexturesSpec>,
    /// The path to the first-level cache.
    pub load_store: LoadStoreSpec,
    /// Where private memory of threads lies in the address space.
    pub private_memory: PrivateMemorySpec,
    /// Measures reuse between related kernels at this unit; absent: no monitor.
    #[serde(default)]
    pub reuse_monitor: Option<ReuseMonitorSpec>,
}

fn one() -> u32 {
    1
}

/// Banks of the register file, and collectors that operands go to. A bank reads one register after the other, those of one
/// instruction behind those of instructions that issued before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterBanksSpec {
    /// Number of banks, 1 to 64: register `r` lies in bank `r mod banks`.
    pub banks: u32,
    /// Whether register `r` of wavefront slot `s` lies in bank `(r + s) mod banks` instead. Source: off, own
    /// choice; GPGPU-Sim shifts banks by the number of the warp.
    #[serde(default)]
    pub by_wavefront: bool,
    /// Registers that a bank reads per cycle, 1 to 8. Source: one port, as in operand collectors of GPGPU-Sim.
    #[serde(default = "one")]
    pub reads_per_cycle: u32,
    /// Instructions that wait for operands at a time, 1 to 64: each takes a collector from its issue until its last
    /// register is read, one cycle at least, and none issues without one.
    pub collectors: u32,
    /// Whether a collector takes one register after the other, as many in a cycle as a bank reads. Source: off, own choice;
    /// GPGPU-Sim gives a collector one register at a time.
    #[serde(default)]
    pub one_by_one: bool,
    /// Whether each scheduler has an equal part of banks and collectors, which serve its wavefronts alone, as the sub-cores
    /// of Volta have. Source: off, own choice.
    #[serde(default)]
    pub by_scheduler: bool,
}

impl RegisterBanksSpec {
    fn check(&self, schedulers: u32) -> Result<(), SpecError> {
        SpecError::in_range("register_banks.banks", self.banks, 1..=BANKS_MAX as u32)?;
        SpecError::in_range("register_banks.collectors", self.collectors, 1..=64)?;
        SpecError::in_range(
            "register_banks.reads_per_cycle",
            self.reads_per_cycle,
            1..=8,
        )?;
        let parts = self.parts(schedulers);
        for (part, count) in [("banks", self.banks), ("collectors", self.collectors)] {
            let field = format!("register_banks.{part}");
            SpecError::require(count.is_multiple_of(parts), &field, || {
                format!("{count} cannot be dealt to {parts} schedulers, as `by_scheduler` says")
            })?;
        }
        Ok(())
    }

    /// Parts that serve nobody else's wavefronts.
    pub(super) fn parts(&self, schedulers: u32) -> u32 {
        if self.by_scheduler { schedulers } else { 1 }
    }

    /// The most cycles for which an instruction waits for its last operand, if no instruction reads more than
    /// `sources` registers: all collectors wait for one bank.
    pub(super) fn longest_wait(&self, sources: u32) -> u32 {
        (self.collectors * sources).div_ceil(self.reads_per_cycle)
    }
}

/// What becomes of lanes of an atomic operation that update the same word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AtomicLanes {
    /// They share the request of their line, which is served as one wherever atomics are carried out.
    #[default]
    Together,
    /// Each goes in a request of its own: there are as many requests for a line as the word that most lanes update
    /// has lanes.
    Apart,
}

/// Which instructions of a wavefront issue in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IssueTogether {
    /// Any that do not wait for each other.
    #[default]
    Any,
    /// Those that go to different units: integer, single precision with conversions, shuffles and votes,
    /// double precision, special functions, memory, control.
    DifferentUnits,
}

/// Who serves accesses to local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MemoryPipe {
    /// A port of its own, beside the load/store queue.
    #[default]
    Separate,
    /// The load/store queue: accesses to local, global and private memory leave it in the order of
    /// issue, and each holds its place until its last bank conflict is served or its last request sent.
    InOrder,
}

/// Times of one instruction class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassTiming {
    /// Cycles from issue to issue of a dependent instruction, at least 1. Memory accesses that
    /// leave the unit: cycles from issue to the first request. Branches, barriers and fences:
    /// cycles to the next instruction of the wavefront (barriers: after the last arrival).
    pub latency: u32,
    /// Cycles between two issues of the class on one scheduler, at least 1.
    pub interval: u32,
}

macro_rules! class_timings {
    ($($(#[$doc:meta])* $field:ident: $class:ident,)*) => {
        /// Times of every instruction class.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ClassTimings {
            $($(#[$doc])* pub $field: ClassTiming,)*
        }

        impl ClassTimings {
            /// Every class with the same times.
            pub fn uniform(timing: ClassTiming) -> Self {
                Self { $($field: timing,)* }
            }

            /// The times of a class.
            pub fn of(&self, class: Class) -> ClassTiming {
                match class {
                    $(Class::$class => self.$field,)*
                    // A launch is a call to the wavefront.
                    Class::Launch => self.branch,
                    Class::Prefetch => self.load,
                }
            }
        }
    };
}

class_timings! {
    /// Integer add, logic, shift, compare, move.
    int_add: IntAdd,
    /// Integer multiply and multiply-add.
    int_mul: IntMul,
    /// Integer divide and remainder.
    int_div: IntDiv,
    /// Single-precision add and compare.
    fp_add: FpAdd,
    /// Single-precision multiply and fused multiply-add.
    fp_mul: FpMul,
    /// Single-precision divide.
    fp_div: FpDiv,
    /// Double-precision add and compare.
    dp_add: DpAdd,
    /// Double-precision multiply and fused multiply-add.
    dp_mul: DpMul,
    /// Double-precision divide.
    dp_div: DpDiv,
    /// Roots, reciprocals, exponentials, sine and cosine.
    special: Special,
    /// Conversions.
    convert: Convert,
    /// Exchange of values between lanes.
    shuffle: Shuffle,
    /// Votes over lanes.
    vote: Vote,
    /// Branches, and launches of kernels.
    branch: Branch,
    /// Work-group barriers.
    barrier: Barrier,
    /// Memory fences.
    fence: Fence,
    /// Loads and prefetches.
    load: Load,
    /// Stores.
    store: Store,
    /// Atomics.
    atomic: Atomic,
    /// End of threads.
    exit: Exit,
}

/// The local memory of a compute unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalMemorySpec {
    /// Size in bytes.
    pub bytes: u32,
    /// Banks, 1 to 128; consecutive 4-byte words lie in consecutive banks.
    pub banks: u32,
    /// Cycles from issue of a load without bank conflicts to issue of a dependent instruction, at
    /// least 1.
    pub latency: u32,
    /// The memory that local memory and the first-level cache are parts of; absent: each has its own, of one size.
    #[serde(default)]
    pub shared_with_cache: Option<SharedMemorySpec>,
}

/// The load/store unit: coalescer, queue of accesses, outstanding requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadStoreSpec {
    /// Bytes of the lines requests name: 32, 64 or 128.
    pub line_bytes: u32,
    /// Accesses (wavefront instructions) that wait for their requests to be sent, 1 to 1024; when
    /// full, memory instructions do not issue.
    pub queue_depth: u32,
    /// Who serves accesses to local memory. Source: own choice; `InOrder` is GPGPU-Sim's, whose memory
    /// collectors are the queue.
    #[serde(default)]
    pub pipe: MemoryPipe,
    /// Accesses to local, global and private memory, and by `constants`, that all schedulers together issue per
    /// cycle at most, 1 to 8; absent: as many as there are schedulers.
    #[serde(default)]
    pub issues_per_cycle: Option<u32>,
    /// What becomes of lanes of an atomic operation on global memory that update the same word. Source: own choice;
    /// `Apart` is GPGPU-Sim's.
    #[serde(default)]
    pub atomics: AtomicLanes,
    /// Requests sent per cycle at most, 1 to 32.
    pub requests_per_cycle: u32,
    /// Requests sent and not yet answered at most, 1 to 65536; when reached, sending waits.
    pub outstanding_max: u32,
    /// Cycles from the last response of a load to issue of a dependent instruction; 0 allows it
    /// in the cycle in which the response arrives.
    pub writeback_latency: u32,
}

/// Where private (PTX `.local`) memory of threads lies.
///
/// Word `w` of lane `l` of a wavefront lies at `region + 128 w + 4 l`: equal offsets of a
/// wavefront's threads share a line. Each wavefront slot of the machine has its own region of
/// `32 * bytes_per_thread` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivateMemorySpec {
    /// Byte address of the first region, a multiple of 128.
    pub base: u64,
    /// Bytes per thread, a positive multiple of 4.
    pub bytes_per_thread: u32,
}

impl ComputeUnitSpec {
    /// Checks every number.
    pub(super) fn check(&self) -> Result<(), SpecError> {
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
                    "{} registers do not divide into {partitions} partitions",
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
        let local = &self.local_memory;
        SpecError::in_range("local_memory.bytes", local.bytes, 0..=1 << 28)?;
        SpecError::in_range("local_memory.banks", local.banks, 1..=128)?;
        SpecError::in_range("local_memory.latency", local.latency, 1..=LATENCY_MAX)?;
        if let Some(shared) = &local.shared_with_cache {
            shared.check(local.bytes)?;
        }
        let unit = &self.load_store;
        SpecError::require(
            [32, 64, 128].contains(&unit.line_bytes),
            "load_store.line_bytes",
            || format!("{} is not 32, 64 or 128", unit.line_bytes),
        )?;
        SpecError::in_range("load_store.queue_depth", unit.queue_depth, 1..=1024)?;
        let accesses = unit.issues_per_cycle.unwrap_or(1);
        SpecError::in_range("load_store.issues_per_cycle", accesses, 1..=8)?;
        if unit.pipe == MemoryPipe::InOrder {
            let before = [Class::Load, Class::Store, Class::Atomic, Class::Prefetch];
            let before = before.map(|class| self.classes.of(class).latency);
            let before = before.into_iter().max().unwrap_or(0);
            SpecError::require(local.latency > before, "local_memory.latency", || {
                format!(
                    "{} is not longer than the {before} cycles that an access takes to the pipe \
                     (`classes`: load, store, atomic)",
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
            || format!("{:#x} is not a multiple of 128", private.base),
        )?;
        SpecError::require(
            private.bytes_per_thread > 0 && private.bytes_per_thread.is_multiple_of(4),
            "private_memory.bytes_per_thread",
            || {
                format!(
                    "{} is not a positive multiple of 4",
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

    /// What the unit tells the policy of one of its schedulers.
    pub(super) fn site(&self, scheduler: u32) -> SchedulerSite {
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

    /// What the unit tells its work-group scheduler.
    pub(super) fn facts(&self) -> UnitFacts {
        UnitFacts {
            wavefront_slots: self.wavefront_slots,
            work_group_slots: self.work_group_slots,
            registers: self.registers,
            register_partitions: self.register_partitions,
            register_granularity: self.register_granularity,
            local_memory_bytes: self.local_memory.bytes,
        }
    }

    /// Addresses of the private memory of the unit's threads.
    pub(crate) fn private_range(&self) -> Range<u64> {
        let at = |slot| self.private_memory.base + self.private_region(slot);
        at(0)..at(self.wavefront_slots)
    }

    /// Bytes from the first private region of the machine to that of wavefront slot `slot`.
    pub(super) fn private_region(&self, slot: u32) -> u64 {
        let number = u64::from(self.index) * u64::from(self.wavefront_slots) + u64::from(slot);
        number * 32 * u64::from(self.private_memory.bytes_per_thread)
    }
}
