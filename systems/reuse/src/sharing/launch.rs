//! Touches of one launch, as they come.

use rustc_hash::{FxHashMap, FxHashSet};
use warpweave_files::{Budget, Charge, OverBudget};

use super::{Reuses, SharingCounts, WORD_BYTES};

/// Order in which touches are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchOrder {
    /// All touches of a work-group one after the other; takes the least memory.
    ByWorkGroup,
    /// Touches of work-groups mixed, such as in a run.
    Mixed,
}

/// Effect of an access on the lines that it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The access only reads its lines.
    Read,
    /// The access writes, or updates atomically.
    Write,
}

/// An access of a work-group to some words.
#[derive(Clone, Copy, Debug)]
pub struct Touch<'a> {
    /// Linear index of the work-group in its grid.
    pub work_group: u32,
    /// Effect on the lines of the words.
    pub effect: Effect,
    /// Byte addresses of the words, divided by 4; distinct and ascending.
    pub words: &'a [u64],
    /// Bytes that the lanes ask for.
    pub bytes_asked: u64,
}

/// Owner of an untouched line or word; work-groups are stored as their index plus 1.
const NOBODY: u32 = 0;

/// Owner of what several work-groups read, or wrote.
const SEVERAL: u32 = u32::MAX;

/// Work-groups that touched a line, by effect.
#[derive(Clone, Copy, Debug, Default)]
struct Owners {
    last: u32,
    reader: u32,
    writer: u32,
}

impl Owners {
    fn note(&mut self, by: u32, effect: Effect) {
        let owner = match effect {
            Effect::Read => &mut self.reader,
            Effect::Write => &mut self.writer,
        };
        if *owner == NOBODY {
            *owner = by;
        } else if *owner != by {
            *owner = SEVERAL;
        }
    }

    fn is_contested(&self) -> bool {
        let (reader, writer) = (self.reader, self.writer);
        reader != NOBODY && writer != NOBODY && (reader != writer || reader == SEVERAL)
    }
}

/// Sharing of one launch, with all touches added so far. Memory is charged before it is taken.
#[derive(Debug)]
pub struct LaunchSharing {
    line_bytes: u64,
    /// Maps each touched line to its dense number.
    numbers: FxHashMap<u64, u32>,
    /// Owners by number of the line.
    owners: Vec<Owners>,
    /// Last work-group of each word, line after line.
    words: Vec<u32>,
    /// Lines and words with each work-group that touched them, where the order is mixed.
    members: Option<FxHashSet<(u64, u32)>>,
    counts: SharingCounts,
    /// Lines for which memory is charged.
    room: usize,
    charge: Charge,
}

impl LaunchSharing {
    /// Creates the sharing of a launch without touches. `line_bytes` must be a power of two, at
    /// least 4.
    ///
    /// # Errors
    /// Same as [`LaunchSharing::touch`].
    pub fn new(line_bytes: u32, order: TouchOrder, budget: &Budget) -> Result<Self, OverBudget> {
        Ok(Self {
            line_bytes: line_bytes.into(),
            numbers: FxHashMap::default(),
            owners: Vec::new(),
            words: Vec::new(),
            members: (order == TouchOrder::Mixed).then(FxHashSet::default),
            counts: SharingCounts::default(),
            room: 0,
            charge: budget.charge(WHAT, 0)?,
        })
    }

    /// Adds an access.
    ///
    /// # Errors
    /// Returns an error if the memory budget does not hold its lines and words.
    pub fn touch(&mut self, touch: &Touch<'_>) -> Result<(), OverBudget> {
        self.make_room(touch.words.len())?;
        let per_line = self.words_per_line();
        let by = touch.work_group + 1;
        let mut lines = 0;
        let Self {
            numbers,
            owners,
            words,
            members,
            counts,
            ..
        } = self;
        for of_line in touch.words.chunk_by(|a, b| a / per_line == b / per_line) {
            lines += 1;
            let next = owners.len() as u32;
            let number = *numbers.entry(of_line[0] / per_line).or_insert(next);
            if number == next {
                owners.push(Owners::default());
                words.resize(words.len() + per_line as usize, NOBODY);
            }
            let line = &mut owners[number as usize];
            line.note(by, touch.effect);
            let key = u64::from(number);
            reuse(&mut line.last, by, 2 * key, members, &mut counts.lines);
            for word in of_line {
                let place = key * per_line + word % per_line;
                let last = &mut words[place as usize];
                reuse(last, by, 2 * place + 1, members, &mut counts.words);
            }
        }
        let touched = lines * self.line_bytes;
        counts.accesses += 1;
        counts.line_bytes_touched += touched;
        counts.bytes_asked += touch.bytes_asked.min(touched);
        Ok(())
    }

    /// Returns the counts of all touches.
    pub fn counts(&self) -> SharingCounts {
        let contested = self.owners.iter().filter(|owners| owners.is_contested());
        SharingCounts {
            contested_lines: contested.count() as u64,
            ..self.counts
        }
    }

    fn words_per_line(&self) -> u64 {
        self.line_bytes / WORD_BYTES
    }

    /// Charges and takes memory for an access of so many words, each perhaps in a new line.
    fn make_room(&mut self, words: usize) -> Result<(), OverBudget> {
        let per_line = self.words_per_line() as usize;
        let lines = self.owners.len() + words;
        if lines > self.room {
            let more = lines.max(2 * self.room).max(LEAST) - self.room;
            let entry = size_of::<Owners>() + size_of::<(u64, u32)>() + 1 + 4 * per_line;
            self.charge.grow(WHAT, GROWING * (more * entry) as u64)?;
            self.room += more;
            self.numbers.reserve(self.room - self.numbers.len());
            self.owners.reserve_exact(self.room - self.owners.len());
            let free = self.room * per_line - self.words.len();
            self.words.reserve_exact(free);
        }
        if let Some(members) = &mut self.members
            && members.len() + 2 * words > members.capacity()
        {
            let more = members.capacity().max(2 * words).max(LEAST);
            let entry = size_of::<(u64, u32)>() + 1;
            self.charge.grow(WHAT, GROWING * (more * entry) as u64)?;
            members.reserve(members.capacity() - members.len() + more);
        }
        Ok(())
    }
}

/// Name of the memory in messages.
const WHAT: &str = "the lines and words that work-groups touch";

/// Number of lines for which memory is taken at first.
const LEAST: usize = 1024;

/// Factor on the bytes of an entry, for free places of a table and for copies while it grows.
const GROWING: u64 = 2;

/// Counts a touch of a line or word, whose last work-group was `last`.
fn reuse(
    last: &mut u32,
    by: u32,
    key: u64,
    members: &mut Option<FxHashSet<(u64, u32)>>,
    reuses: &mut Reuses,
) {
    reuses.touches += 1;
    let before = std::mem::replace(last, by);
    if before == by {
        reuses.intra += 1;
        return;
    }
    let was_here = members
        .as_mut()
        .is_some_and(|members| !members.insert((key, by)));
    if before == NOBODY {
        return;
    }
    reuses.last_by_other += 1;
    if was_here {
        reuses.intra += 1;
    } else {
        reuses.inter += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sharing::SharingClass;

    /// Counts of reads of single words by (work-group, word).
    fn counts(order: TouchOrder, touches: &[(u32, u64)]) -> SharingCounts {
        let budget = Budget::unlimited();
        let mut sharing = LaunchSharing::new(128, order, &budget).unwrap();
        for &(work_group, word) in touches {
            let touch = Touch {
                work_group,
                effect: Effect::Read,
                words: &[word],
                bytes_asked: 4,
            };
            sharing.touch(&touch).unwrap();
        }
        sharing.counts()
    }

    /// First words of three lines of 128 bytes.
    const A: u64 = 0;
    const B: u64 = 32;
    const C: u64 = 64;

    #[test]
    fn reuse_by_other_work_groups_is_half_of_the_trace_of_the_paper() {
        let touches = [(0, A), (0, A), (1, A), (1, A), (1, B), (2, B), (0, C)];
        for order in [TouchOrder::ByWorkGroup, TouchOrder::Mixed] {
            let lines = counts(order, &touches).lines;
            assert_eq!((lines.inter, lines.intra), (2, 2));
            assert_eq!(lines.inter_share(), Some(0.5));
        }
    }

    #[test]
    fn a_work_group_that_comes_back_reuses_its_own_line_or_that_of_the_last_one() {
        let lines = counts(TouchOrder::Mixed, &[(0, A), (1, A), (0, A)]).lines;
        assert_eq!((lines.inter, lines.intra), (1, 1));
        assert_eq!((lines.last_by_other, lines.last_share()), (2, Some(1.0)));
    }

    #[test]
    fn the_first_touch_in_each_of_two_launches_is_no_reuse() {
        let mut both = SharingCounts::default();
        for _ in 0..2 {
            both.add(&counts(TouchOrder::ByWorkGroup, &[(0, A), (1, A)]));
        }
        assert_eq!((both.lines.inter, both.lines.intra), (2, 0));
    }

    #[test]
    fn one_word_for_two_work_groups_is_of_class_a_and_two_words_of_a_line_of_class_b() {
        let same = counts(TouchOrder::ByWorkGroup, &[(0, 0), (1, 0)]);
        assert_eq!((same.words.inter, same.lines.inter), (1, 1));
        assert_eq!(SharingClass::of(&same), Some(SharingClass::Algorithm));
        let beside = counts(TouchOrder::ByWorkGroup, &[(0, 0), (1, 1)]);
        assert_eq!((beside.words.inter, beside.lines.inter), (0, 1));
        assert_eq!(SharingClass::of(&beside), Some(SharingClass::CacheLine));
    }

    #[test]
    fn a_line_is_contested_where_one_work_group_writes_what_another_reads() {
        let contested = |touches: &[(u32, Effect)]| {
            let budget = Budget::unlimited();
            let order = TouchOrder::ByWorkGroup;
            let mut sharing = LaunchSharing::new(128, order, &budget).unwrap();
            for &(work_group, effect) in touches {
                let touch = Touch {
                    work_group,
                    effect,
                    words: &[A],
                    bytes_asked: 4,
                };
                sharing.touch(&touch).unwrap();
            }
            sharing.counts().contested_lines
        };
        use Effect::{Read, Write};
        assert_eq!(contested(&[(0, Read), (0, Write)]), 0);
        assert_eq!(contested(&[(0, Read), (1, Read)]), 0);
        assert_eq!(contested(&[(0, Write), (1, Write)]), 0);
        assert_eq!(contested(&[(0, Read), (1, Write)]), 1);
        assert_eq!(
            contested(&[(0, Write), (0, Read), (1, Write), (1, Read)]),
            1
        );
    }

    #[test]
    fn lines_beyond_the_memory_budget_are_refused() {
        let budget = Budget::of(1 << 20);
        let order = TouchOrder::Mixed;
        let mut sharing = LaunchSharing::new(128, order, &budget).unwrap();
        let touched = (0..100_000_u64).try_for_each(|line| {
            sharing.touch(&Touch {
                work_group: 0,
                effect: Effect::Read,
                words: &[line * 32],
                bytes_asked: 4,
            })
        });
        assert_eq!(touched.unwrap_err().what, WHAT);
        assert!(budget.charged() <= 1 << 20);
        drop(sharing);
        assert_eq!(budget.charged(), 0);
    }

    proptest! {
        #[test]
        fn work_groups_in_any_order_share_the_same(
            touches in prop::collection::vec((0_u32..6, 0_u64..100), 0..200),
        ) {
            let mut sorted = touches.clone();
            sorted.sort_by_key(|(work_group, _)| *work_group);
            let by_group = counts(TouchOrder::ByWorkGroup, &sorted);
            let mixed = counts(TouchOrder::Mixed, &touches);
            for (a, b) in [(by_group.lines, mixed.lines), (by_group.words, mixed.words)] {
                prop_assert_eq!((a.touches, a.inter, a.intra), (b.touches, b.inter, b.intra));
                prop_assert!(b.last_by_other >= b.inter);
            }
        }
    }
}
