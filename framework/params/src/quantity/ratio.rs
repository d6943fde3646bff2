//! Exact non-negative rational numbers in lowest terms.

/// A non-negative rational number in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    pub(super) numerator: u64,
    pub(super) denominator: u64,
}

impl Ratio {
    /// Creates `numerator / denominator` in lowest terms; `None` for a zero denominator.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        Self::reduce(numerator.into(), denominator.into())
    }

    /// Returns the numerator in lowest terms.
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// Returns the denominator in lowest terms; never zero.
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// Returns the nearest floating-point number, for display and estimates.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    pub(super) fn reduce(numerator: u128, denominator: u128) -> Option<Self> {
        let divisor = gcd(numerator, denominator);
        let shrink = |value: u128| u64::try_from(value.checked_div(divisor)?).ok();
        let (numerator, denominator) = (shrink(numerator)?, shrink(denominator)?);
        (denominator != 0).then_some(Self {
            numerator,
            denominator,
        })
    }

    pub(super) fn times(self, (numerator, denominator): (u64, u64)) -> Option<Self> {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        Self::reduce(
            product(self.numerator, numerator),
            product(self.denominator, denominator),
        )
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let cross = |a: &Self, b: &Self| u128::from(a.numerator) * u128::from(b.denominator);
        cross(self, other).cmp(&cross(other, self))
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
