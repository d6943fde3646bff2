//! FNV-1a hash, 64 bits, for distinguishing names and inputs. Not secure against an adversary.

/// Initial value of the hash, for empty input.
pub const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds `bytes` to a hash. Start from [`FNV_START`] or an earlier result, possibly with a seed
/// mixed in.
#[inline]
pub fn fnv1a(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_vectors() {
        let of = |text: &str| fnv1a(FNV_START, text.bytes());
        assert_eq!(of(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of("foobar"), 0x8594_4171_f739_67e8);
    }
}
