//! Requests that only pass through a cache: which id they had above, by the id they have below.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Contents, Cycle};

use crate::memory::{MemRequest, MemResponse, transaction};

/// A request that was handed down and waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// The request, as received.
    pub request: MemRequest,
    /// Its answer leaves no earlier.
    pub ready: Cycle,
    /// Requests below that are not answered.
    pub outstanding: u32,
    /// Highest write sequence of the answers so far.
    pub write_sequence: u32,
    /// The MSHR in which it waits with others, if it stored into a line that stays.
    pub joined: Option<u32>,
    /// Its answer, once that has come from below.
    pub answer: Option<MemResponse>,
}

/// A bounded table with stable indices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PassTable {
    places: Vec<Option<Passed>>,
    free: Vec<u32>,
}

impl PassTable {
    /// A table for `entries` requests in flight.
    pub fn new(entries: u32) -> Self {
        Self {
            places: vec![None; entries as usize],
            free: (0..entries).rev().collect(),
        }
    }

    /// Requests in the table.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Shows the requests in the table.
    pub(super) fn show(&self, contents: &mut Contents<'_>) {
        for (index, passed) in self.places.iter().enumerate() {
            if let Some(Passed { request, .. }) = passed {
                contents
                    .thing("passing", index as u64)
                    .flow(Some(transaction(request.line, &request.source)))
                    .number("line", request.line);
            }
        }
    }

    /// Whether there is no request in the table.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room for another request.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Enters a request.
    ///
    /// # Panics
    /// When the table is full.
    pub fn insert(&mut self, passed: Passed) -> u32 {
        let index = self.free.pop().expect("room was checked with is_full");
        self.places[index as usize] = Some(passed);
        index
    }

    /// The request at `index`, if there is one.
    pub fn get(&self, index: u32) -> Option<&Passed> {
        self.places.get(index as usize)?.as_ref()
    }

    /// The request at `index`, to be changed.
    pub fn get_mut(&mut self, index: u32) -> Option<&mut Passed> {
        self.places.get_mut(index as usize)?.as_mut()
    }

    /// Whether a request for part of this line is in the table.
    pub fn holds(&self, line: u64, line_bytes: u32) -> bool {
        let mask = !u64::from(line_bytes - 1);
        let same = |passed: &Passed| passed.request.line & mask == line;
        !self.is_empty() && self.places.iter().flatten().any(same)
    }

    /// Takes out the request at `index`, if there is one.
    pub fn remove(&mut self, index: u32) -> Option<Passed> {
        let passed = self.places.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_after_its_request_left() {
        let passed = |id| Passed {
            request: MemRequest::write(id, 0, 1),
            ready: 0,
            outstanding: 1,
            write_sequence: 0,
            joined: None,
            answer: None,
        };
        let mut table = PassTable::new(2);
        let (a, b) = (table.insert(passed(10)), table.insert(passed(11)));
        assert!(table.is_full() && a != b);
        assert_eq!(table.remove(a), Some(passed(10)));
        assert_eq!(table.remove(a), None);
        assert_eq!(table.insert(passed(12)), a);
        assert_eq!((table.len(), table.get(b)), (2, Some(&passed(11))));
        assert_eq!(table.get(9), None);
        assert!(table.holds(0, 128) && !table.holds(128, 128));
    }
}
