//! Memory that a wavefront takes while it runs: of nested calls and of `alloca`.

use warpweave_files::{Budget, Charge, OverBudget};

/// Registers and private memory of a wavefront, charged before they are allocated.
#[derive(Debug)]
pub(super) struct NestedMemory {
    budget: Budget,
    /// Bytes that are paid for: those of the kernel itself, which the launch has charged, and those
    /// of `charge`.
    covered: u64,
    charge: Option<Charge>,
}

impl NestedMemory {
    /// Creates the account of a wavefront that takes `covered` bytes without any call.
    pub(super) fn new(budget: Budget, covered: u64) -> Self {
        Self {
            budget,
            covered,
            charge: None,
        }
    }

    /// Charges what is missing to `bytes` bytes, until the wavefront ends.
    pub(super) fn cover(&mut self, bytes: u64) -> Result<(), OverBudget> {
        if bytes <= self.covered {
            return Ok(());
        }
        let what = "private memory and registers of nested calls";
        let more = bytes - self.covered;
        match &mut self.charge {
            Some(charge) => charge.grow(what, more)?,
            None => self.charge = Some(self.budget.charge(what, more)?),
        }
        self.covered = bytes;
        Ok(())
    }
}
