//! Sub-blocks: the sectors of a line, as bits of a mask.

use super::CacheSite;
use crate::memory::full_line;

/// Division of a line into sub-blocks, numbered from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubBlocks {
    count: u32,
    words_each: u32,
}

impl SubBlocks {
    /// Returns the division of the lines of a cache; one sub-block each without sectors.
    pub fn of(site: &CacheSite) -> Self {
        Self {
            count: site.line_bytes / site.sector_bytes,
            words_each: site.sector_bytes / 4,
        }
    }

    /// Returns the number of sub-blocks of a line, 1 to 32.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns the mask of all sub-blocks.
    pub fn all(self) -> u32 {
        u32::MAX >> (u32::BITS - self.count)
    }

    /// Returns the mask of the sub-blocks that hold any of these words.
    pub fn of_words(self, words: u32) -> u32 {
        let holds = |block: &u32| words & self.words(1 << block) != 0;
        (0..self.count)
            .filter(holds)
            .fold(0, |mask, block| mask | 1 << block)
    }

    /// Returns the mask of all words of these sub-blocks.
    pub fn words(self, blocks: u32) -> u32 {
        let each = full_line(self.words_each * 4);
        (0..self.count)
            .filter(|block| blocks >> block & 1 != 0)
            .fold(0, |words, block| words | each << (block * self.words_each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Level;

    fn site(line_bytes: u32, sector_bytes: u32) -> CacheSite {
        CacheSite {
            level: Level::L1,
            lines: 4,
            sets: 2,
            ways: 2,
            partitions: 1,
            line_bytes,
            sector_bytes,
            interleave: None,
        }
    }

    #[test]
    fn words_and_sub_blocks_name_each_other() {
        let four = SubBlocks::of(&site(128, 32));
        assert_eq!((four.count(), four.all()), (4, 0b1111));
        assert_eq!(four.of_words(0x8000_0101), 0b1011);
        assert_eq!(four.words(0b1010), 0xff00_ff00);
        let whole = SubBlocks::of(&site(128, 128));
        assert_eq!((whole.of_words(4), whole.words(1)), (1, u32::MAX));
        let words = SubBlocks::of(&site(128, 4));
        assert_eq!((words.all(), words.words(5)), (u32::MAX, 5));
    }
}
