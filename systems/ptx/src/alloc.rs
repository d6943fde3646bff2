//! Architectural register allocation.
//!
//! PTX has unlimited virtual registers, while occupancy and the register scoreboard need
//! architectural numbers. The model uses exact live ranges, from data flow over the control-flow
//! graph. Two values share a register unless one is written while the other is live. 64-bit values
//! take an aligned pair and 128-bit ones an aligned quad; predicates have a separate file. Nothing
//! is spilled, rescheduled or rematerialised. Values are coloured in order of first appearance,
//! each with the lowest free number. `registers_per_thread` is the highest number plus one.

use crate::cfg::Graph;

/// Maximum number of general registers per thread.
pub(crate) const REGISTERS_MAX: u32 = 255;
/// Maximum number of predicate registers per thread.
pub(crate) const PREDICATES_MAX: u32 = 64;

/// Register file and width class of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    Predicate,
    /// A general register of up to 32 bits.
    Word,
    /// A 64-bit value in an aligned register pair.
    Double,
    /// A 128-bit value in four aligned registers.
    Quad,
}

impl File {
    /// Number of registers that a value takes, which is also its alignment.
    pub(crate) fn width(self) -> u32 {
        match self {
            Self::Predicate | Self::Word => 1,
            Self::Double => 2,
            Self::Quad => 4,
        }
    }
}

/// Virtual registers that one instruction reads and writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pub(crate) reads: Vec<u32>,
    pub(crate) writes: Vec<u32>,
    /// True if the write is guarded: some lanes keep the old value, so it stays live.
    pub(crate) guarded: bool,
}

pub(crate) struct Allocation {
    /// Architectural number of each virtual register; the first one for a pair or quad.
    pub(crate) numbers: Vec<u16>,
    /// Number of 32-bit registers used per thread.
    pub(crate) registers: u32,
    pub(crate) predicates: u32,
}

/// Bit set over the virtual registers of a function.
#[derive(Clone, PartialEq)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    fn new(capacity: usize) -> Self {
        Self(vec![0; capacity.div_ceil(64)])
    }

    fn insert(&mut self, item: u32) {
        self.0[item as usize / 64] |= 1 << (item % 64);
    }

    fn remove(&mut self, item: u32) {
        self.0[item as usize / 64] &= !(1 << (item % 64));
    }

    /// Adds all members of `other`; returns true if any was new.
    fn absorb(&mut self, other: &Self) -> bool {
        let mut grew = 0;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            grew |= theirs & !*mine;
            *mine |= theirs;
        }
        grew != 0
    }

    pub(crate) fn for_each(&self, mut visit: impl FnMut(u32)) {
        for (word, &bits) in self.0.iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                visit(word as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }
}

/// Assigns registers for one function; those in `entry` hold arguments at its start.
pub(crate) fn allocate(
    graph: &Graph,
    effects: &[Effects],
    files: &[File],
    entry: &[u32],
) -> Allocation {
    let conflicts = conflicts(graph, effects, files, entry);
    let mut order = Vec::with_capacity(files.len());
    let mut seen = vec![false; files.len()];
    for effect in effects {
        for &register in effect.writes.iter().chain(&effect.reads) {
            if !std::mem::replace(&mut seen[register as usize], true) {
                order.push(register);
            }
        }
    }
    let mut numbers = vec![u16::MAX; files.len()];
    let limit = 4 * files.len() as u32 + 4;
    let (mut registers, mut predicates) = (0, 0);
    for register in order {
        let file = files[register as usize];
        let mut taken: Vec<u64> = Vec::new();
        let mut take = |number: u32| {
            let word = number as usize / 64;
            if taken.len() <= word {
                taken.resize(word + 1, 0);
            }
            taken[word] |= 1 << (number % 64);
        };
        for &other in &conflicts[register as usize] {
            let number = numbers[other as usize];
            if number != u16::MAX {
                let width = files[other as usize].width();
                (0..width).for_each(|part| take(u32::from(number) + part));
            }
        }
        let free = |number: u32| {
            taken
                .get(number as usize / 64)
                .is_none_or(|bits| bits >> (number % 64) & 1 == 0)
        };
        let width = file.width();
        let mut firsts = (0..limit).step_by(width as usize);
        let number = firsts
            .find(|first| (0..width).all(|part| free(first + part)))
            .expect("there are four times as many register numbers as registers");
        numbers[register as usize] = number as u16;
        let used = match file {
            File::Predicate => &mut predicates,
            _ => &mut registers,
        };
        *used = (*used).max(number + width);
    }
    Allocation {
        numbers,
        registers,
        predicates,
    }
}

/// Returns, for each register, those of the same kind that must not share its number.
fn conflicts(graph: &Graph, effects: &[Effects], files: &[File], entry: &[u32]) -> Vec<Vec<u32>> {
    let live_out = live_out(graph, effects, files.len());
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); files.len()];
    let is_predicate = |register: u32| files[register as usize] == File::Predicate;
    for (number, (block, out)) in graph.blocks.iter().zip(live_out).enumerate() {
        let mut live = out;
        for effect in effects[block.start..block.end].iter().rev() {
            for &written in &effect.writes {
                let mut clash = |other: u32| {
                    if other != written && is_predicate(other) == is_predicate(written) {
                        lists[written as usize].push(other);
                        lists[other as usize].push(written);
                    }
                };
                live.for_each(&mut clash);
                effect.writes.iter().copied().for_each(&mut clash);
            }
            step_back(&mut live, effect);
        }
        if number == 0 {
            // What lives at the start came from the caller all at once.
            for &register in entry {
                live.insert(register);
            }
            live.for_each(|one| {
                live.for_each(|other| {
                    if one != other && is_predicate(one) == is_predicate(other) {
                        lists[one as usize].push(other);
                    }
                });
            });
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    lists
}

/// Changes what lives after an instruction to what lives before it.
pub(crate) fn step_back(live: &mut Set, effect: &Effects) {
    for &written in &effect.writes {
        if effect.guarded {
            live.insert(written);
        } else {
            live.remove(written);
        }
    }
    for &read in &effect.reads {
        live.insert(read);
    }
}

/// Returns the registers that live at the end of each block.
pub(crate) fn live_out(graph: &Graph, effects: &[Effects], registers: usize) -> Vec<Set> {
    let blocks = &graph.blocks;
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for (from, block) in blocks.iter().enumerate() {
        for &to in &block.successors {
            predecessors[to].push(from);
        }
    }
    let mut out = vec![Set::new(registers); blocks.len()];
    let mut waiting = vec![true; blocks.len()];
    let mut open: Vec<usize> = (0..blocks.len()).collect();
    while let Some(at) = open.pop() {
        waiting[at] = false;
        let mut live = out[at].clone();
        for effect in effects[blocks[at].start..blocks[at].end].iter().rev() {
            step_back(&mut live, effect);
        }
        for &before in &predecessors[at] {
            if out[before].absorb(&live) && !std::mem::replace(&mut waiting[before], true) {
                open.push(before);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::Flow;

    fn effect(writes: &[u32], reads: &[u32]) -> Effects {
        Effects {
            reads: reads.to_vec(),
            writes: writes.to_vec(),
            guarded: false,
        }
    }

    const END: Flow = Flow::Leave { conditional: false };

    #[test]
    fn a_dead_value_gives_its_register_to_the_next() {
        let effects = [
            effect(&[0], &[]),
            effect(&[1], &[0]),
            effect(&[2], &[1]),
            effect(&[], &[2]),
        ];
        let graph = Graph::new(&[Flow::Next, Flow::Next, Flow::Next, END]);
        let got = allocate(&graph, &effects, &[File::Word; 3], &[]);
        assert_eq!((got.numbers, got.registers), (vec![0, 0, 0], 1));
    }

    #[test]
    fn doubles_take_aligned_pairs_beside_live_words() {
        let effects = [effect(&[0], &[]), effect(&[1], &[]), effect(&[], &[0, 1])];
        let graph = Graph::new(&[Flow::Next, Flow::Next, END]);
        let got = allocate(&graph, &effects, &[File::Word, File::Double], &[]);
        assert_eq!((got.numbers, got.registers), (vec![0, 2], 4));
    }

    #[test]
    fn four_words_lie_together_and_give_way_to_what_lives_beside_them() {
        let effects = [
            effect(&[0], &[]),
            effect(&[1], &[]),
            effect(&[2], &[]),
            effect(&[], &[0, 1, 2]),
        ];
        let graph = Graph::new(&[Flow::Next, Flow::Next, Flow::Next, END]);
        let files = [File::Word, File::Quad, File::Double];
        let got = allocate(&graph, &effects, &files, &[]);
        assert_eq!((got.numbers, got.registers), (vec![0, 4, 2], 8));
    }

    #[test]
    fn guarded_writes_keep_the_old_value_alive() {
        let mut effects = [
            effect(&[0], &[]),
            effect(&[1], &[]),
            effect(&[0], &[1]),
            effect(&[], &[0]),
        ];
        let graph = Graph::new(&[Flow::Next, Flow::Next, Flow::Next, END]);
        assert_eq!(
            allocate(&graph, &effects, &[File::Word; 2], &[]).registers,
            1
        );
        effects[2].guarded = true;
        assert_eq!(
            allocate(&graph, &effects, &[File::Word; 2], &[]).registers,
            2
        );
    }

    #[test]
    fn values_live_around_a_loop_keep_apart() {
        // 0 is set before the loop and read in it; 1 is set and read in the loop.
        let effects = [
            effect(&[0], &[]),
            effect(&[1], &[0]),
            effect(&[], &[1]),
            effect(&[], &[]),
        ];
        let split = Flow::Branch {
            target: 1,
            conditional: true,
        };
        let graph = Graph::new(&[Flow::Next, Flow::Next, split, END]);
        let got = allocate(&graph, &effects, &[File::Word; 2], &[]);
        assert_ne!(got.numbers[0], got.numbers[1]);
    }
}
