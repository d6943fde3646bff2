//! Occupancy: number of work-groups of a kernel that one compute unit can hold.
//!
//! A work-group of `w` wavefronts needs a work-group slot, `w` wavefront slots, `w` register
//! allocations and its local memory. Registers are allocated per wavefront in whole granules. Each
//! wavefront uses one of the equal partitions of the register file:
//!
//! ```text
//! registers per wavefront = ceil(registers per thread × 32 / granularity) × granularity
//! wavefronts by registers = partitions × floor((registers / partitions) / registers per wavefront)
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;
use warpweave_trace::{KernelTrace, LANES};

/// Maximum number of register partitions of a unit.
pub const PARTITIONS_MAX: usize = 8;

/// Maximum number of registers per thread that instructions can name on machines with 6 bits for
/// each (graph thesis, 3.3.2.7).
pub const NAMED_REGISTERS_MAX: u32 = 63;

/// Resources of one compute unit for work-groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitLimits {
    /// Maximum number of resident wavefronts of 32 threads, 1 to 4096.
    pub wavefront_slots: u32,
    /// Maximum number of resident work-groups, 1 to 64.
    pub work_group_slots: u32,
    /// Size of the whole register file in 32-bit registers; a multiple of `register_partitions`.
    pub registers: u32,
    /// Equal partitions of the register file, 1 to 8. The registers of a wavefront are all in one
    /// partition.
    pub register_partitions: u32,
    /// Allocation granularity of a wavefront in 32-bit registers.
    pub register_granularity: u32,
    /// Local memory for work-groups, in bytes.
    pub local_memory_bytes: u32,
}

/// Resources that a compute unit publishes to its work-group scheduler: the parts of [`UnitLimits`]
/// known to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitFacts {
    /// Maximum number of resident wavefronts of 32 threads.
    pub wavefront_slots: u32,
    /// Maximum number of resident work-groups per unit.
    pub work_group_slots: u32,
    /// Size of the whole register file in 32-bit registers.
    pub registers: u32,
    /// Equal partitions of the register file; `None` if the unit leaves them to the scheduler.
    pub register_partitions: Option<u32>,
    /// Allocation granularity in 32-bit registers; `None` if the unit leaves it to the scheduler.
    pub register_granularity: Option<u32>,
    /// Local memory for work-groups, in bytes.
    pub local_memory_bytes: u32,
}

/// Facts that a work-group scheduler publishes to its compute units: the number of units that share
/// a kernel. It also has the register allocation, for units that do not state theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerFacts {
    /// Number of compute units of the scheduler.
    pub units: u32,
    /// Equal partitions of the register file, if stated.
    pub register_partitions: Option<u32>,
    /// Allocation granularity in 32-bit registers, if stated.
    pub register_granularity: Option<u32>,
}

impl UnitFacts {
    /// Returns the limits, with one partition and single registers by default. This is the most
    /// that the unit may be asked to hold.
    pub fn limits(&self) -> UnitLimits {
        UnitLimits {
            wavefront_slots: self.wavefront_slots,
            work_group_slots: self.work_group_slots,
            registers: self.registers,
            register_partitions: self.register_partitions.unwrap_or(1),
            register_granularity: self.register_granularity.unwrap_or(1),
            local_memory_bytes: self.local_memory_bytes,
        }
    }
}

/// Resource needs of one work-group of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkGroupNeeds {
    /// Number of wavefronts in a work-group.
    pub wavefronts: u32,
    /// Number of 32-bit registers per thread.
    pub registers_per_thread: u32,
    /// Local memory of a work-group, in bytes.
    pub local_bytes: u64,
}

/// Resource that limits residency. Ties go to the first in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limiter {
    /// Number of work-group slots of the unit.
    WorkGroupSlots,
    /// Number of wavefront slots of the unit.
    WavefrontSlots,
    /// Registers per partition, in allocation granules.
    Registers,
    /// Local memory of the unit, in bytes.
    LocalMemory,
}

/// Residency of a single kernel on a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Number of resident work-groups; 0 if not even one fits.
    pub work_groups: u32,
    /// Resource that prevents more work-groups from fitting.
    pub limiter: Limiter,
}

impl UnitLimits {
    /// Checks that the limits are in range; `field` is their name within the specification.
    ///
    /// # Errors
    /// Returns an error for the first number outside its range.
    pub fn check(&self, field: &str) -> Result<(), SpecError> {
        let range = |name: &str, value: u32, max: u32| {
            SpecError::in_range(&format!("{field}.{name}"), value, 1..=max)
        };
        range("wavefront_slots", self.wavefront_slots, 4096)?;
        range("work_group_slots", self.work_group_slots, 64)?;
        range("registers", self.registers, 1 << 24)?;
        range(
            "register_partitions",
            self.register_partitions,
            PARTITIONS_MAX as u32,
        )?;
        range("register_granularity", self.register_granularity, 1 << 16)?;
        SpecError::require(
            self.registers.is_multiple_of(self.register_partitions),
            &format!("{field}.registers"),
            || {
                format!(
                    "{} registers cannot be divided evenly into {} partitions",
                    self.registers, self.register_partitions
                )
            },
        )
    }

    /// Returns the number of registers in one partition.
    pub fn registers_per_partition(&self) -> u32 {
        self.registers / self.register_partitions
    }

    /// Returns the number of registers that one wavefront of a kernel occupies.
    pub fn registers_per_wavefront(&self, registers_per_thread: u32) -> u64 {
        (u64::from(registers_per_thread) * LANES as u64)
            .next_multiple_of(u64::from(self.register_granularity))
    }

    /// Returns how many work-groups with these needs an empty unit holds, and the limiting
    /// resource.
    pub fn occupancy(&self, needs: &WorkGroupNeeds) -> Occupancy {
        let wavefronts = u64::from(needs.wavefronts.max(1));
        let per_wavefront = self.registers_per_wavefront(needs.registers_per_thread);
        let by_registers = u64::from(self.registers_per_partition())
            .checked_div(per_wavefront)
            .map_or(u64::MAX, |n| {
                n * u64::from(self.register_partitions) / wavefronts
            });
        let by_local_memory = u64::from(self.local_memory_bytes)
            .checked_div(needs.local_bytes)
            .unwrap_or(u64::MAX);
        let bounds = [
            (u64::from(self.work_group_slots), Limiter::WorkGroupSlots),
            (
                u64::from(self.wavefront_slots) / wavefronts,
                Limiter::WavefrontSlots,
            ),
            (by_registers, Limiter::Registers),
            (by_local_memory, Limiter::LocalMemory),
        ];
        let (work_groups, limiter) = bounds
            .into_iter()
            .min_by_key(|&(bound, _)| bound)
            .expect("the array has four bounds");
        Occupancy {
            work_groups: work_groups as u32,
            limiter,
        }
    }
}

impl UnitLimits {
    /// Returns the largest number of registers per thread, at most [`NAMED_REGISTERS_MAX`], with
    /// which a unit holds as many work-groups. Needs beyond that are returned as they are.
    pub fn registers_without_loss(&self, needs: &WorkGroupNeeds) -> u32 {
        let held = self.occupancy(needs).work_groups;
        let is_free = |registers: &u32| {
            let more = WorkGroupNeeds {
                registers_per_thread: *registers,
                ..*needs
            };
            self.occupancy(&more).work_groups == held
        };
        let least = needs.registers_per_thread;
        let found = (least..=NAMED_REGISTERS_MAX).rev().find(is_free);
        found.unwrap_or(least)
    }

    /// Returns the bytes of local memory that a kernel of `work_groups` requests on each of
    /// `units`, which must be at least 1:
    ///
    /// ```text
    /// min(work-groups that an empty unit holds, ceil(work-groups / units)) × local memory of a work-group
    /// ```
    pub fn local_bytes_required(
        &self,
        needs: &WorkGroupNeeds,
        work_groups: u32,
        units: u32,
    ) -> u64 {
        let share = work_groups.div_ceil(units);
        u64::from(self.occupancy(needs).work_groups.min(share)) * needs.local_bytes
    }
}

impl WorkGroupNeeds {
    /// Returns the needs of a work-group of this launch.
    pub fn of(kernel: &KernelTrace) -> Self {
        Self {
            wavefronts: kernel.wavefronts_per_work_group(),
            registers_per_thread: kernel.registers_per_thread(),
            local_bytes: kernel.local_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn unit(
        wavefront_slots: u32,
        work_group_slots: u32,
        registers: u32,
        register_partitions: u32,
        register_granularity: u32,
        local_kib: u32,
    ) -> UnitLimits {
        UnitLimits {
            wavefront_slots,
            work_group_slots,
            registers,
            register_partitions,
            register_granularity,
            local_memory_bytes: local_kib * 1024,
        }
    }

    /// Limits by GPU generation: Fermi, Kepler, Maxwell, Pascal.
    const GENERATIONS: [UnitLimits; 4] = [
        unit(48, 8, 32768, 1, 64, 16),
        unit(64, 16, 65536, 1, 256, 16),
        unit(64, 32, 65536, 4, 256, 96),
        unit(64, 32, 65536, 4, 256, 64),
    ];

    /// "Locality-Aware CTA Clustering for Modern GPUs", Table 2. Columns: program, wavefronts per
    /// work-group, registers per thread, local bytes and work-groups per unit; the lists are by
    /// generation.
    const TABLE_2: [(&str, u32, [u32; 4], u64, [u32; 4]); 7] = [
        ("KMN", 8, [14, 17, 16, 18], 0, [6, 8, 8, 8]),
        ("IMD", 2, [63, 61, 49, 55], 0, [8, 16, 18, 18]),
        ("HS", 8, [35, 38, 36, 38], 3072, [3, 5, 6, 6]),
        ("MM", 32, [0; 4], 8192, [1, 2, 2, 2]),
        ("DXT", 2, [63, 89, 89, 91], 2048, [8, 8, 10, 10]),
        ("MON", 8, [28; 4], 4096, [4, 4, 8, 8]),
        ("BTR", 8, [22, 27, 29, 30], 0, [5, 8, 8, 8]),
    ];

    #[test]
    fn published_residencies_of_four_generations_are_met() {
        for (name, wavefronts, registers, local_bytes, expected) in TABLE_2 {
            for (generation, limits) in GENERATIONS.iter().enumerate() {
                let needs = WorkGroupNeeds {
                    wavefronts,
                    registers_per_thread: registers[generation],
                    local_bytes,
                };
                let got = limits.occupancy(&needs).work_groups;
                assert_eq!(got, expected[generation], "{name}, generation {generation}");
            }
        }
    }

    #[test]
    fn work_groups_of_512_threads_on_a_fermi_register_file() {
        for (registers_per_thread, expected) in
            [(13, 3), (15, 3), (16, 3), (19, 3), (20, 3), (24, 2)]
        {
            let needs = WorkGroupNeeds {
                wavefronts: 16,
                registers_per_thread,
                local_bytes: 0,
            };
            assert_eq!(GENERATIONS[0].occupancy(&needs).work_groups, expected);
        }
    }

    #[test]
    fn unused_register_file_of_fermi_as_published() {
        // Threads resident, registers per thread, KiB unused of 128 (rounded to nearest).
        for (threads, registers, unused) in [
            (1536, 15, 38),
            (1536, 17, 26),
            (1024, 21, 44),
            (1024, 19, 52),
            (1024, 22, 40),
            (1024, 13, 76),
            (1024, 23, 36),
        ] {
            let limits = unit(48, 8, 32768, 1, 32, 16);
            let used = u64::from(threads / 32_u32) * limits.registers_per_wavefront(registers) * 4;
            assert_eq!(128 - used / 1024, unused, "{threads} × {registers}");
        }
    }

    /// Graph thesis, Table 4: kernel, threads of a work-group, registers per thread, unused KiB,
    /// registers to spare. Work-group sizes are own choice; they give these numbers.
    const TABLE_4: [(&str, u32, u32, u64, u32); 7] = [
        ("H-BFS", 512, 15, 38, 5),
        ("H-SSSP", 512, 17, 26, 3),
        ("H-MST", 512, 21, 44, 11),
        ("LS-BFS", 1024, 19, 52, 13),
        ("LS-SSSP", 1024, 22, 40, 10),
        ("LS-MST", 1024, 13, 76, 19),
        ("STCON", 512, 23, 36, 9),
    ];

    #[test]
    fn the_registers_to_spare_of_the_graph_thesis_are_met_exactly() {
        let limits = GENERATIONS[0];
        let mut largest = Vec::new();
        for (kernel, threads, registers_per_thread, unused, spare) in TABLE_4 {
            let needs = WorkGroupNeeds {
                wavefronts: threads / 32,
                registers_per_thread,
                local_bytes: 0,
            };
            let wavefronts = limits.occupancy(&needs).work_groups * needs.wavefronts;
            let used = u64::from(wavefronts * 32 * registers_per_thread) * 4;
            assert_eq!(128 - used / 1024, unused, "{kernel}");
            let registers = limits.registers_without_loss(&needs);
            assert_eq!(registers - registers_per_thread, spare, "{kernel}");
            largest.push(registers);
        }
        assert_eq!(largest, [20, 20, 32, 32, 32, 32, 32]);
    }

    #[test]
    fn more_registers_than_can_be_named_leave_none_to_spare() {
        let needs = WorkGroupNeeds {
            wavefronts: 2,
            registers_per_thread: 80,
            local_bytes: 0,
        };
        assert_eq!(GENERATIONS[2].registers_without_loss(&needs), 80);
        let few = WorkGroupNeeds {
            registers_per_thread: 8,
            wavefronts: 1,
            local_bytes: 0,
        };
        assert_eq!(GENERATIONS[1].registers_without_loss(&few), 63);
    }

    #[test]
    fn the_scarcest_resource_is_named() {
        let limits = GENERATIONS[0];
        let limiter = |wavefronts, registers_per_thread, local_bytes| {
            let needs = WorkGroupNeeds {
                wavefronts,
                registers_per_thread,
                local_bytes,
            };
            limits.occupancy(&needs).limiter
        };
        assert_eq!(limiter(1, 10, 0), Limiter::WorkGroupSlots);
        assert_eq!(limiter(8, 10, 0), Limiter::WavefrontSlots);
        assert_eq!(limiter(8, 63, 0), Limiter::Registers);
        assert_eq!(limiter(8, 10, 8192), Limiter::LocalMemory);
    }

    #[test]
    fn a_number_out_of_range_is_refused_by_name() {
        let error = unit(48, 65, 32768, 1, 64, 16).check("limits").unwrap_err();
        assert_eq!(error.field, "limits.work_group_slots");
        let error = unit(48, 8, 32769, 4, 64, 16).check("limits").unwrap_err();
        assert_eq!(error.field, "limits.registers");
    }

    proptest! {
        #[test]
        fn registers_without_loss_are_the_most_that_keep_every_work_group(
            wavefronts in 1_u32..40,
            registers_per_thread in 0_u32..64,
            generation in 0_usize..4,
        ) {
            let limits = GENERATIONS[generation];
            let needs = |registers_per_thread| WorkGroupNeeds {
                wavefronts,
                registers_per_thread,
                local_bytes: 0,
            };
            let held = |registers| limits.occupancy(&needs(registers)).work_groups;
            let most = limits.registers_without_loss(&needs(registers_per_thread));
            prop_assert_eq!(held(most), held(registers_per_thread));
            prop_assert!(most == NAMED_REGISTERS_MAX || held(most + 1) < held(most));
        }

        #[test]
        fn one_more_work_group_never_fits(
            wavefronts in 1_u32..40,
            registers_per_thread in 0_u32..256,
            local_bytes in 0_u64..60_000,
            generation in 0_usize..4,
        ) {
            let limits = GENERATIONS[generation];
            let needs = WorkGroupNeeds { wavefronts, registers_per_thread, local_bytes };
            let n = u64::from(limits.occupancy(&needs).work_groups);
            let per_wavefront = limits.registers_per_wavefront(registers_per_thread);
            let fits = |n: u64| {
                // Deals wavefronts to the partitions one by one.
                let mut free = vec![u64::from(limits.registers_per_partition()); limits.register_partitions as usize];
                let registers = (0..n * u64::from(wavefronts)).all(|_| {
                    let Some(free) = free.iter_mut().find(|f| **f >= per_wavefront) else { return false };
                    *free -= per_wavefront;
                    true
                });
                registers
                    && n * u64::from(wavefronts) <= u64::from(limits.wavefront_slots)
                    && n <= u64::from(limits.work_group_slots)
                    && n * local_bytes <= u64::from(limits.local_memory_bytes)
            };
            prop_assert!(fits(n));
            prop_assert!(!fits(n + 1));
        }
    }
}
