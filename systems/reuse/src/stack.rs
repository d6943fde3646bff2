//! Reuse distances: number of other lines touched since the last touch of a line.
//!
//! A fully associative LRU cache of n lines hits exactly if the distance is less than n. Each line
//! has the time of its last touch, marked as a bit in an array of words. A Fenwick tree over the
//! words counts the lines touched after a given time. The array is rebuilt when it is full, so
//! memory grows with lines and not with touches.

use rustc_hash::FxHashMap;

/// Number of time bits in one word.
const WORD: usize = 64;
/// Initial capacity of the time array, in time steps.
const FIRST: usize = 64 * WORD;

/// LRU stack of all lines touched so far.
#[derive(Clone, Debug)]
pub struct LruStack {
    /// Maps each line to the time of its last touch.
    last: FxHashMap<u64, usize>,
    /// Maps each time to the line touched then.
    lines: Vec<u64>,
    /// Bit per time, set if it is the last touch of its line.
    live: Vec<u64>,
    /// Fenwick tree: entry `w + 1` counts live times in the range of words that ends at word `w`.
    tree: Vec<usize>,
}

impl Default for LruStack {
    fn default() -> Self {
        Self::new()
    }
}

impl LruStack {
    /// Creates an empty stack without touched lines.
    pub fn new() -> Self {
        let mut stack = Self {
            last: FxHashMap::default(),
            lines: Vec::new(),
            live: Vec::new(),
            tree: Vec::new(),
        };
        stack.make_row(FIRST);
        stack
    }

    /// Returns the distinct lines in LRU order, the most recently touched last.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        let is_live = |time: &usize| self.live[time / WORD] >> (time % WORD) & 1 != 0;
        let times = (0..self.lines.len()).filter(is_live);
        times.map(|time| self.lines[time])
    }

    /// Returns the number of distinct lines touched so far.
    pub fn distinct(&self) -> usize {
        self.last.len()
    }

    /// Touches a line. Returns the number of distinct other lines touched since its last touch, or
    /// `None` at the first touch.
    pub fn touch(&mut self, line: u64) -> Option<usize> {
        if self.lines.last() == Some(&line) {
            return Some(0);
        }
        if self.lines.len() == self.live.len() * WORD {
            self.renumber();
        }
        let now = self.lines.len();
        let before = self.distinct();
        let distance = self.last.insert(line, now).map(|time| {
            let distance = before - self.live_up_to(time);
            self.live[time / WORD] &= !(1 << (time % WORD));
            self.count(time, |count| count - 1);
            distance
        });
        self.lines.push(line);
        self.live[now / WORD] |= 1 << (now % WORD);
        self.count(now, |count| count + 1);
        distance
    }

    /// Returns the number of live times up to and including `time`.
    fn live_up_to(&self, time: usize) -> usize {
        let (mut word, bit) = (time / WORD, time % WORD);
        let upper = WORD - 1 - bit;
        let mut count = (self.live[word] << upper).count_ones() as usize;
        while word > 0 {
            count += self.tree[word];
            word &= word - 1;
        }
        count
    }

    fn count(&mut self, time: usize, change: impl Fn(usize) -> usize) {
        let mut at = time / WORD + 1;
        while at < self.tree.len() {
            self.tree[at] = change(self.tree[at]);
            at += at & at.wrapping_neg();
        }
    }

    /// Compacts the live times to the lowest numbers, keeping their order, and at least doubles the
    /// capacity of the array.
    fn renumber(&mut self) {
        let mut kept = Vec::with_capacity(self.distinct());
        for (word, bits) in self.live.iter().enumerate() {
            let mut left = *bits;
            while left != 0 {
                let time = word * WORD + left.trailing_zeros() as usize;
                left &= left - 1;
                self.last.insert(self.lines[time], kept.len());
                kept.push(self.lines[time]);
            }
        }
        self.make_row(FIRST.max((kept.len() * 4).next_multiple_of(WORD)));
        for time in 0..kept.len() {
            self.live[time / WORD] |= 1 << (time % WORD);
            self.count(time, |count| count + 1);
        }
        self.lines = kept;
    }

    fn make_row(&mut self, times: usize) {
        let words = times / WORD;
        self.live = vec![0; words];
        self.tree = vec![0; words + 1];
        self.lines = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference definition: a list of lines with the most recently touched on top.
    fn on_a_stack(stack: &mut Vec<u64>, line: u64) -> Option<usize> {
        let depth = stack.iter().rev().position(|known| *known == line);
        stack.retain(|known| *known != line);
        stack.push(line);
        depth
    }

    fn same_as_a_stack(touched: impl IntoIterator<Item = u64>) {
        let (mut reuse, mut stack) = (LruStack::new(), Vec::new());
        for (at, line) in touched.into_iter().enumerate() {
            assert_eq!(
                reuse.touch(line),
                on_a_stack(&mut stack, line),
                "touch {at}"
            );
            assert_eq!(reuse.distinct(), stack.len());
        }
    }

    proptest! {
        #[test]
        fn distances_are_depths_in_a_stack(touched in prop::collection::vec(0_u64..40, 0..400)) {
            same_as_a_stack(touched);
        }
    }

    #[test]
    fn distances_stay_the_same_when_the_row_is_made_anew() {
        // A few lines for long, then more than a row has room for, each twice.
        let few = (0..3 * FIRST as u64).map(|at| at * at % 29);
        let many = (0..FIRST as u64 + 100).chain((0..FIRST as u64 + 100).step_by(97));
        same_as_a_stack(few.chain(many));
    }
}
