//! Frames in private memory: addresses of variables, and memory that `alloca` adds.

use crate::exec::compute::most;
use crate::exec::constants::Constants;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::wavefront::Wavefront;
use crate::ops::Op;

/// Maximum private memory per thread in bytes (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability", local memory per thread).
pub(super) const PRIVATE_MAX: u64 = 512 << 10;

impl Wavefront {
    /// Executes an operation on the current frame.
    #[inline(always)]
    pub(super) fn change_frame(
        &mut self,
        op: &Op,
        constants: &Constants,
        mask: u32,
    ) -> Result<(), Fault> {
        match *op {
            Op::FrameAddress { d, offset, wide } => {
                let address = self.frame_base().wrapping_add(offset);
                self.put_address(d, mask, address, wide);
            }
            Op::SaveStack { d, wide } => self.put_address(d, mask, self.stack_top(), wide),
            Op::Allocate {
                d,
                bytes,
                align,
                wide,
            } if mask != 0 => {
                let bytes = most(&self.registers, constants, bytes, wide, mask);
                let start = self.allocate(bytes, align);
                let start =
                    start.map_err(|kind| Fault::at(mask.trailing_zeros() as usize, kind))?;
                self.put_address(d, mask, start, wide);
            }
            Op::RestoreStack { a, wide } if mask != 0 => {
                let top = most(&self.registers, constants, a, wide, mask);
                self.restore_stack(top, mask);
            }
            // No lane executes it.
            _ => {}
        }
        Ok(())
    }

    /// Allocates private memory for every lane until the end of the innermost call, and returns its
    /// start. Fails if a thread does not have that much, or beyond the memory budget.
    fn allocate(&mut self, bytes: u64, align: u32) -> Result<u32, FaultKind> {
        let full = FaultKind::StackFull { bytes };
        let Some(start) = self.stack_top().checked_next_multiple_of(align) else {
            return Err(full);
        };
        let end = u64::from(start)
            .checked_add(bytes)
            .and_then(|end| end.checked_next_multiple_of(16))
            .filter(|end| *end <= PRIVATE_MAX)
            .ok_or(full)? as u32;
        self.cover(end, 0).map_err(FaultKind::OverBudget)?;
        let call = self.activations.last_mut();
        let call = call.expect("the frame of the kernel is always open");
        call.private_end = end;
        self.private.resize(end);
        Ok(start)
    }

    /// Returns the end of the innermost call's private memory.
    pub(super) fn stack_top(&self) -> u32 {
        self.activations.last().map_or(0, |call| call.private_end)
    }

    /// Frees private memory from `top` on if all lanes of the call do so together; otherwise other
    /// lanes may still use it.
    fn restore_stack(&mut self, top: u64, mask: u32) {
        let call = self
            .activations
            .last_mut()
            .expect("the frame of the kernel is always open");
        let first = call.paths;
        let lanes = self.paths[first..]
            .iter()
            .fold(0, |all, path| all | path.mask);
        if lanes == mask && (u64::from(call.private)..u64::from(call.private_end)).contains(&top) {
            call.private_end = top as u32;
            self.private.bytes = call.private_end;
        }
    }

    /// Writes the same address to all lanes.
    fn put_address(&mut self, d: u16, mask: u32, address: u32, wide: bool) {
        if wide {
            self.registers.put64(d, mask, &[u64::from(address); 32]);
        } else {
            self.registers.put32(d, mask, &[address; 32]);
        }
    }
}
