//! Settings of the register banks and operand collectors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

/// Most banks of a register file.
pub(crate) const BANKS_MAX: usize = 64;

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
    #[serde(default = "super::one")]
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
                format!("{count} cannot be dealt to {parts} schedulers, as `by_scheduler` says")
            })?;
        }
        Ok(())
    }

    /// Parts that serve nobody else's wavefronts.
    pub(crate) fn parts(&self, schedulers: u32) -> u32 {
        if self.by_scheduler { schedulers } else { 1 }
    }

    /// The most cycles for which an instruction waits for its last operand, if no instruction reads more than
    /// `sources` registers: all collectors wait for one bank.
    pub(crate) fn longest_wait(&self, sources: u32) -> u32 {
        (self.collectors * sources).div_ceil(self.reads_per_cycle)
    }
}
