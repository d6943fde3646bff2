//! Textures: what a program on the host says of memory that kernels read through coordinates.
//!
//! A texture describes memory that belongs to an allocation; nothing is copied. Rows follow one another at
//! a stated pitch, planes and layers after all rows of the one before. Hardware hides the layout of its
//! arrays; here it is always this one, so that addresses in a trace mean something.
//!
//! Terms and formulas are those of the CUDA C++ Programming Guide, "Texture Fetching".

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::diagnostics::nearest_name;
use crate::memory::{DeviceMemory, TEXTURE_HANDLES};
use crate::module::Module;

/// Distance between two handles.
const HANDLE_STEP: u64 = 32;

/// Most texels along an axis: coordinates times this number are exact in double precision.
const EXTENT_MAX: u32 = 1 << 27;

/// Type of one channel of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The variants name their types.
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
    /// Size of a channel in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Whether channels are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }
}

/// Number and length of the axes, in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextureShape {
    /// Linear memory: texels in a row, read at whole numbers; outside of it everything is zero.
    Linear(u32),
    /// A row.
    Row(u32),
    /// Width and height.
    Plane([u32; 2]),
    /// Width, height and depth.
    Volume([u32; 3]),
    /// Rows of one width, chosen by number.
    Rows {
        /// Length of a row.
        width: u32,
        /// How many there are.
        layers: u32,
    },
    /// Planes of one size, chosen by number.
    Planes {
        /// Width and height.
        extents: [u32; 2],
        /// How many there are.
        layers: u32,
    },
}

impl TextureShape {
    /// Axes that take coordinates.
    pub(crate) fn axes(self) -> usize {
        match self {
            Self::Linear(_) | Self::Row(_) | Self::Rows { .. } => 1,
            Self::Plane(_) | Self::Planes { .. } => 2,
            Self::Volume(_) => 3,
        }
    }

    /// Width, height and depth; 1 where there is no such axis.
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

    /// Number of layers, of a shape that has them.
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

/// How values between texels come about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureFilter {
    /// The texel that holds the coordinates.
    #[default]
    Point,
    /// Two, four or eight texels around, weighted by the distance along each axis in 256ths.
    Linear,
}

/// What lies beyond the ends of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// The texture again. With coordinates that are not normalised, as `Clamp`.
    Wrap,
    /// The texel at the end.
    #[default]
    Clamp,
    /// The texture backwards. With coordinates that are not normalised, as `Clamp`.
    Mirror,
    /// Zeros.
    Border,
}

/// A texture over device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Address of the first texel.
    pub address: u64,
    /// Axes and their lengths.
    pub shape: TextureShape,
    /// Type of a channel.
    pub texel: TexelType,
    /// Channels of a texel: 1, 2 or 4. Of those that are missing the second and third read zero, the
    /// fourth one.
    pub channels: u32,
    /// Bytes from a row to the next; `None`: no gap between rows.
    pub pitch: Option<u64>,
    /// How values between texels come about.
    pub filter: TextureFilter,
    /// Beyond the ends along x, y, z.
    pub address_modes: [AddressMode; 3],
    /// Coordinates run from 0 to 1 along each axis rather than to its length.
    pub normalized_coordinates: bool,
    /// Integers of 8 and 16 bits read as numbers from 0, or of signed ones -1, to 1.
    pub normalized_values: bool,
}

impl Texture {
    /// Texels without gaps: nearest texel, clamped, coordinates in texels, values as they are.
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

    /// Size of a texel.
    pub(crate) fn texel_bytes(&self) -> u64 {
        self.texel.bytes() * u64::from(self.channels)
    }

    /// Bytes from a row to the next.
    pub(crate) fn row_bytes(&self) -> u64 {
        let [width, ..] = self.shape.extents();
        self.pitch.unwrap_or(u64::from(width) * self.texel_bytes())
    }

    /// Whether a read gives floating-point numbers.
    pub(crate) fn gives_floats(&self) -> bool {
        self.texel.is_float() || self.normalized_values
    }

    /// What kernels read from it, for messages.
    pub(crate) fn values(&self) -> &'static str {
        match (self.gives_floats(), self.texel) {
            (true, _) => "f32",
            (_, TexelType::S8 | TexelType::S16 | TexelType::S32) => "s32",
            _ => "u32",
        }
    }

    /// Bytes from the first texel to the end of the last.
    fn bytes(&self) -> Option<u64> {
        let [width, height, depth] = self.shape.extents();
        let planes = u64::from(depth).checked_mul(self.shape.layers().unwrap_or(1).into())?;
        let rows = planes.checked_mul(height.into())?;
        let before = rows.checked_sub(1)?.checked_mul(self.row_bytes())?;
        before.checked_add(u64::from(width) * self.texel_bytes())
    }

    /// Why it cannot lie over `memory` bytes that begin at its address, if so.
    pub fn problem_over(&self, memory: u64) -> Option<String> {
        self.problem().or_else(|| match self.bytes() {
            Some(bytes) if bytes <= memory => None,
            bytes => Some(format!(
                "{} takes {} bytes, but there are {memory}",
                self.shape,
                bytes.map_or("too many".to_owned(), |bytes| bytes.to_string())
            )),
        })
    }

    /// Why it cannot be anywhere, if so.
    fn problem(&self) -> Option<String> {
        let (bytes, row) = (self.texel_bytes(), self.row_bytes());
        let [width, height, depth] = self.shape.extents();
        let longest = width.max(height).max(depth);
        let shortest = width.min(height).min(depth);
        if !matches!(self.channels, 1 | 2 | 4) {
            return Some(format!(
                "a texel has 1, 2 or 4 channels, not {}",
                self.channels
            ));
        }
        if shortest == 0 || self.shape.layers() == Some(0) {
            return Some(format!("{} have none", self.shape));
        }
        if longest > EXTENT_MAX {
            return Some(format!(
                "an axis has at most {EXTENT_MAX} texels, not {longest}"
            ));
        }
        if !self.address.is_multiple_of(bytes) || !row.is_multiple_of(bytes) {
            return Some(format!(
                "rows begin at a multiple of the {bytes} bytes of a texel"
            ));
        }
        if row < u64::from(width) * bytes {
            return Some(format!(
                "a pitch of {row} bytes is less than the {} bytes of a row",
                u64::from(width) * bytes
            ));
        }
        let is_narrow_integer = !self.texel.is_float() && self.texel.bytes() < 4;
        if self.normalized_values && !is_narrow_integer {
            return Some("only integers of 8 and 16 bits read as normalised numbers".to_owned());
        }
        if self.filter == TextureFilter::Linear {
            if !self.gives_floats() {
                let problem = "only floating-point values can be filtered; integers of 8 and 16 bits can \
                               when they read as normalised numbers";
                return Some(problem.to_owned());
            }
            if matches!(self.shape, TextureShape::Linear(_)) {
                return Some("linear memory is not filtered".to_owned());
            }
        }
        None
    }
}

/// A texture that cannot be made or bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextureError {
    /// What the description says makes no sense.
    #[error("texture `{name}`: {problem}")]
    Impossible {
        /// Name of the texture.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// Texels outside the memory that is there.
    #[error(
        "texture `{name}`, {shape}, takes {bytes} bytes from {address:#x} on, which are not inside an allocation; nearest is {nearest}"
    )]
    OutOfBounds {
        /// Name of the texture.
        name: String,
        /// Its shape in words.
        shape: TextureShape,
        /// Bytes it takes.
        bytes: u64,
        /// Its first address.
        address: u64,
        /// The nearest allocation, described.
        nearest: String,
    },
    /// A number that no texture has.
    #[error("{handle:#x} is no texture")]
    NoSuchTexture {
        /// The number.
        handle: u64,
    },
    /// The module declares no such reference.
    #[error("{file}: no texture reference `{name}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("\nhint: did you mean `{n}`?")))]
    UnknownReference {
        /// The module's file.
        file: String,
        /// The name asked for.
        name: String,
        /// The most similar reference.
        nearest: Option<String>,
    },
    /// The module needs a variable that no module defines.
    #[error("no module defines the external variable `{0}`")]
    UndefinedVariable(String),
}

/// All textures, and the references of modules that stand for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Textures {
    list: Vec<(String, Texture)>,
    /// By the address of the reference.
    references: BTreeMap<u64, Reference>,
}

/// A `.texref` variable.
#[derive(Clone, Debug)]
struct Reference {
    name: String,
    /// Handle of what it stands for.
    bound: Option<u64>,
}

impl Textures {
    /// Makes a reference known, which stands for nothing yet.
    pub(crate) fn declare(&mut self, name: &str, address: u64) {
        let name = name.to_owned();
        let reference = Reference { name, bound: None };
        self.references.entry(address).or_insert(reference);
    }

    /// The texture that a number names: a handle, or the address of a reference. Otherwise what is wrong.
    pub(crate) fn find(&self, value: u64) -> Result<(&str, &Texture), String> {
        let (name, handle) = match self.references.get(&value) {
            Some(Reference { name, bound: None }) => {
                return Err(format!("no texture is bound to the reference `{name}`"));
            }
            Some(Reference {
                name,
                bound: Some(handle),
            }) => (Some(name), *handle),
            None => (None, value),
        };
        let found = self.at(handle).and_then(|at| self.list.get(at));
        let (own, texture) = found.ok_or_else(|| {
            format!("{handle:#x} is no texture: neither a texture object nor a texture reference")
        })?;
        Ok((name.unwrap_or(own), texture))
    }

    fn at(&self, handle: u64) -> Option<usize> {
        let offset = handle.checked_sub(TEXTURE_HANDLES.start)?;
        let is_one =
            offset.is_multiple_of(HANDLE_STEP) && offset / HANDLE_STEP < self.list.len() as u64;
        is_one.then_some((offset / HANDLE_STEP) as usize)
    }
}

impl DeviceMemory {
    /// Makes a texture over memory that is allocated and returns its handle: what kernels get as a texture
    /// object. `name` is for messages.
    ///
    /// # Errors
    /// [`TextureError`] for a description that makes no sense, or texels outside an allocation.
    pub fn create_texture(
        &mut self,
        name: impl Into<String>,
        texture: Texture,
    ) -> Result<u64, TextureError> {
        let name = name.into();
        let impossible = |name: String, problem: &str| {
            let problem = problem.to_owned();
            Err(TextureError::Impossible { name, problem })
        };
        if let Some(problem) = texture.problem() {
            return Err(TextureError::Impossible { name, problem });
        }
        let Some(bytes) = texture.bytes() else {
            return impossible(name, "more texels than any memory has");
        };
        if let Err(error) = self.read(texture.address, bytes) {
            return Err(TextureError::OutOfBounds {
                name,
                shape: texture.shape,
                bytes,
                address: texture.address,
                nearest: error.nearest,
            });
        }
        let Range { start, end } = TEXTURE_HANDLES;
        let handle = start + HANDLE_STEP * self.textures.list.len() as u64;
        if handle >= end {
            return impossible(name, "more textures than there are numbers for them");
        }
        self.textures.list.push((name, texture));
        Ok(handle)
    }

    /// Lets a texture reference of a module stand for a texture, until another is bound.
    ///
    /// # Errors
    /// [`TextureError`] if the module has no such reference or no texture has this handle.
    pub fn bind_texture(
        &mut self,
        module: &Module,
        reference: &str,
        handle: u64,
    ) -> Result<(), TextureError> {
        if self.textures.at(handle).is_none() {
            return Err(TextureError::NoSuchTexture { handle });
        }
        self.load(module).map_err(TextureError::UndefinedVariable)?;
        let references = || module.texture_references();
        let address = module
            .variables
            .iter()
            .zip(self.variables(module))
            .find(|(storage, address)| {
                storage.is_texture && storage.name == reference && **address != 0
            })
            .map(|(_, address)| *address);
        let bound = address.and_then(|address| self.textures.references.get_mut(&address));
        let Some(bound) = bound else {
            return Err(TextureError::UnknownReference {
                file: module.file().to_owned(),
                name: reference.to_owned(),
                nearest: nearest_name(reference, references()).map(str::to_owned),
            });
        };
        bound.bound = Some(handle);
        Ok(())
    }
}
