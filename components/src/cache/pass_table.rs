//! Requests that only pass through a cache: as they came from above, by the id they have here.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Contents, Cycle, Id, IdTable, State};

use crate::memory::{MemRequest, MemResponse, transaction};

/// A request that was handed down and waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// The request, as received.
    pub request: MemRequest,
    /// Its answer leaves no earlier.
    pub ready: Cycle,
    /// Words of this cache's line that no answer has named.
    pub awaited: u32,
    /// Highest write sequence of the answers so far.
    pub write_sequence: u32,
    /// The MSHR in which it waits with others, if it stored into a line that stays.
    pub joined: Option<Id>,
    /// Its answer, once that has come from below.
    pub answer: Option<MemResponse>,
}

/// A bounded table.
#[derive(Clone, Debug, State)]
pub struct PassTable {
    requests: IdTable<Passed>,
    /// Requests for which there is room.
    #[state(skip)]
    entries: usize,
}

impl PassTable {
    /// A table for `entries` requests in flight.
    pub fn new(entries: u32) -> Self {
        Self {
            requests: IdTable::default(),
            entries: entries as usize,
        }
    }

    /// Requests in the table.
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

    /// Whether there is no request in the table.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether there is no room for another request.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.requests.len() >= self.entries
    }

    /// Enters a request.
    ///
    /// # Panics
    /// When the table is full.
    pub fn insert(&mut self, passed: Passed) -> Id {
        assert!(!self.is_full(), "room was checked with is_full");
        self.requests.insert(passed)
    }

    /// The request of this id, if it is in the table.
    pub fn get(&self, id: Id) -> Option<&Passed> {
        self.requests.get(id)
    }

    /// The request of this id, to be changed.
    pub fn get_mut(&mut self, id: Id) -> Option<&mut Passed> {
        self.requests.get_mut(id)
    }

    /// Whether a request for part of this line is in the table.
    pub fn holds(&self, line: u64, line_bytes: u32) -> bool {
        !self.is_empty() && self.of_line(line, line_bytes).next().is_some()
    }

    /// The requests in the table for parts of this line.
    pub fn of_line(&self, line: u64, line_bytes: u32) -> impl Iterator<Item = &Passed> {
        let mask = !u64::from(line_bytes - 1);
        let passing = self.requests.values();
        passing.filter(move |passed| passed.request.line & mask == line)
    }

    /// Takes out the request of this id, if it is in the table.
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
