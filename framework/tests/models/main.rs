//! Model checks of two threads at a ring, at a barrier, and at both as windows use them. They cover
//! every interleaving and every reordering that the memory model allows. The framework's sources
//! are compiled with loom's primitives.

#![expect(dead_code, reason = "models use a part of each source")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(
    clippy::arc_with_non_send_sync,
    reason = "loom's threads run one at a time"
)]

#[path = "../../src/engine/parallel/barrier.rs"]
mod barrier;
mod sync;

#[path = "../../src/channel"]
mod channel {
    pub(crate) mod boundary;
    pub(crate) mod ring;
}

mod evaluation {
    pub(crate) mod schedule {
        /// Placeholder target, because the models perform no wake-ups.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct Target;
    }
}

mod time {
    pub(crate) const TICK_MAX: u64 = u64::MAX >> 1;
}

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::barrier::{Barrier, Broken};
use crate::channel::boundary::{Positions, Vacancy};
use crate::channel::ring::ring;

/// Explores all executions with at most this many preemptions. This suffices for every bug that two
/// threads with short critical regions can have, and takes a second or two.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

#[test]
fn a_ring_hands_every_message_over_once_and_in_order() {
    for capacity in [1, 2] {
        explore(move || {
            let (mut tx, mut rx) = ring::<Box<u32>>(capacity);
            let sender = thread::spawn(move || {
                for i in 0..3 {
                    while tx.vacancy(9) != Vacancy::Free {
                        thread::yield_now();
                    }
                    tx.push(9, Box::new(i), 0);
                }
            });
            for i in 0..3 {
                let got = loop {
                    if let Some(got) = rx.pop(9, 0) {
                        break got;
                    }
                    thread::yield_now();
                };
                assert_eq!(*got, i);
            }
            sender.join().unwrap();
        });
    }
}

#[test]
fn a_ring_left_with_messages_drops_them_wherever_its_ends_die() {
    explore(|| {
        let (mut tx, mut rx) = ring::<Arc<()>>(2);
        let value = Arc::new(());
        let sent = Arc::clone(&value);
        let sender = thread::spawn(move || {
            tx.push(0, Arc::clone(&sent), 0);
            tx.push(0, sent, 0);
        });
        drop(rx.pop(0, 0));
        drop(rx);
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn nobody_leaves_a_meeting_before_the_last_has_come_and_done_its_work() {
    explore(|| meet::<2>(4, 2));
}

/// The third thread has a group of its own below the root.
#[test]
fn groups_of_arrivals_count_like_one() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| meet::<3>(2, 1));
}

/// Lets threads work, meet and add up what all did, for a number of rounds.
fn meet<const THREADS: usize>(group: usize, rounds: u32) {
    let barrier = Arc::new(Barrier::in_groups(THREADS, group));
    // Plain memory: loom fails when two threads touch it at once.
    let work = Arc::new([0; THREADS].map(|_| UnsafeCell::new(0u32)));
    let sum = Arc::new(UnsafeCell::new(0u32));
    let party = |me: usize| {
        let (barrier, work, sum) = (Arc::clone(&barrier), Arc::clone(&work), Arc::clone(&sum));
        move || {
            for round in 1..=rounds {
                work[me].with_mut(|w| poke(w, round));
                let meanwhile = || {
                    let total = work.iter().map(|w| w.with(peek)).sum();
                    sum.with_mut(|s| poke(s, total));
                };
                barrier.meet(me, meanwhile).unwrap();
                assert_eq!(sum.with(peek), THREADS as u32 * round);
            }
        }
    };
    let others: Vec<_> = (1..THREADS).map(|me| thread::spawn(party(me))).collect();
    party(0)();
    for other in others {
        other.join().unwrap();
    }
}

#[test]
fn a_party_that_dies_sends_the_others_home() {
    explore(|| {
        let barrier = Arc::new(Barrier::new(2));
        let dying = Arc::clone(&barrier);
        let other = thread::spawn(move || dying.shatter());
        let met = barrier.meet(0, || unreachable!("only one party comes"));
        assert_eq!(met, Err(Broken));
        other.join().unwrap();
    });
}

/// Uses two partitions, windows of two ticks, and a channel of latency and credit latency 2. The
/// messages the receiver takes in each tick must not depend on thread timing. The same applies to
/// the view between windows: which sent message is the oldest, and whether the sender has room.
#[test]
fn what_a_window_shows_does_not_depend_on_pace() {
    explore(|| {
        let (mut tx, mut rx) = ring::<u32>(1);
        let positions = Arc::new(Positions::default());
        let boundary = tx.boundary(Arc::clone(&positions));
        let barrier = Arc::new(Barrier::new(2));
        let heads = Arc::new(UnsafeCell::new(Vec::new()));
        let meet = {
            let heads = Arc::clone(&heads);
            let read = Arc::clone(&positions);
            move |barrier: &Barrier, me: usize| {
                let look = || {
                    let seen = (read.read(), boundary.vacancy());
                    heads.with_mut(|h| note(h, seen));
                };
                barrier.meet(me, look).unwrap();
            }
        };
        let (there, meet_there) = (Arc::clone(&barrier), meet.clone());
        let sender = thread::spawn(move || {
            let mut sent = Vec::new();
            for window in 0..3u64 {
                for tick in 2 * window..2 * window + 2 {
                    if tx.vacancy(tick) == Vacancy::Free {
                        tx.push(tick, tick as u32, tick + 2);
                        sent.push(tick);
                    }
                }
                meet_there(&there, 1);
            }
            sent
        });
        let mut taken = Vec::new();
        for window in 0..3u64 {
            for tick in 2 * window..2 * window + 2 {
                if let Some(value) = rx.pop(tick, tick + 2) {
                    positions.set_read(rx.position());
                    taken.push((tick, value));
                }
            }
            meet(&barrier, 0);
        }
        assert_eq!(sender.join().unwrap(), [0, 4]);
        assert_eq!(taken, [(2, 0)]);
        let expected = [
            (0, Vacancy::Full),
            (0, Vacancy::CreditAt(4)),
            (0, Vacancy::Full),
        ];
        heads.with(|h| assert_eq!(list(h), expected));
    });
}

use raw::{list, note, peek, poke};

/// Loom observes the accesses; the pointers are valid for the duration of a call.
#[expect(unsafe_code, reason = "loom's cells hand out raw pointers")]
mod raw {
    pub(crate) fn peek(from: *const u32) -> u32 {
        // SAFETY: called within `UnsafeCell::with`, whose exclusion loom checks.
        unsafe { *from }
    }

    pub(crate) fn poke(to: *mut u32, value: u32) {
        // SAFETY: as above, within `with_mut`.
        unsafe { *to = value }
    }

    pub(crate) fn note<T>(to: *mut Vec<T>, value: T) {
        // SAFETY: as above, within `with_mut`.
        unsafe { (*to).push(value) }
    }

    pub(crate) fn list<T: Clone>(from: *const Vec<T>) -> Vec<T> {
        // SAFETY: as above, within `with`.
        unsafe { (*from).clone() }
    }
}
