//! Histogram of values with 256 bins.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::Name;
use crate::element::ElementType::U32;

/// Counts of the values 0 to 254, and of all higher values.
#[derive(Debug, Deserialize)]
pub struct Histogram(pub Name);

impl Reference for Histogram {
    const NAME: &'static str = "Histogram";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.length(&self.0, U32)?;
        Ok(Shape::u32s(HISTOGRAM_BINS))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        Ok(histogram(&question.u32s(&self.0)?).to_vec())
    }
}

pub const HISTOGRAM_BINS: usize = 256;

/// Counts the values equal to 0, 1, ... 254, and those that are 255 or more.
pub fn histogram(values: &[u32]) -> [u32; HISTOGRAM_BINS] {
    let mut bins = [0; HISTOGRAM_BINS];
    for &value in values {
        bins[(value as usize).min(HISTOGRAM_BINS - 1)] += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_share_the_last_bin() {
        let bins = histogram(&[0, 3, 3, 254, 255, 256, u32::MAX]);
        assert_eq!((bins[0], bins[3], bins[254], bins[255]), (1, 2, 1, 3));
        assert_eq!(bins.iter().sum::<u32>(), 7);
    }
}
