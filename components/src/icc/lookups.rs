//! Downstream path: requests are taken, probe the coalesced cache, are looked up in the merge
//! table, and are merged or sent.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, Id};

use super::coalesced_cache::CoalescedCache;
use super::merge_table::Lookup;
use super::outstanding::Slot;
use super::spec::{OnWrite, TableFull};
use super::{IccUnit, Step};
use crate::memory::{MemRequest, RequestKind, flags};

/// Request on its way through the look-ups.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct LookupEntry {
    /// Request in the form in which it is sent downstream.
    pub(super) request: MemRequest,
    port: u32,
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
            request.id = self.outstanding.slots.insert(slot).bits();
        }
        let (merges, closes) = (self.merges(&request), self.closes(&request));
        self.counters.taken(&request, merges);
        if let Some(cache) = &mut self.cache {
            let counts = &mut self.counters.cache;
            if closes {
                counts.invalidated += u64::from(cache.invalidate(request.line));
            }
            if merges && cache.serves(&request) {
                counts.probes += 1;
                if cache.look_up(now, &request) {
                    counts.hits += 1;
                    return;
                }
            }
        }
        let at = now + Cycle::from(self.spec.request_delay());
        self.requests.push(at, LookupEntry { request, port });
    }

    /// True if the request is a read that the merge table handles.
    fn merges(&self, request: &MemRequest) -> bool {
        request.kind == RequestKind::Read
            && self.spec.global_end.is_none_or(|end| request.line < end)
    }

    /// Returns the up port whose request is taken next, if any can be.
    pub(super) fn next_port(&self, ctx: &Context<'_>) -> Option<u32> {
        let hits_full = self.cache.as_ref().is_some_and(CoalescedCache::is_full);
        if hits_full || self.requests.len() > self.spec.request_delay() as usize {
            return None;
        }
        let has_slot = self.outstanding.slots.len() < self.spec.outstanding as usize;
        (self.first..self.spec.up_ports)
            .chain(0..self.first)
            .find(|port| {
                let request = self.up[*port as usize].request.peek(ctx);
                request.is_some_and(|r| has_slot || !r.kind.wants_response())
            })
    }

    /// Looks up the oldest request in the merge table: it is merged or sent downstream.
    pub(super) fn look_up(&mut self, ctx: &mut Context<'_>) -> Step {
        let now = ctx.cycle();
        let Some(&LookupEntry { mut request, port }) = self.requests.ready(now) else {
            return Step::Idle;
        };
        let slot = Id::from_bits(request.id);
        let found = self.merges(&request).then(|| {
            let read = (request.line, request.words);
            self.table.lookup(now, read, self.spec.joins)
        });
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
                let read = (request.line, request.words);
                let window = self.spec.window_cycles.map(Cycle::from);
                let until = window.map_or(Cycle::MAX, |window| now + window);
                self.table.allocate(read, until, port, slot);
                let occupancy = &mut self.counters.lines.occupancy;
                occupancy.set(now, self.table.len() as u64);
                request.flags |= flags::TRACKED;
            }
            if self.closes(&request) {
                let closed = self.table.close(request.line);
                self.counters.reads.entries_closed += u64::from(closed);
            }
            self.down.request.send(ctx, request);
        }
        if let Some(found) = found {
            self.counters.reads.looked_up(found);
        }
        self.requests.remove_first();
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
