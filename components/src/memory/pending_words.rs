//! Tracking of the words of a request that still await responses.

use serde::{Deserialize, Serialize};

use super::{MemRequest, MemResponse};

/// Words of a request for which no response has arrived, and words whose response has not left
/// upstream. A request of no words is stored as one of its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingWords {
    to_come: u32,
    to_leave: u32,
}

impl PendingWords {
    #[inline]
    pub(crate) fn of(request: &MemRequest) -> Self {
        let words = request.words.max(1);
        Self {
            to_come: words,
            to_leave: words,
        }
    }

    /// Records an arriving response. Returns true if its words were awaited.
    #[inline]
    pub(crate) fn come(&mut self, response: &MemResponse) -> bool {
        let words = response.words.max(1);
        let awaited = words & !self.to_come == 0;
        self.to_come &= !words;
        awaited
    }

    /// Records that an arrived response has left. Returns true if it was the last.
    #[inline]
    pub(crate) fn leave(&mut self, response: &MemResponse) -> bool {
        self.to_leave &= !response.words.max(1);
        self.to_leave == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Level;

    #[test]
    fn the_last_part_to_leave_ends_a_request_and_a_word_comes_once() {
        let request = MemRequest::read(1, 0, 0b111);
        let part = |words| MemResponse {
            words,
            ..request.answer(Level::L2)
        };
        let mut awaited = PendingWords::of(&request);
        assert!(awaited.come(&part(0b100)));
        assert!(awaited.come(&part(0b011)) && !awaited.leave(&part(0b011)));
        assert!(!awaited.come(&part(0b001)), "it came before");
        assert!(awaited.leave(&part(0b100)));
        assert!(
            !PendingWords::of(&request).come(&part(0b1000)),
            "nothing requested this word"
        );
    }

    #[test]
    fn a_request_of_no_words_has_one_answer() {
        let request = MemRequest::read(1, 0, 0);
        let mut awaited = PendingWords::of(&request);
        let answer = request.answer(Level::L2);
        assert!(awaited.come(&answer) && !awaited.come(&answer) && awaited.leave(&answer));
    }
}
