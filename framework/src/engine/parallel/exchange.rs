//! Exchange of events at cuts between windows. A thread puts what a partition recorded into the
//! inboxes of the threads that it concerns. When all partitions are at rest, each thread arranges
//! the wake-ups in its own partitions.
//!
//! The partition that learns of an event does not depend on threads, nor does the order of events
//! matter. So the wake-ups are the same for any number of threads.

use crossbeam::utils::CachePadded;

use crate::channel::Vacancy;
use crate::engine::parallel::cut_channel::CutChannel;
use crate::engine::parallel::found::{Cells, Found};
use crate::engine::partition::Place;
use crate::evaluation::{CutActivity, NEVER};
use crate::sync::{Mutex, Ordering};
use crate::time::Tick;

/// Returns the thread to which a partition belongs: the one that starts with it.
#[inline]
pub(super) fn owner(partition: u32, threads: usize) -> usize {
    partition as usize % threads
}

/// Inboxes of the threads of a run, for events at the cuts of its system.
pub(super) struct Exchange<'a> {
    cuts: &'a [CutChannel],
    inboxes: Vec<CachePadded<Mutex<CutActivity>>>,
}

/// Events that one thread has sorted by the thread that they concern.
pub(super) struct Outgoing(Vec<CutActivity>);

impl<'a> Exchange<'a> {
    pub(super) fn new(cuts: &'a [CutChannel], threads: usize) -> Self {
        let inbox = |_| CachePadded::new(Mutex::new(CutActivity::default()));
        Self {
            cuts,
            inboxes: (0..threads).map(inbox).collect(),
        }
    }

    /// Creates empty lists for one thread; none are needed if there is a single inbox.
    pub(super) fn outgoing(&self) -> Outgoing {
        let others = self.inboxes.iter().filter(|_| self.inboxes.len() > 1);
        Outgoing(others.map(|_| CutActivity::default()).collect())
    }

    /// Puts the events that a partition recorded into the inboxes of those whose partitions they
    /// concern: messages and published values the receiver's, credits the sender's.
    #[inline]
    pub(super) fn post(&self, recorded: &mut CutActivity, outgoing: &mut Outgoing) {
        if recorded.is_quiet() {
            return;
        }
        if let [inbox] = &*self.inboxes {
            inbox.lock().append(recorded);
            return;
        }
        let threads = self.inboxes.len();
        let cut = |number: u32| &self.cuts[number as usize];
        let to = |number: u32| owner(cut(number).to.partition, threads);
        let from = |number: u32| owner(cut(number).from.partition, threads);
        let lists = &mut outgoing.0;
        for sent in recorded.sent.drain(..) {
            lists[to(sent.cut)].sent.push(sent);
        }
        for change in recorded.published.drain(..) {
            lists[to(change.0)].published.push(change);
        }
        for number in recorded.waiting.drain(..) {
            lists[from(number)].waiting.push(number);
        }
        for number in recorded.taken.drain(..) {
            lists[from(number)].taken.push(number);
        }
        for (list, inbox) in lists.iter_mut().zip(&self.inboxes) {
            if !list.is_quiet() {
                inbox.lock().append(list);
            }
        }
    }

    /// Arranges the wake-ups that follow from the events in a thread's inbox, in partitions that
    /// belong to it, and adds them to what it found. No partition is evaluated at this time.
    #[inline]
    pub(super) fn deliver(&self, thread: usize, cells: &Cells<'_>, found: &mut Found) {
        let mut inbox = self.inboxes[thread].lock();
        if !inbox.is_quiet() {
            self.wake_for(&mut inbox, cells, found);
        }
    }

    fn wake_for(&self, inbox: &mut CutActivity, cells: &Cells<'_>, found: &mut Found) {
        let (mut first, mut last) = (NEVER, 0);
        let mut wake = |place: Place, tick: u64| {
            let mut partition = cells[place.partition as usize].lock();
            let tick = partition.wake_at_tick(place.target, tick).0;
            first = first.min(tick);
            last = last.max(tick);
        };
        let fetches = self.inboxes.len() > 1;
        // Behind an older message no wake-up is needed yet: popping that one arms for this one.
        for sent in inbox.sent.drain(..) {
            let cut = &self.cuts[sent.cut as usize];
            if cut.positions.read() == sent.slot as usize {
                wake(cut.to, sent.ready);
            }
            if fetches && let Some(boundary) = &cut.boundary {
                boundary.fetch(sent.slot as usize);
            }
        }
        for number in inbox.waiting.drain(..) {
            let cut = &self.cuts[number as usize];
            cut.waiting.store(true, Ordering::Relaxed);
            inbox.taken.push(number);
        }
        // A waiting sender learns of a credit in the window in which the message was taken. One
        // that began to wait later learns of it now. No sender is missed, in any order of
        // inspection.
        for number in inbox.taken.drain(..) {
            let cut = &self.cuts[number as usize];
            if cut.waiting.load(Ordering::Relaxed) {
                let vacancy = cut.boundary.as_ref().map(|b| b.vacancy());
                let waits = vacancy == Some(Vacancy::Full);
                cut.waiting.store(waits, Ordering::Relaxed);
                if let Some(Vacancy::CreditAt(tick)) = vacancy {
                    wake(cut.from, tick);
                }
            }
        }
        for (number, tick) in inbox.published.drain(..) {
            wake(self.cuts[number as usize].to, tick);
        }
        if first != NEVER {
            found.wake(Tick(first), Tick(last));
        }
    }
}
