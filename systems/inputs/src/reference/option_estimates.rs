//! Values of options, estimated on random paths.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Estimated values of call options, as computed by [`option_estimates`].
#[derive(Debug, Deserialize)]
pub struct OptionEstimates {
    /// Buffer with the price that each option starts from.
    pub prices: Name,
    /// Buffer with the strike price of each option.
    pub strikes: Name,
    /// Buffer with the samples, one row per option.
    pub samples: Name,
    /// Binary logarithm of the expected growth.
    pub drift: Value,
    /// Factor of the samples in the same logarithm.
    pub spread: Value,
}

impl OptionEstimates {
    fn factors(&self, question: &Question<'_>) -> Result<[f32; 2], Diagnostic> {
        let factor = |value| question.single(value, "a factor");
        Ok([factor(&self.drift)?, factor(&self.spread)?])
    }
}

impl Reference for OptionEstimates {
    const NAME: &'static str = "OptionEstimates";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.factors(question)?;
        let options = question.length(&self.prices, F32)?;
        question.expect_length(&self.strikes, F32, options)?;
        let samples = question.length(&self.samples, F32)?;
        if options == 0 || samples == 0 || !samples.is_multiple_of(options) {
            let message = format!("{samples} samples cannot be divided into {options} rows");
            return Err(self.samples.error(message));
        }
        Ok(Shape::f32s(2 * options))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let prices = question.f32s(&self.prices)?;
        let strikes = question.f32s(&self.strikes)?;
        let samples = question.f32s(&self.samples)?;
        let factors = self.factors(question)?;
        Ok(bits(&option_estimates(
            &prices, &strikes, &samples, factors,
        )))
    }
}

/// Computes for each option the mean value over its paths, and the mean of the squares. The
/// factors are `[drift, spread]`. A path's value is the mean of two payments, each at least 0:
/// `price * 2^(drift + spread * sample) - strike`, and the same with `-spread`. Sums are in double
/// precision.
///
/// # Panics
/// Panics if the samples are not whole rows.
pub fn option_estimates(
    prices: &[f32],
    strikes: &[f32],
    samples: &[f32],
    [drift, spread]: [f32; 2],
) -> Vec<f32> {
    let paths = samples.len() / prices.len().max(1);
    assert_eq!(samples.len(), paths * prices.len(), "whole rows of samples");
    let options = prices.iter().zip(strikes).zip(samples.chunks(paths.max(1)));
    let estimates = options.map(|((&price, &strike), samples)| {
        let value = |exponent: f64| f64::from(price) * exponent.exp2() - f64::from(strike);
        let values = samples.iter().map(|&sample| {
            let (drift, away) = (f64::from(drift), f64::from(spread) * f64::from(sample));
            f64::midpoint(value(drift + away).max(0.0), value(drift - away).max(0.0))
        });
        let add = |(sum, squares), value: f64| (sum + value, squares + value * value);
        let (sum, squares) = values.fold((0.0, 0.0), add);
        [(sum / paths as f64) as f32, (squares / paths as f64) as f32]
    });
    estimates.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_its_mirror_count_half_each() {
        // 8 * 2 - 4 = 12 and 8 / 2 - 4 = 0; without a move 4 and 4.
        let found = option_estimates(&[8.0], &[4.0], &[1.0, 0.0], [0.0, 1.0]);
        assert_eq!(found, [5.0, 26.0]);
    }
}
