//! Downstream path: requests are taken, probe the coalesced cache, are looked up in the merge
//! table, and are merged or sent.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, Id};

use super::merge_table::Lookup;
use super::spec::{OnWrite, TableFull};
use super::{IccUnit, Slot, Step};
use crate::memory::{MemRequest, RequestKind, flags};

/// Request on its way through the look-ups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LookupEntry {
    /// Cycle of its look-up in the merge table.
    pub(super) at: Cycle,
    /// Request in the form in which it is sent downstream.
    pub(super) request: MemRequest,
    pub(super) port: u32,
}

/// Hit in the coalesced cache, waiting for delivery.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hit {
    /// Cycle from which it can be delivered.
    pub(super) at: Cycle,
    pub(super) slot: Id,
    pub(super) write_sequence: u32,
}

impl IccUnit {
    /// Takes a request and probes the coalesced cache.
    pub(super) fn take_request(&mut self, ctx: &mut Context<'_>) {
        let Some(port) = self.next_port(ctx) else {
            return;
        };
        let now = ctx.cycle();
        let mut request = self.up[port as usize]
            .request
            .pop(ctx)
            .expect("next_port peeked");
        self.first = (port + 1) % self.spec.up_ports;
        let above = request;
        request.id = u32::MAX;
        // Of the units of this level only.
        request.flags &= !flags::TRACKED;
        if request.kind.wants_response() {
            let slot = Slot {
                request: above,
                port,
                taken: now,
            };
            request.id = self.slots.insert(slot).bits();
        }
        self.counters.taken(&request, self.merges(&request));
        if self.closes(&request)
            && let Some(cache) = &mut self.cache
        {
            self.counters.cache_invalidated += u64::from(cache.invalidate(request.line));
        }
        if self.probes(&request) && self.probe(now, &request) {
            return;
        }
        let at = now + u64::from(self.spec.request_delay());
        self.requests.push_back(LookupEntry { at, request, port });
    }

    /// Looks for the read in the coalesced cache; a hit is queued for the bus. Returns true on a
    /// hit.
    fn probe(&mut self, now: Cycle, request: &MemRequest) -> bool {
        let (Some(cache), Some(spec)) = (&mut self.cache, &self.spec.coalesced_cache) else {
            return false;
        };
        self.counters.cache_probes += 1;
        let Some(at) = cache.probe(request.line, request.words) else {
            return false;
        };
        self.counters.cache_hits += 1;
        self.hits.push_back(Hit {
            at: now + u64::from(spec.access_cycles),
            slot: Id::from_bits(request.id),
            write_sequence: cache.read(at),
        });
        true
    }

    /// True if the request is a read that the merge table handles.
    fn merges(&self, request: &MemRequest) -> bool {
        request.kind == RequestKind::Read
            && self.spec.global_end.is_none_or(|end| request.line < end)
    }

    /// True if the request is a read that the coalesced cache may answer.
    fn probes(&self, request: &MemRequest) -> bool {
        let bypasses = request.flags & flags::BYPASS_L1 != 0;
        let cache = self.spec.coalesced_cache.as_ref();
        self.merges(request) && cache.is_some_and(|c| c.serve_bypassing || !bypasses)
    }

    /// True if there is a slot for another request.
    fn has_slot(&self) -> bool {
        self.slots.len() < self.spec.outstanding as usize
    }

    /// Returns the up port whose request is taken next, if any can be.
    pub(super) fn next_port(&self, ctx: &Context<'_>) -> Option<u32> {
        let hits = self.spec.coalesced_cache.as_ref();
        let hits_full = hits.is_some_and(|c| self.hits.len() >= c.hit_queue as usize);
        if hits_full || self.requests.len() > self.spec.request_delay() as usize {
            return None;
        }
        (self.first..self.spec.up_ports)
            .chain(0..self.first)
            .find(|port| {
                let request = self.up[*port as usize].request.peek(ctx);
                request.is_some_and(|r| !r.kind.wants_response() || self.has_slot())
            })
    }

    /// Looks up the oldest request in the merge table: it is merged or sent downstream.
    pub(super) fn look_up(&mut self, ctx: &mut Context<'_>) -> Step {
        let now = ctx.cycle();
        let Some(staged) = self.requests.front().filter(|staged| staged.at <= now) else {
            return Step::Idle;
        };
        let (mut request, port) = (staged.request, staged.port);
        let slot = Id::from_bits(request.id);
        let found = self
            .merges(&request)
            .then(|| self.table.lookup(now, request.line, request.words));
        if found == Some(Lookup::Full) && self.spec.table_full == TableFull::Wait {
            return Step::NoEntry;
        }
        if let Some(Lookup::Merge(at)) = found {
            self.table.merge(at, port, slot);
        } else {
            if !self.down.request.can_send(ctx) {
                return Step::Blocked;
            }
            if found == Some(Lookup::Free) {
                self.table.allocate(request.line, request.words, port, slot);
                self.counters
                    .table_occupancy
                    .set(now, self.table.len() as u64);
                request.flags |= flags::TRACKED;
            }
            if self.closes(&request) {
                self.counters.entries_closed += u64::from(self.table.close(request.line));
            }
            self.down.request.send(ctx, request);
        }
        self.counters.looked_up(found);
        self.requests.pop_front();
        Step::Done
    }

    /// True if the request invalidates the entry and the kept copy of its line.
    pub(super) fn closes(&self, request: &MemRequest) -> bool {
        let writes = matches!(
            request.kind,
            RequestKind::Write | RequestKind::Atomic | RequestKind::CopyBack
        );
        writes && self.spec.on_write == OnWrite::Close
    }
}
