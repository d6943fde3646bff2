//! Byte code of wavefront streams. Tokens apply to the instruction after the previous one.
//!
//! ```text
//!   0nnnnnnn                   run: n + 1 instructions one after another, without addresses
//!   10ssffff .cpppwww delta    access: base register s, form f; space p, continues c, width code w
//!   11000www value             jump: the next pc moves by the value
//!   11001000                   swap the mask with the one before it
//!   11001001 mask[4]           new mask; the old one becomes the one before it
//!   11001010 n[4]              long run of n + 1 instructions
//!   11010000                   reserved: late-bound record, whose addresses follow from what ran before
//!   11010001                   reserved: loop operand, a part of the stream that is repeated
//!   11010010                   reserved: barrier transaction, an arrival that counts bytes
//!   11010011                   reserved: bulk copy, many lines by one record
//! ```
//!
//! A stream with a reserved token is rejected because it needs a newer version.
//!
//! Signed values are zigzag-coded little-endian numbers of 0, 1, 2, 3, 4, 5, 6 or 8 bytes. One
//! masked 8-byte read decodes any of them, and every 64-bit value has a code. A stream has four
//! base registers. An access adds its delta to one of them and leaves the sum there. The sum is the
//! address of lane 0 (of the first active lane in a list). The other forms of an access follow:
//!
//! ```text
//!   form 12, stride: .....www step              address = base + step * lane
//!   form 13, rows:   kkwwwvvv step[w] pitch[v]  address = base + step * (lane mod 2^(k+1))
//!                                                              + pitch * (lane div 2^(k+1))
//!   form 14, list:   ..hhhwww value[w]...       one value per further active lane, shifted left
//!                                               by h and added to the address before it
//! ```
//!
//! The encoding is canonical: equal record sequences give equal bytes. The content hash depends on
//! that, so any change of the writer's choices needs a new [`ENCODING_VERSION`].

/// Version of the byte code and of the writer's encoding choices.
pub(crate) const ENCODING_VERSION: u32 = 1;

/// Bytes that must follow the last stream, so that a whole window can be read at any token.
pub(crate) const PADDING: usize = 16;

pub(crate) const ACCESS: u8 = 0x80;
pub(crate) const JUMP: u8 = 0xC0;
pub(crate) const SWAP_MASK: u8 = 0xC8;
pub(crate) const SET_MASK: u8 = 0xC9;
pub(crate) const LONG_RUN: u8 = 0xCA;

/// Tokens reserved for a later version: first byte and the feature it introduces.
pub(crate) const RESERVED: [(u8, &str); 4] = [
    (0xD0, "late-bound record"),
    (0xD1, "loop operand"),
    (0xD2, "barrier transaction"),
    (0xD3, "bulk copy"),
];

/// Maximum length of a one-byte run token, minus one.
pub(crate) const SHORT_RUN_MAX: u32 = 0x7F;

pub(crate) const FORM_NONE: u8 = 0;
pub(crate) const FORM_UNIFORM: u8 = 1;
pub(crate) const FORM_STRIDE: u8 = 12;
pub(crate) const FORM_ROWS: u8 = 13;
pub(crate) const FORM_LIST: u8 = 14;

/// Steps with a form of their own, mostly element sizes. The entries of other forms are unused.
pub(crate) const STEPS: [i64; 16] = [0, 0, 1, 2, 4, 8, 12, 16, 32, 64, 128, -4, 0, 0, 0, 0];
/// Range of forms whose step is in [`STEPS`].
pub(crate) const STEP_FORMS: std::ops::Range<u8> = 2..12;

/// Smallest step with a form of its own.
pub(crate) const LEAST_STEP: i64 = -4;

/// Form of a stride, indexed by its step minus [`LEAST_STEP`].
pub(crate) const FORMS_BY_STEP: [u8; 133] = {
    let mut forms = [FORM_STRIDE; 133];
    let mut form = STEP_FORMS.start;
    while form < STEP_FORMS.end {
        forms[(STEPS[form as usize] - LEAST_STEP) as usize] = form;
        form += 1;
    }
    forms
};

/// Number of base registers per stream.
pub(crate) const BASES: usize = 4;

/// Number of bytes of a value, indexed by width code.
pub(crate) const WIDTHS: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 8];
/// Bit mask of a value, indexed by width code.
pub(crate) const WIDTH_MASKS: [u64; 8] = [
    0,
    0xFF,
    0xFFFF,
    0xFF_FFFF,
    0xFFFF_FFFF,
    0xFF_FFFF_FFFF,
    0xFFFF_FFFF_FFFF,
    u64::MAX,
];

/// Moves the sign into bit 0, so that small values of either sign become small numbers.
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Converts a [`zigzag`] number back to a signed value.
#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Returns the smallest width code that holds `value`.
#[inline]
pub(crate) fn width_code(value: u64) -> u8 {
    // There is no width of 7 bytes, so 7 and 8 bytes have the last code.
    let bytes = (u64::BITS - value.leading_zeros()).div_ceil(8);
    bytes.min(7) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_every_width_boundary_survive() {
        for bits in 0..64 {
            for value in [
                1_i64 << bits,
                -(1_i64 << bits.min(62)),
                (1_i64 << bits).wrapping_sub(1),
            ] {
                let coded = zigzag(value);
                let code = width_code(coded);
                let length = WIDTHS[usize::from(code)];
                let mut window = [0xAA; 8];
                window[..usize::from(length)]
                    .copy_from_slice(&coded.to_le_bytes()[..usize::from(length)]);
                let read = u64::from_le_bytes(window) & WIDTH_MASKS[usize::from(code)];
                assert_eq!(unzigzag(read), value);
            }
        }
    }

    #[test]
    fn small_values_of_either_sign_take_one_byte_and_zero_takes_none() {
        assert_eq!(width_code(zigzag(0)), 0);
        assert_eq!(width_code(zigzag(127)), 1);
        assert_eq!(width_code(zigzag(-128)), 1);
        assert_eq!(width_code(zigzag(128)), 2);
        assert_eq!(width_code(zigzag(i64::MIN)), 7);
    }
}
