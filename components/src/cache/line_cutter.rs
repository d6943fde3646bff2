//! Line cutting: requests for a line, cut for a level below that has shorter lines or answers in
//! parts.

use super::spec::CacheSpec;
use crate::memory::MemRequest;

/// Splits requests for a line into requests to the next level, and defines the parts in which its
/// replies arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineCutter {
    /// Bytes of a line here, and of the longest request for the level below.
    line_bytes: u32,
    request_bytes: u32,
    /// Words of the longest reply.
    reply_words: u32,
    /// Words of each part of a line that an MSHR can request separately.
    unit_words: u32,
    /// True if a line needs several requests.
    cuts: bool,
    /// True if a line may arrive in several replies, in any order.
    splits_replies: bool,
}

impl LineCutter {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        Self {
            line_bytes: spec.line_bytes,
            request_bytes: spec.below_line(),
            reply_words: spec.answer_bytes() / 4,
            unit_words: spec.line_bytes / 4 / spec.units(),
            cuts: spec.cuts() > 1,
            splits_replies: spec.answer_bytes() < spec.line_bytes,
        }
    }

    /// Most requests for one line.
    #[inline]
    pub(super) fn pieces_max(&self) -> u32 {
        self.line_bytes / self.request_bytes
    }

    /// Number of requests into which these words are cut.
    #[inline]
    pub(super) fn pieces(&self, words: u32) -> u32 {
        if !self.cuts {
            return u32::from(words != 0);
        }
        let step = self.request_bytes / 4;
        let piece = u32::MAX >> (32 - step);
        (0..32 / step)
            .filter(|n| words >> (n * step) & piece != 0)
            .count() as u32
    }

    /// Cuts a request that starts with its line; `piece` is given each request and its first word.
    #[inline]
    pub(super) fn cut(&self, request: &MemRequest, mut piece: impl FnMut(u32, MemRequest)) {
        if !self.cuts {
            piece(request.words.trailing_zeros(), *request);
            return;
        }
        let bytes = self.request_bytes;
        let mask = u32::MAX >> (32 - bytes / 4);
        for number in 0..self.line_bytes / bytes {
            let words = request.words >> (number * bytes / 4) & mask;
            if words != 0 {
                let cut = MemRequest {
                    line: request.line + u64::from(number * bytes),
                    words,
                    ..*request
                };
                piece(number * bytes / 4 + words.trailing_zeros(), cut);
            }
        }
    }

    /// Number of the piece of a line that this word is in.
    #[inline]
    pub(super) fn piece_of(&self, word: u32) -> u32 {
        word / (self.request_bytes / 4)
    }

    /// Number of the separately requested part of a line that this word is in.
    #[inline]
    pub(super) fn unit_of(&self, word: u32) -> u32 {
        word / self.unit_words
    }

    /// Tells whether a line may come in several replies, in any order.
    #[inline]
    pub(super) fn splits_replies(&self) -> bool {
        self.splits_replies
    }

    /// Tells whether `words` may come as one reply for a line that lacks `missing`, requested as
    /// part `unit` of it.
    #[inline]
    pub(super) fn is_reply(&self, unit: u32, words: u32, missing: u32) -> bool {
        let whole = self.unit_words * 4 == self.line_bytes;
        words != 0
            && self.unit_of(words.trailing_zeros()) == unit
            && (!whole || self.splits_replies || words == missing)
    }

    /// Address of the part of a line that answers a request in one reply, if one does.
    pub(super) fn only_reply(&self, request: &MemRequest) -> Option<u64> {
        let first = request.words.trailing_zeros() / self.reply_words * self.reply_words;
        let is_one = u64::from(request.words) >> first >> self.reply_words == 0;
        is_one.then(|| request.line + u64::from(first * 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUTTER: LineCutter = LineCutter {
        line_bytes: 32,
        request_bytes: 8,
        reply_words: 2,
        unit_words: 2,
        cuts: true,
        splits_replies: true,
    };

    #[test]
    fn a_request_is_cut_at_the_lines_below() {
        let request = MemRequest::read(7, 64, 0b1010_0110);
        let mut pieces = Vec::new();
        CUTTER.cut(&request, |word, piece| {
            pieces.push((word, piece.line, piece.words));
        });
        let expected = [(1, 64, 0b10), (2, 72, 0b01), (5, 80, 0b10), (7, 88, 0b10)];
        assert_eq!(pieces, expected);
        assert_eq!(CUTTER.pieces(request.words), 4);
        assert_eq!(CUTTER.pieces(0b1100), 1);
        let whole = LineCutter {
            request_bytes: 32,
            cuts: false,
            ..CUTTER
        };
        whole.cut(&request, |word, piece| {
            assert_eq!((word, piece), (1, request));
        });
        assert_eq!((whole.pieces(0), whole.pieces(request.words)), (0, 1));
    }

    #[test]
    fn a_reply_brings_words_of_the_part_that_was_requested() {
        assert!(CUTTER.is_reply(1, 0b1100, 0xff));
        assert!(!CUTTER.is_reply(0, 0b1100, 0xff));
        assert!(!CUTTER.is_reply(0, 0, 0xff));
        let whole = LineCutter {
            unit_words: 8,
            splits_replies: false,
            ..CUTTER
        };
        assert!(whole.is_reply(0, 0xff, 0xff));
        assert!(!whole.is_reply(0, 0x0f, 0xff));
        let request = |words| MemRequest::read(0, 64, words);
        assert_eq!(CUTTER.only_reply(&request(0b1100)), Some(72));
        assert_eq!(CUTTER.only_reply(&request(0b0110)), None);
    }
}
