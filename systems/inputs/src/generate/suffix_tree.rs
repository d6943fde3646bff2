//! Suffix trees of random texts of four letters, and reads of such texts.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Number of letters in each read of a text.
pub(crate) const READ_LETTERS: usize = 32;

/// One of so many letters of a read differs from the text at random.
const ERROR_EVERY: u64 = 16;

/// Suffix tree of a random text over the letters 0 to 3. Nodes are numbered level by level, the
/// root is 0. There is room for twice as many nodes as letters; unused ones are zero.
///
/// A suffix that is the beginning of another has no leaf of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuffixTree {
    /// Number of letters in the text, 32 to 2^24.
    pub letters: u32,
    /// Random seed; the same seed gives the same text.
    pub seed: u64,
}

/// Array that belongs to a [`SuffixTree`], with its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SuffixTreePart {
    /// The letters of the text, one for each element of `U8`.
    Text,
    /// Four children of each node by letter, 0 for none; 8 elements of `U32` for each letter.
    Children,
    /// First position in the text and length of the edge into each node; 4 elements of `U32` for
    /// each letter.
    Edges,
    /// Pieces of 32 letters of the text with one of 16 letters drawn anew, as elements of `U8`.
    Reads {
        /// Random seed of places and errors.
        seed: u64,
    },
}

/// Node whose children are not known yet: the suffixes below it in order, and its depth in letters.
struct Open {
    node: usize,
    suffixes: std::ops::Range<usize>,
    depth: usize,
}

impl SuffixTree {
    /// Returns the number of elements of a part; `None` if it may be any multiple of 32.
    pub(crate) fn length(self, part: SuffixTreePart) -> Option<usize> {
        let letters = self.letters as usize;
        match part {
            SuffixTreePart::Text => Some(letters),
            SuffixTreePart::Children => Some(8 * letters),
            SuffixTreePart::Edges => Some(4 * letters),
            SuffixTreePart::Reads { .. } => None,
        }
    }

    pub(crate) fn text(self) -> Vec<u8> {
        let mut random = Random::new(self.seed, 0);
        (0..self.letters).map(|_| random.below(4) as u8).collect()
    }

    /// Returns reads of this many letters in all.
    pub(crate) fn reads(self, seed: u64, length: usize) -> Vec<u8> {
        let text = self.text();
        let mut random = Random::new(seed, 1);
        let mut reads = Vec::with_capacity(length);
        while reads.len() < length {
            let first = random.below((text.len() - READ_LETTERS + 1) as u64) as usize;
            for &letter in &text[first..first + READ_LETTERS] {
                let is_wrong = random.below(ERROR_EVERY) == 0;
                let drawn = random.below(4) as u8;
                reads.push(if is_wrong { drawn } else { letter });
            }
        }
        reads
    }

    /// Returns the children and the edges of all nodes.
    pub(crate) fn nodes(self) -> (Vec<u32>, Vec<u32>) {
        let text = self.text();
        let mut sorted: Vec<usize> = (0..text.len()).collect();
        sorted.sort_unstable_by(|a, b| text[*a..].cmp(&text[*b..]));
        let mut children = vec![0; 8 * text.len()];
        let mut edges = vec![0; 4 * text.len()];
        let mut nodes = 1;
        let mut open = VecDeque::from([Open {
            node: 0,
            suffixes: 0..sorted.len(),
            depth: 0,
        }]);
        while let Some(Open {
            node,
            suffixes,
            depth,
        }) = open.pop_front()
        {
            let mut left = &sorted[suffixes.clone()];
            // The shortest comes first, and may have ended here.
            left = &left[left.partition_point(|suffix| suffix + depth == text.len())..];
            while let [first, ..] = left {
                let letter = text[first + depth];
                let same = left.partition_point(|suffix| text[suffix + depth] == letter);
                let last = left[same - 1];
                let edge = common(&text[first + depth..], &text[last + depth..]);
                children[4 * node + usize::from(letter)] = nodes as u32;
                edges[2 * nodes] = (first + depth) as u32;
                edges[2 * nodes + 1] = edge as u32;
                let begin = suffixes.end - left.len();
                if same > 1 {
                    open.push_back(Open {
                        node: nodes,
                        suffixes: begin..begin + same,
                        depth: depth + edge,
                    });
                }
                nodes += 1;
                left = &left[same..];
            }
        }
        (children, edges)
    }
}

/// Returns the number of letters with which both begin.
pub(crate) fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suffix_is_a_path_from_the_root_and_nodes_are_numbered_by_level() {
        let tree = SuffixTree {
            letters: 300,
            seed: 4,
        };
        let text = tree.text();
        let (children, edges) = tree.nodes();
        for start in 0..text.len() {
            let (mut node, mut at) = (0, start);
            while at < text.len() {
                node = children[4 * node + usize::from(text[at])] as usize;
                assert_ne!(node, 0, "suffix {start}");
                let (from, edge) = (edges[2 * node] as usize, edges[2 * node + 1] as usize);
                let rest = edge.min(text.len() - at);
                assert_eq!(text[from..from + rest], text[at..at + rest]);
                at += edge;
            }
        }
        let used = (1..600).take_while(|node| edges[2 * node + 1] > 0).count();
        assert!(used > 300 && used < 600, "{used}");
        for node in 1..=used {
            let below = children[4 * node..4 * node + 4].iter();
            let mut below = below.filter(|child| **child > 0);
            assert!(below.all(|child| *child > node as u32));
        }
    }

    #[test]
    fn reads_are_pieces_of_the_text_with_few_errors() {
        let tree = SuffixTree {
            letters: 5000,
            seed: 1,
        };
        let (text, reads) = (tree.text(), tree.reads(2, 100 * READ_LETTERS));
        let exact = reads.chunks(READ_LETTERS);
        let exact = exact.filter(|read| text.windows(READ_LETTERS).any(|piece| piece == *read));
        let exact = exact.count();
        assert!((5..50).contains(&exact), "{exact}");
    }
}
