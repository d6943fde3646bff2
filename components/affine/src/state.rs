//! State of knowledge at one place of a kernel, and the joining of paths that meet.

use std::rc::Rc;

use crate::cause::Cause;
use crate::form::Form;
use crate::symbol::Symbols;
use crate::value::{self, Alternative, Cases, Known, Predicate, Value};

/// General registers that are followed; predicates come after them.
pub(crate) const REGISTERS: usize = 256;
/// Predicates that are followed, after the general registers.
const PREDICATES: usize = 64;

/// Values of registers, and the condition under which a thread gets here.
#[derive(Clone, Debug)]
pub(crate) struct State {
    registers: Vec<Rc<Value>>,
    /// Cases in which a thread is here.
    pub(crate) cases: Rc<Cases>,
    /// True if a thread is here in these cases and in no other.
    pub(crate) is_exact: bool,
}

impl State {
    /// Creates the state of a kernel's start, without values.
    pub(crate) fn new() -> Self {
        let unset = Rc::new(Value::Unknown(Cause::Unset { line: 0 }));
        Self {
            registers: vec![unset; REGISTERS + PREDICATES],
            cases: Rc::new(vec![Vec::new()]),
            is_exact: true,
        }
    }

    pub(crate) fn register(&self, number: u16) -> Option<&Rc<Value>> {
        self.registers[..REGISTERS].get(usize::from(number))
    }

    pub(crate) fn predicate(&self, number: u16) -> Option<&Rc<Value>> {
        self.registers[REGISTERS..].get(usize::from(number))
    }

    /// Iterates over the places of all values.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Rc<Value>> {
        self.registers.iter_mut()
    }

    /// Returns the value at a place of the list of all.
    pub(crate) fn at(&self, index: usize) -> Option<&Rc<Value>> {
        self.registers.get(index)
    }

    pub(crate) fn set(&mut self, index: usize, value: Rc<Value>) {
        if let Some(place) = self.registers.get_mut(index) {
            *place = value;
        }
    }

    /// Writes a general register. A value of 64 bits also ends what the next register held, and
    /// any value one of 64 bits that begins in the register before.
    pub(crate) fn write(&mut self, number: u16, value: Rc<Value>, line: u32) {
        let at = usize::from(number);
        if at >= REGISTERS {
            return;
        }
        let wide = |value: &Value| matches!(value, Value::Known(known) if known.bits == 64);
        let lost = || Rc::new(Value::Unknown(Cause::Unset { line }));
        if at > 0 && wide(&self.registers[at - 1]) {
            self.registers[at - 1] = lost();
        }
        if wide(&value) && at + 1 < REGISTERS {
            self.registers[at + 1] = lost();
        }
        self.registers[at] = value;
    }

    pub(crate) fn write_predicate(&mut self, number: u16, value: Rc<Value>) {
        self.set(REGISTERS + usize::from(number), value);
    }
}

/// Condition of a place where paths meet.
pub(crate) struct Meeting {
    pub(crate) cases: Rc<Cases>,
    pub(crate) is_exact: bool,
}

/// Joins the states of paths that meet; `known` is the condition there, if all paths that part
/// before it meet here.
pub(crate) fn joined(
    symbols: &Symbols,
    known: Option<Meeting>,
    incoming: &[&State],
    line: u32,
) -> State {
    let Some(first) = incoming.first() else {
        return State::new();
    };
    let meeting = known.unwrap_or_else(|| union(incoming));
    if incoming.len() == 1 {
        let mut state = State::clone(first);
        state.cases = meeting.cases;
        state.is_exact = meeting.is_exact;
        return state;
    }
    let mut registers = Vec::with_capacity(first.registers.len());
    for (at, value) in first.registers.iter().enumerate() {
        let same = |state: &&State| {
            Rc::ptr_eq(&state.registers[at], value) || state.registers[at] == *value
        };
        if incoming.iter().all(same) {
            registers.push(Rc::clone(value));
        } else {
            registers.push(Rc::new(met(symbols, &meeting.cases, incoming, at, line)));
        }
    }
    State {
        registers,
        cases: meeting.cases,
        is_exact: meeting.is_exact,
    }
}

fn union(incoming: &[&State]) -> Meeting {
    let first = incoming[0];
    let mut cases = Cases::clone(&first.cases);
    let mut is_exact = first.is_exact;
    for state in &incoming[1..] {
        is_exact &= state.is_exact;
        if Rc::ptr_eq(&state.cases, &first.cases) {
            continue;
        }
        let Some(both) = value::any_of(&cases, &state.cases) else {
            return Meeting {
                cases: Rc::new(vec![Vec::new()]),
                is_exact: false,
            };
        };
        cases = both;
    }
    Meeting {
        cases: Rc::new(cases),
        is_exact,
    }
}

/// Joins the values of one register.
fn met(symbols: &Symbols, base: &Cases, incoming: &[&State], at: usize, line: u32) -> Value {
    if at >= REGISTERS {
        return met_predicates(symbols, base, incoming, at);
    }
    let mut list = Vec::new();
    let (mut bits, mut is_exact) = (None, true);
    for state in incoming {
        let known = match &*state.registers[at] {
            Value::Known(known) => known,
            Value::Unknown(cause) => return Value::Unknown(cause.clone()),
            _ => return Value::Unknown(Cause::Condition { line }),
        };
        if *bits.get_or_insert(known.bits) != known.bits {
            return Value::Unknown(Cause::Unset { line });
        }
        is_exact &= known.is_exact && state.is_exact;
        if state.cases.len() * known.list.len() > value::CASES_MAX {
            let max = value::CASES_MAX;
            return Value::Unknown(Cause::Cases { max, line });
        }
        for case in state.cases.iter() {
            let own = own_part(base, case);
            for alternative in &known.list {
                if let Some(when) = value::both(symbols, &own, &alternative.when) {
                    list.push(Alternative {
                        when,
                        ..alternative.clone()
                    });
                }
            }
        }
    }
    value::of_list(bits.unwrap_or(32), list, is_exact, line)
}

/// Returns the constraints of a path's case that do not hold at the meeting anyway.
fn own_part(base: &Cases, case: &[Form]) -> Vec<Form> {
    let implied = |form: &&Form| !base.iter().all(|common| common.contains(form));
    case.iter().filter(implied).cloned().collect()
}

fn met_predicates(symbols: &Symbols, base: &Cases, incoming: &[&State], at: usize) -> Value {
    let side = |holds: bool| {
        let mut cases = Cases::new();
        for state in incoming {
            let Value::Predicate(predicate) = &*state.registers[at] else {
                return None;
            };
            if !state.is_exact {
                return None;
            }
            let own: Cases = state
                .cases
                .iter()
                .map(|case| own_part(base, case))
                .collect();
            let part = value::all_of(symbols, &own, predicate.cases(holds)?)?;
            cases = value::any_of(&cases, &part)?;
        }
        Some(cases)
    };
    Value::Predicate(Predicate {
        yes: side(true),
        no: side(false),
    })
}

/// Returns the value of a register that an instruction writes where a condition holds.
pub(crate) fn guarded(
    symbols: &Symbols,
    old: &Value,
    new: &Value,
    condition: &Predicate,
    holds: bool,
    line: u32,
) -> Value {
    let (Value::Known(old), Value::Known(new)) = (old, new) else {
        let unknown = |value: &Value| match value {
            Value::Unknown(cause) => Some(cause.clone()),
            _ => None,
        };
        let cause = unknown(new).or_else(|| unknown(old));
        return Value::Unknown(cause.unwrap_or(Cause::Condition { line }));
    };
    if old.bits != new.bits {
        return Value::Unknown(Cause::Unset { line });
    }
    chosen(symbols, new, old, condition, holds, line)
}

/// Returns `first` where the condition holds and `second` elsewhere.
pub(crate) fn chosen(
    symbols: &Symbols,
    first: &Known,
    second: &Known,
    condition: &Predicate,
    holds: bool,
    line: u32,
) -> Value {
    let mut is_exact = first.is_exact && second.is_exact;
    let mut list = Vec::new();
    for (known, side) in [(first, holds), (second, !holds)] {
        let free = vec![Vec::new()];
        let cases = condition.cases(side);
        is_exact &= cases.is_some();
        for case in cases.unwrap_or(&free) {
            for alternative in &known.list {
                if let Some(when) = value::both(symbols, case, &alternative.when) {
                    list.push(Alternative {
                        when,
                        ..alternative.clone()
                    });
                }
            }
        }
    }
    value::of_list(first.bits, list, is_exact, line)
}

/// Returns a register's value as one of a width.
pub(crate) fn known(value: Option<&Value>, bits: u32, line: u32) -> Result<Known, Cause> {
    match value {
        Some(Value::Known(known)) if known.bits >= bits => {
            let mut known = known.clone();
            known.bits = bits;
            Ok(known)
        }
        Some(Value::Unknown(Cause::Unset { line: 0 })) | None => Err(Cause::Unset { line }),
        Some(Value::Unknown(cause)) => Err(cause.clone()),
        Some(Value::Either(..)) => Err(Cause::NotLinear { line }),
        Some(_) => Err(Cause::Unset { line }),
    }
}
