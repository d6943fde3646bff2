//! Device memory: named allocations in one address space, and the windows of generic addresses.
//!
//! ```text
//! 0x0080_0000  addresses of functions (data only, never accessed)
//! 0x00c0_0000  handles of textures (never accessed)
//! 0x0100_0000  shared window, 16 MiB: offset into the work-group's memory
//! 0x0200_0000  local window, 16 MiB: offset into the thread's private memory
//! 0x0300_0000  window of arguments, 1 MiB: offset into those of the kernel
//! 0x1000_0000  device memory: allocations, 256-byte aligned, with a gap after each
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use warpweave_files::Ledger;

use crate::module::Module;
use crate::texture::Textures;

/// Numbers of textures.
pub(crate) const TEXTURE_HANDLES: Range<u64> = 0x00c0_0000..0x0100_0000;
/// Generic addresses of work-group memory.
pub(crate) const SHARED_WINDOW: Range<u64> = 0x0100_0000..0x0200_0000;
/// Generic addresses of private memory.
pub(crate) const LOCAL_WINDOW: Range<u64> = 0x0200_0000..0x0300_0000;
/// Generic addresses of the kernel's arguments.
pub(crate) const PARAM_WINDOW: Range<u64> = 0x0300_0000..0x0310_0000;
/// Address of the first allocation.
pub const DEVICE_BASE: u64 = 0x1000_0000;

/// Every allocation starts at a multiple of this many bytes.
const ALIGNMENT: u64 = 256;

/// Bytes from one allocation, which has `bytes`, to the next. There is a gap between them, so that
/// running off the end is always noticed.
pub fn allocation_bytes(bytes: u64) -> u64 {
    (bytes + 1).next_multiple_of(ALIGNMENT)
}

/// A named range of device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Name in traces and messages.
    pub name: String,
    /// First address.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl Allocation {
    fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.base && bytes <= self.bytes && address - self.base <= self.bytes - bytes
    }
}

/// An access outside every allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x} are not inside an allocation; nearest is {nearest}")]
pub struct OutOfBounds {
    /// First address asked for.
    pub address: u64,
    /// Number of bytes asked for.
    pub bytes: u64,
    /// The nearest allocation, described.
    pub nearest: String,
}

/// The device's global and constant memory; it outlives launches.
#[derive(Clone, Debug, Default)]
pub struct DeviceMemory {
    data: Vec<u8>,
    /// Ascending by address.
    allocations: Vec<Allocation>,
    /// Addresses of each loaded module's variables.
    modules: BTreeMap<u64, Vec<u64>>,
    pub(crate) textures: Textures,
    ledger: Ledger,
}

impl DeviceMemory {
    /// Empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empty memory whose first allocation lies `offset` bytes from the start of device memory; a
    /// multiple of what an allocation takes.
    pub fn beginning_at(offset: u64) -> Self {
        Self {
            data: vec![0; offset as usize],
            ..Self::default()
        }
    }

    /// Charges what launches keep, and what they need while they run, to `ledger`. The memory itself is
    /// charged by whoever allocates it.
    pub fn charged_to(mut self, ledger: &Ledger) -> Self {
        self.ledger = ledger.clone();
        self
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Reserves `bytes` zeroed bytes and returns their address.
    pub fn allocate(&mut self, name: impl Into<String>, bytes: u64) -> u64 {
        let base = DEVICE_BASE + self.data.len() as u64;
        let end = self.data.len() + allocation_bytes(bytes) as usize;
        self.data.resize(end, 0);
        self.allocations.push(Allocation {
            name: name.into(),
            base,
            bytes,
        });
        base
    }

    /// All allocations, ascending by address. Variables of modules appear when the module is first
    /// used.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// The latest allocation with this name.
    pub fn find(&self, name: &str) -> Option<&Allocation> {
        self.allocations
            .iter()
            .rev()
            .find(|allocation| allocation.name == name)
    }

    /// The bytes at an address.
    ///
    /// # Errors
    /// [`OutOfBounds`] unless the whole range lies in one allocation.
    pub fn read(&self, address: u64, bytes: u64) -> Result<&[u8], OutOfBounds> {
        let range = self.range(address, bytes)?;
        Ok(&self.data[range])
    }

    /// Copies bytes to an address.
    ///
    /// # Errors
    /// [`OutOfBounds`] unless the whole range lies in one allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), OutOfBounds> {
        let range = self.range(address, bytes.len() as u64)?;
        self.data[range].copy_from_slice(bytes);
        Ok(())
    }

    fn range(&self, address: u64, bytes: u64) -> Result<Range<usize>, OutOfBounds> {
        match self.containing(address) {
            Some(allocation) if allocation.holds(address, bytes) => {
                let start = (address - DEVICE_BASE) as usize;
                Ok(start..start + bytes as usize)
            }
            _ => Err(OutOfBounds {
                address,
                bytes,
                nearest: self.nearest(address),
            }),
        }
    }

    /// The last allocation that starts at or before `address`.
    pub(crate) fn containing(&self, address: u64) -> Option<&Allocation> {
        let after = self
            .allocations
            .partition_point(|allocation| allocation.base <= address);
        after.checked_sub(1).map(|at| &self.allocations[at])
    }

    /// Addresses at which `bytes` bytes may be accessed around `address`: `(first, last)`.
    pub(crate) fn window(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        let allocation = self.containing(address)?;
        allocation
            .holds(address, bytes)
            .then(|| (allocation.base, allocation.base + allocation.bytes - bytes))
    }

    /// Textures over this memory.
    pub(crate) fn textures(&self) -> &Textures {
        &self.textures
    }

    /// The backing bytes; index 0 is [`DEVICE_BASE`].
    #[inline(always)]
    pub(crate) fn data(&self) -> &[u8] {
        &self.data
    }

    #[inline(always)]
    pub(crate) fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// Describes the allocation nearest to an address, for messages.
    pub(crate) fn nearest(&self, address: u64) -> String {
        let distance = |allocation: &&Allocation| {
            let end = allocation.base + allocation.bytes;
            if address < allocation.base {
                allocation.base - address
            } else {
                address.saturating_sub(end)
            }
        };
        match self.allocations.iter().min_by_key(distance) {
            None => "none: nothing is allocated".to_owned(),
            Some(allocation) => {
                let end = allocation.base + allocation.bytes;
                let place = if address < allocation.base {
                    format!("{} bytes before it", allocation.base - address)
                } else if address >= end {
                    format!("{} bytes past its end", address - end)
                } else {
                    format!("at byte {} of it", address - allocation.base)
                };
                format!(
                    "`{}` ({:#x}..{end:#x}, {} bytes), {place}",
                    allocation.name, allocation.base, allocation.bytes
                )
            }
        }
    }

    /// Gives a module's variables memory and initial values, once; later calls change nothing, so
    /// variables persist between launches. Launching does this by itself.
    ///
    /// # Errors
    /// The name of an `.extern` variable that no module loaded before defines.
    pub fn load(&mut self, module: &Module) -> Result<(), String> {
        if self.modules.contains_key(&module.fingerprint) {
            return Ok(());
        }
        let mut addresses = Vec::with_capacity(module.variables.len());
        for storage in &module.variables {
            let address = if storage.is_external {
                let defined = module
                    .variables
                    .iter()
                    .position(|other| other.name == storage.name && !other.is_external);
                match (defined, self.find(&storage.name)) {
                    (Some(_), _) => 0,
                    (None, Some(allocation)) => allocation.base,
                    (None, None) => return Err(storage.name.clone()),
                }
            } else {
                debug_assert!(u64::from(storage.align) <= ALIGNMENT);
                let address = self.allocate(storage.name.clone(), storage.bytes.len() as u64);
                let start = (address - DEVICE_BASE) as usize;
                self.data[start..start + storage.bytes.len()].copy_from_slice(&storage.bytes);
                address
            };
            if storage.is_texture && address != 0 {
                self.textures.declare(&storage.name, address);
            }
            addresses.push(address);
        }
        for (storage, &base) in module.variables.iter().zip(&addresses) {
            for patch in &storage.patches {
                let value = addresses[patch.variable].wrapping_add(patch.offset as u64);
                let start = (base - DEVICE_BASE) as usize + patch.at;
                self.data[start..start + patch.width]
                    .copy_from_slice(&value.to_le_bytes()[..patch.width]);
            }
        }
        self.modules.insert(module.fingerprint, addresses);
        Ok(())
    }

    /// The address of a variable of a loaded module that has memory of its own.
    pub fn variable(&self, module: &Module, name: &str) -> Option<u64> {
        let variables = module.variables.iter().zip(self.variables(module));
        let mut addresses = variables.filter(|(storage, _)| storage.name == name);
        addresses.find_map(|(_, address)| (*address != 0).then_some(*address))
    }

    /// Addresses of a loaded module's variables.
    pub(crate) fn variables(&self, module: &Module) -> &[u64] {
        self.modules
            .get(&module.fingerprint)
            .map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_aligned_and_apart() {
        let mut memory = DeviceMemory::new();
        let (a, b) = (memory.allocate("a", 256), memory.allocate("b", 1));
        assert_eq!((a, b), (DEVICE_BASE, DEVICE_BASE + 512));
        memory.write(b, &[7]).expect("inside");
        assert_eq!(memory.read(b, 1).expect("inside"), [7]);
    }

    #[test]
    fn accesses_across_an_end_name_the_allocation() {
        let mut memory = DeviceMemory::new();
        let a = memory.allocate("input", 8);
        let error = memory.read(a + 6, 4).expect_err("too long");
        assert!(error.to_string().contains("`input`"), "{error}");
        assert!(memory.read(a - 1, 1).is_err());
        assert!(memory.write(a + 8, &[0]).is_err());
    }
}
