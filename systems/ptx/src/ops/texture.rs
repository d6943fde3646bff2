//! Reads and queries of textures.

use super::Src;

/// A read of a texture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextureRead {
    /// Handle of a texture, or address of a reference; 64 bits.
    pub(crate) texture: Src,
    /// Axes with coordinates.
    pub(crate) axes: usize,
    /// Number of the layer; `None` of a texture without layers.
    pub(crate) layer: Option<Src>,
    /// One for each axis.
    pub(crate) coordinates: [Src; 3],
    /// Coordinates are floating-point numbers rather than numbers of texels.
    pub(crate) is_real: bool,
    /// The results are floating-point numbers rather than integers.
    pub(crate) gives_floats: bool,
    /// `tld4`: this channel of the four texels around.
    pub(crate) gathers: Option<usize>,
    /// Destinations, or [`NO_REGISTER`](super::NO_REGISTER).
    pub(crate) registers: [u16; 4],
}

/// What `txq` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextureQuery {
    Width,
    Height,
    Depth,
    Layers,
    NormalizedCoordinates,
}
