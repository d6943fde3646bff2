//! Line splitting: requests for lines of the level above that are longer than those here.
//!
//! A request is taken apart when it is accepted, one line of this cache after the other, and each
//! part is answered by itself.

use warpweave_framework::State;

use crate::memory::{MemRequest, MemResponse, full_line};

/// The parts of longer requests, and how far the one at the head of the input has come.
#[derive(Clone, Copy, Debug, State)]
pub(super) struct LineSplitter {
    /// Line size of the upper level in bytes; `part_bytes` is that of this cache.
    #[state(skip)]
    line_bytes: u32,
    #[state(skip)]
    part_bytes: u32,
    /// Words of the request at the input head that earlier parts have already covered.
    taken: u32,
}

impl LineSplitter {
    pub(super) fn new(line_bytes: u32, part_bytes: u32) -> Self {
        Self {
            line_bytes,
            part_bytes,
            taken: 0,
        }
    }

    /// Bytes of the parts in which requests are answered.
    pub(super) fn part_bytes(&self) -> u32 {
        self.part_bytes
    }

    fn offset(&self, address: u64) -> u32 {
        (address & u64::from(self.line_bytes - 1)) as u32
    }

    /// Returns the first part of a request not accepted yet, as a request for one line of this
    /// cache. Returns `None` if the request is not for one line of the upper level.
    #[inline]
    pub(super) fn part(&self, request: &MemRequest) -> Option<MemRequest> {
        if self.offset(request.line) != 0 || request.words & !full_line(self.line_bytes) != 0 {
            return None;
        }
        let left = request.words & !self.taken;
        if left == 0 {
            return Some(*request);
        }
        let words = self.part_bytes / 4;
        let first = left.trailing_zeros() / words * words;
        Some(MemRequest {
            line: request.line + u64::from(first * 4),
            words: left >> first & full_line(self.part_bytes),
            ..*request
        })
    }

    /// Notes that a part of a request is accepted. Returns whether it was the last.
    #[inline]
    pub(super) fn take(&mut self, request: &MemRequest, part: &MemRequest) -> bool {
        self.taken |= part.words << (self.offset(part.line) / 4);
        let is_last = request.words & !self.taken == 0;
        if is_last {
            self.taken = 0;
        }
        is_last
    }

    /// Every part of a request, if it is for one line of the level above.
    pub(super) fn parts(mut self, request: &MemRequest) -> Option<Vec<MemRequest>> {
        let mut parts = Vec::new();
        self.taken = 0;
        loop {
            let part = self.part(request)?;
            parts.push(part);
            if self.take(request, &part) {
                return Some(parts);
            }
        }
    }

    /// Names the words of a part's answer as words of the request's line.
    #[inline]
    pub(super) fn rejoin(&self, response: &mut MemResponse) {
        let offset = self.offset(response.line);
        response.line -= u64::from(offset);
        response.words <<= offset / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Level;

    #[test]
    fn each_line_of_a_request_is_a_part_and_answered_in_its_words() {
        let splitter = LineSplitter::new(128, 32);
        let request = MemRequest::read(3, 256, 0x00ff_0101);
        let parts = splitter.parts(&request).expect("one line above");
        let lines: Vec<_> = parts.iter().map(|p| (p.line, p.words)).collect();
        assert_eq!(lines, [(256, 1), (256 + 32, 1), (256 + 64, 0xff)]);
        let mut answer = parts[2].answer(Level::L2);
        splitter.rejoin(&mut answer);
        assert_eq!((answer.line, answer.words), (256, 0x00ff_0000));
        assert_eq!(splitter.parts(&MemRequest::read(3, 64, 1)), None);
        let empty = MemRequest::read(3, 256, 0);
        assert_eq!(splitter.parts(&empty), Some(vec![empty]));
    }
}
