//! Description files.
/// A ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio(u64, u64);
impl Ratio {
    /// n
    pub fn numerator(&self) -> u64 {
        self.0
    }
    /// d
    pub fn denominator(&self) -> u64 {
        self.1
    }
}
/// A frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency(Ratio);
impl Frequency {
    /// n
    pub fn new(n: u64, d: u64) -> Option<Self> {
        Some(Self(Ratio(n, d)))
    }
    /// r
    pub fn hertz(self) -> Ratio {
        self.0
    }
}
