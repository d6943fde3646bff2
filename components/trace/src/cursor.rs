//! Read position in one wavefront's stream.

use serde::{Deserialize, Serialize};

use crate::encoding::{
    ACCESS, BASES, FORM_LIST, FORM_NONE, FORM_ROWS, FORM_STRIDE, FORM_UNIFORM, JUMP, LONG_RUN,
    SET_MASK, STEP_FORMS, STEPS, SWAP_MASK, WIDTH_MASKS, WIDTHS, unzigzag,
};
use crate::shape::active;
use crate::{LANES, Lanes, Record, Shape, Space};

/// Read position in one wavefront's stream: 64 bytes, cheap to copy for look-ahead and stored in
/// snapshots.
///
/// A cursor belongs to one launch, independent of where its streams are stored. With another launch
/// it returns meaningless records. It does not panic unless that launch drops streams once they are
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Byte offset of the next token in the stream.
    pub(crate) position: u64,
    /// Linear number of the wavefront in the launch.
    pub(crate) stream: u32,
    /// Index of the instruction after the last record's.
    pub(crate) pc: u32,
    /// Number of records left in the current run.
    pub(crate) run: u32,
    mask: u32,
    /// Previous value of `mask`, because divergent code alternates between two masks.
    other: u32,
    bases: [u64; BASES],
}

/// Decodes a signed value in the head of a form, starting at most 9 bytes in. Returns the value and
/// its length in bytes.
#[inline(always)]
fn signed(head: &[u8; 17], at: u8, code: u8) -> (i64, u8) {
    let code = usize::from(code & 7);
    let bytes = head[usize::from(at)..].first_chunk::<8>();
    let word = u64::from_le_bytes(*bytes.unwrap_or(&[0; 8]));
    (unzigzag(word & WIDTH_MASKS[code]), WIDTHS[code])
}

impl Cursor {
    /// Returns the initial state of every stream, which the writer also starts from.
    pub(crate) const fn over(stream: u32) -> Self {
        Self {
            position: 0,
            stream,
            pc: 0,
            run: 0,
            mask: u32::MAX,
            other: 0,
            bases: [0; BASES],
        }
    }

    /// Returns the same state at another byte offset.
    #[inline]
    pub(crate) fn moved_to(self, position: u64) -> Self {
        Self { position, ..self }
    }

    /// Returns the record of a non-memory instruction at the next pc.
    #[inline(always)]
    pub(crate) fn plain(&mut self, lanes: &mut Lanes) -> Record {
        let pc = self.pc;
        self.pc = pc.wrapping_add(1);
        lanes.shape = Shape::None;
        Record {
            pc,
            mask: self.mask,
            space: Space::None,
            continues: false,
        }
    }

    /// Reads tokens up to and including the next record. `data` begins with the stream, which is
    /// `end` bytes long.
    #[inline(always)]
    pub(crate) fn next_token(
        &mut self,
        data: &[u8],
        end: u64,
        lanes: &mut Lanes,
    ) -> Option<Record> {
        while self.position < end {
            let window = data
                .get(self.position as usize..)
                .and_then(<[u8]>::first_chunk::<10>);
            let Some(window) = window else {
                return self.fail();
            };
            let head = window[0];
            if head < ACCESS {
                self.position += 1;
                self.run = u32::from(head);
                return Some(self.plain(lanes));
            }
            if head < JUMP {
                return self.access(data, window, lanes);
            }
            if self.control(window) {
                return Some(self.plain(lanes));
            }
        }
        None
    }

    /// Decodes a memory record with its lane addresses.
    #[inline(always)]
    fn access(&mut self, data: &[u8], window: &[u8; 10], lanes: &mut Lanes) -> Option<Record> {
        let [head, how, delta @ ..] = *window;
        let width = usize::from(how & 7);
        let delta = unzigzag(u64::from_le_bytes(delta) & WIDTH_MASKS[width]);
        let base = &mut self.bases[usize::from(head >> 4) % BASES];
        *base = base.wrapping_add_signed(delta);
        let base = *base;
        self.position += 2 + u64::from(WIDTHS[width]);
        let Some(&space) = Space::ALL.get(usize::from(how >> 3) & 7) else {
            return self.fail();
        };
        let pc = self.pc;
        let continues = how & 0x40 != 0;
        // If it does, the rest of the same instruction follows.
        self.pc = pc.wrapping_add(u32::from(!continues));
        let record = Record {
            pc,
            mask: self.mask,
            space,
            continues,
        };
        let form = head & 0xF;
        if STEP_FORMS.contains(&form) {
            lanes.shape = Shape::Stride {
                base,
                step: STEPS[usize::from(form)],
            };
        } else if form == FORM_UNIFORM {
            lanes.shape = Shape::Uniform(base);
        } else if form == FORM_ROWS {
            let Some(head) = self.head_of_form(data) else {
                return self.fail();
            };
            let (step, step_bytes) = signed(head, 1, head[0] >> 3);
            let (pitch, pitch_bytes) = signed(head, 1 + step_bytes, head[0]);
            self.position += 1 + u64::from(step_bytes) + u64::from(pitch_bytes);
            lanes.shape = Shape::Rows {
                base,
                step,
                pitch,
                row_bits: (head[0] >> 6) + 1,
            };
        } else {
            return self.spelled_out(data, (form, base), lanes, record);
        }
        Some(record)
    }

    /// Returns the longest possible head of a form; the padding guarantees that many bytes.
    #[inline(always)]
    fn head_of_form<'a>(&self, data: &'a [u8]) -> Option<&'a [u8; 17]> {
        data.get(self.position as usize..)?.first_chunk()
    }

    /// Decodes the bytes after the delta in the rarer record forms.
    #[inline(never)]
    fn spelled_out(
        &mut self,
        data: &[u8],
        (form, base): (u8, u64),
        lanes: &mut Lanes,
        record: Record,
    ) -> Option<Record> {
        if form == FORM_NONE {
            lanes.shape = Shape::None;
            return Some(record);
        }
        let Some(head @ [layout, ..]) = self.head_of_form(data) else {
            return self.fail();
        };
        let rest = &data[self.position as usize..];
        lanes.shape = match form {
            FORM_LIST => {
                let read = match WIDTHS[usize::from(layout & 7)] {
                    1 => self.list::<1>(&rest[1..], layout >> 3 & 7, base, lanes),
                    2 => self.list::<2>(&rest[1..], layout >> 3 & 7, base, lanes),
                    3 => self.list::<3>(&rest[1..], layout >> 3 & 7, base, lanes),
                    4 => self.list::<4>(&rest[1..], layout >> 3 & 7, base, lanes),
                    5 => self.list::<5>(&rest[1..], layout >> 3 & 7, base, lanes),
                    6 => self.list::<6>(&rest[1..], layout >> 3 & 7, base, lanes),
                    8 => self.list::<8>(&rest[1..], layout >> 3 & 7, base, lanes),
                    // Of no bytes each.
                    _ => {
                        lanes.list = [base; LANES];
                        Some(0)
                    }
                };
                let Some(bytes) = read else {
                    return self.fail();
                };
                self.position += bytes;
                Shape::List
            }
            FORM_STRIDE => {
                let (step, bytes) = signed(head, 1, *layout);
                self.position += u64::from(bytes);
                Shape::Stride { base, step }
            }
            _ => return self.fail(),
        };
        self.position += 1;
        Some(record)
    }

    /// Decodes a list of differences of `BYTES` bytes each, for the active lanes after the first.
    /// Returns the number of bytes read.
    #[inline]
    fn list<const BYTES: usize>(
        &self,
        data: &[u8],
        shift: u8,
        base: u64,
        lanes: &mut Lanes,
    ) -> Option<u64> {
        let mut differences = data.as_chunks::<BYTES>().0.iter().map(|bytes| {
            let mut word = [0; 8];
            word[..BYTES].copy_from_slice(bytes);
            unzigzag(u64::from_le_bytes(word)) << shift
        });
        let mut address = base;
        if self.mask == u32::MAX {
            let [first, others @ ..] = &mut lanes.list;
            *first = address;
            for place in others {
                address = address.wrapping_add_signed(differences.next()?);
                *place = address;
            }
            return Some((BYTES * (LANES - 1)) as u64);
        }
        let mut active = active(self.mask);
        let first = active.next();
        // An access of no lanes has no list.
        lanes.list[first.unwrap_or(0) as usize] = address;
        let mut bytes = 0;
        for lane in active {
            address = address.wrapping_add_signed(differences.next()?);
            lanes.list[lane as usize] = address;
            bytes += BYTES as u64;
        }
        Some(bytes)
    }

    /// Applies a control token. Returns true if it starts a run.
    #[inline]
    fn control(&mut self, window: &[u8; 10]) -> bool {
        let [head, value @ .., _] = *window;
        let word = u64::from_le_bytes(value);
        self.position += 1;
        match head {
            JUMP..SWAP_MASK => {
                let width = usize::from(head & 7);
                self.position += u64::from(WIDTHS[width]);
                self.pc = self
                    .pc
                    .wrapping_add(unzigzag(word & WIDTH_MASKS[width]) as u32);
            }
            SWAP_MASK => std::mem::swap(&mut self.mask, &mut self.other),
            SET_MASK => {
                self.position += 4;
                self.other = std::mem::replace(&mut self.mask, word as u32);
            }
            LONG_RUN => {
                self.position += 4;
                self.run = word as u32;
                return true;
            }
            _ => {
                self.fail();
            }
        }
        false
    }

    /// Ends a malformed stream. Checked traces contain none; see [`Self::is_malformed`].
    #[cold]
    pub(crate) fn fail(&mut self) -> Option<Record> {
        self.run = 0;
        self.position = u64::MAX;
        None
    }

    /// True if reading stopped at invalid bytes or ran past the end of the stream.
    pub(crate) fn is_malformed(&self, end: u64) -> bool {
        self.position > end
    }
}
