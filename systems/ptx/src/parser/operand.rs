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
            Kind::Punct('(') if !self.in_call => OperandKind::Integer(self.expression()?),
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

    /// Parses a name, with the element or part (`%tid.x`, `v.y`, `r.h0`) that follows directly.
    fn name(&mut self) -> Parsed<&'a str> {
        let (name, span) = self.word("a name")?;
        let next = self.peek();
        if next.kind == Kind::Dot && next.span.start == span.end {
            self.next();
            return Ok(self.slice(span.to(next.span)));
        }
        Ok(name)
    }

    fn constant(&mut self) -> Parsed<OperandKind<'a>> {
        let negative = self.is_punct('-');
        Ok(match self.peek_kind(usize::from(negative)) {
            Kind::Single(bits) => {
                self.at += usize::from(negative) + 1;
                OperandKind::Single(bits ^ (u32::from(negative) << 31))
            }
            Kind::Double(bits) => {
                self.at += usize::from(negative) + 1;
                OperandKind::Double(bits ^ (u64::from(negative) << 63))
            }
            _ => OperandKind::Integer(self.expression()?),
        })
    }

    fn address(&mut self) -> Parsed<OperandKind<'a>> {
        self.expect('[', "before the address")?;
        let (base, offset) = match self.peek().kind {
            Kind::Integer(_) | Kind::Punct('(') => (None, self.expression()? as i64),
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
