//! Head of a launch: all that the analysis reads.

use warpweave_trace::{Allocation, Code, KernelTrace};

/// Head of a launch: its code, shape and arguments, and the memory of the program.
#[derive(Clone, Copy, Debug)]
pub struct LaunchHead<'a> {
    /// Instruction table of the kernel, with operands and guards.
    pub code: &'a Code,
    /// Number of work-groups along x, y, z.
    pub grid: [u32; 3],
    /// Number of threads of a work-group along x, y, z.
    pub block: [u32; 3],
    /// Argument block that the kernel reads its parameters from.
    pub arguments: &'a [u8],
    /// Device memory that the program allocated.
    pub allocations: &'a [Allocation],
}

impl<'a> LaunchHead<'a> {
    /// Returns the head of a recorded launch.
    pub fn of(kernel: &'a KernelTrace, allocations: &'a [Allocation]) -> Self {
        Self {
            code: &kernel.code,
            grid: kernel.grid,
            block: kernel.block,
            arguments: &kernel.arguments,
            allocations,
        }
    }

    /// Returns the number of work-groups in the grid.
    pub(crate) fn work_groups(&self) -> u64 {
        let extents = self.grid.iter().map(|&extent| u64::from(extent));
        extents.fold(1, u64::saturating_mul)
    }

    /// Returns the place of a work-group in the grid.
    pub(crate) fn place(&self, work_group: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(|extent| u64::from(extent.max(1)));
        let (row, plane) = (work_group / x, work_group / (x * y));
        [(work_group % x) as u32, (row % y) as u32, plane as u32]
    }

    /// Returns an integer from the arguments; `None` beyond their end.
    pub(crate) fn argument(&self, offset: u32, bits: u32, is_signed: bool) -> Option<i128> {
        let start = offset as usize;
        let bytes = self.arguments.get(start..start + (bits / 8) as usize)?;
        let mut value = 0_i128;
        for &byte in bytes.iter().rev() {
            value = value << 8 | i128::from(byte);
        }
        let whole = 1_i128 << bits;
        Some(if is_signed && value >= whole / 2 {
            value - whole
        } else {
            value
        })
    }

    /// Returns the index of the allocation that holds a whole range of bytes.
    pub(crate) fn allocation(&self, first: i128, end: i128) -> Option<usize> {
        self.allocations.iter().position(|known| {
            let base = i128::from(known.base);
            first >= base && end <= base + i128::from(known.bytes)
        })
    }
}
