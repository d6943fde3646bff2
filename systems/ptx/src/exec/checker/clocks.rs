//! Happens-before order within a launch: vector clocks of wavefronts.
//!
//! A wavefront's clock advances at every barrier and fence. A barrier passes the clocks of arriving
//! threads to those that wait. A fence followed by a strong write passes the clock at the fence to
//! later strong reads of that word. This is the release pattern of the PTX memory consistency
//! model. No fence is required on the acquiring side, since older programs omit it.
//!
//! Lanes of one wavefront are ordered by `bar.warp.sync` and by barriers, not by lock-step
//! execution.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::site::SyncScope;

/// A synchronising memory word: 0 for global memory or the work-group plus one, and the word index.
pub(super) type Word = (u32, u64);

/// Maximum number of words tracked per wavefront; programs use fewer for synchronisation.
const WORDS_MAX: usize = 1 << 12;

/// Logical time of an action by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    pub(super) group: u32,
    /// Linear thread index in its work-group.
    pub(super) thread: u32,
    /// Clock of the thread's wavefront at that time.
    pub(super) clock: u32,
    /// Number of times that the lanes of the wavefront have synchronised.
    pub(super) turn: u32,
}

impl Epoch {
    pub(super) fn wavefront(&self) -> usize {
        self.thread as usize / 32
    }
}

/// Number of releases observed at each word.
type ObservedReleases = BTreeMap<Word, usize>;

fn learn(known: &mut ObservedReleases, more: &ObservedReleases) {
    for (&word, &count) in more {
        if known.len() < WORDS_MAX || known.contains_key(&word) {
            let seen = known.entry(word).or_default();
            *seen = (*seen).max(count);
        }
    }
}

/// Snapshot of a wavefront's clock state at a fence.
#[derive(Debug)]
struct Fence {
    group: u32,
    scope: SyncScope,
    vector: Vec<u32>,
    known: ObservedReleases,
}

#[derive(Debug, Default)]
struct Releases {
    list: Vec<Rc<Fence>>,
    /// Indices into the list by work-group.
    by_group: BTreeMap<u32, Vec<usize>>,
    known: ObservedReleases,
}

#[derive(Debug, Default)]
struct Wave {
    /// Known clocks of each wavefront of its work-group, including its own.
    vector: Vec<u32>,
    turn: u32,
    fence: Option<Rc<Fence>>,
    known: ObservedReleases,
}

/// Wavefronts that have arrived at a barrier that is still closed.
#[derive(Debug, Default)]
struct Gathering {
    vector: Vec<u32>,
    known: ObservedReleases,
    waiting: Vec<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Clocks {
    waves: BTreeMap<u32, Vec<Wave>>,
    gatherings: BTreeMap<(u32, u32), Gathering>,
    releases: BTreeMap<Word, Releases>,
}

fn join(vector: &mut Vec<u32>, other: &[u32]) {
    vector.resize(vector.len().max(other.len()), 0);
    for (mine, theirs) in vector.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

impl Clocks {
    pub(super) fn wavefront_starts(&mut self, group: u32, wavefront: u32) {
        let waves = self.waves.entry(group).or_default();
        let at = wavefront as usize;
        if waves.len() <= at {
            waves.resize_with(at + 1, Wave::default);
        }
        waves[at].vector.resize(at + 1, 0);
        waves[at].vector[at] = 1;
    }

    pub(super) fn group_ends(&mut self, group: u32) {
        self.waves.remove(&group);
    }

    fn wave(&mut self, group: u32, wavefront: u32) -> &mut Wave {
        let waves = self.waves.get_mut(&group);
        &mut waves.expect("the work-group has started")[wavefront as usize]
    }

    /// Returns the current logical time of a thread.
    pub(super) fn stamp(&mut self, group: u32, thread: u32) -> Epoch {
        let wavefront = thread / 32;
        let wave = self.wave(group, wavefront);
        Epoch {
            group,
            thread,
            clock: wave.vector[wavefront as usize],
            turn: wave.turn,
        }
    }

    /// Synchronises the lanes of a wavefront.
    pub(super) fn lanes_meet(&mut self, group: u32, wavefront: u32) {
        self.wave(group, wavefront).turn += 1;
    }

    pub(super) fn arrive(&mut self, group: u32, wavefront: u32, number: u32, waits: bool) {
        let at = wavefront as usize;
        let wave = self.wave(group, wavefront);
        let (vector, known) = (wave.vector.clone(), wave.known.clone());
        wave.vector[at] += 1;
        wave.turn += 1;
        let gathering = self.gatherings.entry((group, number)).or_default();
        join(&mut gathering.vector, &vector);
        learn(&mut gathering.known, &known);
        if waits {
            gathering.waiting.push(at);
        }
    }

    pub(super) fn release(&mut self, group: u32, number: u32) {
        let Some(gathering) = self.gatherings.remove(&(group, number)) else {
            return;
        };
        let Some(waves) = self.waves.get_mut(&group) else {
            return;
        };
        for &at in &gathering.waiting {
            join(&mut waves[at].vector, &gathering.vector);
            learn(&mut waves[at].known, &gathering.known);
        }
    }

    pub(super) fn fence(&mut self, group: u32, wavefront: u32, scope: SyncScope) {
        let at = wavefront as usize;
        let wave = self.wave(group, wavefront);
        let (vector, known) = (wave.vector.clone(), wave.known.clone());
        wave.vector[at] += 1;
        wave.fence = Some(Rc::new(Fence {
            group,
            scope,
            vector,
            known,
        }));
    }

    /// Releases at `word` everything that precedes the wavefront's last fence.
    pub(super) fn strong_write(&mut self, group: u32, wavefront: u32, word: Word) {
        let Some(fence) = self.wave(group, wavefront).fence.clone() else {
            return;
        };
        let releases = self.releases.entry(word).or_default();
        let places = releases.by_group.entry(group).or_default();
        let again = places
            .iter()
            .rev()
            .take(32)
            .any(|&at| Rc::ptr_eq(&releases.list[at], &fence));
        if !again {
            places.push(releases.list.len());
            learn(&mut releases.known, &fence.known);
            releases.list.push(fence);
        }
    }

    /// Acquires everything that strong writes have released at `word`.
    pub(super) fn strong_read(&mut self, group: u32, wavefront: u32, word: Word) {
        let Some(releases) = self.releases.get(&word) else {
            return;
        };
        let mut known = releases.known.clone();
        known.insert(word, releases.list.len());
        learn(&mut self.wave(group, wavefront).known, &known);
    }

    /// True if the action at `before` is ordered before `after`, which is the current time.
    pub(super) fn ordered(&self, before: &Epoch, after: &Epoch) -> bool {
        let wave = &self.waves[&after.group][after.wavefront()];
        if before.group == after.group {
            if before.thread == after.thread {
                return true;
            }
            if before.wavefront() == after.wavefront() {
                return before.turn < after.turn;
            }
            let seen = wave.vector.get(before.wavefront()).copied();
            if seen.is_some_and(|seen| seen >= before.clock) {
                return true;
            }
        }
        wave.known.iter().any(|(word, &count)| {
            let releases = &self.releases[word];
            let places = releases.by_group.get(&before.group).into_iter().flatten();
            places.take_while(|at| **at < count).any(|&at| {
                let fence = &releases.list[at];
                let seen = fence.vector.get(before.wavefront()).copied();
                (fence.scope == SyncScope::Device || fence.group == after.group)
                    && seen.is_some_and(|seen| seen >= before.clock)
            })
        })
    }
}
