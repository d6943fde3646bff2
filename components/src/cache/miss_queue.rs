//! The miss queue: fetches, copy-backs and passing requests on their way down, in order.
//!
//! It holds up to `miss_queue_entries` requests of accepted requests. A fill may add the copy-back
//! of its victim beyond that, so that fills never wait: at most one per MSHR before the queue
//! moves. Copy-backs of a [`CopyBackBuffer`] are beyond that too.

use std::collections::VecDeque;

use warpweave_framework::{Cycle, Id, State};

use super::access::Accepted;
use super::blocked::Blocked;
use super::copy_back_buffer::CopyBackBuffer;
use super::downstream_ids::{DownstreamIds, IdOwner};
use super::line_cutter::LineCutter;
use super::spec::CacheSpec;
use crate::memory::MemRequest;

/// Requests in order, each with the cycle in which its turn comes.
#[derive(Clone, Debug, State)]
pub(super) struct MissQueue {
    requests: VecDeque<(Cycle, MemRequest)>,
    #[state(skip)]
    entries: usize,
    #[state(skip)]
    latency: Cycle,
    #[state(skip)]
    cutter: LineCutter,
    #[state(skip)]
    ids: DownstreamIds,
    #[state(part)]
    copy_backs: Option<CopyBackBuffer>,
}

impl MissQueue {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        let most = (spec.miss_queue_entries + spec.mshr_entries) as usize + 1;
        Self {
            requests: VecDeque::with_capacity(most),
            entries: spec.miss_queue_entries as usize,
            latency: Cycle::from(spec.miss_latency_cycles),
            cutter: LineCutter::new(spec),
            ids: DownstreamIds::new(spec),
            copy_backs: spec.copy_back_entries.map(CopyBackBuffer::new),
        }
    }

    #[inline]
    pub(super) fn cutter(&self) -> &LineCutter {
        &self.cutter
    }

    /// The buffer of a cache that has one.
    #[inline]
    pub(super) fn copy_backs(&self) -> Option<&CopyBackBuffer> {
        self.copy_backs.as_ref()
    }

    /// Requests in the queue.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Tells whether the queue would be too long with so many requests more.
    #[inline]
    pub(super) fn overflows_with(&self, requests: u32) -> bool {
        self.requests.len() + requests as usize > self.entries
    }

    /// Tells whether a line with dirty words may leave the cache whatever else is queued: a
    /// copy-back buffer may be full.
    #[inline]
    pub(super) fn takes_copy_back(&self) -> bool {
        self.copy_backs
            .as_ref()
            .is_none_or(CopyBackBuffer::has_room)
    }

    /// Number of requests into which these words of a line are cut.
    #[inline]
    pub(super) fn pieces(&self, words: u32) -> u32 {
        self.cutter.pieces(words)
    }

    /// Finds out whether there is room for so many requests and for the pieces of a copy-back.
    #[inline]
    pub(super) fn room(&self, requests: u32, copy_back: u32) -> Result<(), Blocked> {
        let used = match &self.copy_backs {
            None => self.requests.len() + copy_back as usize,
            Some(buffer) if copy_back != 0 && !buffer.has_room() => return Err(Blocked::CopyBacks),
            Some(buffer) => self.requests.len() - buffer.requests(),
        };
        if used + requests as usize <= self.entries {
            Ok(())
        } else {
            Err(Blocked::MissQueue)
        }
    }

    /// The MSHR or passing request that waits for the reply with this id.
    #[inline]
    pub(super) fn owner(&self, id: u32) -> IdOwner {
        self.ids.owner(id)
    }

    /// Queues a fetch for an MSHR.
    pub(super) fn fetch(&mut self, mshr: Id, fetch: &MemRequest, now: Cycle) {
        let turn = now + self.latency;
        let Self {
            requests,
            cutter,
            ids,
            ..
        } = self;
        cutter.cut(fetch, |word, piece| {
            let id = ids.for_mshr(mshr, cutter.unit_of(word));
            requests.push_back((turn, MemRequest { id, ..piece }));
        });
    }

    /// Queues a copy-back to the next level.
    pub(super) fn copy_back(&mut self, request: &MemRequest, now: Cycle) {
        let turn = now + self.latency;
        let first = self.requests.len();
        let (requests, cutter) = (&mut self.requests, &self.cutter);
        cutter.cut(request, |_, piece| {
            requests.push_back((turn, MemRequest { id: 0, ..piece }));
        });
        if let Some(buffer) = &mut self.copy_backs {
            buffer.enter(first, self.requests.len());
        }
    }

    /// Queues a request that is handed down, for a line at this address; `passing` is its id in the
    /// pass table if it is answered.
    pub(super) fn pass(&mut self, accepted: &Accepted<'_>, line: u64, passing: Option<Id>) {
        let turn = accepted.now + self.latency;
        let (ids, cutter) = (self.ids, &self.cutter);
        let id_of = |word| passing.map_or(0, |id| ids.for_passing(id, cutter.piece_of(word)));
        if !cutter.splits_replies() {
            let id = id_of(0);
            let request = MemRequest {
                id,
                ..*accepted.request
            };
            self.requests.push_back((turn, request));
            return;
        }
        let whole = MemRequest {
            line,
            words: accepted.access.words,
            ..*accepted.request
        };
        let requests = &mut self.requests;
        cutter.cut(&whole, |word, piece| {
            let id = id_of(word);
            requests.push_back((turn, MemRequest { id, ..piece }));
        });
    }

    /// Turn of the oldest request.
    #[inline]
    pub(super) fn turn(&self) -> Option<Cycle> {
        self.requests.front().map(|&(turn, _)| turn)
    }

    /// Takes the oldest request.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<MemRequest> {
        let (_, request) = self.requests.pop_front()?;
        if let Some(buffer) = &mut self.copy_backs {
            buffer.sent_one();
        }
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::access::Access;
    use crate::cache::tests::l1;

    fn queue(copy_back_entries: Option<u32>) -> MissQueue {
        MissQueue::new(&CacheSpec {
            below_line_bytes: Some(32),
            copy_back_entries,
            miss_queue_entries: 8,
            ..l1()
        })
    }

    #[test]
    fn each_piece_has_an_id_that_leads_back_and_leaves_after_the_latency() {
        let mut queue = queue(None);
        let id = Id::from_bits(1);
        queue.fetch(id, &MemRequest::read(9, 256, 0x0000_ff00), 10);
        assert_eq!((queue.len(), queue.turn()), (1, Some(12)));
        let sent = queue.pop().expect("it was queued");
        assert_eq!((sent.line, sent.words), (256 + 32, 0xff));
        assert_eq!(queue.owner(sent.id), IdOwner::Mshr(id, 1));
        let request = MemRequest::write(9, 256, 0x0001_0001);
        let access = Access {
            line: 256,
            set: 0,
            words: request.words,
        };
        let accepted = Accepted {
            request: &request,
            access,
            now: 20,
        };
        queue.pass(&accepted, 256, Some(id));
        let owners: Vec<_> = queue
            .requests
            .iter()
            .map(|(_, r)| queue.owner(r.id))
            .collect();
        assert_eq!(owners, [IdOwner::Passing(id); 2]);
    }

    #[test]
    fn copy_backs_take_entries_of_the_buffer_where_there_is_one() {
        let line = MemRequest::read(0, 256, u32::MAX);
        let mut shared = queue(None);
        shared.copy_back(&line, 0);
        assert_eq!(shared.room(4, 0), Ok(()));
        assert_eq!(shared.room(1, 4), Err(Blocked::MissQueue));
        let mut apart = queue(Some(1));
        apart.copy_back(&line, 0);
        assert_eq!(apart.room(8, 0), Ok(()));
        assert_eq!(apart.room(1, 4), Err(Blocked::CopyBacks));
        assert!(!apart.takes_copy_back());
        while apart.pop().is_some() {}
        assert!(apart.takes_copy_back());
    }
}
