//! Parser for operands: registers, constants, addresses, vectors and argument lists.

use super::{Parsed, Parser};
use crate::ast::{Operand, OperandKind};
use crate::lexer::Kind;

impl<'a> Parser<'a> {
    pub(super) fn operand(&mut self) -> Parsed<Operand<'a>> {
        let first = self.simple_operand()?;
        if !self.eat('|') {
            return Ok(first);
        }
        let second = self.simple_operand()?;
        let span = first.span.to(second.span);
        Ok(Operand {
            span,
            kind: OperandKind::Pair(Box::new(first), Box::new(second)),
        })
    }

    fn simple_operand(&mut self) -> Parsed<Operand<'a>> {
        self.deeper(Self::one_operand)
    }

    fn one_operand(&mut self) -> Parsed<Operand<'a>> {
        let start = self.peek().span;
        let kind = match self.peek().kind {
            Kind::Word => {
                let name = self.name()?;
                match self.signed_offset()? {
                    0 => OperandKind::Name(name),
                    offset => OperandKind::Offset(name, offset),
                }
            }
            Kind::Integer(_) | Kind::Single(_) | Kind::Double(_) | Kind::Punct('-' | '~') => {
                self.constant()?
            }
            Kind::Punct('!') => {
                self.next();
                OperandKind::Not(self.name()?)
            }
            Kind::Punct('[') => self.address()?,
            Kind::Punct('{') => {
                self.next();
                OperandKind::Vector(self.operand_list('}')?)
            }
            Kind::Punct('(') => {
                self.next();
                OperandKind::List(self.operand_list(')')?)
            }
            _ => return Err(self.expected("an operand")),
        };
        Ok(Operand {
            span: start.to(self.last_span()),
            kind,
        })
    }

    fn operand_list(&mut self, close: char) -> Parsed<Vec<Operand<'a>>> {
        let mut list = Vec::new();
        while !self.is_punct(close) {
            list.push(self.operand()?);
            if !self.eat(',') {
                break;
            }
        }
        self.expect(close, "after the list")?;
        Ok(list)
    }

    /// Parses a name, with the component of a special register (`%tid.x`) if it follows directly.
    fn name(&mut self) -> Parsed<&'a str> {
        let (name, span) = self.word("a name")?;
        let next = self.peek();
        if name.starts_with('%')
            && next.kind == Kind::Dot
            && next.span.start == span.end
            && matches!(self.slice(next.span), ".x" | ".y" | ".z" | ".w")
        {
            self.next();
            return Ok(self.slice(span.to(next.span)));
        }
        Ok(name)
    }

    fn constant(&mut self) -> Parsed<OperandKind<'a>> {
        let negative = self.eat('-');
        let inverted = !negative && self.eat('~');
        let kind = self.peek().kind;
        Ok(match kind {
            Kind::Integer(value) => {
                self.next();
                OperandKind::Integer(match (negative, inverted) {
                    (true, _) => value.wrapping_neg(),
                    (_, true) => !value,
                    _ => value,
                })
            }
            Kind::Single(bits) if !inverted => {
                self.next();
                OperandKind::Single(bits ^ (u32::from(negative) << 31))
            }
            Kind::Double(bits) if !inverted => {
                self.next();
                OperandKind::Double(bits ^ (u64::from(negative) << 63))
            }
            _ => return Err(self.expected("a number")),
        })
    }

    fn address(&mut self) -> Parsed<OperandKind<'a>> {
        self.expect('[', "before the address")?;
        let (base, offset) = match self.peek().kind {
            Kind::Integer(value) => {
                self.next();
                (None, value as i64)
            }
            Kind::Word => (Some(self.name()?), self.signed_offset()?),
            _ => return Err(self.expected("a register, a variable or a number")),
        };
        let mut coordinates = Vec::new();
        while self.eat(',') {
            coordinates.push(self.operand()?);
        }
        self.expect(']', "after the address")?;
        Ok(OperandKind::Address {
            base,
            offset,
            coordinates,
        })
    }
}
