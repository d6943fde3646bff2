//! One instruction: what it does to the values of registers.

use std::rc::Rc;

use warpweave_trace::{Class, Instruction, Operand};

use crate::cause::Cause;
use crate::decode::{Decoded, Junction, Kind, Part};
use crate::domain;
use crate::eval::{Evaluator, condition};
use crate::form::Form;
use crate::state::{self, REGISTERS, State, known};
use crate::symbol::Symbols;
use crate::value::{self, Alternative, Known, Obligation, Predicate, Value};
use crate::variable;

impl Evaluator<'_> {
    /// Evaluates one instruction other than the branch at the end of a block.
    pub(crate) fn step(&mut self, pc: usize, state: &mut State) -> Result<(), Cause> {
        let instruction = &self.code.instructions[pc];
        let decoded = self.decoded[pc];
        match decoded.kind {
            Kind::Branch | Kind::Exit | Kind::Computed => return Ok(()),
            Kind::Memory if self.keeps => self.access(pc, state),
            _ => {}
        }
        if self.symbols.count() > crate::eval::SYMBOLS_MAX {
            return Err(Cause::TooLarge);
        }
        let Some(guard) = instruction.guard else {
            self.execute(instruction, decoded, state);
            return Ok(());
        };
        if instruction.writes.is_empty() {
            return Ok(());
        }
        let condition = condition(state, guard);
        let mut after = state.clone();
        crate::eval::restrict(&self.symbols, &mut after, &condition, true);
        self.execute(instruction, decoded, &mut after);
        let changed: Vec<(usize, Rc<Value>)> = (0..)
            .map_while(|at| Some((at, after.at(at)?, state.at(at)?)))
            .filter(|(_, new, old)| !Rc::ptr_eq(new, old))
            .map(|(at, new, old)| {
                let line = instruction.line;
                let symbols = &self.symbols;
                let value = state::guarded(symbols, old, new, &condition, true, line);
                (at, Rc::new(value))
            })
            .collect();
        for (at, value) in changed {
            state.set(at, value);
        }
        Ok(())
    }

    /// Writes the results of an instruction that executes.
    fn execute(&mut self, instruction: &Instruction, decoded: Decoded, state: &mut State) {
        let line = instruction.line;
        let result = self.result(instruction, decoded, state);
        let cause = match &result {
            Err(cause) => cause.clone(),
            Ok(_) => Cause::Unset { line },
        };
        let unknown = Rc::new(Value::Unknown(cause));
        for at in instruction.writes.iter() {
            if usize::from(at) < REGISTERS {
                state.write(at, Rc::clone(&unknown), line);
            } else {
                state.set(usize::from(at), Rc::clone(&unknown));
            }
        }
        let Ok(value) = result else { return };
        let mut operands = instruction.operands.iter();
        match (operands.next(), value) {
            (Some(&Operand::Predicate(number)), Value::Predicate(predicate)) => {
                if let (Kind::Compare(..), Some(&Operand::Predicate(other))) =
                    (decoded.kind, operands.next())
                    && instruction.writes.contains(REGISTERS as u16 + other)
                    && instruction.operands.len() > 3
                {
                    let inverse = Value::Predicate(predicate.clone().negated());
                    state.write_predicate(other, Rc::new(inverse));
                }
                state.write_predicate(number, Rc::new(Value::Predicate(predicate)));
            }
            (Some(&Operand::Register(number)), value) => {
                state.write(number, Rc::new(value), line);
            }
            _ => {}
        }
    }

    /// Returns the value that an instruction computes.
    fn result(
        &mut self,
        instruction: &Instruction,
        decoded: Decoded,
        state: &State,
    ) -> Result<Value, Cause> {
        let line = instruction.line;
        let Decoded {
            kind,
            bits,
            is_signed,
        } = decoded;
        let operands = &instruction.operands;
        let value = |evaluator: &Self, at: usize| {
            let operand = operands.get(at).ok_or(Cause::NoOperands)?;
            evaluator.operand(operand, bits, state, line)
        };
        if bits == 1 {
            return self.logic(kind, operands, state, line);
        }
        let pointer = |at: usize| {
            let operand = operands.get(at).ok_or(Cause::NoOperands)?;
            self.pointer(operand, bits, state, line)
        };
        let plain = |a: usize, b: usize| operands.len() == a.max(b) + 1;
        match kind {
            Kind::Copy if operands.len() == 2 => Ok(Value::Known(pointer(1)?)),
            Kind::LocalToGeneric => {
                let address = pointer(1)?;
                let window = Form::symbol(self.symbols.local_window());
                Ok(address.mapped(bits, line, |offset| offset.plus(&window)))
            }
            Kind::Add | Kind::Sub if plain(1, 2) => {
                let (a, b) = (pointer(1)?, pointer(2)?);
                let factor = if kind == Kind::Add { 1 } else { -1 };
                let sum = |a: &Form, b: &Form| a.plus_times(b, factor);
                Ok(a.combined(&b, &self.symbols, bits, line, sum))
            }
            Kind::Negate => Ok(value(self, 1)?.mapped(bits, line, |form| form.times(-1))),
            Kind::Not => {
                let not = |form: &Form| Some(form.times(-1)?.shifted(-1));
                Ok(value(self, 1)?.mapped(bits, line, not))
            }
            Kind::Multiply(part) => {
                self.product(part, decoded, &value(self, 1)?, &value(self, 2)?, line)
            }
            Kind::MultiplyAdd(part) => {
                let product =
                    self.product(part, decoded, &value(self, 1)?, &value(self, 2)?, line)?;
                let bits = if part == Part::Wide { 2 * bits } else { bits };
                let product = known(Some(&product), bits, line)?;
                let added = operands.get(3).ok_or(Cause::NoOperands)?;
                let added = self.pointer(added, bits, state, line)?;
                Ok(product.combined(&added, &self.symbols, bits, line, Form::plus))
            }
            Kind::ShiftLeft | Kind::ShiftRight => {
                let shift = operands.get(2).ok_or(Cause::NoOperands)?;
                let shift = self.operand(shift, 32, state, line)?.as_number();
                let shift = shift.ok_or(Cause::NotLinear { line })?;
                // Shifts are unsigned and clamped to the width.
                let shift = shift.rem_euclid(1 << 32).min(i128::from(bits)) as u32;
                let a = value(self, 1)?;
                if kind == Kind::ShiftLeft {
                    let factor = 1_i128 << shift;
                    return Ok(a.mapped(bits, line, |form| form.times(factor)));
                }
                let a = self.widened(&a, bits, is_signed, line);
                self.divided(&a, 1 << shift, bits, line)
            }
            Kind::And => self.masked(&value(self, 1)?, &value(self, 2)?, bits, line),
            Kind::Or => self.either(operands, bits, state, line),
            Kind::Xor => {
                let (a, b) = (value(self, 1)?, value(self, 2)?);
                let numbers = a.as_number().zip(b.as_number());
                let (a, b) = numbers.ok_or_else(|| unfollowed(instruction))?;
                Ok(Value::Known(Known::of(bits, Form::number(a ^ b))))
            }
            Kind::Divide | Kind::Remainder => {
                let (a, b) = (value(self, 1)?, value(self, 2)?);
                let by = self.typed(&b, bits, is_signed, state, line)?;
                self.division(decoded, &a, &by, state, line)
            }
            Kind::Min | Kind::Max if plain(1, 2) => {
                let (a, b) = (value(self, 1)?, value(self, 2)?);
                self.extreme(kind == Kind::Min, &a, &b, decoded, state, line)
            }
            Kind::Select => {
                let (a, b) = (value(self, 1)?, value(self, 2)?);
                let choice = operands.get(3).ok_or(Cause::NoOperands)?;
                let choice = predicate(choice, state);
                Ok(state::chosen(&self.symbols, &a, &b, &choice, true, line))
            }
            Kind::Compare(comparison, junction) => {
                // The predicates written come first, and one that is combined last.
                let count = operands.len();
                let last = usize::from(junction.is_some());
                let at = count.checked_sub(2 + last).ok_or(Cause::NoOperands)?;
                let (a, b) = (&operands[at], &operands[at + 1]);
                let found = self.compared(comparison, (a, b), decoded, state, line)?;
                let Some(junction) = junction else {
                    return Ok(Value::Predicate(found));
                };
                let other = predicate(&operands[count - 1], state);
                Ok(Value::Predicate(self.junction(junction, &found, &other)))
            }
            Kind::Convert { to_bits } => {
                let a = value(self, 1)?;
                if to_bits < 16 {
                    return Err(unfollowed(instruction));
                }
                let mut a = if to_bits > bits {
                    self.widened(&a, bits, is_signed, line)
                } else {
                    a
                };
                a.bits = to_bits;
                Ok(a.mapped(to_bits, line, |form| Some(form.clone())))
            }
            Kind::LoadArgument => match operands.get(1) {
                Some(&Operand::Argument(offset)) if bits >= 8 => {
                    let number = self.head.argument(offset, bits, is_signed);
                    let number = number.ok_or_else(|| unfollowed(instruction))?;
                    Ok(Value::Known(Known::of(bits.max(32), Form::number(number))))
                }
                _ => Err(unfollowed(instruction)),
            },
            Kind::Memory => Err(Cause::Loaded { line }),
            _ => Err(inherited(instruction, state)),
        }
    }

    /// Returns the quotient or the remainder of a value that is not negative, by a positive number.
    fn division(
        &mut self,
        decoded: Decoded,
        a: &Known,
        by: &Known,
        state: &State,
        line: u32,
    ) -> Result<Value, Cause> {
        let Decoded {
            kind,
            bits,
            is_signed,
        } = decoded;
        let by = by.as_number().filter(|&by| by > 0);
        let by = by.ok_or(Cause::NotLinear { line })?;
        let a = self.widened(a, bits, is_signed, line);
        let positive = |alternative: &Alternative| {
            let form = &alternative.form;
            !is_signed || self.holds(form, alternative, state)
        };
        if !a.list.iter().all(positive) {
            return Err(Cause::NotLinear { line });
        }
        let quotient = self.divided(&a, by, bits, line)?;
        if kind == Kind::Divide {
            return Ok(quotient);
        }
        let quotient = known(Some(&quotient), bits, line)?;
        let rest = |pair: (&Alternative, &Alternative)| {
            Some(Alternative {
                form: pair.0.form.plus_times(&pair.1.form, -by)?,
                ..pair.0.clone()
            })
        };
        let list: Option<Vec<_>> = a.list.iter().zip(&quotient.list).map(rest).collect();
        let list = list.ok_or(Cause::NotLinear { line })?;
        Ok(value::of_list(bits, list, a.is_exact, line))
    }

    /// Returns the value of an operand that is no address of a variable. The place of a variable is
    /// not known, so only sums follow it.
    pub(crate) fn operand(
        &self,
        operand: &Operand,
        bits: u32,
        state: &State,
        line: u32,
    ) -> Result<Known, Cause> {
        let known = self.pointer(operand, bits, state, line)?;
        let mut forms = known.list.iter().map(|alternative| &alternative.form);
        match forms.find_map(|form| self.symbols.variable(form)) {
            Some(name) => Err(Cause::Variable { name: name.into() }),
            None => Ok(known),
        }
    }

    /// Returns the value of an operand, which may be the address of a variable.
    fn pointer(
        &self,
        operand: &Operand,
        bits: u32,
        state: &State,
        line: u32,
    ) -> Result<Known, Cause> {
        let form = match operand {
            Operand::Register(number) => {
                return known(state.register(*number).map(|value| &**value), bits, line);
            }
            Operand::Immediate(number) => Form::number(i128::from(*number)),
            Operand::Symbol(name) => self.special(name)?,
            _ => return Err(Cause::Unset { line }),
        };
        Ok(Known::of(bits, form))
    }

    /// Returns the form of a special register.
    fn special(&self, name: &str) -> Result<Form, Cause> {
        let unknown = || Cause::Variable {
            name: name.to_owned(),
        };
        if let Some(address) = variable::address(&self.symbols, name) {
            return Ok(address);
        }
        let (register, axis) = name.split_once('.').ok_or_else(unknown)?;
        let axis = match axis {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => return Err(unknown()),
        };
        let number = |extent: u32| Ok(Form::number(i128::from(extent)));
        match register {
            "%tid" => Ok(Form::symbol(Symbols::thread(axis))),
            "%ctaid" => Ok(Form::symbol(Symbols::group(axis))),
            "%ntid" => number(self.head.block[axis]),
            "%nctaid" => number(self.head.grid[axis]),
            _ => Err(unknown()),
        }
    }

    /// Evaluates an operation whose operands are predicates.
    fn logic(
        &self,
        kind: Kind,
        operands: &[Operand],
        state: &State,
        line: u32,
    ) -> Result<Value, Cause> {
        let get = |at: usize| {
            let operand = operands.get(at);
            operand.map_or_else(Predicate::default, |operand| predicate(operand, state))
        };
        let (a, b) = (get(1), get(2));
        let found = match kind {
            Kind::Copy => a,
            Kind::Not => a.negated(),
            Kind::And => self.junction(Junction::And, &a, &b),
            Kind::Or => self.junction(Junction::Or, &a, &b),
            Kind::Xor => self.junction(Junction::Xor, &a, &b),
            _ => return Err(Cause::Condition { line }),
        };
        Ok(Value::Predicate(found))
    }

    fn junction(&self, junction: Junction, a: &Predicate, b: &Predicate) -> Predicate {
        let and = |x: &Option<value::Cases>, y: &Option<value::Cases>| {
            value::all_of(&self.symbols, x.as_ref()?, y.as_ref()?)
        };
        let or = |x: &Option<value::Cases>, y: &Option<value::Cases>| {
            value::any_of(x.as_ref()?, y.as_ref()?)
        };
        match junction {
            Junction::And => Predicate {
                yes: and(&a.yes, &b.yes),
                no: or(&a.no, &b.no),
            },
            Junction::Or => Predicate {
                yes: or(&a.yes, &b.yes),
                no: and(&a.no, &b.no),
            },
            Junction::Xor => Predicate {
                yes: or(&and(&a.yes, &b.no), &and(&a.no, &b.yes)),
                no: or(&and(&a.yes, &b.yes), &and(&a.no, &b.no)),
            },
        }
    }

    /// True if the form is proven not to be negative where the alternative holds.
    fn holds(&self, form: &Form, alternative: &Alternative, state: &State) -> bool {
        let range = (0, i128::MAX >> 4);
        state.cases.iter().all(|case| {
            value::both(&self.symbols, case, &alternative.when)
                .is_none_or(|when| domain::lies_in(&self.symbols, form, range, &when))
        })
    }

    /// True if all ranges that the value owes are proven.
    pub(crate) fn is_proven(&self, alternative: &Alternative, state: &State) -> bool {
        alternative.pending.iter().all(|owed| {
            state.cases.iter().all(|case| {
                value::both(&self.symbols, case, &alternative.when).is_none_or(|when| {
                    domain::lies_in(&self.symbols, &owed.form, owed.range, &when)
                })
            })
        })
    }

    /// Takes a value as a number of a type. That it lies in the type's range is owed where it does
    /// not follow from the symbols.
    pub(crate) fn widened(&self, value: &Known, bits: u32, is_signed: bool, line: u32) -> Known {
        let range = range(bits, is_signed);
        let mut value = value.clone();
        for alternative in &mut value.list {
            if self.symbols.is_assumed(&alternative.form) {
                continue;
            }
            let shift = self.shift(&alternative.form, bits, range);
            if let Some((shift, true)) = shift {
                alternative.form = alternative.form.shifted(shift);
                continue;
            }
            let form = alternative.form.clone();
            let owed = Obligation { form, range, line };
            if !alternative.pending.contains(&owed) {
                alternative.pending.push(owed);
            }
        }
        value
    }

    /// Returns the multiple of the type's size that brings the least value into the type's range,
    /// and whether the greatest is in it then too.
    fn shift(&self, form: &Form, bits: u32, range: (i128, i128)) -> Option<(i128, bool)> {
        let (low, high) = self.symbols.interval(form)?;
        let whole = 1_i128 << bits;
        let shift = -low
            .checked_sub(range.0)?
            .div_euclid(whole)
            .checked_mul(whole)?;
        Some((shift, high.checked_add(shift)? <= range.1))
    }

    /// Takes a value as a number of a type; one that crosses the type's end becomes two.
    pub(crate) fn typed(
        &self,
        value: &Known,
        bits: u32,
        is_signed: bool,
        state: &State,
        line: u32,
    ) -> Result<Known, Cause> {
        let range = range(bits, is_signed);
        let wraps = || Cause::Wraps { line };
        let mut list = Vec::new();
        for alternative in &value.list {
            let form = &alternative.form;
            if self.symbols.is_assumed(form) {
                list.push(alternative.clone());
                continue;
            }
            let (shift, fits) = self.shift(form, bits, range).ok_or_else(wraps)?;
            let lower = form.shifted(shift);
            if fits {
                list.push(Alternative {
                    form: lower,
                    ..alternative.clone()
                });
                continue;
            }
            let (_, high) = self.symbols.interval(&lower).ok_or_else(wraps)?;
            let whole = 1_i128 << bits;
            if high - whole > range.1 {
                // It may yet be proven where it is used.
                if self.holds(&form.shifted(-range.0), alternative, state)
                    && self.holds(
                        &Form::number(range.1).minus(form).ok_or_else(wraps)?,
                        alternative,
                        state,
                    )
                {
                    list.push(alternative.clone());
                    continue;
                }
                return Err(wraps());
            }
            let inside = Form::number(range.1).minus(&lower).ok_or_else(wraps)?;
            let outside = lower.shifted(-range.1 - 1);
            for (part, limit) in [(lower.clone(), inside), (lower.shifted(-whole), outside)] {
                let mut when = alternative.when.clone();
                if !value::add(&self.symbols, &mut when, limit) {
                    continue;
                }
                let impossible = |case: &Vec<Form>| {
                    value::both(&self.symbols, case, &when)
                        .is_none_or(|when| domain::is_empty(&self.symbols, &when))
                };
                if !state.cases.iter().all(impossible) {
                    list.push(Alternative {
                        form: part,
                        when,
                        pending: alternative.pending.clone(),
                    });
                }
            }
        }
        match value::of_list(bits, list, value.is_exact, line) {
            Value::Known(known) => Ok(known),
            Value::Unknown(cause) => Err(cause),
            _ => Err(wraps()),
        }
    }
}

/// Returns the least and the greatest number of a type.
fn range(bits: u32, is_signed: bool) -> (i128, i128) {
    let whole = 1_i128 << bits;
    if is_signed {
        (-(whole / 2), whole / 2 - 1)
    } else {
        (0, whole - 1)
    }
}

fn unfollowed(instruction: &Instruction) -> Cause {
    Cause::Opcode {
        opcode: instruction.opcode.clone(),
        line: instruction.line,
    }
}

/// Returns why the result of an instruction that is not followed is unknown: it may come from
/// memory.
fn inherited(instruction: &Instruction, state: &State) -> Cause {
    if instruction.class == Class::Load {
        let line = instruction.line;
        return Cause::Loaded { line };
    }
    for operand in instruction.operands.iter().skip(1) {
        if let Operand::Register(number) = operand
            && let Some(Value::Unknown(cause)) = state.register(*number).map(|value| &**value)
            && matches!(cause, Cause::Loaded { .. })
        {
            return cause.clone();
        }
    }
    unfollowed(instruction)
}

fn predicate(operand: &Operand, state: &State) -> Predicate {
    let (number, negated) = match *operand {
        Operand::Predicate(number) => (number, false),
        Operand::NotPredicate(number) => (number, true),
        _ => return Predicate::default(),
    };
    let found = match state.predicate(number).map(|value| &**value) {
        Some(Value::Predicate(predicate)) => predicate.clone(),
        _ => Predicate::default(),
    };
    if negated { found.negated() } else { found }
}
