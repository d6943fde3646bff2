//! Integer points of constraints, found by nested enumeration with tight bounds.

use crate::cause::Cause;
use crate::form::{Form, SymbolId};
use crate::runs::RUNS_MAX;

/// Rounds in which ranges are tightened.
const ROUNDS: usize = 6;

/// Symbols with their ranges, and rows that are at least 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Points {
    /// Symbols in ascending order; quotients follow what they divide.
    pub(crate) ranges: Vec<(SymbolId, i128, i128)>,
    pub(crate) rows: Vec<Form>,
}

impl Points {
    /// Tightens the ranges and drops rows that always hold; false if there is no point.
    pub(crate) fn tighten(&mut self) -> bool {
        for _ in 0..ROUNDS {
            let before = self.clone();
            for row in &before.rows {
                for &(symbol, factor) in row.terms() {
                    let Some(rest) = self.most(row, symbol) else {
                        continue;
                    };
                    let Some(place) = self.place(symbol) else {
                        continue;
                    };
                    let (_, low, high) = &mut self.ranges[place];
                    narrow((low, high), factor, rest);
                    if low > high {
                        return false;
                    }
                }
            }
            let rows = std::mem::take(&mut self.rows);
            for row in rows {
                match self.interval(&row) {
                    Some((_, most)) if most < 0 => return false,
                    Some((least, _)) if least >= 0 => {}
                    _ => self.rows.push(row),
                }
            }
            if *self == before {
                break;
            }
        }
        true
    }

    fn place(&self, symbol: SymbolId) -> Option<usize> {
        let found = self.ranges.binary_search_by_key(&symbol, |&(at, _, _)| at);
        found.ok()
    }

    /// Returns the bounds of a row over the ranges.
    fn interval(&self, row: &Form) -> Option<(i128, i128)> {
        let (mut low, mut high) = (row.constant(), row.constant());
        for &(symbol, factor) in row.terms() {
            let (_, least, most) = self.ranges[self.place(symbol)?];
            let (a, b) = (factor.checked_mul(least)?, factor.checked_mul(most)?);
            low = low.checked_add(a.min(b))?;
            high = high.checked_add(a.max(b))?;
        }
        Some((low, high))
    }

    /// Returns the greatest value of a row without one of its symbols.
    fn most(&self, row: &Form, without: SymbolId) -> Option<i128> {
        let mut most = row.constant();
        for &(symbol, factor) in row.terms() {
            if symbol != without {
                let (_, low, high) = self.ranges[self.place(symbol)?];
                let end = if factor > 0 { high } else { low };
                most = most.checked_add(factor.checked_mul(end)?)?;
            }
        }
        Some(most)
    }

    /// Passes on every assignment of the symbols in rows as the values of all but the last, and the
    /// range of the last. Stops at the first for which `each` is true.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(&[(SymbolId, i128)], SymbolId, (i128, i128)) -> bool,
    ) -> Result<bool, Cause> {
        let mut coupled: Vec<SymbolId> = Vec::new();
        for row in &self.rows {
            coupled.extend(row.terms().iter().map(|&(symbol, _)| symbol));
        }
        coupled.sort_unstable();
        coupled.dedup();
        let mut left = RUNS_MAX;
        let mut assigned = Vec::new();
        self.clone()
            .nest(&coupled, &mut assigned, &mut left, &mut each)
    }

    fn nest(
        &mut self,
        coupled: &[SymbolId],
        assigned: &mut Vec<(SymbolId, i128)>,
        left: &mut usize,
        each: &mut impl FnMut(&[(SymbolId, i128)], SymbolId, (i128, i128)) -> bool,
    ) -> Result<bool, Cause> {
        let Some((&symbol, others)) = coupled.split_first() else {
            return Ok(false);
        };
        let Some(place) = self.place(symbol) else {
            return Ok(false);
        };
        let whole = self.ranges[place];
        let (_, mut low, mut high) = whole;
        for row in &self.rows {
            let factor = row.coefficient(symbol);
            if factor != 0
                && let Some(rest) = self.most(row, symbol)
            {
                narrow((&mut low, &mut high), factor, rest);
            }
        }
        *left = left.checked_sub(1).ok_or(Cause::Ranges { max: RUNS_MAX })?;
        if low > high {
            return Ok(false);
        }
        if others.is_empty() {
            return Ok(each(assigned, symbol, (low, high)));
        }
        let mut value = low;
        while value <= high {
            self.ranges[place] = (symbol, value, value);
            assigned.push((symbol, value));
            let ended = self.nest(others, assigned, left, each);
            assigned.pop();
            self.ranges[place] = whole;
            if ended? {
                return Ok(true);
            }
            value += 1;
        }
        Ok(false)
    }
}

/// Narrows a range to where factor × value + rest can be at least 0.
fn narrow((low, high): (&mut i128, &mut i128), factor: i128, rest: i128) {
    if factor > 0 {
        let least = -rest.div_euclid(factor);
        *low = (*low).max(least);
    } else {
        *high = (*high).min(rest.div_euclid(-factor));
    }
}
