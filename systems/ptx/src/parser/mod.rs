//! Recursive-descent parser from tokens to the syntax tree.
//!
//! After an error, the parser skips to the end of the statement and continues, so one run reports
//! several errors.

mod constant;
mod module;
mod operand;
mod statement;

use std::collections::BTreeMap;

use warpweave_params::{NESTING_MAX, nested_too_deep};

use crate::ast::Tree;
use crate::diagnostics::{Source, Span, SpannedError};
use crate::lexer::{self, Kind, Token};

/// Maximum number of errors reported in one run.
pub(crate) const COMPLAINTS_MAX: usize = 20;

/// Parses a whole file and returns its syntax tree, or all errors.
pub(crate) fn parse<'a>(source: &Source<'a>) -> Result<Tree<'a>, Vec<SpannedError>> {
    let tokens = lexer::tokens(source.text).map_err(|complaint| vec![complaint])?;
    let mut parser = Parser {
        text: source.text,
        tokens,
        at: 0,
        depth: 0,
        in_call: false,
        complaints: Vec::new(),
        files: BTreeMap::new(),
    };
    let mut tree = parser.module();
    tree.files = std::mem::take(&mut parser.files);
    if parser.complaints.is_empty() {
        Ok(tree)
    } else {
        Err(parser.complaints)
    }
}

type Parsed<T> = Result<T, SpannedError>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// Nesting depth of the open blocks, operands and initializers.
    depth: usize,
    /// True inside the operands of a call, where parentheses hold arguments.
    in_call: bool,
    complaints: Vec<SpannedError>,
    /// Source files, keyed by their `.file` number.
    files: BTreeMap<u64, &'a str>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    fn peek_kind(&self, ahead: usize) -> Kind {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Consumes and returns the next token; the end of the file is never consumed.
    fn next(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn is_punct(&self, punct: char) -> bool {
        self.peek().kind == Kind::Punct(punct)
    }

    fn eat(&mut self, punct: char) -> bool {
        let found = self.is_punct(punct);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, punct: char, place: &str) -> Parsed<Span> {
        if self.is_punct(punct) {
            Ok(self.next().span)
        } else {
            Err(self.expected(&format!("`{punct}` {place}")))
        }
    }

    fn word(&mut self, what: &str) -> Parsed<(&'a str, Span)> {
        match self.peek().kind {
            Kind::Word => {
                let span = self.next().span;
                Ok((self.slice(span), span))
            }
            _ => Err(self.expected(what)),
        }
    }

    fn integer(&mut self, what: &str) -> Parsed<u64> {
        match self.peek().kind {
            Kind::Integer(value) => {
                self.next();
                Ok(value)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Returns the text of the next token without its dot, if it is a directive or modifier.
    fn dot(&self) -> Option<&'a str> {
        let token = self.peek();
        (token.kind == Kind::Dot).then(|| &self.slice(token.span)[1..])
    }

    fn eat_dot(&mut self, name: &str) -> bool {
        let found = self.dot() == Some(name);
        if found {
            self.at += 1;
        }
        found
    }

    /// Parses one nesting level deeper, starting at the next token.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == NESTING_MAX {
            return Err(SpannedError::new(self.peek().span, nested_too_deep()));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn expected(&self, what: &str) -> SpannedError {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the file ends".to_owned(),
            _ => format!("found `{}`", self.slice(token.span)),
        };
        SpannedError::new(token.span, format!("expected {what}, {found}"))
    }

    fn complain(&mut self, complaint: SpannedError) {
        if self.complaints.len() < COMPLAINTS_MAX {
            self.complaints.push(complaint);
        }
    }

    /// Recovers from an error by skipping to the end of the statement, but not past the end of the
    /// body.
    fn recover(&mut self) {
        loop {
            match self.peek().kind {
                Kind::End | Kind::Punct('}') => return,
                Kind::Punct(';') => {
                    self.next();
                    return;
                }
                Kind::Punct('{') => self.skip_braces(),
                _ => {
                    self.next();
                }
            }
        }
    }

    /// Skips `{ ... }` with nested braces; the next token must be the opening brace.
    fn skip_braces(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.next().kind {
                Kind::Punct('{') => depth += 1,
                Kind::Punct('}') => depth -= 1,
                Kind::End => return,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }
}
