//! Constants of a kernel during a launch, one value per lane.

use crate::kernel::Kernel;
use crate::ops::{Constant, Lanes32, Lanes64};

/// Constant operands of the kernel, with the addresses that this launch gives to variables.
pub(super) struct Constants {
    pub(super) words: Vec<Lanes32>,
    pub(super) doubles: Vec<Lanes64>,
}

impl Constants {
    /// Evaluates the constants of `kernel`, given the addresses of the module's variables.
    pub(super) fn new(kernel: &Kernel, addresses: &[u64]) -> Self {
        let value = |constant: &Constant| match *constant {
            Constant::Value(value) => value,
            Constant::Variable { index, offset } => addresses[index].wrapping_add(offset as u64),
        };
        let tables = &kernel.tables;
        let words = tables.constants.words.iter();
        let doubles = tables.constants.doubles.iter();
        Self {
            words: words.map(|constant| [value(constant) as u32; 32]).collect(),
            doubles: doubles.map(|constant| [value(constant); 32]).collect(),
        }
    }
}
