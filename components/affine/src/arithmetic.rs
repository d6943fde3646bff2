//! Products, quotients, masks and comparisons of values.

use warpweave_trace::Operand;

use crate::cause::Cause;
use crate::decode::{Comparison, Decoded, Part};
use crate::domain;
use crate::eval::Evaluator;
use crate::form::Form;
use crate::state::{State, known};
use crate::value::{self, Alternative, Cases, Known, Predicate, Value};

impl Evaluator<'_> {
    pub(crate) fn product(
        &mut self,
        part: Part,
        decoded: Decoded,
        a: &Known,
        b: &Known,
        line: u32,
    ) -> Result<Value, Cause> {
        let times = |a: &Form, b: &Form| match (a.as_number(), b.as_number()) {
            (_, Some(number)) => a.times(number),
            (Some(number), _) => b.times(number),
            _ => None,
        };
        let Decoded {
            bits, is_signed, ..
        } = decoded;
        if part == Part::Low {
            return Ok(a.combined(b, &self.symbols, bits, line, times));
        }
        let a = self.widened(a, bits, is_signed, line);
        let b = self.widened(b, bits, is_signed, line);
        let product = a.combined(&b, &self.symbols, 2 * bits, line, times);
        if part == Part::Wide {
            return Ok(product);
        }
        let product = known(Some(&product), 2 * bits, line)?;
        self.divided(&product, 1 << bits, bits, line)
    }

    /// Divides a value by a positive number and rounds down.
    pub(crate) fn divided(
        &mut self,
        value: &Known,
        by: i128,
        bits: u32,
        line: u32,
    ) -> Result<Value, Cause> {
        let mut list = Vec::new();
        for alternative in &value.list {
            let form = self.quotient(&alternative.form, by);
            let form = form.ok_or(Cause::NotLinear { line })?;
            list.push(Alternative {
                form: form.reduced(bits),
                ..alternative.clone()
            });
        }
        Ok(value::of_list(bits, list, value.is_exact, line))
    }

    /// Returns a form divided by a positive number, rounded down.
    fn quotient(&mut self, form: &Form, by: i128) -> Option<Form> {
        let (mut whole, mut rest) = (Form::default(), Form::default());
        for &(symbol, factor) in form.terms() {
            let one = Form::symbol(symbol);
            if factor % by == 0 {
                whole = whole.plus_times(&one, factor / by)?;
            } else {
                rest = rest.plus_times(&one, factor)?;
            }
        }
        whole = whole.shifted(form.constant().div_euclid(by));
        rest = rest.shifted(form.constant().rem_euclid(by));
        let (low, high) = self.symbols.interval(&rest)?;
        let first = low.div_euclid(by);
        if !self.symbols.is_assumed(&rest) && first == high.div_euclid(by) {
            return Some(whole.shifted(first));
        }
        let quotient = self.symbols.quotient(rest, by)?;
        whole.plus(&Form::symbol(quotient))
    }

    /// Evaluates a bitwise `and`: a mask of low bits is a remainder.
    pub(crate) fn masked(
        &mut self,
        a: &Known,
        b: &Known,
        bits: u32,
        line: u32,
    ) -> Result<Value, Cause> {
        let (value, mask) = match (a.as_number(), b.as_number()) {
            (Some(a), Some(b)) => return Ok(Value::Known(Known::of(bits, Form::number(a & b)))),
            (Some(mask), None) => (b, mask),
            (None, Some(mask)) => (a, mask),
            (None, None) => return Err(Cause::NotLinear { line }),
        };
        let mask = mask.rem_euclid(1 << bits);
        let below = |size: i128| size > 0 && size & (size - 1) == 0;
        let (size, keeps_low) = if below(mask + 1) {
            (mask + 1, true)
        } else if below((1 << bits) - mask) {
            ((1 << bits) - mask, false)
        } else {
            return Err(Cause::NotLinear { line });
        };
        let mut list = Vec::new();
        for alternative in &value.list {
            let not_linear = || Cause::NotLinear { line };
            let quotient = self
                .quotient(&alternative.form, size)
                .ok_or_else(not_linear)?;
            let high = quotient.times(size).ok_or_else(not_linear)?;
            let form = if keeps_low {
                alternative.form.minus(&high).ok_or_else(not_linear)?
            } else {
                high
            };
            list.push(Alternative {
                form: form.reduced(bits),
                ..alternative.clone()
            });
        }
        Ok(value::of_list(bits, list, value.is_exact, line))
    }

    /// Evaluates a bitwise `or`: an addition where no bit can be common.
    pub(crate) fn either(
        &self,
        operands: &[Operand],
        bits: u32,
        state: &State,
        line: u32,
    ) -> Result<Value, Cause> {
        let [_, a, b] = operands else {
            return Err(Cause::NoOperands);
        };
        let values = [a, b].map(|operand| self.value_of(operand, bits, state, line));
        let [a, b] = values;
        let (a, b) = (a?, b?);
        if let (Value::Known(x), Value::Known(y)) = (&a, &b) {
            if let (Some(x), Some(y)) = (x.as_number(), y.as_number()) {
                return Ok(Value::Known(Known::of(bits, Form::number(x | y))));
            }
            let sum = |a: &Form, b: &Form| {
                let apart = self.fits_below(a, b) || self.fits_below(b, a);
                if apart { a.plus(b) } else { None }
            };
            let sum = x.combined(y, &self.symbols, bits, line, sum);
            if let Value::Known(_) = &sum {
                return Ok(sum);
            }
        }
        Ok(Value::Either(a.into(), b.into()))
    }

    fn value_of(
        &self,
        operand: &Operand,
        bits: u32,
        state: &State,
        line: u32,
    ) -> Result<Value, Cause> {
        if let Operand::Register(number) = operand
            && let Some(value @ Value::Either(..)) = state.register(*number).map(|value| &**value)
        {
            return Ok(value.clone());
        }
        self.operand(operand, bits, state, line).map(Value::Known)
    }

    /// True if the first form only has bits below the lowest bit of the second.
    fn fits_below(&self, low: &Form, high: &Form) -> bool {
        let step = high
            .terms()
            .iter()
            .fold(high.constant().abs(), |sum, &(_, factor)| {
                domain::gcd(sum, factor.abs())
            });
        if step == 0 {
            return true;
        }
        let step = 1_i128 << step.trailing_zeros().min(100);
        let range = (0, step - 1);
        !self.symbols.is_assumed(low) && domain::lies_in(&self.symbols, low, range, &[])
    }

    /// Returns the smaller or the greater of two values.
    pub(crate) fn extreme(
        &self,
        is_min: bool,
        a: &Known,
        b: &Known,
        decoded: Decoded,
        state: &State,
        line: u32,
    ) -> Result<Value, Cause> {
        let Decoded {
            bits, is_signed, ..
        } = decoded;
        let (a, b) = self.pair((a, b), bits, is_signed, state, line)?;
        let mut list = Vec::new();
        for x in &a.list {
            for y in &b.list {
                let Some(when) = value::both(&self.symbols, &x.when, &y.when) else {
                    continue;
                };
                let above = x.form.minus(&y.form).ok_or(Cause::NotLinear { line })?;
                let below = y.form.minus(&x.form).ok_or(Cause::NotLinear { line })?;
                let (first, second) = if is_min {
                    (below, above.shifted(-1))
                } else {
                    (above, below.shifted(-1))
                };
                for (chosen, limit) in [(x, first), (y, second)] {
                    let mut when = when.clone();
                    if value::add(&self.symbols, &mut when, limit) {
                        list.push(Alternative {
                            form: chosen.form.clone(),
                            when,
                            pending: Vec::new(),
                        });
                    }
                }
            }
        }
        Ok(value::of_list(bits, list, a.is_exact && b.is_exact, line))
    }

    /// Takes two values as numbers of a type that owe no proofs.
    fn pair(
        &self,
        (a, b): (&Known, &Known),
        bits: u32,
        is_signed: bool,
        state: &State,
        line: u32,
    ) -> Result<(Known, Known), Cause> {
        let a = self.typed(a, bits, is_signed, state, line)?;
        let b = self.typed(b, bits, is_signed, state, line)?;
        let mut all = a.list.iter().chain(&b.list);
        if all.all(|alternative| self.is_proven(alternative, state)) {
            Ok((a, b))
        } else {
            Err(Cause::Wraps { line })
        }
    }

    /// Compares two operands as numbers of the instruction's type.
    pub(crate) fn compared(
        &self,
        comparison: Comparison,
        (a, b): (&Operand, &Operand),
        decoded: Decoded,
        state: &State,
        line: u32,
    ) -> Result<Predicate, Cause> {
        let Decoded {
            bits, is_signed, ..
        } = decoded;
        let a = self.value_of(a, bits, state, line)?;
        let b = self.operand(b, bits, state, line)?;
        let Value::Known(a) = &a else {
            return self.parts(comparison, &a, &b, decoded, state, line);
        };
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let first = self.pair((a, &b), bits, is_signed, state, line);
        let (a, b) = if is_equality {
            // Equal bits are equal numbers of either type; one may need fewer cases.
            let other = self.pair((a, &b), bits, !is_signed, state, line);
            let cases = |pair: &(Known, Known)| pair.0.list.len() * pair.1.list.len();
            match (first, other) {
                (Ok(first), Ok(other)) if cases(&other) < cases(&first) => other,
                (Ok(first), _) => first,
                (Err(_), other) => other?,
            }
        } else {
            first?
        };
        self.cases(comparison, &a, &b, line)
    }

    /// Returns the cases in which two numbers of a type compare so.
    fn cases(
        &self,
        comparison: Comparison,
        a: &Known,
        b: &Known,
        line: u32,
    ) -> Result<Predicate, Cause> {
        if !a.is_exact || !b.is_exact {
            return Ok(Predicate::default());
        }
        let (mut yes, mut no) = (Some(Cases::new()), Some(Cases::new()));
        for x in &a.list {
            for y in &b.list {
                let Some(when) = value::both(&self.symbols, &x.when, &y.when) else {
                    continue;
                };
                let above = x.form.minus(&y.form).ok_or(Cause::NotLinear { line })?;
                let below = y.form.minus(&x.form).ok_or(Cause::NotLinear { line })?;
                let (less, greater) = (below.shifted(-1), above.shifted(-1));
                let (holds, fails): (Vec<Vec<Form>>, Vec<Vec<Form>>) = match comparison {
                    Comparison::Equal => {
                        (vec![vec![above, below]], vec![vec![less], vec![greater]])
                    }
                    Comparison::NotEqual => {
                        (vec![vec![less], vec![greater]], vec![vec![above, below]])
                    }
                    Comparison::Less => (vec![vec![less]], vec![vec![above]]),
                    Comparison::LessEqual => (vec![vec![below]], vec![vec![greater]]),
                    Comparison::Greater => (vec![vec![greater]], vec![vec![below]]),
                    Comparison::GreaterEqual => (vec![vec![above]], vec![vec![less]]),
                };
                let grow = |cases: Option<Cases>, more: &[Vec<Form>]| {
                    let mut cases = cases?;
                    for forms in more {
                        if let Some(case) = value::both(&self.symbols, &when, forms) {
                            cases = value::any_of(&cases, &vec![case])?;
                        }
                    }
                    Some(cases)
                };
                yes = grow(yes, &holds);
                no = grow(no, &fails);
            }
        }
        Ok(Predicate { yes, no })
    }

    /// Compares values combined by `or`: it is negative if one of them is, and 0 if all are.
    fn parts(
        &self,
        comparison: Comparison,
        a: &Value,
        b: &Known,
        decoded: Decoded,
        state: &State,
        line: u32,
    ) -> Result<Predicate, Cause> {
        let (test, holds) = match (comparison, b.as_number()) {
            (Comparison::Less, Some(0)) | (Comparison::LessEqual, Some(-1)) => (Test::Sign, true),
            (Comparison::GreaterEqual, Some(0)) | (Comparison::Greater, Some(-1)) => {
                (Test::Sign, false)
            }
            (Comparison::NotEqual, Some(0)) => (Test::NotZero, true),
            (Comparison::Equal, Some(0)) => (Test::NotZero, false),
            _ => return Err(Cause::NotLinear { line }),
        };
        if test == Test::Sign && !decoded.is_signed {
            return Err(Cause::NotLinear { line });
        }
        let found = self.tested(a, test, decoded, state, line)?;
        Ok(if holds { found } else { found.negated() })
    }

    fn tested(
        &self,
        value: &Value,
        test: Test,
        decoded: Decoded,
        state: &State,
        line: u32,
    ) -> Result<Predicate, Cause> {
        match value {
            Value::Either(a, b) => {
                let a = self.tested(a, test, decoded, state, line)?;
                let b = self.tested(b, test, decoded, state, line)?;
                let yes = a.yes.as_ref().zip(b.yes.as_ref());
                let no = a.no.as_ref().zip(b.no.as_ref());
                Ok(Predicate {
                    yes: yes.and_then(|(a, b)| value::any_of(a, b)),
                    no: no.and_then(|(a, b)| value::all_of(&self.symbols, a, b)),
                })
            }
            Value::Known(known) => {
                let zero = Known::of(decoded.bits, Form::number(0));
                let comparison = match test {
                    Test::Sign => Comparison::Less,
                    Test::NotZero => Comparison::NotEqual,
                };
                let signed = test == Test::Sign || decoded.is_signed;
                let (a, b) = self.pair((known, &zero), decoded.bits, signed, state, line)?;
                self.cases(comparison, &a, &b, line)
            }
            _ => Err(Cause::NotLinear { line }),
        }
    }
}

/// Property of a number that a combination by `or` has if one of its parts has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Test {
    Sign,
    NotZero,
}
