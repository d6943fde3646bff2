//! Bytes that each work-group accesses by one piece of a reference.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::cause::Cause;
use crate::form::{Form, SymbolId};
use crate::points::Points;
use crate::reference::Piece;
use crate::runs::{self, Runs};
use crate::symbol::Symbols;

/// Classes of work-groups that differ in the threads for which constraints hold.
const CLASSES_MAX: usize = 4096;

/// Set of bytes relative to a base, with its number.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) number: usize,
    pub(crate) runs: Rc<Runs>,
}

/// Bytes that a piece accesses in each work-group.
pub(crate) struct Footprint {
    /// Address of the base: all terms of work-groups.
    base: Form,
    /// Offset from the base: terms of threads and loops.
    offset: Form,
    bytes: i128,
    points: Points,
    classes: BTreeMap<Points, Class>,
    /// The only class, if constraints do not depend on the work-group.
    only: Option<Class>,
}

impl Footprint {
    pub(crate) fn new(symbols: &Symbols, piece: &Piece, bytes: u32) -> Self {
        let mut rows = piece.when.clone();
        rows.push(piece.form.clone());
        let whole = rows.len();
        symbols.close(&mut rows);
        rows.remove(whole - 1);
        let (mut base, mut offset) = (Form::number(piece.form.constant()), Form::default());
        for &(symbol, factor) in piece.form.terms() {
            let part = if Symbols::is_group(symbol) {
                &mut base
            } else {
                &mut offset
            };
            part.terms.push((symbol, factor));
        }
        let mut used: Vec<SymbolId> = Vec::new();
        for form in rows.iter().chain([&offset]) {
            used.extend(form.terms().iter().map(|&(symbol, _)| symbol));
        }
        used.sort_unstable();
        used.dedup();
        used.retain(|&symbol| !Symbols::is_group(symbol));
        let ranges = used.into_iter().map(|symbol| {
            let known = symbols.get(symbol);
            (symbol, known.low, known.high)
        });
        Self {
            base,
            offset,
            bytes: bytes.max(1).into(),
            points: Points {
                ranges: ranges.collect(),
                rows,
            },
            classes: BTreeMap::new(),
            only: None,
        }
    }

    /// Returns the address of a work-group's base.
    pub(crate) fn base(&self, group: [u32; 3]) -> i128 {
        at(&self.base, group).constant()
    }

    /// Returns the bytes of a work-group relative to its base; `None` if it accesses none.
    pub(crate) fn class(&mut self, group: [u32; 3]) -> Result<Option<Class>, Cause> {
        if let Some(only) = &self.only {
            return Ok(Some(only.clone()));
        }
        let depends = |row: &Form| row.terms().iter().any(|&(at, _)| Symbols::is_group(at));
        let is_only = !self.points.rows.iter().any(depends);
        let Some(points) = self.points(group) else {
            return Ok(None);
        };
        if let Some(known) = self.classes.get(&points) {
            return Ok(Some(known.clone()));
        }
        let number = self.classes.len();
        if number >= CLASSES_MAX {
            return Err(Cause::TooLarge);
        }
        let runs = Rc::new(self.runs(&points)?);
        let class = Class { number, runs };
        self.classes.insert(points, class.clone());
        if is_only {
            self.only = Some(class.clone());
        }
        Ok(Some(class))
    }

    /// Returns the points of a work-group; `None` if there are none.
    pub(crate) fn points(&self, group: [u32; 3]) -> Option<Points> {
        let mut points = self.points.clone();
        for row in &mut points.rows {
            *row = at(row, group);
        }
        points.tighten().then_some(points)
    }

    /// Returns the offset from the base, and the bytes of an access.
    pub(crate) fn offset(&self) -> (&Form, i128) {
        (&self.offset, self.bytes)
    }

    fn runs(&self, points: &Points) -> Result<Runs, Cause> {
        let is_coupled = |symbol| points.rows.iter().any(|row| row.coefficient(symbol) != 0);
        let mut start = 0_i128;
        let mut free: Vec<(i128, i128)> = Vec::new();
        for &(symbol, low, high) in &points.ranges {
            let factor = self.offset.coefficient(symbol);
            if factor != 0 && !is_coupled(symbol) {
                start += factor * low;
                free.push((factor, high - low + 1));
            }
        }
        free.sort_unstable_by_key(|&(factor, _)| factor.abs());
        let mut base = vec![(start, start + self.bytes)];
        for (factor, count) in free {
            base = runs::repeated(&base, factor, count)?;
        }
        if points.rows.is_empty() {
            return Ok(base);
        }
        let mut all = Runs::new();
        let mut failed = None;
        points.each(|assigned, last, (low, high)| {
            let mut shift = 0;
            for &(symbol, value) in assigned {
                shift += self.offset.coefficient(symbol) * value;
            }
            let factor = self.offset.coefficient(last);
            let (first, count) = if factor == 0 {
                (0, 1)
            } else {
                (low, high - low + 1)
            };
            match runs::repeated(&base, factor, count) {
                Ok(set) => {
                    let shift = shift + factor * first;
                    all.extend(set.iter().map(|&(a, b)| (a + shift, b + shift)));
                }
                Err(cause) => failed = Some(cause),
            }
            if all.len() > 4 * runs::RUNS_MAX {
                all = runs::merged(std::mem::take(&mut all));
                if all.len() > runs::RUNS_MAX {
                    failed = Some(Cause::Ranges {
                        max: runs::RUNS_MAX,
                    });
                }
            }
            failed.is_some()
        })?;
        match failed {
            Some(cause) => Err(cause),
            None => Ok(runs::merged(all)),
        }
    }
}

/// Puts the place of a work-group into a form.
fn at(form: &Form, group: [u32; 3]) -> Form {
    let mut constant = form.constant;
    let mut terms = Vec::with_capacity(form.terms.len());
    for &(symbol, factor) in &form.terms {
        if Symbols::is_group(symbol) {
            let index = group[symbol.0 as usize];
            constant = constant.saturating_add(factor.saturating_mul(index.into()));
        } else {
            terms.push((symbol, factor));
        }
    }
    Form { terms, constant }
}
