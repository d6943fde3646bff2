//! Reuse distances: how many other lines were touched since a line was touched last.
//!
//! A least-recently-used cache of n lines, all in one set, hits exactly where the distance is less than n. Each line
//! stands at the time of its last touch, a bit in a row of words; a Fenwick tree over the words counts how many lines
//! stand after a time. The row is made anew when it is full, so that memory grows with lines and not with touches.

use rustc_hash::FxHashMap;

/// Bits of a word.
const WORD: usize = 64;
/// Times in the first row.
const FIRST: usize = 64 * WORD;

/// What was touched so far.
#[derive(Clone, Debug)]
pub struct LruStack {
    /// Line → time of its last touch.
    last: FxHashMap<u64, usize>,
    /// Time → the line touched then.
    lines: Vec<u64>,
    /// A bit for each time that is the last one of its line.
    live: Vec<u64>,
    /// Of word `w`, entry `w + 1`: live times in the words that end with it, as Fenwick has them.
    tree: Vec<usize>,
}

impl Default for LruStack {
    fn default() -> Self {
        Self::new()
    }
}

impl LruStack {
    /// Nothing was touched.
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

    /// The lines touched, each once, the one touched last at the end.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        let is_live = |time: &usize| self.live[time / WORD] >> (time % WORD) & 1 != 0;
        let times = (0..self.lines.len()).filter(is_live);
        times.map(|time| self.lines[time])
    }

    /// Distinct lines touched so far.
    pub fn distinct(&self) -> usize {
        self.last.len()
    }

    /// Touches a line: distinct other lines touched since its last touch, `None` at the first.
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

    /// Live times up to one, itself included.
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

    /// Gives the live times the first numbers, in their order, in a row with as much room again and more.
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

    /// The definition: lines in a stack, the one touched last on top.
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
