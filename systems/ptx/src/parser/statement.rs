//! Parser for function bodies: scopes, declarations, labels and instructions.

use super::{Parsed, Parser};
use crate::ast::{Guard, Instruction, Linkage, Statement};
use crate::diagnostics::{Span, SpannedError};
use crate::lexer::Kind;
use crate::types::StateSpace;

impl<'a> Parser<'a> {
    /// Parses a body of the form `{ statements }`.
    pub(super) fn body(&mut self) -> Parsed<Vec<Statement<'a>>> {
        self.expect('{', "before the body")?;
        let mut statements = Vec::new();
        while !self.is_punct('}') {
            if self.peek().kind == Kind::End {
                return Err(self.expected("`}` after the body"));
            }
            let before = self.at;
            if let Err(complaint) = self.statement(&mut statements) {
                self.complain(complaint);
                self.recover();
            }
            if self.at == before {
                self.next();
            }
        }
        self.next();
        statements.shrink_to_fit();
        Ok(statements)
    }

    fn statement(&mut self, statements: &mut Vec<Statement<'a>>) -> Parsed<()> {
        match self.peek().kind {
            Kind::Punct(';') => {
                self.next();
                Ok(())
            }
            Kind::Punct('{') => {
                let block = self.deeper(Self::body)?;
                statements.push(Statement::Block(block));
                Ok(())
            }
            Kind::Dot => self.body_directive(statements),
            Kind::Word if self.peek_kind(1) == Kind::Punct(':') => {
                let (name, span) = self.word("a label")?;
                self.next();
                statements.push(match self.dot() {
                    Some("callprototype") => self.prototype(name, span)?,
                    Some("branchtargets") => self.targets(name, span, false)?,
                    Some("calltargets") => self.targets(name, span, true)?,
                    _ => Statement::Label { name, span },
                });
                Ok(())
            }
            Kind::Word | Kind::Punct('@') => {
                let instruction = self.instruction()?;
                statements.push(Statement::Instruction(instruction));
                Ok(())
            }
            _ => Err(self.expected("an instruction, a label or a declaration")),
        }
    }

    fn body_directive(&mut self, statements: &mut Vec<Statement<'a>>) -> Parsed<()> {
        let name = self.dot().unwrap_or_default();
        match name {
            "loc" | "file" => {
                statements.extend(self.location()?.map(Statement::Location));
                Ok(())
            }
            "pragma" => self.pragma(),
            "section" => {
                self.section();
                Ok(())
            }
            "branchtargets" | "callprototype" | "calltargets" => {
                Err(self.expected("a label and `:` before this directive"))
            }
            "extern" | "visible" | "weak" => {
                self.next();
                let mut list = Vec::new();
                self.variables(Linkage::Extern, &mut list)?;
                statements.extend(list.into_iter().map(Statement::Variable));
                Ok(())
            }
            _ if StateSpace::from_name(name).is_some() => {
                let mut list = Vec::new();
                self.variables(Linkage::Internal, &mut list)?;
                statements.extend(list.into_iter().map(Statement::Variable));
                Ok(())
            }
            _ => {
                let complaint = self.expected("a declaration such as `.reg`");
                let known = [
                    "reg", "shared", "local", "param", "loc", "pragma", "global", "const",
                ];
                Err(complaint.nearest(name, known))
            }
        }
    }

    /// Parses `.callprototype (returns) _ (parameters) .noreturn;` after its label.
    fn prototype(&mut self, name: &'a str, span: Span) -> Parsed<Statement<'a>> {
        self.next();
        let mut lists = [Vec::new(), Vec::new()];
        if self.is_punct('(') {
            lists[0] = self.parameters()?;
        }
        self.word("`_`")?;
        if self.is_punct('(') {
            lists[1] = self.parameters()?;
        }
        self.function_directives(&mut Vec::new())?;
        self.expect(';', "after the prototype")?;
        let [returns, parameters] = lists;
        Ok(Statement::Prototype {
            name,
            span,
            returns,
            parameters,
        })
    }

    /// Parses `.branchtargets a, b;` or `.calltargets f, g;` after its label.
    fn targets(&mut self, name: &'a str, span: Span, is_call: bool) -> Parsed<Statement<'a>> {
        self.next();
        let mut list = vec![self.word("a name")?];
        while self.eat(',') {
            list.push(self.word("a name")?);
        }
        self.expect(';', "after the targets")?;
        Ok(Statement::Targets {
            name,
            span,
            list,
            is_call,
        })
    }

    fn instruction(&mut self) -> Parsed<Instruction<'a>> {
        let start = self.peek().span;
        let guard = if self.eat('@') {
            let negated = self.eat('!');
            let (name, span) = self.word("a predicate register")?;
            Some(Guard {
                name,
                span,
                negated,
            })
        } else {
            None
        };
        let (_, mut opcode_span) = self.word("an instruction")?;
        while self.peek().kind == Kind::Dot && self.peek().span.start == opcode_span.end {
            opcode_span = opcode_span.to(self.next().span);
        }
        let opcode = self.slice(opcode_span);
        self.in_call = opcode.split('.').next() == Some("call");
        let mut operands = Vec::new();
        if !self.is_punct(';') {
            loop {
                operands.push(self.operand()?);
                if !self.eat(',') {
                    break;
                }
            }
        }
        if !self.is_punct(';') {
            let place = format!("`,` or `;` after an operand of `{opcode}`");
            return Err(self.expected(&place));
        }
        let end = self.next().span;
        operands.shrink_to_fit();
        if operands.len() > 64 {
            return Err(SpannedError::new(opcode_span, "too many operands"));
        }
        Ok(Instruction {
            span: start.to(end),
            guard,
            opcode,
            opcode_span,
            operands,
        })
    }
}
