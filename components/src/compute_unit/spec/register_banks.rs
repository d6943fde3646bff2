//! Settings of the register banks and operand collectors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

/// Maximum number of banks of a register file.
pub(crate) const BANKS_MAX: usize = 64;

/// Register file banks and operand collectors. A bank reads one register after the other. Registers
/// of an instruction wait for those of instructions that issued earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterBanksSpec {
    /// Number of banks, 1 to 64: bank `r mod banks` holds register `r`.
    pub banks: u32,
    /// Maps register `r` of wavefront slot `s` to bank `(r + s) mod banks` instead. Source: off,
    /// own choice; GPGPU-Sim shifts banks by the number of the warp.
    #[serde(default)]
    pub by_wavefront: bool,
    /// Registers that a bank reads per cycle, 1 to 8. Source: one port, as in operand collectors of
    /// GPGPU-Sim.
    #[serde(default = "super::one")]
    pub reads_per_cycle: u32,
    /// Maximum number of instructions waiting for operands, 1 to 64. Each occupies a collector from
    /// its issue until its last register is read, at least one cycle. No instruction issues without
    /// a collector.
    pub collectors: u32,
    /// Limits a collector to sequential register reads, per cycle at most as many as a bank reads.
    /// Source: off, own choice; GPGPU-Sim gives a collector one register at a time.
    #[serde(default)]
    pub one_by_one: bool,
    /// Gives each scheduler an equal, exclusive share of banks and collectors, like the sub-cores
    /// of Volta. Source: off, own choice.
    #[serde(default)]
    pub by_scheduler: bool,
}

impl RegisterBanksSpec {
    pub(crate) fn check(&self, schedulers: u32) -> Result<(), SpecError> {
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
                format!(
                    "{count} cannot be divided among {parts} schedulers, as `by_scheduler` requires"
                )
            })?;
        }
        Ok(())
    }

    /// Returns the number of partitions that serve separate sets of wavefronts.
    pub(crate) fn parts(&self, schedulers: u32) -> u32 {
        if self.by_scheduler { schedulers } else { 1 }
    }

    /// Returns the maximum wait in cycles for an instruction's last operand, if no instruction
    /// reads more than `sources` registers. In the worst case all collectors wait for one bank.
    pub(crate) fn longest_wait(&self, sources: u32) -> u32 {
        (self.collectors * sources).div_ceil(self.reads_per_cycle)
    }
}
