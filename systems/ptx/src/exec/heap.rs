//! Device heap for `malloc` and `free`.

use std::collections::BTreeMap;

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
    pub(super) fn take(&mut self, memory: &mut DeviceMemory, bytes: u64) -> u64 {
        if bytes == 0 || bytes > self.limit - self.taken {
            return 0;
        }
        let spare = self.spare.get_mut(&bytes).and_then(Vec::pop);
        let address = spare.unwrap_or_else(|| memory.allocate("malloc", bytes));
        self.taken += bytes;
        self.blocks.insert(address, bytes);
        address
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
        let a = heap.take(&mut memory, 60);
        assert_ne!(a, 0);
        assert_eq!(heap.take(&mut memory, 41), 0, "the heap is full");
        let b = heap.take(&mut memory, 40);
        assert!(b != 0 && b != a);
        assert!(heap.give_back(a));
        assert!(!heap.give_back(a), "twice");
        assert!(heap.give_back(0), "nothing");
        assert_eq!(heap.take(&mut memory, 60), a);
    }
}
