//! Textures that kernels read, defined over buffers.

use serde::Deserialize;
use warpweave_inputs::{Name, Value};
use warpweave_ptx::{AddressMode, TexelType, TextureFilter};

/// Texture over the memory a buffer points to. Texels start at its first byte, with contiguous rows
/// unless `pitch` is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "Texture")]
pub struct TextureInput {
    /// Name of the buffer that holds the texels.
    pub buffer: Name,
    /// Width, height and depth in texels, one for each dimension.
    pub dims: Vec<Value>,
    /// Data type of each channel of a texel.
    pub format: TexelFormat,
    /// Channels of a texel: 1, 2 or 4.
    #[serde(default = "one")]
    pub channels: Value,
    /// Number of layers, each of this size and selected by index. If absent, there is one without
    /// an index.
    #[serde(default)]
    pub layers: Option<Value>,
    /// Selects linear memory instead of a one-dimensional array: zero outside, read at integer
    /// coordinates.
    #[serde(default)]
    pub linear: bool,
    /// Row pitch in bytes, from one row to the next; without a gap if absent.
    #[serde(default)]
    pub pitch: Option<Value>,
    /// Filter that interpolates at coordinates between texels.
    #[serde(default)]
    pub filter: Filter,
    /// Address mode for coordinates outside the texture.
    #[serde(default)]
    pub address: EdgeMode,
    /// Normalizes coordinates to the range from 0 to 1.
    #[serde(default)]
    pub normalized: bool,
    /// Conversion of texel values when kernels read them.
    #[serde(default)]
    pub read: ReadMode,
}

/// Channel type, by its name in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)] // `TexelType` explains them.
pub enum TexelFormat {
    U8,
    S8,
    U16,
    S16,
    F16,
    U32,
    S32,
    F32,
}

impl TexelFormat {
    pub(crate) fn texel(self) -> TexelType {
        match self {
            Self::U8 => TexelType::U8,
            Self::S8 => TexelType::S8,
            Self::U16 => TexelType::U16,
            Self::S16 => TexelType::S16,
            Self::F16 => TexelType::F16,
            Self::U32 => TexelType::U32,
            Self::S32 => TexelType::S32,
            Self::F32 => TexelType::F32,
        }
    }
}

/// Filter for coordinates between texels, by its name in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)] // `TextureFilter` explains them.
pub enum Filter {
    #[default]
    Point,
    Linear,
}

impl Filter {
    pub(crate) fn filter(self) -> TextureFilter {
        match self {
            Self::Point => TextureFilter::Point,
            Self::Linear => TextureFilter::Linear,
        }
    }
}

/// Address mode for coordinates outside the texture, for all axes, by its name in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)] // `AddressMode` explains them.
pub enum EdgeMode {
    Wrap,
    #[default]
    Clamp,
    Mirror,
    Border,
}

impl EdgeMode {
    pub(crate) fn mode(self) -> AddressMode {
        match self {
            Self::Wrap => AddressMode::Wrap,
            Self::Clamp => AddressMode::Clamp,
            Self::Mirror => AddressMode::Mirror,
            Self::Border => AddressMode::Border,
        }
    }
}

/// Conversion of texel values when kernels read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum ReadMode {
    /// Returns the channels without any conversion.
    #[default]
    Element,
    /// Converts integers of 8 and 16 bits to numbers from 0 to 1, or from -1 to 1 if signed.
    NormalizedFloat,
}

impl TextureInput {
    /// Creates a texture of one channel, with point sampling, clamping and unnormalized
    /// coordinates.
    pub fn new<V: Into<Value>>(
        buffer: impl Into<Name>,
        dims: impl IntoIterator<Item = V>,
        format: TexelFormat,
    ) -> Self {
        Self {
            buffer: buffer.into(),
            dims: dims.into_iter().map(Into::into).collect(),
            format,
            channels: one(),
            layers: None,
            linear: false,
            pitch: None,
            filter: Filter::default(),
            address: EdgeMode::default(),
            normalized: false,
            read: ReadMode::default(),
        }
    }
}

fn one() -> Value {
    1.into()
}
