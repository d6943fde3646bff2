//! Sums of buffers in integers and floating point.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::{F32, U32};
use crate::{Name, Value};

/// Sum of integers modulo 2^32, a single element.
#[derive(Debug, Deserialize)]
pub struct SumU32(pub Name);

impl Reference for SumU32 {
    const NAME: &'static str = "SumU32";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.length(&self.0, U32)?;
        Ok(Shape::u32s(1))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(vec![sum_u32(&question.u32s(&self.0)?)])
    }
}

/// Sum in double precision, rounded, a single element. Must be compared with a tolerance.
#[derive(Debug, Deserialize)]
pub struct SumF32(pub Name);

impl Reference for SumF32 {
    const NAME: &'static str = "SumF32";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.length(&self.0, F32)?;
        Ok(Shape::f32s(1))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(bits(&[sum_f64(&question.f32s(&self.0)?) as f32]))
    }
}

/// Sum of each work-group of the kernel `reduction_f32`, bit for bit.
#[derive(Debug, Deserialize)]
pub struct SumF32ByBlocks {
    /// Buffer with the values to add.
    pub values: Name,
    /// Number of work-groups of the kernel.
    pub blocks: Value,
}

impl SumF32ByBlocks {
    fn block_count(&self, question: &Question<'_>) -> Result<usize, Diagnostic> {
        question.count(&self.blocks, "the number of blocks", 1)
    }
}

impl Reference for SumF32ByBlocks {
    const NAME: &'static str = "SumF32ByBlocks";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.length(&self.values, F32)?;
        Ok(Shape::f32s(self.block_count(question)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let blocks = self.block_count(question)?;
        Ok(bits(&sum_f32_by_blocks(
            &question.f32s(&self.values)?,
            blocks,
        )))
    }
}

/// Computes the sum of integers modulo 2^32.
pub fn sum_u32(values: &[u32]) -> u32 {
    values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
}

/// Computes the sum in double precision. A single-precision sum of any order must be close to it.
pub fn sum_f64(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value)).sum()
}

/// Number of threads per block in the single-precision reduction.
const BLOCK: usize = 256;
const WARP: usize = 32;

/// Computes the single-precision sum of each of `blocks` blocks of 256 threads, in the order of the
/// kernel `reduction_f32`. Each thread strides over the grid. Then each warp of 32 folds its upper
/// half onto its lower half until one value is left. The eight warp sums (padded with zeros to 32)
/// are folded the same way. The result is bit-exact. The total is the one partial sum of another
/// call over the partial sums with one block.
///
/// # Panics
/// Panics if there are no blocks.
pub fn sum_f32_by_blocks(values: &[f32], blocks: usize) -> Vec<f32> {
    assert!(blocks > 0, "a grid has at least one block");
    let thread_sum = |thread: usize| {
        values
            .iter()
            .skip(thread)
            .step_by(blocks * BLOCK)
            .fold(0.0_f32, |sum, value| sum + value)
    };
    let block_sum = |block: usize| {
        let threads: Vec<f32> = (0..BLOCK).map(|t| thread_sum(block * BLOCK + t)).collect();
        let mut warp_sums = [0.0; WARP];
        for (sum, lanes) in warp_sums.iter_mut().zip(threads.chunks(WARP)) {
            *sum = fold(lanes);
        }
        fold(&warp_sums)
    };
    (0..blocks).map(block_sum).collect()
}

/// Adds the upper half onto the lower half until one value is left.
fn fold(lanes: &[f32]) -> f32 {
    let mut lanes = lanes.to_vec();
    while lanes.len() > 1 {
        let upper = lanes.split_off(lanes.len() / 2);
        for (low, high) in lanes.iter_mut().zip(upper) {
            *low += high;
        }
    }
    lanes[0]
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the reference must be exact")]
mod tests {
    use super::*;
    use crate::ArrayGenerator;

    #[test]
    fn integer_sums_wrap() {
        assert_eq!(sum_u32(&[u32::MAX, 3]), 2);
        assert_eq!(sum_u32(&[]), 0);
    }

    #[test]
    fn blocks_share_the_values_and_lose_none() {
        // Whole numbers below 2^24 add exactly in any order.
        let values = ArrayGenerator::Iota.f32s(5000).unwrap();
        let total = 4999.0 * 5000.0 / 2.0;
        for blocks in [1, 2, 7, 40] {
            let partial = sum_f32_by_blocks(&values, blocks);
            assert_eq!(partial.len(), blocks);
            assert_eq!(sum_f32_by_blocks(&partial, 1), [total]);
        }
        assert_eq!(sum_f64(&values), f64::from(total));
        let halves = [255.0 * 128.0, (256.0 + 511.0) * 128.0];
        assert_eq!(sum_f32_by_blocks(&values[..512], 2), halves);
        assert_eq!(sum_f32_by_blocks(&[], 1), [0.0]);
    }

    /// 2^24 absorbs a 1 added to it, but not a 2. Lanes 0 and 16 are added first, so only the order
    /// (2^24 + 0) + (1 + 1) keeps the ones.
    #[test]
    fn lanes_sixteen_apart_are_added_first() {
        let mut values = [0.0_f32; 32];
        (values[0], values[1], values[17]) = (16_777_216.0, 1.0, 1.0);
        assert_eq!(fold(&values), 16_777_218.0);
        (values[16], values[17]) = (1.0, 0.0);
        assert_eq!(fold(&values), 16_777_216.0);
    }
}
