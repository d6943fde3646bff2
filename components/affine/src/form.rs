//! Affine forms: sums of integer multiples of symbols and a constant.

/// Largest magnitude of a coefficient or constant, so that products with ranges fit 128 bits.
const LARGEST: i128 = 1 << 80;

/// Index of a symbol among those of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(crate) u32);

/// Sum of coefficient × symbol and a constant. Terms are sorted by symbol and never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form {
    pub(crate) terms: Vec<(SymbolId, i128)>,
    pub(crate) constant: i128,
}

impl Form {
    /// Creates a form without symbols from a number.
    pub(crate) fn number(constant: i128) -> Self {
        Self {
            terms: Vec::new(),
            constant,
        }
    }

    /// Creates a form of one symbol.
    pub(crate) fn symbol(symbol: SymbolId) -> Self {
        Self {
            terms: vec![(symbol, 1)],
            constant: 0,
        }
    }

    /// Returns the value of a form without symbols.
    pub(crate) fn as_number(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Returns the part that does not depend on symbols.
    pub fn constant(&self) -> i128 {
        self.constant
    }

    /// Returns the symbols with their coefficients, in ascending order of symbols.
    pub fn terms(&self) -> &[(SymbolId, i128)] {
        &self.terms
    }

    /// Returns the coefficient of a symbol, 0 if it is absent.
    pub(crate) fn coefficient(&self, symbol: SymbolId) -> i128 {
        let found = self.terms.binary_search_by_key(&symbol, |&(at, _)| at);
        found.map_or(0, |at| self.terms[at].1)
    }

    /// Adds a multiple of another form; `None` if a number becomes too large.
    pub(crate) fn plus_times(&self, other: &Self, factor: i128) -> Option<Self> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let (symbol, value) = match (a.peek(), b.peek()) {
                (Some(&&(x, c)), Some(&&(y, d))) if x == y => {
                    a.next();
                    b.next();
                    (x, small(c.checked_add(d.checked_mul(factor)?)?)?)
                }
                (Some(&&(x, c)), Some(&&(y, _))) if x < y => {
                    a.next();
                    (x, c)
                }
                (Some(&&(x, c)), None) => {
                    a.next();
                    (x, c)
                }
                (_, Some(&&(y, d))) => {
                    b.next();
                    (y, small(d.checked_mul(factor)?)?)
                }
                (None, None) => break,
            };
            if value != 0 {
                terms.push((symbol, value));
            }
        }
        let constant = other.constant.checked_mul(factor)?;
        let constant = small(self.constant.checked_add(constant)?)?;
        Some(Self { terms, constant })
    }

    pub(crate) fn plus(&self, other: &Self) -> Option<Self> {
        self.plus_times(other, 1)
    }

    pub(crate) fn minus(&self, other: &Self) -> Option<Self> {
        self.plus_times(other, -1)
    }

    pub(crate) fn times(&self, factor: i128) -> Option<Self> {
        Self::default().plus_times(self, factor)
    }

    /// Adds a number that is known to be small.
    pub(crate) fn shifted(&self, by: i128) -> Self {
        Self {
            terms: self.terms.clone(),
            constant: self.constant.saturating_add(by),
        }
    }

    /// Puts a form in the place of a symbol.
    pub(crate) fn substituted(&self, symbol: SymbolId, by: &Self) -> Option<Self> {
        let factor = self.coefficient(symbol);
        if factor == 0 {
            return Some(self.clone());
        }
        self.plus_times(&Self::symbol(symbol), -factor)?
            .plus_times(by, factor)
    }

    /// Reduces numbers that a register of this width cannot tell from smaller ones.
    pub(crate) fn reduced(mut self, bits: u32) -> Self {
        let whole = 1_i128 << bits;
        let reduce = |value: i128| {
            if value.abs() < whole {
                return value;
            }
            let low = value.rem_euclid(whole);
            if low >= whole / 2 { low - whole } else { low }
        };
        for (_, factor) in &mut self.terms {
            *factor = reduce(*factor);
        }
        self.terms.retain(|&(_, factor)| factor != 0);
        self.constant = reduce(self.constant);
        self
    }
}

fn small(value: i128) -> Option<i128> {
    (-LARGEST..=LARGEST).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(terms: &[(u32, i128)], constant: i128) -> Form {
        let terms = terms.iter().map(|&(at, c)| (SymbolId(at), c)).collect();
        Form { terms, constant }
    }

    #[test]
    fn sums_drop_what_cancels_and_stay_sorted() {
        let a = form(&[(0, 4), (2, 1)], 3);
        let b = form(&[(1, 5), (2, -1)], 7);
        assert_eq!(a.plus(&b), Some(form(&[(0, 4), (1, 5)], 10)));
        assert_eq!(a.minus(&a), Some(Form::number(0)));
        let put = a.substituted(SymbolId(0), &form(&[(1, 2)], 1));
        assert_eq!(put, Some(form(&[(1, 8), (2, 1)], 7)));
    }

    #[test]
    fn numbers_that_become_too_large_are_refused() {
        let large = Form::number(1 << 79);
        assert_eq!(large.times(4), None);
        assert_eq!(large.times(i128::MAX), None);
    }

    #[test]
    fn a_register_reduces_what_lies_beyond_its_width() {
        let reduced = form(&[(0, 1 << 32), (1, (1 << 32) + 4)], -(1 << 32)).reduced(32);
        assert_eq!(reduced, form(&[(1, 4)], 0));
        assert_eq!(Form::number((1 << 33) - 1).reduced(32), Form::number(-1));
    }
}
