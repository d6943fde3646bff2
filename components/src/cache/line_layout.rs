//! Lines, sectors and partitions of a cache, as arithmetic on addresses and word masks.

use super::spec::{CacheSpec, PartitionBy, Partitions};
use crate::memory::{MemRequest, full_line};

/// The shape of a line and where its partition is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineLayout {
    /// Mask with every word of a line.
    full: u32,
    /// Mask with every word of a line's first sector.
    sector_words: u32,
    /// Bits of an address within its line; a line keeps its partition there.
    offset_mask: u64,
    partitions: Option<Partitions>,
}

impl LineLayout {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        Self {
            full: full_line(spec.line_bytes),
            sector_words: full_line(spec.sector()),
            offset_mask: u64::from(spec.line_bytes) - 1,
            partitions: spec.partitions,
        }
    }

    /// Mask with every word of a line.
    #[inline]
    pub(super) fn full(&self) -> u32 {
        self.full
    }

    /// Bytes per line.
    #[inline]
    pub(super) fn line_bytes(&self) -> u32 {
        self.offset_mask as u32 + 1
    }

    /// Address of a line without its partition.
    #[inline]
    pub(super) fn address(&self, line: u64) -> u64 {
        line & !self.offset_mask
    }

    /// Words of its line that a message names which gives `words` from `address` on.
    #[inline]
    pub(super) fn words_from(&self, address: u64, words: u32) -> u32 {
        words << ((address & self.offset_mask) / 4)
    }

    /// The line of a request, with its partition, and the words it touches there; none if it
    /// crosses a line.
    #[inline]
    pub(super) fn place(&self, request: &MemRequest) -> Option<(u64, u32)> {
        let address = request.line & !self.offset_mask;
        let first = (request.line - address) / 4;
        let words = u64::from(request.words) << first;
        let line = match self.partitions {
            None => address,
            Some(partitions) => address | u64::from(partition(partitions, request)),
        };
        (words & !u64::from(self.full) == 0).then_some((line, words as u32))
    }

    /// The same line in the other partitions of the cache.
    pub(super) fn other_partitions(&self, line: u64) -> impl Iterator<Item = u64> + use<> {
        let address = line & !self.offset_mask;
        let count = self.partitions.map_or(1, |partitions| partitions.count);
        (address..address + u64::from(count)).filter(move |other| *other != line)
    }

    /// Returns the number of sectors that these words touch.
    pub(super) fn sector_count(&self, words: u32) -> u32 {
        self.sectors(words).count_ones() / self.sector_words.count_ones()
    }

    /// Expands a word mask to whole sectors.
    #[inline]
    pub(super) fn sectors(&self, words: u32) -> u32 {
        if words == 0 || self.sector_words == self.full {
            return if words == 0 { 0 } else { self.full };
        }
        let step = self.sector_words.count_ones();
        let mut all = 0;
        let mut rest = words;
        while rest != 0 {
            let sector = self.sector_words << (rest.trailing_zeros() / step * step);
            all |= sector;
            rest &= !sector;
        }
        all
    }
}

/// The partition that keeps the line of a request.
fn partition(partitions: Partitions, request: &MemRequest) -> u32 {
    let number = match partitions.by {
        PartitionBy::WorkGroup => request.source.work_group,
        PartitionBy::WavefrontSlots { consecutive } => {
            u32::from(request.source.wavefront_slot) / u32::from(consecutive)
        }
        PartitionBy::WorkGroupSlots => u32::from(request.source.work_group_slot),
    };
    number % partitions.count
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: LineLayout = LineLayout {
        full: 0xff,
        sector_words: 0b11,
        offset_mask: 31,
        partitions: Some(Partitions {
            count: 3,
            by: PartitionBy::WorkGroup,
        }),
    };

    #[test]
    fn a_request_has_the_words_of_its_line_and_the_partition_of_its_work_group() {
        let mut request = MemRequest::read(0, 64 + 8, 0b101);
        request.source.work_group = 5;
        assert_eq!(LAYOUT.place(&request), Some((64 + 2, 0b1_0100)));
        request.words = 1 << 6;
        assert_eq!(LAYOUT.place(&request), None);
        assert_eq!(LAYOUT.address(64 + 2), 64);
        let others: Vec<_> = LAYOUT.other_partitions(64 + 2).collect();
        assert_eq!(others, [64, 65]);
    }

    #[test]
    fn words_are_widened_to_sectors() {
        assert_eq!(LAYOUT.sectors(0), 0);
        assert_eq!(LAYOUT.sectors(0b0110_0000), 0b1111_0000);
        assert_eq!(LAYOUT.sector_count(0b0110_0000), 2);
        assert_eq!(LAYOUT.sector_count(0), 0);
    }
}
