//! Textures that are defined over a device memory, and the module references bound to them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::DeviceMemory;
use crate::address_space::TEXTURE_HANDLES;
use crate::diagnostics::nearest_name;
use crate::module::Module;
use crate::texture::{Texture, TextureError};

/// Distance between the numbers of two texture handles.
const HANDLE_STEP: u64 = 32;

/// All textures, and the module references bound to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Textures {
    list: Vec<(String, Texture)>,
    /// Texture references, keyed by their address.
    references: BTreeMap<u64, Reference>,
}

/// A `.texref` variable and the texture bound to it.
#[derive(Clone, Debug)]
struct Reference {
    name: String,
    /// Handle of the bound texture, if any.
    bound: Option<u64>,
}

impl Textures {
    /// Registers a texture reference that is not bound yet.
    pub(crate) fn declare(&mut self, name: &str, address: u64) {
        let name = name.to_owned();
        let reference = Reference { name, bound: None };
        self.references.entry(address).or_insert(reference);
    }

    /// Returns the texture for a number: a handle, or the address of a reference. Returns a message
    /// if there is none.
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
            format!(
                "{handle:#x} is not a texture: neither a texture object nor a texture reference"
            )
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
    /// Creates a texture over allocated memory and returns its handle, which kernels take as a
    /// texture object. `name` is used in messages only.
    ///
    /// # Errors
    /// Returns [`TextureError`] if the description is inconsistent, or if texels are outside an
    /// allocation.
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
            return impossible(name, "more texels than fit in memory");
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
            return impossible(name, "too many textures: no handles are left");
        }
        self.textures.list.push((name, texture));
        Ok(handle)
    }

    /// Binds a texture to a texture reference of a module, until another is bound.
    ///
    /// # Errors
    /// Returns [`TextureError`] if the module has no such reference, or if no texture has this
    /// handle.
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
