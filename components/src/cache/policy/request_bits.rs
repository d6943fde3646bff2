//! Flag bits of requests and responses on which policies of several caches agree.
//!
//! A flag of a request rides with its response, so that a fill shows what the request carried.

/// Request of a line that only the requesting cache shall hold (INC-M6). The next level fetches it
/// without inserting it, and the requester copies it back.
pub const EXCLUSIVE: u16 = 1 << 8;

/// Request of a line that the next level fetches without inserting it (BYP-M5).
pub const BYPASS_L2: u16 = 1 << 9;

/// Response with a line that another compute unit than its owner hit in the next level (INC-M4).
pub const SHARED_REUSE: u16 = 1 << 10;

/// Response with a line that its owner hit in the next level (INC-M4).
pub const PRIVATE_REUSE: u16 = 1 << 11;

/// Request of a line that is inserted although its policy would bypass it, so that its reuse is
/// observed (BYP-M5).
pub const SAMPLED: u16 = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_a_bit_of_its_own_among_those_of_policies() {
        let all = [EXCLUSIVE, BYPASS_L2, SHARED_REUSE, PRIVATE_REUSE, SAMPLED];
        let bits = all.iter().fold(0, |bits, flag| bits | flag);
        assert_eq!(bits, 0b1_1111 << 8);
    }
}
