//! Textures over buffers.

use serde::Deserialize;
use warpweave_inputs::{Name, Value};
use warpweave_ptx::{AddressMode, TexelType, TextureFilter};

/// A texture over what a buffer points to: texels from its first byte on, rows without gaps unless `pitch`
/// says otherwise.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "Texture")]
pub struct TextureInput {
    /// The buffer.
    pub buffer: Name,
    /// Width, height and depth, as many as there are, in texels.
    pub dims: Vec<Value>,
    /// Type of a channel.
    pub format: TexelFormat,
    /// Channels of a texel: 1, 2 or 4.
    #[serde(default = "one")]
    pub channels: Value,
    /// Rows or planes of this size, chosen by number; absent: one, which has no number.
    #[serde(default)]
    pub layers: Option<Value>,
    /// Linear memory rather than an array of one dimension: zero outside, read at whole numbers.
    #[serde(default)]
    pub linear: bool,
    /// Bytes from a row to the next; absent: no gap.
    #[serde(default)]
    pub pitch: Option<Value>,
    /// How values between texels come about.
    #[serde(default)]
    pub filter: Filter,
    /// What lies beyond the ends.
    #[serde(default)]
    pub address: EdgeMode,
    /// Coordinates run from 0 to 1.
    #[serde(default)]
    pub normalized: bool,
    /// What kernels get of a texel.
    #[serde(default)]
    pub read: ReadMode,
}

/// Type of a channel, as files name it.
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

/// How values between texels come about, as files name it.
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

/// What lies beyond the ends of all axes, as files name it.
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

/// What kernels get of a texel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum ReadMode {
    /// Its channels as they are.
    #[default]
    Element,
    /// Integers of 8 and 16 bits as numbers from 0, or of signed ones -1, to 1.
    NormalizedFloat,
}

impl TextureInput {
    /// Single texels of one channel, clamped, at coordinates in texels.
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
