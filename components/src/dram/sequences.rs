//! Latest write sequence of every line, in memory bounded by the capacity of the channels.

use serde::{Deserialize, Serialize};

/// Bytes that share a write sequence: the smallest line of the protocol.
const GRANULE_BYTES: u64 = 32;
/// Number of sequences allocated together on the first write to one of them.
const PAGE: usize = 256;

/// Highest write sequence per 32 bytes of memory, 0 where nothing was written. Addresses above the
/// capacity share the sequences of the addresses they wrap to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sequences {
    pages: Vec<Option<Box<[u32]>>>,
}

impl Sequences {
    /// Returns the sequence of the bytes at this address.
    #[inline]
    pub(super) fn of(&self, address: u64) -> u32 {
        let (page, at) = place(address);
        match self.pages.get(page) {
            Some(Some(page)) => page[at],
            _ => 0,
        }
    }

    /// Records a write with this sequence. Addresses must be within the capacity.
    pub(super) fn raise(&mut self, address: u64, sequence: u32) {
        let (page, at) = place(address);
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let page = self.pages[page].get_or_insert_with(|| vec![0; PAGE].into());
        page[at] = page[at].max(sequence);
    }
}

fn place(address: u64) -> (usize, usize) {
    let granule = (address / GRANULE_BYTES) as usize;
    (granule / PAGE, granule % PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_sequence_of_each_line_is_kept_and_nothing_else() {
        let mut sequences = Sequences::default();
        for (address, sequence) in [(64, 7), (64, 5), (1 << 20, 3)] {
            sequences.raise(address, sequence);
        }
        let found = [0, 64, 96, 1 << 20, 1 << 40].map(|address| sequences.of(address));
        assert_eq!(found, [0, 7, 0, 3, 0]);
        assert_eq!(sequences.pages.iter().flatten().count(), 2);
    }
}
