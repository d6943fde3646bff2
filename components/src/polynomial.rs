//! Polynomials over GF(2), bit `n` for the power `n`, used as divisors in address hashes.

/// Returns the smallest irreducible polynomial of this degree over GF(2).
pub(crate) fn irreducible(degree: u32) -> u64 {
    let first = 1 << degree;
    // Every reducible polynomial has a factor of at most half its degree.
    let factors = 2..1u64 << (degree / 2 + 1);
    // Without a constant term, the power x would be no unit.
    (first + 1..2 * first)
        .step_by(2)
        .find(|&p| factors.clone().all(|f| remainder(p, f) != 0))
        .expect("irreducible polynomials exist for every degree")
}

/// Returns the remainder of a division of polynomials over GF(2).
pub(crate) fn remainder(mut value: u64, divisor: u64) -> u64 {
    let degree = divisor.ilog2();
    while value != 0 && value.ilog2() >= degree {
        value ^= divisor << (value.ilog2() - degree);
    }
    value
}
