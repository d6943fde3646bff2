//! Values of signals, as recordings show them.

/// How the values of a signal look in a waveform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// So many bits, 1 to 128.
    Bits(u32),
    /// A real number.
    Real,
    /// Words.
    Text,
    /// Not at all.
    Hidden,
}

/// A value of a signal.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// The low bits, as many as the shape says.
    Bits(u128),
    /// A real number.
    Real(f64),
    /// Words.
    Text(String),
}
