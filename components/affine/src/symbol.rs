//! Symbols of affine forms, with the range of values that each can take.

use std::collections::BTreeMap;

use crate::form::{Form, SymbolId};

/// Quantity that a symbol stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// Index of the work-group in the grid, by axis (PTX `%ctaid`).
    Group(usize),
    /// Index of the thread in its work-group, by axis (PTX `%tid`).
    Thread(usize),
    /// Iterations of a loop before the current one; `line` is that of its first instruction.
    Counter { line: u32 },
    /// Address of a variable that the trace does not place.
    Variable { name: String },
    /// Generic address at which the window of local memory starts.
    LocalWindow,
    /// Integral part of a form divided by a positive number, rounded down.
    Quotient { of: Form, by: i128 },
    /// Value of a register at the start of an iteration, while a loop is being explored.
    Carried,
}

#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) kind: SymbolKind,
    pub(crate) low: i128,
    pub(crate) high: i128,
    /// Range is not known yet: values with it are taken not to wrap, which is proven later.
    pub(crate) is_assumed: bool,
    /// Nothing bounds the symbol, so addresses with it are not known.
    pub(crate) is_unbounded: bool,
}

/// Symbols of one launch, by their index.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    list: Vec<Symbol>,
    quotients: BTreeMap<(Form, i128), SymbolId>,
    variables: BTreeMap<String, SymbolId>,
    local_window: Option<SymbolId>,
}

/// Sums below this may be added up without care.
const MODERATE: i128 = 1 << 100;

/// Highest address that a variable is taken to have.
const VARIABLE_MAX: i128 = (1 << 48) - 1;
/// Variables that are followed; addresses of others are not known.
const VARIABLES_MAX: usize = 256;

/// Index of the first symbol of threads; those of work-groups come before.
const THREADS: usize = 3;

impl Symbols {
    /// Creates the symbols of work-groups and threads of a launch.
    pub(crate) fn of(grid: [u32; 3], block: [u32; 3]) -> Self {
        let mut symbols = Self::default();
        for (axis, extent) in grid.into_iter().enumerate() {
            symbols.add(SymbolKind::Group(axis), 0, i128::from(extent) - 1);
        }
        for (axis, extent) in block.into_iter().enumerate() {
            symbols.add(SymbolKind::Thread(axis), 0, i128::from(extent) - 1);
        }
        symbols
    }

    pub(crate) fn group(axis: usize) -> SymbolId {
        SymbolId(axis as u32)
    }

    pub(crate) fn thread(axis: usize) -> SymbolId {
        SymbolId((THREADS + axis) as u32)
    }

    /// True if the symbol is the index of a work-group.
    pub(crate) fn is_group(symbol: SymbolId) -> bool {
        (symbol.0 as usize) < THREADS
    }

    /// Adds a symbol for the address of a variable, if there is none yet.
    pub(crate) fn add_variable(&mut self, name: &str) {
        if self.variables.contains_key(name) || self.variables.len() >= VARIABLES_MAX {
            return;
        }
        let name = name.to_owned();
        let kind = SymbolKind::Variable { name: name.clone() };
        let symbol = self.add(kind, 0, VARIABLE_MAX);
        self.variables.insert(name, symbol);
    }

    /// Returns the symbol for the address of a variable that was added.
    pub(crate) fn variable_named(&self, name: &str) -> Option<SymbolId> {
        self.variables.get(name).copied()
    }

    /// Returns the symbol for the start of the window of local memory; adds it if there is none.
    pub(crate) fn local_window(&mut self) -> SymbolId {
        if let Some(symbol) = self.local_window {
            return symbol;
        }
        let symbol = self.add(SymbolKind::LocalWindow, 0, VARIABLE_MAX);
        self.local_window = Some(symbol);
        symbol
    }

    /// Returns the name of the first variable whose address the form has as a term. The window of
    /// local memory counts as one.
    pub(crate) fn variable(&self, form: &Form) -> Option<&str> {
        let mut terms = form.terms.iter();
        terms.find_map(|&(at, _)| match self.kind(at) {
            SymbolKind::Variable { name } => Some(&name[..]),
            SymbolKind::LocalWindow => Some("window of local memory"),
            _ => None,
        })
    }

    /// Returns the offset of a generic address in the window of local memory, counted from a
    /// variable if it names one. `None` if the address was not made from one of local memory.
    pub(crate) fn offset_in_local_window(&self, form: &Form) -> Option<Form> {
        let mut offset = form.minus(&Form::symbol(self.local_window?))?;
        if let Some(&(at, _)) = (offset.terms.iter())
            .find(|&&(at, _)| matches!(self.kind(at), SymbolKind::Variable { .. }))
        {
            offset = offset.minus(&Form::symbol(at))?;
        }
        self.variable(&offset).is_none().then_some(offset)
    }

    pub(crate) fn add(&mut self, kind: SymbolKind, low: i128, high: i128) -> SymbolId {
        self.list.push(Symbol {
            kind,
            low,
            high: high.max(low),
            is_assumed: false,
            is_unbounded: false,
        });
        SymbolId(self.list.len() as u32 - 1)
    }

    pub(crate) fn get(&self, symbol: SymbolId) -> &Symbol {
        &self.list[symbol.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, symbol: SymbolId) -> &mut Symbol {
        &mut self.list[symbol.0 as usize]
    }

    /// Returns the quantity that a symbol stands for.
    pub fn kind(&self, symbol: SymbolId) -> &SymbolKind {
        &self.get(symbol).kind
    }

    /// Returns the symbol of a form divided by a positive number.
    pub(crate) fn quotient(&mut self, of: Form, by: i128) -> Option<SymbolId> {
        let key = (of, by);
        if let Some(&known) = self.quotients.get(&key) {
            return Some(known);
        }
        let (low, high) = self.interval(&key.0)?;
        let is_assumed = self.is_assumed(&key.0);
        let is_unbounded = self.is_unbounded(&key.0);
        let (of, by) = key.clone();
        let kind = SymbolKind::Quotient { of, by };
        let symbol = self.add(kind, low.div_euclid(by), high.div_euclid(by));
        let added = self.get_mut(symbol);
        added.is_assumed = is_assumed;
        added.is_unbounded = is_unbounded;
        // The range of one that is assumed is not known yet; it is not found again.
        if !is_assumed {
            self.quotients.insert(key, symbol);
        }
        Some(symbol)
    }

    /// Returns the bounds of a form over the ranges of its symbols.
    pub(crate) fn interval(&self, form: &Form) -> Option<(i128, i128)> {
        Self::interval_in(form, |symbol| {
            let known = self.get(symbol);
            (known.low, known.high)
        })
    }

    /// Like [`Symbols::interval`], with ranges other than those of the symbols.
    fn interval_in(form: &Form, range: impl Fn(SymbolId) -> (i128, i128)) -> Option<(i128, i128)> {
        let (mut low, mut high) = (form.constant, form.constant);
        for &(symbol, factor) in &form.terms {
            let (least, most) = range(symbol);
            let (a, b) = (factor.checked_mul(least)?, factor.checked_mul(most)?);
            low = low.checked_add(a.min(b))?;
            high = high.checked_add(a.max(b))?;
        }
        Some((low, high))
    }

    /// True if no sum of the form's terms comes near the end of 128 bits.
    pub(crate) fn is_moderate(&self, form: &Form) -> bool {
        let mut sum = form.constant.abs();
        for &(symbol, factor) in &form.terms {
            let known = self.get(symbol);
            let most = known.low.abs().max(known.high.abs());
            let Some(term) = factor.abs().checked_mul(most) else {
                return false;
            };
            sum = sum.saturating_add(term);
        }
        sum < MODERATE
    }

    /// True if the form has a symbol whose range is not known yet.
    pub(crate) fn is_assumed(&self, form: &Form) -> bool {
        form.terms.iter().any(|&(at, _)| self.get(at).is_assumed)
    }

    /// True if the form has a symbol, other than this one, whose range is not known yet.
    pub(crate) fn is_assumed_beside(&self, form: &Form, other: SymbolId) -> bool {
        let mut terms = form.terms.iter();
        terms.any(|&(at, _)| at != other && self.get(at).is_assumed)
    }

    /// Returns the number of symbols created so far.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// True if the form has a symbol without bounds.
    pub(crate) fn is_unbounded(&self, form: &Form) -> bool {
        form.terms.iter().any(|&(at, _)| self.get(at).is_unbounded)
    }

    /// Returns 0 ≤ remainder < divisor of a quotient symbol as two forms that are at least 0.
    pub(crate) fn definition(&self, symbol: SymbolId) -> Option<[Form; 2]> {
        let SymbolKind::Quotient { of, by } = &self.list.get(symbol.0 as usize)?.kind else {
            return None;
        };
        let remainder = of.plus_times(&Form::symbol(symbol), -by)?;
        let rest = Form::number(by - 1).minus(&remainder)?;
        Some([remainder, rest])
    }

    /// Appends the definitions of all quotients that the forms use, directly or not.
    pub(crate) fn close(&self, forms: &mut Vec<Form>) {
        let mut seen = Vec::new();
        let mut at = 0;
        while at < forms.len() {
            let symbols: Vec<_> = forms[at].terms.iter().map(|&(symbol, _)| symbol).collect();
            for symbol in symbols {
                if !seen.contains(&symbol) {
                    seen.push(symbol);
                    forms.extend(self.definition(symbol).into_iter().flatten());
                }
            }
            at += 1;
        }
    }
}
