//! Device memory: named allocations in one address space, and the textures defined over them.

mod textures;

use std::collections::BTreeMap;
use std::ops::Range;

use warpweave_files::{Ledger, OverBudget};

use self::textures::Textures;
use crate::address_space::DEVICE_BASE;
use crate::module::Module;

/// Alignment of every allocation, in bytes.
const ALIGNMENT: u64 = 256;

/// Returns the distance from an allocation of `bytes` bytes to the next one, in bytes. A gap
/// between allocations ensures that overruns are detected.
pub fn allocation_bytes(bytes: u64) -> u64 {
    (bytes + 1).next_multiple_of(ALIGNMENT)
}

/// A named range of device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Name used in traces and messages; need not be unique.
    pub name: String,
    /// First address of the allocation in device memory.
    pub base: u64,
    /// Size of the allocation in bytes, without the gap.
    pub bytes: u64,
}

impl Allocation {
    fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.base && bytes <= self.bytes && address - self.base <= self.bytes - bytes
    }
}

/// Error for an access that is outside every allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x} are not inside an allocation; nearest is {nearest}")]
pub struct OutOfBounds {
    /// First address of the requested range.
    pub address: u64,
    /// Length of the requested range in bytes.
    pub bytes: u64,
    /// Description of the allocation nearest to the address.
    pub nearest: String,
}

/// Global and constant memory of the device; it persists across launches.
#[derive(Clone, Debug, Default)]
pub struct DeviceMemory {
    data: Vec<u8>,
    /// Allocations in ascending order of address.
    allocations: Vec<Allocation>,
    /// Addresses of the variables of each loaded module, by fingerprint.
    modules: BTreeMap<u64, Vec<u64>>,
    pub(crate) textures: Textures,
    ledger: Ledger,
}

impl DeviceMemory {
    /// Creates a device memory without any allocation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty memory whose first allocation is `offset` bytes after the start of device
    /// memory. The offset must be a multiple of the allocation alignment.
    pub fn beginning_at(offset: u64) -> Self {
        Self {
            data: vec![0; offset as usize],
            ..Self::default()
        }
    }

    /// Charges the memory that launches need or retain to `ledger`. The device memory itself is
    /// charged by the caller that allocates it.
    pub fn charged_to(mut self, ledger: &Ledger) -> Self {
        self.ledger = ledger.clone();
        self
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Allocates `bytes` zeroed bytes and returns their address.
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

    /// Allocates like [`DeviceMemory::allocate`] and charges the memory to the ledger first.
    ///
    /// # Errors
    /// Returns an error, and allocates nothing, if the memory budget would be exceeded.
    pub(crate) fn allocate_charged(&mut self, name: &str, bytes: u64) -> Result<u64, OverBudget> {
        let what = format!("device memory of `{name}`");
        let wanted = allocation_bytes(bytes) + size_of::<Allocation>() as u64;
        self.ledger.charge(&what, wanted)?;
        Ok(self.allocate(name, bytes))
    }

    /// Returns all allocations in ascending order of address. Variables of a module appear when the
    /// module is first used.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// Returns the most recent allocation with this name.
    pub fn find(&self, name: &str) -> Option<&Allocation> {
        self.allocations
            .iter()
            .rev()
            .find(|allocation| allocation.name == name)
    }

    /// Returns the bytes of an address range.
    ///
    /// # Errors
    /// Returns [`OutOfBounds`] unless the whole range is within one allocation.
    pub fn read(&self, address: u64, bytes: u64) -> Result<&[u8], OutOfBounds> {
        let range = self.range(address, bytes)?;
        Ok(&self.data[range])
    }

    /// Copies bytes to an address.
    ///
    /// # Errors
    /// Returns [`OutOfBounds`] unless the whole range is within one allocation.
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

    /// Returns the last allocation that starts at or before `address`.
    pub(crate) fn containing(&self, address: u64) -> Option<&Allocation> {
        let after = self
            .allocations
            .partition_point(|allocation| allocation.base <= address);
        after.checked_sub(1).map(|at| &self.allocations[at])
    }

    /// Returns the valid addresses for accesses of `bytes` bytes in the allocation around
    /// `address`: `(first, last)`.
    pub(crate) fn window(&self, address: u64, bytes: u64) -> Option<(u64, u64)> {
        let allocation = self.containing(address)?;
        allocation
            .holds(address, bytes)
            .then(|| (allocation.base, allocation.base + allocation.bytes - bytes))
    }

    /// Returns the textures that are defined over this memory.
    pub(crate) fn textures(&self) -> &Textures {
        &self.textures
    }

    /// Returns the backing bytes; index 0 is [`DEVICE_BASE`].
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
            None => "none, because nothing is allocated".to_owned(),
            Some(allocation) => {
                let end = allocation.base + allocation.bytes;
                let place = if address < allocation.base {
                    format!("{} bytes before its start", allocation.base - address)
                } else if address >= end {
                    format!("{} bytes past its end", address - end)
                } else {
                    format!("at byte {} of the allocation", address - allocation.base)
                };
                format!(
                    "`{}` ({:#x}..{end:#x}, {} bytes), {place}",
                    allocation.name, allocation.base, allocation.bytes
                )
            }
        }
    }

    /// Allocates and initializes a module's variables. Later calls have no effect, so variables
    /// persist across launches. A launch loads its module automatically.
    ///
    /// # Errors
    /// Returns the name of an `.extern` variable that no loaded module defines.
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

    /// Returns the address of a loaded module's variable, if it has storage of its own.
    pub fn variable(&self, module: &Module, name: &str) -> Option<u64> {
        let variables = module.variables.iter().zip(self.variables(module));
        let mut addresses = variables.filter(|(storage, _)| storage.name == name);
        addresses.find_map(|(_, address)| (*address != 0).then_some(*address))
    }

    /// Returns the addresses of a loaded module's variables.
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
