//! Encoder: converts resolved instructions to the decoded operations of one kernel. The instruction
//! families are in the neighbouring files; this file has the shared rules for operands and
//! modifiers.

use std::collections::{BTreeMap, BTreeSet};

use crate::address_space::function_address;
use crate::alloc::{Allocation, File};
use crate::cfg::Graph;
use crate::diagnostics::{Span, SpannedError};
use crate::kernel::Tables;
use crate::lower::names::{Body, Operand, Resolved, Value, file};
use crate::lower::opcodes;
use crate::ops::{Constant, NO_REGISTER, Op, Pred, Scalar, ScalarKind, Special, Src};
use crate::site::Symbol;
use crate::types::ScalarType;

pub(crate) type Encoded<T> = Result<T, SpannedError>;

/// A function after register allocation, ready to be encoded.
pub(crate) struct NumberedFunction<'a> {
    pub(crate) body: Body<'a>,
    pub(crate) graph: Graph,
    pub(crate) allocation: Allocation,
}

/// Encodes one function as part of one kernel.
pub(crate) struct Encoder<'k, 'a> {
    /// All functions of the module by index; `None` for declarations.
    pub(crate) functions: &'k [Option<NumberedFunction<'a>>],
    /// Names of all functions of the module, by index.
    pub(crate) function_names: &'k [&'a str],
    pub(crate) function: &'k NumberedFunction<'a>,
    pub(crate) is_entry: bool,
    pub(crate) tables: &'k mut Tables,
    /// Opcodes of the kernel that have no foreign word: most instructions repeat one of a few.
    pub(crate) known_opcodes: &'k mut BTreeSet<&'a str>,
    /// Local memory offset of each shared variable that the kernel uses, by index in the module.
    pub(crate) shared_offsets: &'k BTreeMap<usize, u32>,
    /// Index of each function in the kernel's function table.
    pub(crate) places: &'k BTreeMap<usize, usize>,
    /// Index of the function's first instruction in the kernel.
    pub(crate) start: u32,
}

/// Returns the slot in its file of a register with an architectural number.
pub(crate) fn slot(file: File, number: u16) -> u16 {
    if matches!(file, File::Double | File::Quad) && number != u16::MAX {
        number / 2
    } else {
        number
    }
}

impl Encoder<'_, '_> {
    /// Returns the slot of a virtual register in its file. For 128 bits it is the slot of the lower
    /// half, and the upper half is next.
    pub(crate) fn number(&self, register: u32) -> u16 {
        let number = self.function.allocation.numbers[register as usize];
        slot(self.file(register), number)
    }

    pub(crate) fn file(&self, register: u32) -> File {
        file(self.ty(register))
    }

    pub(crate) fn ty(&self, register: u32) -> ScalarType {
        self.function.body.registers[register as usize].ty
    }

    pub(crate) fn constant32(&mut self, constant: Constant) -> Src {
        let tables = &mut *self.tables;
        intern(
            &mut tables.constants.words,
            &mut tables.constants.seen32,
            constant,
        )
    }

    pub(crate) fn constant64(&mut self, constant: Constant) -> Src {
        let tables = &mut *self.tables;
        intern(
            &mut tables.constants.doubles,
            &mut tables.constants.seen64,
            constant,
        )
    }

    fn special(&mut self, special: Special) -> Src {
        let specials = &mut self.tables.specials;
        let at = specials
            .iter()
            .position(|&known| known == special)
            .unwrap_or_else(|| {
                specials.push(special);
                specials.len() - 1
            });
        Src(Src::SPECIAL + at as u16)
    }

    /// Encodes a source of type `ty`, up to 32 bits wide, in a register of exactly that width.
    pub(crate) fn word(&mut self, operand: &Operand, ty: ScalarType) -> Encoded<Src> {
        if let Value::Register(register) = operand.value {
            self.expect_bits(register, ty, operand.span)?;
        }
        self.any_word(operand, ty)
    }

    /// Encodes a source in any register of the word file.
    pub(crate) fn any_word(&mut self, operand: &Operand, ty: ScalarType) -> Encoded<Src> {
        match operand.value {
            Value::Register(register) if self.file(register) == File::Word => {
                Ok(Src(self.number(register)))
            }
            Value::Register(register) => Err(self.wrong_width(register, ty, operand.span)),
            Value::Special(special) => Ok(self.special(special)),
            _ => {
                let constant = self.constant(operand, ty)?;
                Ok(self.constant32(constant))
            }
        }
    }

    /// Encodes a source in a register of 64 bits.
    pub(crate) fn double(&mut self, operand: &Operand, ty: ScalarType) -> Encoded<Src> {
        match operand.value {
            Value::Register(register) if self.file(register) == File::Double => {
                Ok(Src(self.number(register)))
            }
            Value::Register(register) => Err(self.wrong_width(register, ty, operand.span)),
            Value::Special(_) => Err(SpannedError::new(
                operand.span,
                "special registers are 32 bits wide",
            )),
            _ => {
                let constant = self.constant(operand, ty)?;
                Ok(self.constant64(constant))
            }
        }
    }

    /// Returns the slot of the lower half of a 128-bit source.
    fn quad(&self, operand: &Operand) -> Encoded<Src> {
        let ty = ScalarType::B128;
        match operand.value {
            Value::Register(register) => {
                self.expect_bits(register, ty, operand.span)?;
                Ok(Src(self.number(register)))
            }
            _ => Err(wrong_constant(operand.span, ty)),
        }
    }

    /// Encodes a source of any width, according to its type.
    pub(crate) fn source(&mut self, operand: &Operand, ty: ScalarType) -> Encoded<Src> {
        match ty.bits() {
            128 => self.quad(operand),
            64 => self.double(operand, ty),
            _ => self.word(operand, ty),
        }
    }

    /// Returns the value of a constant operand as the bits of `ty`.
    pub(crate) fn constant(&mut self, operand: &Operand, ty: ScalarType) -> Encoded<Constant> {
        let mask = if ty.bits() < 64 {
            (1 << ty.bits()) - 1
        } else {
            u64::MAX
        };
        let value = match operand.value {
            Value::Integer(value) if !ty.is_float() => value & mask,
            Value::Single(bits) => match ty {
                ScalarType::F64 => f64::from(f32::from_bits(bits)).to_bits(),
                _ if ty.bits() == 32 => u64::from(bits),
                _ => return Err(wrong_constant(operand.span, ty)),
            },
            Value::Double(bits) => match ty {
                ScalarType::F32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
                _ if ty.bits() == 64 => bits,
                _ => return Err(wrong_constant(operand.span, ty)),
            },
            Value::Function(function) => function_address(function),
            Value::Symbol(symbol, offset) => return self.symbol(symbol, offset, operand.span),
            Value::Integer(value) if matches!(ty, ScalarType::F32 | ScalarType::F64) => {
                let hint = format!(
                    "a number of type {ty} needs a fraction: `{}.0`",
                    value as i64
                );
                return Err(wrong_constant(operand.span, ty).hint(hint));
            }
            _ => return Err(wrong_constant(operand.span, ty)),
        };
        Ok(Constant::Value(value))
    }

    /// Returns the address of a variable in its own space, if it is the same for all threads.
    pub(crate) fn symbol(&self, symbol: Symbol, offset: i64, span: Span) -> Encoded<Constant> {
        match symbol {
            Symbol::Module(index) => Ok(Constant::Variable { index, offset }),
            Symbol::Shared(number) => {
                let base = self.shared_offsets.get(&number).copied().unwrap_or(0);
                Ok(Constant::Value(i64::from(base).wrapping_add(offset) as u64))
            }
            Symbol::Argument(at) | Symbol::Private(at) => {
                Ok(Constant::Value(i64::from(at).wrapping_add(offset) as u64))
            }
            Symbol::Frame(_) => Err(SpannedError::new(
                span,
                "the address of a frame variable is not a constant",
            )),
        }
    }

    fn expect_bits(&self, register: u32, ty: ScalarType, span: Span) -> Encoded<()> {
        if self.ty(register).bits() == ty.bits() {
            return Ok(());
        }
        Err(self.wrong_width(register, ty, span))
    }

    fn wrong_width(&self, register: u32, ty: ScalarType, span: Span) -> SpannedError {
        let found = self.ty(register);
        SpannedError::new(
            span,
            format!("expected an operand for {ty}, found a {found} register"),
        )
    }

    fn destination_register(operand: &Operand) -> Encoded<u32> {
        match operand.value {
            Value::Register(register) => Ok(register),
            _ => Err(SpannedError::new(
                operand.span,
                "the destination must be a register",
            )),
        }
    }

    /// Returns a destination register of exactly `ty`'s width.
    pub(crate) fn destination(&self, operand: &Operand, ty: ScalarType) -> Encoded<u16> {
        let register = Self::destination_register(operand)?;
        self.expect_bits(register, ty, operand.span)?;
        Ok(self.number(register))
    }

    /// Returns a destination register at least as wide as `ty`, with its width of at most 64 bits.
    pub(crate) fn wide_destination(
        &self,
        operand: &Operand,
        ty: ScalarType,
    ) -> Encoded<(u16, u32)> {
        let register = Self::destination_register(operand)?;
        let bits = self.ty(register).bits();
        if bits < ty.bits() || matches!(bits, 1 | 128) {
            return Err(self.wrong_width(register, ty, operand.span));
        }
        Ok((self.number(register), bits))
    }

    /// Returns a predicate destination; `_` is [`Pred::NONE`].
    pub(crate) fn predicate_destination(&self, operand: &Operand) -> Encoded<u16> {
        match operand.value {
            Value::Nowhere => Ok(Pred::NONE),
            Value::Register(register) if self.file(register) == File::Predicate => {
                Ok(self.number(register))
            }
            _ => Err(SpannedError::new(
                operand.span,
                "expected a predicate register",
            )),
        }
    }

    /// Encodes a predicate source: register, negated register or constant.
    pub(crate) fn predicate(&self, operand: &Operand) -> Encoded<Pred> {
        match operand.value {
            Value::Register(register) if self.file(register) == File::Predicate => {
                Ok(Pred(self.number(register)))
            }
            Value::Not(register) if self.file(register) == File::Predicate => {
                Ok(Pred(self.number(register) | Pred::NEGATED))
            }
            Value::Integer(0) => Ok(Pred(Pred::TRUE | Pred::NEGATED)),
            Value::Integer(_) => Ok(Pred(Pred::TRUE)),
            _ => Err(SpannedError::new(
                operand.span,
                "expected a predicate register",
            )),
        }
    }

    /// Returns a destination register, or the discard register for `_`.
    pub(crate) fn optional_destination(&self, operand: &Operand, ty: ScalarType) -> Encoded<u16> {
        match operand.value {
            Value::Nowhere => Ok(NO_REGISTER),
            _ => self.destination(operand, ty),
        }
    }

    /// Encodes an instruction that is executed one lane at a time, with one destination and up to
    /// three sources.
    pub(crate) fn scalar(
        &mut self,
        form: &Form<'_>,
        kind: ScalarKind,
        (to, from): (ScalarType, ScalarType),
    ) -> Encoded<Op> {
        let d = self.destination(&form.operands[0], to)?;
        let mut sources = [Src(0); 3];
        for (at, operand) in form.operands[1..].iter().enumerate() {
            sources[at] = self.source(operand, from)?;
        }
        for at in form.operands.len() - 1..3 {
            sources[at] = sources[0];
        }
        self.tables.scalars.push(Scalar {
            kind,
            wide: to.bits() == 64,
            d,
            sources,
        });
        Ok(Op::Scalar(self.tables.scalars.len() as u32 - 1))
    }

    /// Returns the destinations of `d|p`, both optional.
    pub(crate) fn word_and_predicate(&mut self, operand: &Operand) -> Encoded<(u16, u16)> {
        let word = ScalarType::B32;
        Ok(match &operand.value {
            Value::Pair(d, p) => (
                self.optional_destination(d, word)?,
                self.predicate_destination(p)?,
            ),
            Value::Nowhere => (NO_REGISTER, Pred::NONE),
            _ => (self.destination(operand, word)?, Pred::NONE),
        })
    }
}

fn intern(list: &mut Vec<Constant>, seen: &mut BTreeMap<Constant, u16>, constant: Constant) -> Src {
    let at = *seen.entry(constant).or_insert_with(|| {
        list.push(constant);
        list.len() as u16 - 1
    });
    Src(Src::CONSTANT + at)
}

fn wrong_constant(span: Span, ty: ScalarType) -> SpannedError {
    SpannedError::new(span, format!("expected an operand of type {ty}"))
}

/// A split opcode: base, modifiers not yet consumed, and operands.
pub(crate) struct Form<'i> {
    pub(crate) base: &'i str,
    opcode: &'i str,
    span: Span,
    modifiers: Vec<&'i str>,
    pub(crate) operands: &'i [Operand],
}

impl<'i> Form<'i> {
    pub(super) fn new(instruction: &'i Resolved<'_>) -> Self {
        let mut modifiers: Vec<&str> = instruction.opcode.split('.').skip(1).collect();
        modifiers.retain(|modifier| !modifier.is_empty());
        Self {
            base: opcodes::base(instruction.opcode),
            opcode: instruction.opcode,
            span: instruction.opcode_span,
            modifiers,
            operands: &instruction.operands,
        }
    }

    pub(crate) fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Consumes a modifier if it is present.
    pub(crate) fn take(&mut self, modifier: &str) -> bool {
        let at = self.modifiers.iter().position(|&found| found == modifier);
        at.map(|at| self.modifiers.remove(at)).is_some()
    }

    /// Consumes the first modifier that `find` recognizes.
    pub(crate) fn take_one<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, found) = self
            .modifiers
            .iter()
            .enumerate()
            .find_map(|(at, name)| Some((at, find(name)?)))?;
        self.modifiers.remove(at);
        Some(found)
    }

    /// True if the opcode has one of `names` before the type `other`.
    pub(crate) fn names_first(&self, names: &[&str], other: ScalarType) -> bool {
        let mut words = self.opcode.split('.');
        let first = words.find_map(|word| {
            let is_other = ScalarType::from_name(word) == Some(other);
            (is_other || names.contains(&word)).then_some(!is_other)
        });
        first.unwrap_or(false)
    }

    /// Consumes the length of a vector, if there is one.
    pub(crate) fn take_vector(&mut self) -> Option<usize> {
        self.take_one(|name| match name {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        })
    }

    /// Consumes the next type modifier; fails if there is none.
    pub(crate) fn take_type(&mut self) -> Encoded<ScalarType> {
        self.take_one(ScalarType::from_name)
            .ok_or_else(|| self.unsupported("missing or unknown type"))
    }

    pub(super) fn last_type(&self) -> Option<ScalarType> {
        self.modifiers
            .iter()
            .rev()
            .find_map(|name| ScalarType::from_name(name))
    }

    pub(crate) fn count(&self, wanted: usize) -> Encoded<()> {
        if self.operands.len() == wanted {
            return Ok(());
        }
        let message = format!(
            "`{}` takes {wanted} operands, but found {}",
            self.opcode,
            self.operands.len()
        );
        Err(SpannedError::new(self.span, message))
    }

    pub(crate) fn unsupported(&self, why: &str) -> SpannedError {
        SpannedError::unsupported(
            self.span,
            format!("unsupported form `{}`: {why}", self.opcode),
        )
    }

    /// Returns the error for a word that the instruction does not accept.
    pub(super) fn foreign(&self, word: &str) -> SpannedError {
        self.unsupported(&format!("the modifier `.{word}` is not supported"))
    }

    /// Fails if any modifier has not been consumed.
    pub(super) fn finish(&self) -> Encoded<()> {
        match self.modifiers.first() {
            None => Ok(()),
            Some(left) => Err(self.unsupported(&format!("unexpected modifier `.{left}`"))),
        }
    }
}
