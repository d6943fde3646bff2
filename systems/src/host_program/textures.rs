//! Textures over buffers: their evaluated numbers, and their state on the device.
//!
//! A texture covers the memory its buffer points to at kernel launch, so it follows swapped
//! buffers. A module reference with the name of a texture is bound to it initially; `BindTexture`
//! binds it to another one.

use std::collections::BTreeMap;

use warpweave_inputs::{Name, Value};
use warpweave_params::{Diagnostic, Env};
use warpweave_ptx::{Texture, TextureShape};

use super::description::{ReadMode, TextureInput};
use super::inputs::Buffer;
use super::modules::ProgramModule;
use super::unknown;

/// Texture whose numbers are evaluated.
#[derive(Debug)]
pub(super) struct BufferTexture {
    pub(super) name: Name,
    /// Index of its buffer in the program.
    pub(super) buffer: usize,
    /// Texture descriptor with the base address set to 0.
    texture: Texture,
}

impl BufferTexture {
    /// Evaluates the numbers of a texture and checks them.
    pub(super) fn new(
        name: Name,
        input: &TextureInput,
        buffers: &[Buffer],
        env: &Env,
    ) -> Result<Self, Diagnostic> {
        let whole = |value: &Value, what: &str| {
            let what = format!("{what} of texture `{}`", name.value);
            Ok::<_, Diagnostic>(value.integer(env, &what, 1..=u32::MAX.into())? as u32)
        };
        let dims = input
            .dims
            .iter()
            .zip(["the width", "the height", "the depth"]);
        let dims: Vec<u32> = dims
            .map(|(value, what)| whole(value, what))
            .collect::<Result<_, _>>()?;
        let layers = match &input.layers {
            Some(layers) => Some(whole(layers, "the layers")?),
            None => None,
        };
        let shape = match (&dims[..], layers, input.linear) {
            _ if input.dims.len() != dims.len() => None,
            (&[width], None, true) => Some(TextureShape::Linear(width)),
            (&[width], None, false) => Some(TextureShape::Row(width)),
            (&[x, y], None, false) => Some(TextureShape::Plane([x, y])),
            (&[x, y, z], None, false) => Some(TextureShape::Volume([x, y, z])),
            (&[width], Some(layers), false) => Some(TextureShape::Rows { width, layers }),
            (&[x, y], Some(layers), false) => Some(TextureShape::Planes {
                extents: [x, y],
                layers,
            }),
            _ => None,
        };
        let shape = shape.ok_or_else(|| {
            let message = format!("texture `{}` has an unsupported shape", name.value);
            let hint = "dims: 1 to 3 numbers; layers: only with 1 or 2 dims; linear: only with 1";
            name.error(message).hint(hint)
        })?;
        let number = buffers
            .iter()
            .position(|buffer| buffer.name.value == input.buffer.value)
            .ok_or_else(|| {
                let names = buffers.iter().map(|buffer| buffer.name.value.as_str());
                unknown("buffer", &input.buffer, names)
            })?;
        let channels = whole(&input.channels, "the channels")?;
        let pitch = match &input.pitch {
            Some(pitch) => Some(u64::from(whole(pitch, "the pitch")?)),
            None => None,
        };
        let texture = Texture {
            pitch,
            filter: input.filter.filter(),
            address_modes: [input.address.mode(); 3],
            normalized_coordinates: input.normalized,
            normalized_values: input.read == ReadMode::NormalizedFloat,
            ..Texture::new(0, shape, input.format.texel(), channels)
        };
        if let Some(problem) = texture.problem_over(buffers[number].bytes()) {
            return Err(name.error(format!("texture `{}`: {problem}", name.value)));
        }
        Ok(Self {
            name,
            buffer: number,
            texture,
        })
    }

    /// Returns the texture descriptor for a buffer at `address`.
    pub(super) fn at(&self, address: u64) -> Texture {
        Texture {
            address,
            ..self.texture
        }
    }
}

/// Finds a texture by its name.
pub(super) fn find(textures: &[BufferTexture], name: &Name) -> Result<usize, Diagnostic> {
    let found = textures
        .iter()
        .position(|texture| texture.name.value == name.value);
    let names = textures.iter().map(|texture| texture.name.value.as_str());
    found.ok_or_else(|| unknown("texture", name, names))
}

/// State of the textures on the device.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound {
    /// Handles, keyed by texture index and address.
    handles: BTreeMap<(usize, u64), u64>,
    /// Bound references, keyed by module index and name, with the index of the texture.
    references: BTreeMap<(usize, String), usize>,
}

impl Bound {
    /// Binds references to the textures of the same name.
    pub(super) fn by_name(modules: &[ProgramModule], textures: &[BufferTexture]) -> Self {
        let mut bound = Self::default();
        for (number, module) in modules.iter().enumerate() {
            for reference in module.module().texture_references() {
                let is_it = |texture: &BufferTexture| texture.name.value == reference;
                if let Some(texture) = textures.iter().position(is_it) {
                    bound.bind(number, reference, texture);
                }
            }
        }
        bound
    }

    /// Binds a texture to a reference of a module, for later launches.
    pub(super) fn bind(&mut self, module: usize, reference: &str, texture: usize) {
        let reference = (module, reference.to_owned());
        self.references.insert(reference, texture);
    }

    /// Returns the references of a module that are bound.
    pub(super) fn references(&self, module: usize) -> Vec<(String, usize)> {
        let references = self.references.iter();
        let references = references.filter(|((of, _), _)| *of == module);
        references
            .map(|((_, name), texture)| (name.clone(), *texture))
            .collect()
    }

    /// Returns the handle of a texture over memory at an address, if it was created.
    pub(super) fn handle(&self, number: usize, address: u64) -> Option<u64> {
        self.handles.get(&(number, address)).copied()
    }

    /// Keeps the handle of a texture that was created over memory at an address.
    pub(super) fn keep(&mut self, number: usize, address: u64, handle: u64) {
        self.handles.insert((number, address), handle);
    }
}
