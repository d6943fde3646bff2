//! Prices of European options by a closed formula.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Right that an option gives until it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum OptionRight {
    /// Right to buy at the strike price.
    Call,
    /// Right to sell at the strike price.
    Put,
}

/// Prices of options, as computed by [`option_price`].
#[derive(Debug, Deserialize)]
pub struct OptionPrices {
    /// Buffer with the price of the underlying asset.
    pub prices: Name,
    /// Buffer with the strike price of each option.
    pub strikes: Name,
    /// Buffer with the time that each option still runs, in years.
    pub years: Name,
    /// Yearly interest rate, compounded all the time.
    pub rate: Value,
    /// Yearly standard deviation of the asset's logarithm.
    pub volatility: Value,
    /// Right that the options give: `Call` or `Put`.
    pub right: OptionRight,
}

impl OptionPrices {
    fn market(&self, question: &Question<'_>) -> Result<[f64; 2], Diagnostic> {
        let rate = question.single(&self.rate, "the rate")?;
        let volatility = question.single(&self.volatility, "the volatility")?;
        Ok([f64::from(rate), f64::from(volatility)])
    }
}

impl Reference for OptionPrices {
    const NAME: &'static str = "OptionPrices";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        self.market(question)?;
        let options = question.length(&self.prices, F32)?;
        question.expect_length(&self.strikes, F32, options)?;
        question.expect_length(&self.years, F32, options)?;
        Ok(Shape::f32s(options))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let prices = question.f32s(&self.prices)?;
        let strikes = question.f32s(&self.strikes)?;
        let years = question.f32s(&self.years)?;
        let market = self.market(question)?;
        let options = prices.iter().zip(&strikes).zip(&years);
        let price = |((&price, &strike), &years): ((&f32, &f32), &f32)| {
            let option = [price, strike, years].map(f64::from);
            option_price(self.right, option, market) as f32
        };
        Ok(bits(&options.map(price).collect::<Vec<f32>>()))
    }
}

/// Computes the price of an option of `[price, strike, years]` at `[rate, volatility]`, by the
/// formula of Black and Scholes in double precision.
pub fn option_price(
    right: OptionRight,
    [price, strike, years]: [f64; 3],
    [rate, volatility]: [f64; 2],
) -> f64 {
    let spread = volatility * years.sqrt();
    let above = ((price / strike).ln() + (rate + volatility * volatility / 2.0) * years) / spread;
    let discounted = strike * (-rate * years).exp();
    match right {
        OptionRight::Call => price * normal(above) - discounted * normal(above - spread),
        OptionRight::Put => discounted * normal(spread - above) - price * normal(-above),
    }
}

/// Computes the normal distribution by a polynomial of degree five (Abramowitz and Stegun,
/// 26.2.17), within 7.5e-8.
fn normal(d: f64) -> f64 {
    const FACTORS: [f64; 5] = [
        1.330_274_429,
        -1.821_255_978,
        1.781_477_937,
        -0.356_563_782,
        0.319_381_53,
    ];
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let sum = FACTORS.iter().fold(0.0, |sum, factor| sum * k + factor);
    let tail = 0.398_942_28 * (-d * d / 2.0).exp() * (k * sum);
    if d > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_less_put_is_the_asset_less_the_discounted_strike() {
        let (option, market) = ([20.0, 25.0, 2.0], [0.05, 0.3]);
        let call = option_price(OptionRight::Call, option, market);
        let put = option_price(OptionRight::Put, option, market);
        let parity = 20.0 - 25.0 * (-0.1_f64).exp();
        assert!((call - put - parity).abs() < 1e-12);
        assert!(call > 0.0 && put > 0.0 && call < 20.0);
    }

    #[test]
    fn an_option_certain_to_be_used_has_its_value_now() {
        let call = option_price(OptionRight::Call, [100.0, 1.0, 1.0], [0.0, 0.1]);
        assert!((call - 99.0).abs() < 1e-6);
    }
}
