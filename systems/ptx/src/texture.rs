//! Textures: the host's description of memory that kernels read by coordinates.
//!
//! A texture describes memory within an allocation; nothing is copied. Rows are stored at a given
//! pitch; each plane or layer follows the rows of the one before. Hardware hides the layout of its
//! arrays; this model always uses the layout above, so that trace addresses are meaningful.
//!
//! Terms and formulas follow the CUDA C++ Programming Guide, "Texture Fetching".

use std::fmt;

/// Access size in bytes recorded in the trace for a texel load.
pub(crate) const RECORDED_BYTES: u8 = 4;

/// Maximum number of texels along an axis; coordinates times this number are exact in double
/// precision.
const EXTENT_MAX: u32 = 1 << 27;

/// Type of one channel of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TexelType {
    U8,
    S8,
    U16,
    S16,
    F16,
    U32,
    S32,
    F32,
}

impl TexelType {
    /// Returns the size of a channel in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// True if the channels are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }
}

/// Number of axes and their lengths in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextureShape {
    /// Linear memory: a row of texels, read at integer coordinates; out-of-range reads return zero.
    Linear(u32),
    /// One-dimensional texture with the given width in texels.
    Row(u32),
    /// Two-dimensional texture with width and height in texels.
    Plane([u32; 2]),
    /// Three-dimensional texture with width, height and depth in texels.
    Volume([u32; 3]),
    /// Layered one-dimensional texture: rows of equal width, selected by index.
    Rows {
        /// Number of texels in each row.
        width: u32,
        /// Number of rows, one for each layer.
        layers: u32,
    },
    /// Layered two-dimensional texture: planes of equal size, selected by index.
    Planes {
        /// Width and height of each plane in texels.
        extents: [u32; 2],
        /// Number of planes, one for each layer.
        layers: u32,
    },
}

impl TextureShape {
    /// Returns the number of axes that take coordinates.
    pub(crate) fn axes(self) -> usize {
        match self {
            Self::Linear(_) | Self::Row(_) | Self::Rows { .. } => 1,
            Self::Plane(_) | Self::Planes { .. } => 2,
            Self::Volume(_) => 3,
        }
    }

    /// Returns width, height and depth; 1 for a missing axis.
    pub(crate) fn extents(self) -> [u32; 3] {
        match self {
            Self::Linear(width) | Self::Row(width) | Self::Rows { width, .. } => [width, 1, 1],
            Self::Plane([width, height])
            | Self::Planes {
                extents: [width, height],
                ..
            } => [width, height, 1],
            Self::Volume(extents) => extents,
        }
    }

    /// Returns the number of layers if the shape is layered.
    pub(crate) fn layers(self) -> Option<u32> {
        match self {
            Self::Rows { layers, .. } | Self::Planes { layers, .. } => Some(layers),
            _ => None,
        }
    }
}

impl fmt::Display for TextureShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [width, height, depth] = self.extents();
        match self {
            Self::Linear(_) => write!(f, "linear memory of {width} texels"),
            Self::Row(_) => write!(f, "a 1-D array of {width} texels"),
            Self::Plane(_) => write!(f, "a 2-D array of {width} x {height} texels"),
            Self::Volume(_) => write!(f, "a 3-D array of {width} x {height} x {depth} texels"),
            Self::Rows { layers, .. } => write!(f, "{layers} layers of {width} texels"),
            Self::Planes { layers, .. } => {
                write!(f, "{layers} layers of {width} x {height} texels")
            }
        }
    }
}

/// Filter that determines values between texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureFilter {
    /// Uses the texel that contains the coordinates.
    #[default]
    Point,
    /// Interpolates two, four or eight surrounding texels, weighted by the distance along each axis
    /// in 256ths.
    Linear,
}

/// Treatment of coordinates outside the range of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// Repeats the texture. With unnormalized coordinates, same as `Clamp`.
    Wrap,
    /// Uses the texel at the nearest edge.
    #[default]
    Clamp,
    /// Mirrors the texture. With unnormalized coordinates, same as `Clamp`.
    Mirror,
    /// Returns zero for coordinates beyond the edge.
    Border,
}

/// Description of a texture in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Address of the first texel in device memory.
    pub address: u64,
    /// Number of axes and their lengths in texels.
    pub shape: TextureShape,
    /// Data type of each channel of a texel.
    pub texel: TexelType,
    /// Number of channels per texel: 1, 2 or 4. A missing second or third channel reads as zero, a
    /// missing fourth as one.
    pub channels: u32,
    /// Distance between the starts of consecutive rows in bytes; `None` if rows are contiguous.
    pub pitch: Option<u64>,
    /// Filter that determines values between texels.
    pub filter: TextureFilter,
    /// Address modes along x, y and z.
    pub address_modes: [AddressMode; 3],
    /// True if coordinates range from 0 to 1 along each axis, false if they range to its length.
    pub normalized_coordinates: bool,
    /// Enables reading 8- and 16-bit integers as numbers from 0 to 1, or from -1 to 1 if signed.
    pub normalized_values: bool,
}

impl Texture {
    /// Creates a texture with contiguous rows, nearest-point filter, clamping, unnormalized
    /// coordinates and unconverted values.
    pub fn new(address: u64, shape: TextureShape, texel: TexelType, channels: u32) -> Self {
        Self {
            address,
            shape,
            texel,
            channels,
            pitch: None,
            filter: TextureFilter::Point,
            address_modes: [AddressMode::Clamp; 3],
            normalized_coordinates: false,
            normalized_values: false,
        }
    }

    /// Returns the size of a texel in bytes.
    pub(crate) fn texel_bytes(&self) -> u64 {
        self.texel.bytes() * u64::from(self.channels)
    }

    /// Returns the distance between the starts of consecutive rows in bytes.
    pub(crate) fn row_bytes(&self) -> u64 {
        let [width, ..] = self.shape.extents();
        self.pitch.unwrap_or(u64::from(width) * self.texel_bytes())
    }

    /// True if reads return floating-point numbers.
    pub(crate) fn gives_floats(&self) -> bool {
        self.texel.is_float() || self.normalized_values
    }

    /// Returns the kind of values that kernels read, for messages.
    pub(crate) fn values(&self) -> &'static str {
        match (self.gives_floats(), self.texel) {
            (true, _) => "f32",
            (_, TexelType::S8 | TexelType::S16 | TexelType::S32) => "s32",
            _ => "u32",
        }
    }

    /// Returns the distance in bytes from the first texel to the end of the last.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let [width, height, depth] = self.shape.extents();
        let planes = u64::from(depth).checked_mul(self.shape.layers().unwrap_or(1).into())?;
        let rows = planes.checked_mul(height.into())?;
        let before = rows.checked_sub(1)?.checked_mul(self.row_bytes())?;
        before.checked_add(u64::from(width) * self.texel_bytes())
    }

    /// Returns the problem if the texture is invalid or does not fit in `memory` bytes at its
    /// address.
    pub fn problem_over(&self, memory: u64) -> Option<String> {
        self.problem().or_else(|| match self.bytes() {
            Some(bytes) if bytes <= memory => None,
            bytes => Some(format!(
                "{} takes {} bytes, but only {memory} are available",
                self.shape,
                bytes.map_or("too many".to_owned(), |bytes| bytes.to_string())
            )),
        })
    }

    /// Returns the problem if the texture is invalid at any address.
    pub(crate) fn problem(&self) -> Option<String> {
        let (bytes, row) = (self.texel_bytes(), self.row_bytes());
        let [width, height, depth] = self.shape.extents();
        let longest = width.max(height).max(depth);
        let shortest = width.min(height).min(depth);
        if !matches!(self.channels, 1 | 2 | 4) {
            return Some(format!(
                "a texel must have 1, 2 or 4 channels, not {}",
                self.channels
            ));
        }
        if shortest == 0 || self.shape.layers() == Some(0) {
            return Some(format!("{} have none", self.shape));
        }
        if longest > EXTENT_MAX {
            return Some(format!(
                "an axis must have at most {EXTENT_MAX} texels, not {longest}"
            ));
        }
        if !self.address.is_multiple_of(bytes) || !row.is_multiple_of(bytes) {
            return Some(format!(
                "the address and the row pitch must be multiples of the texel size, {bytes} bytes"
            ));
        }
        if row < u64::from(width) * bytes {
            return Some(format!(
                "a pitch of {row} bytes is less than the row size of {} bytes",
                u64::from(width) * bytes
            ));
        }
        let is_narrow_integer = !self.texel.is_float() && self.texel.bytes() < 4;
        if self.normalized_values && !is_narrow_integer {
            return Some(
                "only 8-bit and 16-bit integers can be read as normalised values".to_owned(),
            );
        }
        if self.filter == TextureFilter::Linear {
            if !self.gives_floats() {
                let problem = "only floating-point values, or 8-bit and 16-bit integers read as normalised values, can be filtered";
                return Some(problem.to_owned());
            }
            if matches!(self.shape, TextureShape::Linear(_)) {
                return Some("linear memory cannot be filtered".to_owned());
            }
        }
        None
    }
}

/// Error from creating or binding a texture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextureError {
    /// The description of the texture is inconsistent.
    #[error("texture `{name}`: {problem}")]
    Impossible {
        name: String,
        /// Description of the inconsistency, in one sentence.
        problem: String,
    },
    /// Some texels are outside any allocation.
    #[error(
        "texture `{name}`, {shape}, takes {bytes} bytes at {address:#x}, which are not inside an allocation; nearest is {nearest}"
    )]
    OutOfBounds {
        name: String,
        /// Number of axes and their lengths in texels.
        shape: TextureShape,
        /// Size of the texture in bytes, including row padding.
        bytes: u64,
        address: u64,
        /// Description of the allocation nearest to the texture.
        nearest: String,
    },
    /// The number is not the handle of any texture.
    #[error("{handle:#x} is not a texture")]
    NoSuchTexture {
        /// Number that was used as a texture handle.
        handle: u64,
    },
    /// The module does not declare a texture reference with this name.
    #[error("{file}: no texture reference `{name}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("\nhint: did you mean `{n}`?")))]
    UnknownReference {
        /// File name of the module, as passed to the parser.
        file: String,
        name: String,
        /// Most similar texture reference of the module, if any.
        nearest: Option<String>,
    },
    /// The module needs a variable that no module defines.
    #[error("no module defines the external variable `{0}`")]
    UndefinedVariable(String),
}
