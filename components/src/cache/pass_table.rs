//! Table of requests that only pass through a cache: the originals, indexed by their id in this
//! cache.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Contents, Cycle, Id, IdTable, State};

use crate::memory::{MemRequest, MemResponse, transaction};

/// Forwarded request that waits for its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// Request as received from the upper level.
    pub request: MemRequest,
    /// Earliest cycle in which its response may leave.
    pub ready: Cycle,
    /// Words of this cache's line not covered by a response yet.
    pub awaited: u32,
    /// Highest write sequence of the responses so far.
    pub write_sequence: u32,
    /// MSHR in which it waits with others, if it stored into a line that stays.
    pub joined: Option<Id>,
    /// Its response, once received from the next level.
    pub answer: Option<MemResponse>,
}

/// Bounded table of forwarded requests that wait for their responses.
#[derive(Clone, Debug, State)]
pub struct PassTable {
    requests: IdTable<Passed>,
    /// Maximum number of requests in the table.
    #[state(skip)]
    entries: usize,
}

impl PassTable {
    /// Creates a table for `entries` requests in flight.
    pub fn new(entries: u32) -> Self {
        Self {
            requests: IdTable::default(),
            entries: entries as usize,
        }
    }

    /// Returns the number of requests in the table.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Shows the requests in the table.
    pub(super) fn show(&self, contents: &mut Contents<'_>) {
        for (id, Passed { request, .. }) in self.requests.iter() {
            contents
                .thing("passing", id.place() as u64)
                .flow(Some(transaction(request.line, &request.source)))
                .number("line", request.line);
        }
    }

    /// True if the table holds no request.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// True if the table has no room for another request.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.requests.len() >= self.entries
    }

    /// Enters a request and returns its id.
    ///
    /// # Panics
    /// Panics if the table is full.
    pub fn insert(&mut self, passed: Passed) -> Id {
        assert!(!self.is_full(), "room was checked with is_full");
        self.requests.insert(passed)
    }

    /// Returns the request with this id, if it is in the table.
    pub fn get(&self, id: Id) -> Option<&Passed> {
        self.requests.get(id)
    }

    /// Returns the request with this id for modification.
    pub fn get_mut(&mut self, id: Id) -> Option<&mut Passed> {
        self.requests.get_mut(id)
    }

    /// True if a request for part of this line is in the table.
    pub fn holds(&self, line: u64, line_bytes: u32) -> bool {
        !self.is_empty() && self.of_line(line, line_bytes).next().is_some()
    }

    /// Iterates over the requests for parts of this line.
    pub fn of_line(&self, line: u64, line_bytes: u32) -> impl Iterator<Item = &Passed> {
        let mask = !u64::from(line_bytes - 1);
        let passing = self.requests.values();
        passing.filter(move |passed| passed.request.line & mask == line)
    }

    /// Removes and returns the request with this id, if it is in the table.
    pub fn remove(&mut self, id: Id) -> Option<Passed> {
        self.requests.remove(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_has_room_again_when_a_request_left() {
        let passed = |id| Passed {
            request: MemRequest::write(id, 0, 1),
            ready: 0,
            awaited: 1,
            write_sequence: 0,
            joined: None,
            answer: None,
        };
        let mut table = PassTable::new(2);
        let (a, b) = (table.insert(passed(10)), table.insert(passed(11)));
        assert!(table.is_full() && a != b);
        assert_eq!(table.remove(a), Some(passed(10)));
        assert_eq!(table.remove(a), None);
        let c = table.insert(passed(12));
        assert_eq!((c.place(), table.get(a)), (a.place(), None));
        assert_eq!((table.len(), table.get(b)), (2, Some(&passed(11))));
        assert!(table.holds(0, 128) && !table.holds(128, 128));
    }
}
