//! Requests for lines of the level above that are longer than those here: taken apart when they are
//! accepted, answered part by part.

use warpweave_framework::Context;

use super::Cache;
use crate::memory::{MemRequest, MemResponse, full_line};

/// What a cache keeps about longer requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSplitter {
    /// Bytes of a line of the level above, and of one here.
    line_bytes: u32,
    part_bytes: u32,
    /// Words of the request at the head of the input whose parts were accepted.
    pub(super) taken: u32,
}

impl LineSplitter {
    pub(super) fn new(line_bytes: u32, part_bytes: u32) -> Self {
        Self {
            line_bytes,
            part_bytes,
            taken: 0,
        }
    }

    fn offset(&self, address: u64) -> u32 {
        (address & u64::from(self.line_bytes - 1)) as u32
    }

    /// A part of the request at the head was accepted.
    #[inline]
    fn take(&mut self, part: &MemRequest) {
        self.taken |= part.words << (self.offset(part.line) / 4);
    }

    /// The first part of a request that was not accepted: a request for one line here. None if the request is
    /// not for one line of the level above.
    #[inline]
    fn part(&self, request: &MemRequest) -> Option<MemRequest> {
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
}

impl Cache {
    /// Bytes of the parts in which longer requests are answered.
    pub(super) fn parts_above(&self) -> Option<u32> {
        self.above.map(|above| above.part_bytes)
    }

    /// What is to be decided about next of the request at the head of the input: all of it or, of a longer
    /// one, its next part. None if it is not for one line of the level above.
    #[inline]
    pub(super) fn head<'a>(
        &self,
        request: &'a MemRequest,
        part: &'a mut Option<MemRequest>,
    ) -> Option<&'a MemRequest> {
        match &self.above {
            None => Some(request),
            Some(above) => {
                *part = above.part(request);
                part.as_ref()
            }
        }
    }

    /// Takes from the input what [`head`](Self::head) said.
    #[inline]
    pub(super) fn take_head(&mut self, ctx: &mut Context<'_>) -> MemRequest {
        const PEEKED: &str = "it was decided about";
        let Some(above) = &mut self.above else {
            return self.up.request.pop(ctx).expect(PEEKED);
        };
        let request = self.up.request.peek(ctx).expect(PEEKED);
        let part = above.part(request).expect(PEEKED);
        above.take(&part);
        if request.words & !above.taken == 0 {
            above.taken = 0;
            self.up.request.pop(ctx);
        }
        part
    }

    /// The parts of a request of no time.
    pub(super) fn parts(&self, request: &MemRequest) -> Option<Vec<MemRequest>> {
        let Some(mut above) = self.above else {
            return Some(vec![*request]);
        };
        let mut parts = Vec::new();
        above.taken = 0;
        while request.words & !above.taken != 0 || parts.is_empty() {
            let part = above.part(request)?;
            above.take(&part);
            parts.push(part);
        }
        Some(parts)
    }

    /// Puts the answer to a part into the words of those above: the line of the request, and which of its
    /// words came.
    #[inline]
    pub(super) fn name_above(&self, response: &mut MemResponse) {
        if let Some(above) = &self.above {
            let offset = above.offset(response.line);
            response.line -= u64::from(offset);
            response.words <<= offset / 4;
        }
    }
}
