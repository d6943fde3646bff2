//! Values of registers during symbolic evaluation.

use std::rc::Rc;

use crate::cause::Cause;
use crate::domain::Conjunction;
use crate::form::Form;
use crate::symbol::Symbols;

/// Cases that a value or a condition may have.
pub(crate) const CASES_MAX: usize = 16;

/// Alternatives of which one holds: each is a conjunction.
pub(crate) type Cases = Vec<Conjunction>;

/// Range that a form must keep to, or a value derived from it is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obligation {
    pub(crate) form: Form,
    pub(crate) range: (i128, i128),
    pub(crate) line: u32,
}

/// One alternative of a value, with its condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Alternative {
    /// The register holds this number modulo two to its width.
    pub(crate) form: Form,
    /// Constraints under which the alternative holds.
    pub(crate) when: Conjunction,
    /// Ranges that are still to be proven where the value is used.
    pub(crate) pending: Vec<Obligation>,
}

/// Value of a register at one place of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// One of several forms, by the condition of each.
    Known(Known),
    /// Bits of two values combined by `or`: negative if one of them is.
    Either(Rc<Value>, Rc<Value>),
    /// Predicate with the cases in which it holds and does not.
    Predicate(Predicate),
    Unknown(Cause),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Width of the register: 16, 32 or 64.
    pub(crate) bits: u32,
    pub(crate) list: Vec<Alternative>,
    /// True if exactly those alternatives occur whose constraints hold.
    pub(crate) is_exact: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Predicate {
    /// Cases in which it is true; absent if they are not known.
    pub(crate) yes: Option<Cases>,
    pub(crate) no: Option<Cases>,
}

impl Predicate {
    pub(crate) fn negated(self) -> Self {
        Self {
            yes: self.no,
            no: self.yes,
        }
    }

    pub(crate) fn cases(&self, holds: bool) -> Option<&Cases> {
        if holds {
            self.yes.as_ref()
        } else {
            self.no.as_ref()
        }
    }
}

impl Known {
    pub(crate) fn of(bits: u32, form: Form) -> Self {
        let alternative = Alternative {
            form: form.reduced(bits),
            ..Alternative::default()
        };
        Self {
            bits,
            list: vec![alternative],
            is_exact: true,
        }
    }

    /// Returns the only value, if it is a number without conditions.
    pub(crate) fn as_number(&self) -> Option<i128> {
        match &self.list[..] {
            [one] if one.when.is_empty() && one.pending.is_empty() && self.is_exact => {
                one.form.as_number()
            }
            _ => None,
        }
    }

    /// Combines two values case by case.
    pub(crate) fn combined(
        &self,
        other: &Self,
        symbols: &Symbols,
        bits: u32,
        line: u32,
        combine: impl Fn(&Form, &Form) -> Option<Form>,
    ) -> Value {
        let mut list = Vec::new();
        for a in &self.list {
            for b in &other.list {
                let Some(when) = both(symbols, &a.when, &b.when) else {
                    continue;
                };
                let Some(form) = combine(&a.form, &b.form) else {
                    return Value::Unknown(Cause::NotLinear { line });
                };
                let mut pending = a.pending.clone();
                pending.extend(b.pending.iter().cloned());
                pending.dedup();
                list.push(Alternative {
                    form: form.reduced(bits),
                    when,
                    pending,
                });
            }
        }
        of_list(bits, list, self.is_exact && other.is_exact, line)
    }

    /// Maps the form of every alternative of the value.
    pub(crate) fn mapped(
        &self,
        bits: u32,
        line: u32,
        map: impl Fn(&Form) -> Option<Form>,
    ) -> Value {
        let mut list = Vec::new();
        for a in &self.list {
            let Some(form) = map(&a.form) else {
                return Value::Unknown(Cause::NotLinear { line });
            };
            list.push(Alternative {
                form: form.reduced(bits),
                when: a.when.clone(),
                pending: a.pending.clone(),
            });
        }
        of_list(bits, list, self.is_exact, line)
    }
}

/// Makes a value of alternatives; those that are equal count once.
pub(crate) fn of_list(bits: u32, list: Vec<Alternative>, is_exact: bool, line: u32) -> Value {
    let mut kept: Vec<Alternative> = Vec::with_capacity(list.len());
    for alternative in list {
        if !kept.contains(&alternative) {
            kept.push(alternative);
        }
    }
    if kept.len() > CASES_MAX {
        let max = CASES_MAX;
        return Value::Unknown(Cause::Cases { max, line });
    }
    Value::Known(Known {
        bits,
        list: kept,
        is_exact,
    })
}

/// Joins two conjunctions; `None` if a range alone shows that they exclude each other.
pub(crate) fn both(symbols: &Symbols, a: &[Form], b: &[Form]) -> Option<Conjunction> {
    let mut all = a.to_vec();
    for form in b {
        if !add(symbols, &mut all, form.clone()) {
            return None;
        }
    }
    Some(all)
}

/// Adds a constraint unless it always holds; false if it never does.
pub(crate) fn add(symbols: &Symbols, all: &mut Conjunction, form: Form) -> bool {
    if let Some((low, high)) = symbols.interval(&form) {
        if high < 0 {
            return false;
        }
        if low >= 0 {
            return true;
        }
    }
    for known in all.iter_mut() {
        if known.terms == form.terms {
            known.constant = known.constant.min(form.constant);
            return true;
        }
        let opposite = known.terms.len() == form.terms.len()
            && known
                .terms
                .iter()
                .zip(&form.terms)
                .all(|(a, b)| a.0 == b.0 && a.1 == -b.1);
        if opposite && known.constant.saturating_add(form.constant) < 0 {
            return false;
        }
    }
    all.push(form);
    true
}

/// Conjunction of cases; `None` if there are too many.
pub(crate) fn all_of(symbols: &Symbols, a: &Cases, b: &Cases) -> Option<Cases> {
    let mut cases = Cases::new();
    for x in a {
        for y in b {
            if let Some(joined) = both(symbols, x, y)
                && !cases.contains(&joined)
            {
                cases.push(joined);
            }
        }
    }
    (cases.len() <= CASES_MAX).then_some(cases)
}

/// Disjunction of cases; `None` if there are too many.
pub(crate) fn any_of(a: &Cases, b: &Cases) -> Option<Cases> {
    let mut cases = a.clone();
    for case in b {
        if !cases.contains(case) {
            cases.push(case.clone());
        }
    }
    if cases.iter().any(Vec::is_empty) {
        return Some(vec![Conjunction::new()]);
    }
    (cases.len() <= CASES_MAX).then_some(cases)
}
