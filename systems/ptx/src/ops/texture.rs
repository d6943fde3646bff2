//! Operands of texture reads and texture queries.

use super::Src;

/// Operands of a texture read instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextureRead {
    /// Texture handle, or address of a texture reference; 64 bits.
    pub(crate) texture: Src,
    /// Number of axes that have a coordinate.
    pub(crate) axes: usize,
    /// Layer number; `None` for a texture without layers.
    pub(crate) layer: Option<Src>,
    /// Coordinate along each axis; only the first `axes` are used.
    pub(crate) coordinates: [Src; 3],
    /// True if coordinates are floating-point numbers, false if they are texel indices.
    pub(crate) is_real: bool,
    /// True if the results are floating-point numbers, false if they are integers.
    pub(crate) gives_floats: bool,
    /// Channel that `tld4` gathers from the four surrounding texels.
    pub(crate) gathers: Option<usize>,
    /// Destination of each channel, or [`NO_REGISTER`](super::NO_REGISTER) to discard it.
    pub(crate) registers: [u16; 4],
}

/// Texture property that a `txq` instruction returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextureQuery {
    Width,
    Height,
    Depth,
    Layers,
    NormalizedCoordinates,
}
