//! Parser that turns text into expressions.

use warpweave_params::{Diagnostic, NESTING_MAX, Placed, name_hint};
use wildmatch::WildMatch;

use super::{Aggregation, Expression, Operator, Pattern, Quantity, Term};

/// Parse error with its position in the text and a hint.
struct Problem {
    message: String,
    at: (usize, usize),
    hint: Option<String>,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Expression {
    /// Parses an expression from its text.
    ///
    /// # Errors
    /// Returns the first syntax error with its position.
    pub fn parse(text: &Placed<String>) -> Result<Self, Diagnostic> {
        let mut reader = Reader {
            text: &text.value,
            at: 0,
            depth: 0,
        };
        let read = reader.sum().and_then(|term| match reader.peek() {
            None => Ok(Self(term)),
            Some(_) => Err(reader.here("expected an operator or the end")),
        });
        read.map_err(|problem| {
            let mut error = Diagnostic::error(problem.message);
            if let Some(place) = &text.place {
                // The text between quotes, unless escapes make it another one than is written.
                let quoted = place.text().get(1..place.text().len().saturating_sub(1));
                let place = if quoted == Some(text.value.as_str()) {
                    place.slice(problem.at.0 + 1, problem.at.1 + 1)
                } else {
                    place.clone()
                };
                error = error.at(&place);
            }
            match problem.hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        })
    }
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Consumes a character if it comes next.
    fn takes(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.at += wanted.len_utf8();
        }
        there
    }

    /// Returns an error about the next character.
    fn here(&mut self, expected: &str) -> Problem {
        let next = self.peek();
        let width = next.map_or(0, char::len_utf8);
        let found = next.map_or("the end".to_owned(), |c| format!("`{}`", c.escape_debug()));
        Problem {
            message: format!("{expected}, found {found}"),
            at: (self.at, self.at + width.max(1)),
            hint: None,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), Problem> {
        if self.takes(wanted) {
            return Ok(());
        }
        Err(self.here(&format!("expected `{wanted}`")))
    }

    fn sum(&mut self) -> Result<Term, Problem> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(self.here("the expression is nested too deeply"));
        }
        let operators = [('+', Operator::Add), ('-', Operator::Subtract)];
        let term = self.chain(operators, Self::product);
        self.depth -= 1;
        term
    }

    fn product(&mut self) -> Result<Term, Problem> {
        let operators = [('*', Operator::Multiply), ('/', Operator::Divide)];
        self.chain(operators, Self::factor)
    }

    fn chain(
        &mut self,
        operators: [(char, Operator); 2],
        next: fn(&mut Self) -> Result<Term, Problem>,
    ) -> Result<Term, Problem> {
        let mut left = next(self)?;
        let mut length = 0;
        while let Some(operator) = operators.iter().find(|(sign, _)| self.takes(*sign)) {
            length += 1;
            if length > NESTING_MAX {
                return Err(self.here("the expression is too long"));
            }
            let right = next(self)?;
            left = Term::Binary(operator.1, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Term, Problem> {
        match self.peek() {
            Some('(') => {
                self.expect('(')?;
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some('-') => {
                self.expect('-')?;
                self.depth += 1;
                if self.depth > NESTING_MAX {
                    return Err(self.here("the expression is nested too deeply"));
                }
                let inner = self.factor()?;
                self.depth -= 1;
                Ok(Term::Negated(Box::new(inner)))
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.named(),
            _ => Err(self.here("expected a number, a name or `(`")),
        }
    }

    fn number(&mut self) -> Result<Term, Problem> {
        let start = self.at;
        let of_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = self.text[start..].find(|c: char| !of_number(c));
        let end = end.map_or(self.text.len(), |end| start + end);
        self.at = end;
        let text = &self.text[start..end];
        text.parse().map(Term::Number).map_err(|_| Problem {
            message: format!("`{text}` is not a number"),
            at: (start, end),
            hint: None,
        })
    }

    fn named(&mut self) -> Result<Term, Problem> {
        let start = self.at;
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.text[start..].find(|c: char| !of_name(c));
        let end = end.map_or(self.text.len(), |end| start + end);
        let name = &self.text[start..end];
        self.at = end;
        let quantity = Quantity::ALL.iter().find(|(known, _)| *known == name);
        let over = Aggregation::ALL.iter().find(|(known, _)| *known == name);
        if self.peek() != Some('(') {
            return match (quantity, over) {
                (Some((_, quantity)), _) => Ok(Term::Whole(*quantity)),
                (None, Some(_)) => Err(self.here("expected `(` and a pattern")),
                (None, None) => Err(unknown(name, (start, end))),
            };
        }
        match (name, over) {
            ("energy", _) => Ok(Term::Energy(self.pattern()?)),
            ("kernels", _) => {
                self.expect('(')?;
                let kernel = self.until(&[',', ')'], "a kernel name")?;
                self.expect(',')?;
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(Term::Kernels(WildMatch::new(&kernel), Box::new(inner)))
            }
            (_, Some((_, over))) => Ok(Term::Statistics(*over, self.pattern()?)),
            (_, None) if quantity.is_some() => Err(self.here("expected an operator or the end")),
            (_, None) => Err(unknown(name, (start, end))),
        }
    }

    /// Parses a pattern in parentheses, such as `(cluster[*].l1.reads)`.
    fn pattern(&mut self) -> Result<Pattern, Problem> {
        self.expect('(')?;
        let text = self.until(&[')', '(', ','], "a pattern such as `cluster[*].l1.reads`")?;
        self.expect(')')?;
        Ok(Pattern::new(&text))
    }

    /// Returns the text up to one of the characters, without surrounding blanks.
    fn until(&mut self, ends: &[char], what: &str) -> Result<String, Problem> {
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.find(ends).unwrap_or(rest.len());
        let text = rest[..end].trim();
        if text.is_empty() {
            return Err(self.here(&format!("expected {what}")));
        }
        let text = text.to_owned();
        self.at += end;
        Ok(text)
    }
}

fn unknown(name: &str, at: (usize, usize)) -> Problem {
    let quantities = Quantity::ALL.iter().map(|(name, _)| *name);
    let functions = Aggregation::ALL.iter().map(|(name, _)| *name);
    let known: Vec<&str> = quantities.chain(functions).chain(["kernels"]).collect();
    Problem {
        message: format!("unknown quantity `{name}`"),
        at,
        hint: Some(name_hint(name, "quantities and functions", known)),
    }
}
