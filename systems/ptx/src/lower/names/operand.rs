//! Resolution of names and operands: what each name means in the scopes that are open.

use super::resolve::{Binding, Range, Resolver, binding, collect};
use super::{Base, ELEMENTS, Operand, Resolved, Symbol, Value};
use crate::alloc::Effects;
use crate::ast::{self, OperandKind};
use crate::diagnostics::{Span, SpannedError};
use crate::lower::{opcodes, special};

impl<'a> Resolver<'_, 'a> {
    pub(super) fn lookup(&self, name: &str) -> Option<Binding> {
        for scope in self.scopes.iter().rev() {
            if let Some(&binding) = scope.names.get(name) {
                return Some(binding);
            }
            for range in &scope.ranges {
                let Some(digits) = name.strip_prefix(range.prefix) else {
                    continue;
                };
                if digits.len() > 1 && digits.starts_with('0') {
                    continue;
                }
                if let Ok(number) = digits.parse::<u64>()
                    && number < range.count
                {
                    let first = range.first + number as u32 * range.vector;
                    return Some(binding(first, range.vector));
                }
            }
        }
        None
    }

    pub(super) fn unknown(&self, name: &str, span: Span) -> SpannedError {
        let what = if name.starts_with('%') {
            "register"
        } else {
            "name"
        };
        let mut names: Vec<String> = Vec::new();
        for scope in self.scopes.iter().rev() {
            names.extend(scope.names.keys().map(|&known| known.to_owned()));
            for &Range { prefix, count, .. } in &scope.ranges {
                let last = count.saturating_sub(1);
                if name.starts_with(prefix) {
                    let hint = format!("`{prefix}<{count}>` declares {prefix}0 to {prefix}{last}");
                    return SpannedError::new(span, format!("unknown {what} `{name}`")).hint(hint);
                }
                names.push(format!("{prefix}{last}"));
            }
        }
        names.extend(self.module.symbols.keys().map(|&known| known.to_owned()));
        names.extend(self.module.functions.keys().map(|&known| known.to_owned()));
        SpannedError::new(span, format!("unknown {what} `{name}`"))
            .nearest(name, names.iter().map(String::as_str))
    }

    pub(super) fn name(&mut self, name: &str, span: Span) -> Result<Value, SpannedError> {
        if name == "_" {
            return Ok(Value::Nowhere);
        }
        if let Some(binding) = self.lookup(name) {
            return Ok(match binding {
                Binding::Register(register) => Value::Register(register),
                Binding::Vector(first, count) => {
                    let element = |at| Operand {
                        span,
                        value: Value::Register(first + at),
                    };
                    Value::Vector((0..count).map(element).collect())
                }
                Binding::Label(label) => Value::Label(label),
                Binding::Symbol(symbol) => Value::Symbol(symbol, 0),
                Binding::Prototype(prototype) => Value::Prototype(prototype),
                Binding::Targets(targets) => Value::Targets(targets),
            });
        }
        if let Some((whole, part)) = name.rsplit_once('.')
            && part.starts_with(['b', 'h'])
            && part.len() > 1
            && let Some(Binding::Register(_)) = self.lookup(whole)
        {
            let message = format!("`.{part}`: parts of a register are not supported");
            return Err(SpannedError::unsupported(span, message));
        }
        if let Some((whole, letter)) = name.rsplit_once('.')
            && let Some(Binding::Vector(first, count)) = self.lookup(whole)
        {
            let at = ELEMENTS
                .iter()
                .position(|letters| letters.contains(&letter));
            let at = at.filter(|at| *at < count as usize);
            return at
                .map(|at| Value::Register(first + at as u32))
                .ok_or_else(|| {
                    SpannedError::new(
                        span,
                        format!("`{whole}` has {count} elements, not `.{letter}`"),
                    )
                });
        }
        if name == "WARP_SZ" {
            return Ok(Value::Integer(32));
        }
        if let Some(found) = special::find(name) {
            return found
                .map(special_value)
                .map_err(|why| SpannedError::unsupported(span, why));
        }
        if let Some(components) = special::components(name) {
            let element = |found| Operand {
                span,
                value: special_value(found),
            };
            return Ok(Value::Vector(components.map(element).into()));
        }
        if let Some(&symbol) = self.module.symbols.get(name) {
            if let Symbol::Shared(number) = symbol {
                self.body.shared.push(number);
            }
            if let Symbol::Module(index) = symbol
                && let Some(why) = self.module.variables[index].unsupported
            {
                let message = format!("`{name}`: {why}");
                return Err(SpannedError::unsupported(span, message));
            }
            return Ok(Value::Symbol(symbol, 0));
        }
        match self.module.functions.get(name) {
            Some(&function) => Ok(Value::Function(function)),
            None => Err(self.unknown(name, span)),
        }
    }

    fn operand(&mut self, operand: &ast::Operand<'a>) -> Result<Operand, SpannedError> {
        let span = operand.span;
        let value = match &operand.kind {
            OperandKind::Name(name) => self.name(name, span)?,
            OperandKind::Offset(name, offset) => match self.name(name, span)? {
                Value::Symbol(symbol, _) => Value::Symbol(symbol, *offset),
                Value::Register(register) => {
                    let sum = self.register(self.body.registers[register as usize].ty);
                    let said = format!("{name}{offset:+}");
                    self.body.register_names.push((sum, said, false));
                    let value = Value::Register(register);
                    self.sums.push((sum, Operand { span, value }, *offset));
                    Value::Register(sum)
                }
                _ => {
                    let message = "only a variable or a register can have an offset here";
                    return Err(SpannedError::new(span, message));
                }
            },
            OperandKind::Integer(value) => Value::Integer(*value),
            OperandKind::Single(bits) => Value::Single(*bits),
            OperandKind::Double(bits) => Value::Double(*bits),
            OperandKind::Not(name) => match self.name(name, span)? {
                Value::Register(register) => Value::Not(register),
                _ => return Err(SpannedError::new(span, "`!` requires a predicate register")),
            },
            OperandKind::Address {
                base,
                offset,
                coordinates,
            } => {
                let base = match base {
                    None => Base::Absolute,
                    Some(name) => match self.name(name, span)? {
                        Value::Register(register) => Base::Register(register),
                        Value::Symbol(symbol, _) => Base::Symbol(symbol),
                        _ => {
                            let message = "an address must start with a register or a variable";
                            return Err(SpannedError::new(span, message));
                        }
                    },
                };
                match &coordinates[..] {
                    [] => Value::Address(base, *offset),
                    [coordinates] if *offset == 0 => {
                        Value::Texture(base, Box::new(self.operand(coordinates)?))
                    }
                    [_] => {
                        let message = "a texture cannot have an offset";
                        return Err(SpannedError::new(span, message));
                    }
                    _ => {
                        let message = "separate samplers are not supported";
                        return Err(SpannedError::unsupported(span, message));
                    }
                }
            }
            OperandKind::Vector(list) => Value::Vector(self.operands(list)?),
            OperandKind::List(list) => Value::List(self.operands(list)?),
            OperandKind::Pair(first, second) => Value::Pair(
                Box::new(self.operand(first)?),
                Box::new(self.operand(second)?),
            ),
        };
        Ok(Operand { span, value })
    }

    /// Adds an addition in front of an instruction for each operand `register + offset`.
    pub(super) fn add_sums(&mut self, resolved: &Resolved<'a>) {
        let writes_first = opcodes::writes_first(resolved.opcode);
        let written = resolved.operands.first().filter(|_| writes_first);
        for (sum, operand, offset) in std::mem::take(&mut self.sums) {
            let ty = self.body.registers[sum as usize].ty;
            let opcode = match (ty.is_float(), ty.bits()) {
                (false, 16) => "add.s16",
                (false, 32) => "add.s32",
                (false, 64) => "add.s64",
                _ => {
                    let message = format!("an offset from a {ty} register is not supported");
                    let complaint = SpannedError::unsupported(operand.span, message);
                    self.complaints.push(complaint);
                    continue;
                }
            };
            let mut effects = Effects::default();
            if let Some(written) = written {
                collect(&written.value, true, &mut effects);
            }
            if effects.writes.contains(&sum) {
                let message = "the destination cannot have an offset";
                self.complaints
                    .push(SpannedError::new(operand.span, message));
                continue;
            }
            let span = operand.span;
            let value = |value| Operand { span, value };
            let addition = Resolved {
                span: resolved.span,
                opcode,
                opcode_span: resolved.opcode_span,
                guard: resolved.guard,
                operands: vec![
                    value(Value::Register(sum)),
                    operand,
                    value(Value::Integer(offset as u64)),
                ],
                location: resolved.location,
                is_implied: false,
                class: None,
            };
            self.effects(&addition);
            self.body.instructions.push(addition);
        }
    }

    pub(super) fn operands(
        &mut self,
        list: &[ast::Operand<'a>],
    ) -> Result<Vec<Operand>, SpannedError> {
        list.iter().map(|operand| self.operand(operand)).collect()
    }
}

fn special_value(found: special::Found) -> Value {
    match found {
        special::Found::Register(special) => Value::Special(special),
        special::Found::Number(number) => Value::Integer(number),
    }
}
