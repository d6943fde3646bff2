//! Linear constraints over integers: proofs that none satisfies them, and bounds of forms.
//!
//! Symbols are eliminated one after the other (Fourier and Motzkin). A row is divided by the
//! greatest common divisor of its coefficients and its constant rounded down, which loses no
//! integer. An answer is a proof; no answer proves nothing.

use std::collections::BTreeMap;

use crate::form::{Form, SymbolId};
use crate::symbol::Symbols;

/// Rows at which an elimination gives up.
const ROWS_MAX: usize = 600;

/// Forms that are all at least 0.
pub(crate) type Conjunction = Vec<Form>;

/// Rows by their symbols, each with the least constant.
struct Rows(BTreeMap<Vec<(SymbolId, i128)>, i128>);

impl Rows {
    /// Adds a row; false if no integer satisfies it.
    fn add(&mut self, form: Form) -> bool {
        let Form {
            mut terms,
            constant,
        } = form;
        if terms.is_empty() {
            return constant >= 0;
        }
        let divisor = terms.iter().fold(0, |sum, &(_, c)| gcd(sum, c.abs()));
        for (_, factor) in &mut terms {
            *factor /= divisor;
        }
        let constant = constant.div_euclid(divisor);
        let known = self.0.entry(terms).or_insert(constant);
        *known = constant.min(*known);
        true
    }
}

pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Result of an elimination of symbols.
enum Left {
    /// Proof that no integers satisfy the rows.
    Nothing,
    /// Rows of the symbol that was kept.
    Rows(Vec<Form>),
}

/// Eliminates all symbols but one; `None` if there are too many rows.
fn eliminated(symbols: &Symbols, forms: &[Form], kept: Option<SymbolId>) -> Option<Left> {
    let mut forms = forms.to_vec();
    symbols.close(&mut forms);
    let mut rows = Rows(BTreeMap::new());
    let mut left: Vec<SymbolId> = Vec::new();
    for form in &forms {
        left.extend(form.terms.iter().map(|&(symbol, _)| symbol));
    }
    left.sort_unstable();
    left.dedup();
    left.retain(|&symbol| Some(symbol) != kept);
    for &symbol in &left {
        let known = symbols.get(symbol);
        let one = Form::symbol(symbol);
        forms.push(one.shifted(-known.low));
        forms.push(Form::number(known.high).minus(&one)?);
    }
    for form in forms {
        if !rows.add(form) {
            return Some(Left::Nothing);
        }
    }
    while !left.is_empty() {
        let cost = |symbol: SymbolId| {
            let (mut up, mut down) = (0_usize, 0_usize);
            for terms in rows.0.keys() {
                match terms.iter().find(|&&(at, _)| at == symbol) {
                    Some(&(_, factor)) if factor > 0 => up += 1,
                    Some(_) => down += 1,
                    None => {}
                }
            }
            up * down
        };
        let (at, _) = left.iter().enumerate().min_by_key(|&(_, &s)| cost(s))?;
        let symbol = left.swap_remove(at);
        let mut next = Rows(BTreeMap::new());
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for (terms, constant) in rows.0 {
            let form = Form { terms, constant };
            match form.coefficient(symbol) {
                0 => {
                    next.add(form);
                }
                factor if factor > 0 => up.push((factor, form)),
                factor => down.push((-factor, form)),
            }
        }
        for (a, above) in &up {
            for (b, below) in &down {
                let divisor = gcd(*a, *b);
                let row = above.times(b / divisor)?.plus_times(below, a / divisor)?;
                if !next.add(row) {
                    return Some(Left::Nothing);
                }
            }
        }
        if next.0.len() > ROWS_MAX {
            return None;
        }
        rows = next;
    }
    let rows = rows.0.into_iter();
    let rows = rows.map(|(terms, constant)| Form { terms, constant });
    Some(Left::Rows(rows.collect()))
}

/// True if it is proven that no integers satisfy all constraints.
pub(crate) fn is_empty(symbols: &Symbols, forms: &[Form]) -> bool {
    let impossible = |form: &Form| symbols.interval(form).is_some_and(|(_, high)| high < 0);
    forms.iter().any(impossible) || matches!(eliminated(symbols, forms, None), Some(Left::Nothing))
}

/// True if it is proven that the form lies in a range wherever the constraints hold.
pub(crate) fn lies_in(
    symbols: &Symbols,
    form: &Form,
    (low, high): (i128, i128),
    when: &[Form],
) -> bool {
    let (mut is_above, mut is_below) = (false, false);
    if let Some((least, most)) = symbols.interval(form) {
        (is_above, is_below) = (least >= low, most <= high);
    }
    let refuted = |form: Option<Form>| {
        let mut all = when.to_vec();
        form.is_some_and(|form| {
            all.push(form);
            is_empty(symbols, &all)
        })
    };
    is_above = is_above || refuted(Form::number(low - 1).minus(form));
    is_above && (is_below || refuted(Some(form.shifted(-high - 1))))
}

/// Name of a bounded form; no launch has as many symbols.
const NAME: SymbolId = SymbolId(u32::MAX);

/// Returns an upper bound of the form wherever the constraints hold.
pub(crate) fn upper_bound(symbols: &Symbols, form: &Form, when: &[Form]) -> Option<i128> {
    let boxed = symbols.interval(form).map(|(_, high)| high);
    let mut forms = when.to_vec();
    forms.push(form.minus(&Form::symbol(NAME))?);
    let found = match eliminated(symbols, &forms, Some(NAME)) {
        Some(Left::Rows(rows)) => rows
            .iter()
            .filter(|row| row.coefficient(NAME) < 0)
            .map(|row| row.constant.div_euclid(-row.coefficient(NAME)))
            .min(),
        _ => None,
    };
    match (found, boxed) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol::SymbolKind;

    /// Symbols x and y from 0 to 9.
    fn symbols() -> (Symbols, Form, Form) {
        let mut symbols = Symbols::of([10, 10, 1], [1; 3]);
        let counter = SymbolKind::Counter { line: 1 };
        symbols.add(counter, 0, 5);
        let (x, y) = (Symbols::group(0), Symbols::group(1));
        (symbols, Form::symbol(x), Form::symbol(y))
    }

    #[test]
    fn constraints_that_exclude_each_other_are_found_empty() {
        let (symbols, x, y) = symbols();
        let above = x.minus(&y).unwrap().shifted(-1);
        let below = y.minus(&x).unwrap().shifted(-1);
        assert!(is_empty(&symbols, &[above.clone(), below]));
        assert!(!is_empty(&symbols, &[above]));
        // 2x = 2y + 1 has rational solutions alone.
        let odd = x.times(2).unwrap().minus(&y.times(2).unwrap()).unwrap();
        let rows = [odd.shifted(-1), Form::number(1).minus(&odd).unwrap()];
        assert!(is_empty(&symbols, &rows));
    }

    #[test]
    fn bounds_follow_from_constraints_on_sums() {
        let (symbols, x, y) = symbols();
        let sum = x.plus(&y).unwrap();
        let positive = sum.shifted(-1);
        let scaled = sum.times(7).unwrap().shifted(-7);
        assert!(lies_in(&symbols, &scaled, (0, 200), &[positive]));
        assert!(!lies_in(&symbols, &scaled, (0, 200), &[]));
        let limit = Form::number(4).minus(&sum).unwrap();
        assert_eq!(upper_bound(&symbols, &scaled, &[limit]), Some(21));
        assert_eq!(upper_bound(&symbols, &x, &[]), Some(9));
    }

    #[test]
    fn quotients_are_bounded_by_what_they_divide() {
        let (mut symbols, x, y) = symbols();
        let sum = x.plus_times(&y, 10).unwrap();
        let quotient = Form::symbol(symbols.quotient(sum.clone(), 7).unwrap());
        let rest = sum.plus_times(&quotient, -7).unwrap();
        assert!(lies_in(&symbols, &rest, (0, 6), &[]));
    }
}
