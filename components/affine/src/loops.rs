//! Loops: registers that advance by a constant, and numbers of iterations.
//!
//! A loop is evaluated up to three times. First with an unknown value for each register that it
//! writes, which shows the registers that advance by a constant. Then with those as functions of a
//! counter, which shows how often the loop repeats. At last with the range of the counter, which
//! proves that nothing wrapped around.

use std::rc::Rc;

use crate::cause::Cause;
use crate::domain;
use crate::eval::{Edges, Evaluator, SYMBOLS_MAX};
use crate::form::{Form, SymbolId};
use crate::state::{REGISTERS, State};
use crate::symbol::{SymbolKind, Symbols};
use crate::value::{self, Alternative, Cases, Known, Value};

/// Highest count of iterations that a loop is taken to have.
const ITERATIONS_MAX: i128 = 1 << 40;

/// Number of times that a loop repeats.
enum Trips {
    /// The last iteration has this number, counted from 0.
    Last(i128),
    /// An iteration is followed by another where the form is not negative; it decreases.
    While(Form),
    Unknown,
}

impl Evaluator<'_> {
    /// Evaluates a loop and returns the states of the edges that leave it.
    pub(crate) fn iterate(&mut self, number: usize, start: State) -> Result<Edges, Cause> {
        let found = &self.flow.loops[number];
        let header = found.header;
        let line = self.code.instructions[self.flow.blocks[header].start].line;
        if self.symbols.count() > SYMBOLS_MAX {
            return Err(Cause::TooLarge);
        }
        let keeps = std::mem::replace(&mut self.keeps, false);
        let written = self.written(number);
        let steps = self.explore(number, &start, &written, line)?;
        let counter = SymbolKind::Counter { line };
        let counter = self.symbols.add(counter, 0, ITERATIONS_MAX);
        self.symbols.get_mut(counter).is_assumed = true;
        let begin = at_header(&start, &steps, counter, line);
        self.region(Some(number), header, begin.clone())?;
        let (exit, trips) = self.trips(number, counter, &start);
        self.keeps = keeps;
        if keeps {
            self.counters.insert(number, counter);
        }
        let attempt = if self.bound(counter, &trips, &start) {
            self.last_pass(number, &begin, (exit, counter), &trips, &start)?
        } else {
            None
        };
        let (leaving, trips) = if let Some(leaving) = attempt {
            (leaving, trips)
        } else {
            let known = self.symbols.get_mut(counter);
            (known.is_assumed, known.is_unbounded) = (false, true);
            known.high = ITERATIONS_MAX;
            let mut begin = begin;
            begin.is_exact = false;
            (self.region(Some(number), header, begin)?, Trips::Unknown)
        };
        Ok(self.after(number, leaving, &start, (exit, counter), &trips))
    }

    /// Evaluates the body for good; `None` if its exit condition is not known after all.
    fn last_pass(
        &mut self,
        number: usize,
        begin: &State,
        (exit, counter): (usize, SymbolId),
        trips: &Trips,
        start: &State,
    ) -> Result<Option<Edges>, Cause> {
        let header = self.flow.loops[number].header;
        let mut begin = begin.clone();
        if let Trips::While(goes_on) = trips {
            let Some(cases) = self.reached(goes_on, counter, start) else {
                return Ok(None);
            };
            begin.cases = Rc::new(cases);
        }
        // A second exit may end the loop in any iteration.
        if self.exits(number).any(|from| from != exit) || self.ends_threads(number) {
            begin.is_exact = false;
        }
        let leaving = self.region(Some(number), header, begin)?;
        let condition = self.branches.get(&exit);
        let is_known = condition.is_some_and(|known| known.yes.is_some() && known.no.is_some());
        Ok(is_known.then_some(leaving))
    }

    /// Returns the places of values that the loop writes.
    fn written(&self, number: usize) -> Vec<usize> {
        let mut written = Vec::new();
        for &block in &self.flow.loops[number].blocks {
            let block = &self.flow.blocks[block];
            for instruction in &self.code.instructions[block.start..block.end] {
                written.extend(instruction.writes.iter().map(usize::from));
            }
        }
        written.sort_unstable();
        written.dedup();
        written
    }

    /// Evaluates the body with unknown values, and returns by how much each written register
    /// advances; `None` for those that do not advance by a constant.
    fn explore(
        &mut self,
        number: usize,
        start: &State,
        written: &[usize],
        line: u32,
    ) -> Result<Vec<(usize, Option<i128>)>, Cause> {
        let header = self.flow.loops[number].header;
        let mut state = start.clone();
        let mut carried = Vec::new();
        for &at in written {
            let bits = match start.at(at).map(|value| &**value) {
                Some(Value::Known(known)) if at < REGISTERS => Some(known.bits),
                _ => None,
            };
            let symbol = bits.map(|bits| {
                let symbol = self.symbols.add(SymbolKind::Carried, 0, (1 << bits) - 1);
                let value = Value::Known(Known::of(bits, Form::symbol(symbol)));
                state.set(at, Rc::new(value));
                symbol
            });
            if symbol.is_none() {
                state.set(at, Rc::new(Value::Unknown(Cause::Carried { line })));
            }
            carried.push((at, symbol));
        }
        let edges = self.region(Some(number), header, state)?;
        let back: Vec<&State> = edges
            .iter()
            .filter(|((_, to), _)| *to == header)
            .map(|(_, state)| state)
            .collect();
        let advance = |at: usize, symbol: SymbolId| {
            let mut step = None;
            for state in &back {
                let Some(Value::Known(known)) = state.at(at).map(|value| &**value) else {
                    return None;
                };
                let [only] = &known.list[..] else { return None };
                let change = only.form.minus(&Form::symbol(symbol))?.as_number()?;
                if !only.pending.is_empty() || *step.get_or_insert(change) != change {
                    return None;
                }
            }
            step
        };
        let steps = carried.into_iter();
        let steps = steps.map(|(at, symbol)| (at, symbol.and_then(|symbol| advance(at, symbol))));
        Ok(steps.collect())
    }

    /// Iterates over the blocks of the loop with an edge that leaves it.
    fn exits(&self, number: usize) -> impl Iterator<Item = usize> + use<'_> {
        let found = &self.flow.loops[number];
        let leaves = |&&from: &&usize| {
            let mut next = self.flow.blocks[from].next.iter();
            next.any(|to| !found.blocks.contains(to))
        };
        found.blocks.iter().filter(leaves).copied()
    }

    /// True if threads may end inside the loop.
    fn ends_threads(&self, number: usize) -> bool {
        let mut blocks = self.flow.loops[number].blocks.iter();
        blocks.any(|&block| self.flow.blocks[block].may_end)
    }

    /// Finds the exit that every iteration passes and whose condition counts iterations.
    fn trips(&self, number: usize, counter: SymbolId, start: &State) -> (usize, Trips) {
        let found = &self.flow.loops[number];
        for from in self.exits(number) {
            let passed = found
                .latches
                .iter()
                .all(|&latch| self.flow.dominates(from, latch));
            if !passed || self.flow.blocks[from].within != Some(number) {
                continue;
            }
            let Some(condition) = self.branches.get(&from) else {
                continue;
            };
            let stays = |to: usize| found.blocks.contains(&to);
            let (taken, falls) = match self.flow.blocks[from].next[..] {
                [taken, falls] => (stays(taken), stays(falls)),
                _ => continue,
            };
            if taken == falls {
                continue;
            }
            let trips = condition
                .cases(taken)
                .and_then(|cases| self.repeats(cases, counter, start));
            if let Some(trips) = trips {
                return (from, trips);
            }
        }
        (usize::MAX, Trips::Unknown)
    }

    /// Reads the number of iterations from the cases in which the loop repeats.
    fn repeats(&self, cases: &Cases, counter: SymbolId, start: &State) -> Option<Trips> {
        let goes_on = match &cases[..] {
            [] => return Some(Trips::Last(0)),
            [one] => match &one[..] {
                [form] => form.clone(),
                _ => return None,
            },
            [above, below] => {
                // The loop repeats while a difference is not 0.
                let ([above], [below]) = (&above[..], &below[..]) else {
                    return None;
                };
                if above.plus(below)? != Form::number(-2) {
                    return None;
                }
                let difference = above.shifted(1);
                let slope = difference.coefficient(counter);
                let difference = difference.times(if slope > 0 { -1 } else { 1 })?;
                self.ends_at_zero(&difference, counter, start)?;
                difference.shifted(-1)
            }
            _ => return None,
        };
        let slope = goes_on.coefficient(counter);
        if self.symbols.is_assumed_beside(&goes_on, counter) {
            return None;
        }
        let before = goes_on.substituted(counter, &Form::number(0))?;
        match before.as_number() {
            Some(first) if first < 0 => Some(Trips::Last(0)),
            _ if slope >= 0 => None,
            Some(first) => Some(Trips::Last(first / -slope + 1)),
            None => Some(Trips::While(goes_on)),
        }
    }

    /// Checks that a decreasing difference becomes exactly 0.
    fn ends_at_zero(&self, difference: &Form, counter: SymbolId, start: &State) -> Option<()> {
        let slope = -difference.coefficient(counter);
        let first = difference.substituted(counter, &Form::number(0))?;
        let divides = first.terms().iter().all(|&(_, c)| c % slope.max(1) == 0)
            && first.constant() % slope.max(1) == 0;
        let positive =
            |case: &Vec<Form>| domain::lies_in(&self.symbols, &first, (0, i128::MAX >> 4), case);
        (slope > 0 && divides && start.cases.iter().all(positive)).then_some(())
    }

    /// Gives the counter its range; false if there is none.
    fn bound(&mut self, counter: SymbolId, trips: &Trips, start: &State) -> bool {
        let last = match trips {
            Trips::Last(last) => Some(*last),
            Trips::While(goes_on) => {
                let slope = -goes_on.coefficient(counter);
                let first = goes_on.substituted(counter, &Form::number(0));
                let most = first.and_then(|first| {
                    start.cases.iter().try_fold(-1, |most: i128, case| {
                        let bound = domain::upper_bound(&self.symbols, &first, case);
                        Some(most.max(bound?))
                    })
                });
                most.map(|most| if most < 0 { 0 } else { most / slope + 1 })
            }
            Trips::Unknown => None,
        };
        let Some(last) = last.filter(|&last| last < ITERATIONS_MAX) else {
            return false;
        };
        let known = self.symbols.get_mut(counter);
        known.high = last;
        known.is_assumed = false;
        true
    }

    /// Returns the cases in which a thread is in the iteration that the counter gives.
    fn reached(&self, goes_on: &Form, counter: SymbolId, start: &State) -> Option<Cases> {
        let before = Form::symbol(counter).shifted(-1);
        let before = goes_on.substituted(counter, &before)?;
        let first = before.substituted(counter, &Form::number(0))?;
        let always =
            |case: &Vec<Form>| domain::lies_in(&self.symbols, &first, (0, i128::MAX >> 4), case);
        if start.cases.iter().all(always) {
            return value::all_of(&self.symbols, &start.cases, &vec![vec![before]]);
        }
        let at_first = Form::symbol(counter).times(-1)?;
        let later = Form::symbol(counter).shifted(-1);
        let cases = vec![vec![at_first], vec![later, before]];
        value::all_of(&self.symbols, &start.cases, &cases)
    }

    /// Returns the states of the edges that leave the loop.
    fn after(
        &self,
        number: usize,
        leaving: Edges,
        start: &State,
        (exit, counter): (usize, SymbolId),
        trips: &Trips,
    ) -> Edges {
        let header = self.flow.loops[number].header;
        let mut edges: Edges = leaving
            .into_iter()
            .filter(|((_, to), _)| *to != header)
            .collect();
        let mut targets: Vec<usize> = edges.keys().map(|&(_, to)| to).collect();
        targets.sort_unstable();
        targets.dedup();
        let is_only = edges.len() == 1 && edges.keys().all(|&(from, _)| from == exit);
        let ends_threads = self.ends_threads(number);
        for state in edges.values_mut() {
            let here = Rc::clone(&state.cases);
            for value in state.values_mut() {
                let left = match trips {
                    Trips::Last(last) if is_only => {
                        at_iteration(&self.symbols, value, counter, *last)
                    }
                    _ => with_condition(&self.symbols, value, counter, &here, start, is_only),
                };
                if let Some(left) = left {
                    *value = Rc::new(left);
                }
            }
            if targets.len() == 1 {
                state.cases = Rc::clone(&start.cases);
                state.is_exact = start.is_exact && !ends_threads;
            } else {
                state.is_exact = false;
            }
        }
        edges
    }
}

/// Returns the state at the header in the iteration that the counter gives.
fn at_header(
    start: &State,
    steps: &[(usize, Option<i128>)],
    counter: SymbolId,
    line: u32,
) -> State {
    let mut state = start.clone();
    let carried = Value::Unknown(Cause::Carried { line });
    for &(at, step) in steps {
        let value = match (start.at(at).map(|value| &**value), step) {
            (Some(Value::Known(known)), Some(step)) => known.mapped(known.bits, line, |form| {
                form.plus_times(&Form::symbol(counter), step)
            }),
            (Some(Value::Unknown(cause)), _) if matches!(cause, Cause::Loaded { .. }) => {
                Value::Unknown(cause.clone())
            }
            _ => carried.clone(),
        };
        state.set(at, Rc::new(value));
    }
    state
}

/// Returns the value after the last iteration, if it depends on the counter.
fn at_iteration(symbols: &Symbols, value: &Value, counter: SymbolId, last: i128) -> Option<Value> {
    if !uses(symbols, value, counter) {
        return None;
    }
    let unknown = Value::Unknown(Cause::Condition { line: 0 });
    let Value::Known(known) = value else {
        return Some(unknown);
    };
    let last = Form::number(last);
    let put = |form: &Form| form.substituted(counter, &last);
    let mut list = Vec::new();
    for alternative in &known.list {
        let mut when = Vec::new();
        let mut holds = true;
        for form in &alternative.when {
            let Some(form) = put(form) else {
                return Some(unknown);
            };
            holds &= value::add(symbols, &mut when, form);
        }
        let mut pending = alternative.pending.clone();
        for obligation in &mut pending {
            let Some(form) = put(&obligation.form) else {
                return Some(unknown);
            };
            obligation.form = form;
        }
        let Some(form) = put(&alternative.form) else {
            return Some(unknown);
        };
        if holds {
            list.push(Alternative {
                form,
                when,
                pending,
            });
        }
    }
    let mut left = value::of_list(known.bits, list, known.is_exact, 0);
    // A quotient of the counter is left as if any iteration might be the last.
    let is_left = uses(symbols, &left, counter);
    if let Value::Known(known) = &mut left {
        known.is_exact &= !is_left;
    }
    Some(left)
}

/// Returns the value with the condition of the edge, if it depends on the counter.
fn with_condition(
    symbols: &Symbols,
    value: &Value,
    counter: SymbolId,
    here: &Cases,
    start: &State,
    is_exact: bool,
) -> Option<Value> {
    if !uses(symbols, value, counter) {
        return None;
    }
    let Value::Known(known) = value else {
        return Some(Value::Unknown(Cause::Condition { line: 0 }));
    };
    let mut list = Vec::new();
    for case in here {
        let own = case.iter();
        let own = own.filter(|form| !start.cases.iter().all(|all| all.contains(form)));
        let own: Vec<Form> = own.cloned().collect();
        for alternative in &known.list {
            if let Some(when) = value::both(symbols, &own, &alternative.when) {
                list.push(Alternative {
                    when,
                    ..alternative.clone()
                });
            }
        }
    }
    let is_exact = known.is_exact && is_exact;
    Some(value::of_list(known.bits, list, is_exact, 0))
}

/// True if the value depends on the counter, or on a quotient of it.
fn uses(symbols: &Symbols, value: &Value, counter: SymbolId) -> bool {
    let depends = |form: &Form| {
        let mut forms = vec![form.clone()];
        symbols.close(&mut forms);
        forms.iter().any(|form| form.coefficient(counter) != 0)
    };
    match value {
        Value::Known(known) => known
            .list
            .iter()
            .any(|alternative| depends(&alternative.form) || alternative.when.iter().any(depends)),
        Value::Either(a, b) => uses(symbols, a, counter) || uses(symbols, b, counter),
        Value::Predicate(predicate) => [&predicate.yes, &predicate.no]
            .into_iter()
            .flatten()
            .flatten()
            .flatten()
            .any(depends),
        Value::Unknown(_) => false,
    }
}
