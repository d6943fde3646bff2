//! Outstanding requests, from their acceptance to their responses.

use warpweave_framework::{Context, Cycle, Id, State, Statistics};

use super::channels::Channels;
use super::heads::Head;
use super::responses::Responses;
use super::sequences::Sequences;
use super::statistics::RequestCounts;
use super::transactions::Transactions;
use crate::memory::{Level, MemRequest, MemSlave, RequestKind};

/// Requests that are accepted but not yet answered, and the write sequences that reads see.
#[derive(State, Statistics)]
pub(super) struct Outstanding {
    #[state(flatten)]
    pub(super) transactions: Transactions,
    #[state(flatten)]
    pub(super) responses: Responses,
    sequences: Sequences,
    #[state(part)]
    #[statistic(flatten)]
    counts: RequestCounts,
    /// Cycles from the arrival of a read's data to its response.
    #[state(skip)]
    latency: Cycle,
}

impl Outstanding {
    /// Creates a table for up to `limit` requests.
    pub(super) fn new(ports: usize, limit: usize, latency: Cycle) -> Self {
        Self {
            transactions: Transactions::new(limit),
            responses: Responses::new(ports),
            sequences: Sequences::default(),
            counts: RequestCounts::default(),
            latency,
        }
    }

    /// Returns the cycles from the arrival of a read's data to its response.
    #[inline]
    pub(super) fn latency(&self) -> Cycle {
        self.latency
    }

    /// True if a request can be accepted, except for room in its channel.
    #[inline]
    pub(super) fn admits(&self, head: &Head) -> bool {
        let is_read = || self.transactions.is_read(head.request.line);
        !(head.access.write && is_read()) && self.transactions.has_room()
    }

    /// Counts a request that has begun, and orders it among the reads and writes of its line.
    pub(super) fn order(&mut self, transaction: Id, head: &Head, wraps: bool) {
        let Head {
            request, address, ..
        } = *head;
        if head.access.write {
            self.order_write(&request, address);
        } else {
            self.counts.read_requests += 1;
            let newest = self.sequences.of(address);
            self.transactions.order_read(transaction, newest);
        }
        self.counts.wrapped_requests += u64::from(wraps);
    }

    fn order_write(&mut self, request: &MemRequest, address: u64) {
        if request.kind == RequestKind::CopyBack {
            self.counts.copy_backs += 1;
        } else {
            self.counts.write_requests += 1;
        }
        if request.write_sequence > 0 {
            self.sequences.raise(address, request.write_sequence);
        }
    }

    /// Records the sequence of a write that took no time.
    pub(super) fn written_functionally(&mut self, head: &Head) {
        self.sequences
            .raise(head.address, head.request.write_sequence);
    }

    /// Acknowledges a write in the next cycle, or ends it if it needs no response.
    #[inline]
    pub(super) fn written(&mut self, now: Cycle, transaction: Id) {
        let written = self.transactions.get(transaction);
        if written.request.kind.wants_response() {
            self.responses
                .acknowledge(now + 1, written.port, transaction);
        } else {
            self.transactions.end(transaction);
        }
    }

    /// Takes the reads whose last beat arrived `latency` cycles ago. Returns true if any did.
    #[inline]
    pub(super) fn finish_reads(&mut self, channels: &mut Channels, now: Cycle) -> bool {
        let Some(arrived) = now.checked_sub(self.latency) else {
            return false;
        };
        let mut any = false;
        for channel in &mut channels.list {
            while let Some((_, tag)) = channel.take_completion(arrived) {
                any = true;
                let (responses, latency) = (&mut self.responses, &mut self.counts.read_latency);
                self.transactions
                    .data_arrived(Id::from_bits(tag), |id, read| {
                        latency.record(now - read.accepted);
                        responses.push(read.port, id);
                    });
            }
        }
        any
    }

    /// Sends the responses for which their ports have room. Returns true if any left.
    #[inline]
    pub(super) fn respond(&mut self, up: &mut [MemSlave], ctx: &mut Context<'_>) -> bool {
        let transactions = &mut self.transactions;
        let mut any = false;
        self.responses.send(|port, id| {
            if !up[port].response.can_send(ctx) {
                return false;
            }
            let transaction = transactions.get(id);
            let mut response = transaction.request.answer(Level::DRAM);
            response.write_sequence = transaction.write_sequence;
            up[port].response.send(ctx, response);
            transactions.end(id);
            any = true;
            true
        });
        any
    }
}
