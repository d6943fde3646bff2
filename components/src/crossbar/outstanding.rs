//! Requests waiting for responses, and the stalls when their table is full.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Id, IdTable, State, Statistics};

use super::stalls::Stalls;
use crate::memory::{MemRequest, MemResponse, PendingWords};

/// Destination of a response: port, original id and slice.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Entry {
    /// Port from which the request came, and its id there.
    port: u32,
    id: u32,
    /// Slice to which the request was sent.
    slice: u32,
    awaited: PendingWords,
    /// Cycle in which the request left the network for its slice.
    sent: Cycle,
}

/// Table of hop-local ids, with a limit for each port.
#[derive(State, Statistics)]
pub(super) struct Outstanding {
    #[state(skip)]
    per_port: u32,
    entries: IdTable<Entry>,
    /// Number of entries used by each port.
    #[state(array)]
    taken: Vec<u32>,
    /// Cycles in which a port had a request waiting and no free entry.
    #[statistic(
        name = "table_stalls",
        unit = "cycles",
        meaning = "Cycles in which a request found no free entry for its response, summed over ports",
        value = self.stall_cycles(statistics.cycle())
    )]
    stalls: Stalls,
    /// Responses that left, and the sum of the cycles since their requests were sent to the slices.
    answers: u64,
    #[statistic(
        mean,
        name = "slice_latency",
        unit = "cycles",
        meaning = "Mean cycles from delivery of a request to its slice until a response leaves upward; each part of a response counts",
        weight = self.answers,
        by = "answers"
    )]
    answer_cycles: u64,
}

impl Outstanding {
    pub(super) fn new(up_ports: u32, per_port: u32) -> Self {
        let up_ports = up_ports as usize;
        Self {
            per_port,
            entries: IdTable::default(),
            taken: vec![0; up_ports],
            stalls: Stalls::new(up_ports),
            answers: 0,
            answer_cycles: 0,
        }
    }

    /// True if a request of this port finds a free entry; otherwise marks the port as stalled.
    #[inline]
    pub(super) fn admits(&mut self, port: usize, now: Cycle) -> bool {
        let has_room = self.taken[port] < self.per_port;
        if !has_room {
            self.stalls.begin(port, now);
        }
        has_room
    }

    /// Ends the stall of a port that takes a request, whether or not it needs an entry.
    #[inline]
    pub(super) fn end_stall(&mut self, port: usize, now: Cycle) {
        self.stalls.end(port, now);
    }

    /// Enters a request of a port that has room and returns its downstream id.
    #[inline]
    pub(super) fn enter(&mut self, port: usize, request: &MemRequest, slice: u32) -> u32 {
        self.taken[port] += 1;
        let entry = Entry {
            port: port as u32,
            id: request.id,
            slice,
            awaited: PendingWords::of(request),
            sent: 0,
        };
        self.entries.insert(entry).bits()
    }

    /// Records that the request with this id, if it has one, leaves for its slice.
    #[inline]
    pub(super) fn send(&mut self, id: u32, now: Cycle) {
        if let Some(entry) = self.entries.get_mut(Id::from_bits(id)) {
            entry.sent = now;
        }
    }

    /// Handles a slice's response. Returns the port to which it belongs, if the response is
    /// expected.
    #[inline]
    pub(super) fn answer(&mut self, response: &MemResponse, slice: u32) -> Option<usize> {
        let entry = self.entries.get_mut(Id::from_bits(response.id))?;
        let awaited = entry.slice == slice && entry.awaited.come(response);
        awaited.then_some(entry.port as usize)
    }

    /// Records that the response leaves, and frees the entry with the last one. Returns the id that
    /// the request had at its port.
    #[inline]
    pub(super) fn release(&mut self, response: &MemResponse, now: Cycle) -> u32 {
        let id = Id::from_bits(response.id);
        let entry = self.entries.get_mut(id);
        let entry = entry.expect("an entry is kept until its last response has left");
        let above = entry.id;
        self.answers += 1;
        self.answer_cycles += now - entry.sent;
        if entry.awaited.leave(response) {
            self.taken[entry.port as usize] -= 1;
            self.entries.remove(id);
        }
        above
    }

    /// True if no request waits for a response.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of waiting requests by slice.
    pub(super) fn per_slice(&self, slices: usize) -> Vec<u64> {
        let mut waiting = vec![0; slices];
        for entry in self.entries.values() {
            waiting[entry.slice as usize] += 1;
        }
        waiting
    }

    /// Cycles before `cycle` in which a request found no free entry, summed over ports.
    pub(super) fn stall_cycles(&self, cycle: Cycle) -> u64 {
        self.stalls.total(cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Level;

    fn read(id: u32) -> MemRequest {
        MemRequest::read(id, 0, 0b11)
    }

    /// Builds the response to a request with this downstream id.
    fn answer(id: u32) -> MemResponse {
        read(id).answer(Level::L2)
    }

    #[test]
    fn each_port_has_its_own_limit() {
        let mut table = Outstanding::new(2, 1);
        assert!(table.admits(0, 5));
        let id = table.enter(0, &read(77), 3);
        table.send(id, 6);
        assert!(!table.admits(0, 6) && table.admits(1, 6));
        assert_eq!(table.stall_cycles(10), 4);
        assert_eq!(table.per_slice(4), [0, 0, 0, 1]);
        assert_eq!(table.answer(&answer(id), 3), Some(0));
        assert!(!table.admits(0, 10), "the response has not left");
        assert_eq!(table.release(&answer(id), 11), 77);
        assert_eq!((table.answers, table.answer_cycles), (1, 5));
        assert!(table.admits(0, 12));
        table.end_stall(0, 12);
        assert_eq!(table.stall_cycles(20), 6);
        assert!(table.is_empty());
    }

    #[test]
    fn a_second_answer_and_one_from_elsewhere_belong_to_nobody() {
        let mut table = Outstanding::new(1, 4);
        let id = table.enter(0, &read(1), 2);
        assert_eq!(table.answer(&answer(id), 0), None);
        assert_eq!(table.answer(&answer(id), 2), Some(0));
        assert_eq!(table.answer(&answer(id), 2), None);
        table.release(&answer(id), 1);
        // Its place is used again, its id is not.
        let next = table.enter(0, &read(5), 2);
        assert_eq!(
            (table.answer(&answer(id), 2), table.answer(&answer(next), 2)),
            (None, Some(0))
        );
    }

    #[test]
    fn an_entry_is_free_when_the_last_part_of_its_answer_has_left() {
        let mut table = Outstanding::new(1, 1);
        let id = table.enter(0, &read(9), 0);
        let part = |words| MemResponse {
            words,
            ..answer(id)
        };
        assert_eq!(table.answer(&part(0b10), 0), Some(0));
        assert_eq!(table.release(&part(0b10), 1), 9);
        assert_eq!(table.answer(&part(0b10), 0), None);
        assert!(!table.admits(0, 1), "one part is to come");
        assert_eq!(table.answer(&part(0b01), 0), Some(0));
        assert_eq!(table.release(&part(0b01), 1), 9);
        assert!(table.is_empty() && table.admits(0, 2));
    }
}
