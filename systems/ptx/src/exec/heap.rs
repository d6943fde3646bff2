//! Device heap for `malloc` and `free`.

use std::collections::BTreeMap;

use warpweave_files::OverBudget;

use crate::memory::DeviceMemory;

/// Device heap: allocated blocks and free lists.
#[derive(Debug)]
pub(super) struct Heap {
    /// Maximum number of bytes allocated at one time.
    limit: u64,
    taken: u64,
    /// Size in bytes of each allocated block, by address.
    blocks: BTreeMap<u64, u64>,
    /// Addresses of free blocks, by size in bytes.
    spare: BTreeMap<u64, Vec<u64>>,
}

impl Heap {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            taken: 0,
            blocks: BTreeMap::new(),
            spare: BTreeMap::new(),
        }
    }

    /// Allocates a block of `bytes` bytes without clearing it; returns 0 if the heap is full.
    ///
    /// # Errors
    /// Returns an error if the device memory would exceed the memory budget.
    pub(super) fn take(
        &mut self,
        memory: &mut DeviceMemory,
        bytes: u64,
    ) -> Result<u64, OverBudget> {
        if bytes == 0 || bytes > self.limit - self.taken {
            return Ok(0);
        }
        let address = match self.spare.get_mut(&bytes).and_then(Vec::pop) {
            Some(spare) => spare,
            None => memory.allocate_charged("malloc", bytes)?,
        };
        self.taken += bytes;
        self.blocks.insert(address, bytes);
        Ok(address)
    }

    /// Frees a block; returns false if no block starts at the address.
    pub(super) fn give_back(&mut self, address: u64) -> bool {
        let Some(bytes) = self.blocks.remove(&address) else {
            return address == 0;
        };
        self.taken -= bytes;
        self.spare.entry(bytes).or_default().push(address);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_taken_once_and_given_back_once() {
        let (mut heap, mut memory) = (Heap::new(100), DeviceMemory::new());
        let a = heap.take(&mut memory, 60).expect("no limit");
        assert_ne!(a, 0);
        assert_eq!(
            heap.take(&mut memory, 41).expect("no limit"),
            0,
            "the heap is full"
        );
        let b = heap.take(&mut memory, 40).expect("no limit");
        assert!(b != 0 && b != a);
        assert!(heap.give_back(a));
        assert!(!heap.give_back(a), "twice");
        assert!(heap.give_back(0), "nothing");
        assert_eq!(heap.take(&mut memory, 60).expect("no limit"), a);
    }
}
