//! Signal values in the form recorded in waveforms.

/// Format of a signal's values in a waveform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Bit vector of the given width, 1 to 128 bits.
    Bits(u32),
    /// Real number in double-precision floating-point format.
    Real,
    /// Text of any length, such as a state name.
    Text,
    /// The signal does not appear in waveforms.
    Hidden,
}

/// Value of a signal in a waveform.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// Bit vector in the low bits, with the width given by the shape.
    Bits(u128),
    /// Real number in double-precision floating-point format.
    Real(f64),
    /// Text of any length, such as a state name.
    Text(String),
}
