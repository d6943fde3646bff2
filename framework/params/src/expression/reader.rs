//! Parses an expression and evaluates it in the same pass.

use std::ops::Range;

use super::{Env, ExpressionError, is_keyword};
use crate::node::Kind;
use crate::parse::{NESTING_MAX, nested_too_deep};
use crate::suggest::name_hint;

const FUNCTIONS: [&str; 4] = ["ceil_div", "log2", "max", "min"];

/// Result of evaluating a part of an expression.
pub(super) enum Value {
    Int(i64),
    Bool(bool),
    /// Value of another type, which can be passed on but not computed with.
    Other(Kind),
    /// Result of a part that is parsed but not computed.
    Unknown,
}

impl Value {
    fn describe(&self) -> &'static str {
        match self {
            Self::Int(_) => "an integer",
            Self::Bool(_) => "a boolean",
            Self::Other(_) => "a value of another type",
            Self::Unknown => "an unknown value",
        }
    }
}

/// Recursive-descent parser that evaluates directly; each expression is evaluated once.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Named values; absent while only the syntax matters.
    env: Option<&'t Env>,
    /// True if values are computed; false in the branch that a condition does not take.
    live: bool,
}

type Read<T> = Result<T, ExpressionError>;

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, env: Option<&'t Env>) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            env,
            live: env.is_some(),
        }
    }

    /// Parses and evaluates the whole text.
    pub(super) fn whole(&mut self) -> Read<Value> {
        let value = self.choice()?;
        match self.peek() {
            None => Ok(value),
            Some(c) => Err(self.error_here(format!("unexpected `{c}` in an expression"))),
        }
    }

    /// Parses `if choice then choice else choice`, or an expression without a condition.
    fn choice(&mut self) -> Read<Value> {
        if !self.keyword("if") {
            return self.either();
        }
        self.deeper(|reader| {
            let start = reader.start();
            let condition = reader.choice()?;
            let condition = reader.truth(condition, start)?;
            reader.expect_word("then")?;
            let yes = reader.only_if(condition != Some(false), Self::choice)?;
            reader.expect_word("else")?;
            let no = reader.only_if(condition != Some(true), Self::choice)?;
            Ok(if condition == Some(true) { yes } else { no })
        })
    }

    /// Parses a disjunction, `both ('||' both)*`, and evaluates it.
    fn either(&mut self) -> Read<Value> {
        self.logic("||", true, Self::both)
    }

    /// Parses a conjunction, `comparison ('&&' comparison)*`, and evaluates it.
    fn both(&mut self) -> Read<Value> {
        self.logic("&&", false, Self::comparison)
    }

    /// Parses operands joined by a logical operator; `decisive` is the value that makes the
    /// remaining operands irrelevant.
    fn logic(
        &mut self,
        operator: &str,
        decisive: bool,
        mut operand: impl FnMut(&mut Self) -> Read<Value>,
    ) -> Read<Value> {
        let start = self.start();
        let mut value = operand(self)?;
        while self.take(operator) {
            let left = self.truth(value, start)?;
            let right_start = self.start();
            let decided = left == Some(decisive);
            let right = self.only_if(!decided, &mut operand)?;
            value = match (left, decided) {
                (Some(left), true) => Value::Bool(left),
                _ => match self.truth(right, right_start)? {
                    Some(right) => Value::Bool(right),
                    None => Value::Unknown,
                },
            };
        }
        Ok(value)
    }

    /// Parses an optional comparison, `sum (('==' | '!=' | '<=' | '<' | '>=' | '>') sum)?`, and
    /// evaluates it.
    fn comparison(&mut self) -> Read<Value> {
        let start = self.start();
        let left = self.sum()?;
        if !matches!(self.peek(), Some('=' | '!' | '<' | '>')) {
            return Ok(left);
        }
        let operators = ["==", "!=", "<=", ">=", "<", ">"];
        let Some(operator) = operators.into_iter().find(|operator| self.take(operator)) else {
            return Ok(left);
        };
        let right_start = self.start();
        let right = self.sum()?;
        if !self.live {
            return Ok(Value::Unknown);
        }
        if let (Value::Bool(left), Value::Bool(right), "==" | "!=") = (&left, &right, operator) {
            return Ok(Value::Bool((left == right) == (operator == "==")));
        }
        let right = match (&left, right, operator) {
            (Value::Bool(_), right, "==" | "!=") => {
                let message = format!("expected `true` or `false`, found {}", right.describe());
                return Err(error(message, right_start..self.at));
            }
            (_, right, _) => right,
        };
        let end = right_start;
        let left = self.integer_in(left, start..end)?;
        let right = self.integer(right, right_start)?;
        Ok(Value::Bool(match operator {
            "==" => left == right,
            "!=" => left != right,
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            _ => left >= right,
        }))
    }

    /// Parses a sum, `product (('+' | '-') product)*`, and evaluates it.
    fn sum(&mut self) -> Read<Value> {
        let start = self.start();
        let mut value = self.product()?;
        while let Some(operator @ ('+' | '-')) = self.peek() {
            let left = self.integer(value, start)?;
            self.at += 1;
            let right_start = self.start();
            let right = self.product()?;
            let right = self.integer(right, right_start)?;
            let result = if operator == '+' {
                left.checked_add(right)
            } else {
                left.checked_sub(right)
            };
            value = self.checked(result, start)?;
        }
        Ok(value)
    }

    /// Parses a product, `factor (('*' | '/' | '%') factor)*`, and evaluates it.
    fn product(&mut self) -> Read<Value> {
        let start = self.start();
        let mut value = self.factor()?;
        while let Some(operator @ ('*' | '/' | '%')) = self.peek() {
            let left = self.integer(value, start)?;
            self.at += 1;
            let right_start = self.start();
            let right = self.factor()?;
            let right = self.integer(right, right_start)?;
            if self.live && operator != '*' && right == 0 {
                return Err(error("division by zero", right_start..self.at));
            }
            let result = match operator {
                '*' => left.checked_mul(right),
                '/' => left.checked_div(right),
                _ => left.checked_rem(right),
            };
            value = self.checked(result, start)?;
        }
        Ok(value)
    }

    /// Parses a number, a name, a call, a negation or a parenthesis.
    fn factor(&mut self) -> Read<Value> {
        self.deeper(|reader| {
            let start = reader.start();
            match reader.peek() {
                Some('(') => {
                    reader.at += 1;
                    let value = reader.choice()?;
                    reader.expect(')')?;
                    Ok(value)
                }
                Some('-') => {
                    reader.at += 1;
                    let inner = reader.start();
                    let value = reader.factor()?;
                    let value = reader.integer(value, inner)?.checked_neg();
                    reader.checked(value, start)
                }
                Some('!') => {
                    reader.at += 1;
                    let inner = reader.start();
                    let value = reader.factor()?;
                    let value = reader.truth(value, inner)?;
                    Ok(value.map_or(Value::Unknown, |value| Value::Bool(!value)))
                }
                Some(c) if c.is_ascii_digit() => reader.number(),
                Some(c) if c == '_' || c.is_alphabetic() => reader.named(),
                Some(c) => {
                    Err(reader.error_here(format!("expected a number or name, found `{c}`")))
                }
                None => {
                    Err(reader
                        .error_here("expected a number or name, found the end of the expression"))
                }
            }
        })
    }

    fn number(&mut self) -> Read<Value> {
        let word = self.word();
        let start = self.at - word.len();
        let digits = word.replace('_', "");
        digits.parse().map(Value::Int).map_err(|_| {
            let what = if digits.bytes().all(|b| b.is_ascii_digit()) {
                "does not fit in 64 bits"
            } else {
                "is not a number"
            };
            error(format!("`{word}` {what}"), start..self.at)
        })
    }

    fn named(&mut self) -> Read<Value> {
        let name = self.word();
        let range = self.at - name.len()..self.at;
        match name {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            _ if is_keyword(name) => {
                let message = format!("expected a number or name, found `{name}`");
                return Err(ExpressionError {
                    hint: Some("a condition inside an expression needs parentheses".to_owned()),
                    ..error(message, range)
                });
            }
            _ => {}
        }
        if self.peek() == Some('(') {
            return self.call(name, range);
        }
        let Some(env) = self.env else {
            return Ok(Value::Unknown);
        };
        let Some(value) = env.value(name) else {
            return Err(ExpressionError {
                message: format!("unknown name `{name}` in an expression"),
                range,
                hint: Some(name_hint(name, "names known here", env.names())),
            });
        };
        Ok(match value {
            _ if !self.live => Value::Unknown,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Int(value) => match i64::try_from(*value) {
                Ok(value) => Value::Int(value),
                Err(_) => Value::Other(Kind::Int(*value)),
            },
            other => Value::Other(other.clone()),
        })
    }

    fn call(&mut self, name: &str, range: Range<usize>) -> Read<Value> {
        if !FUNCTIONS.contains(&name) {
            let hint = Some(name_hint(name, "functions", FUNCTIONS));
            return Err(ExpressionError {
                message: format!("unknown function `{name}`"),
                range,
                hint,
            });
        }
        let mut arguments = Vec::new();
        while arguments.is_empty() || self.peek() == Some(',') {
            self.at += 1;
            let start = self.start();
            let value = self.choice()?;
            arguments.push(self.integer(value, start)?);
        }
        self.expect(')')?;
        let whole = range.start..self.at;
        let takes = match name {
            "log2" => Some((1, "1 value")),
            "ceil_div" => Some((2, "2 values")),
            _ => None,
        };
        if let Some((_, wanted)) = takes.filter(|(count, _)| *count != arguments.len()) {
            let found = arguments.len();
            return Err(error(
                format!("`{name}` takes {wanted}, found {found}"),
                whole,
            ));
        }
        if !self.live {
            return Ok(Value::Unknown);
        }
        let value = match (name, arguments.as_slice()) {
            ("min", all) => all.iter().copied().min(),
            ("max", all) => all.iter().copied().max(),
            ("ceil_div", &[above, below]) if below > 0 => {
                let up = i64::from(above.rem_euclid(below) != 0);
                above.div_euclid(below).checked_add(up)
            }
            ("ceil_div", all) => {
                let below = all[1];
                let message = format!("`ceil_div` needs a divisor above zero, found {below}");
                return Err(error(message, whole));
            }
            (_, &[value]) if value > 0 && value.count_ones() == 1 => Some(value.ilog2().into()),
            (_, all) => {
                let message = format!("`log2` needs a power of two, found {}", all[0]);
                return Err(error(message, whole));
            }
        };
        self.checked(value, whole.start)
    }

    /// Parses one nesting level deeper, up to the nesting limit.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == NESTING_MAX {
            return Err(self.error_here(nested_too_deep()));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Parses a part that is computed only if it is needed.
    fn only_if(
        &mut self,
        wanted: bool,
        read: impl FnOnce(&mut Self) -> Read<Value>,
    ) -> Read<Value> {
        let live = self.live;
        self.live &= wanted;
        let value = read(self);
        self.live = live;
        value
    }

    /// Checks that the value starting at `start` is an integer. Returns an arbitrary number if
    /// nothing is computed.
    pub(super) fn integer(&mut self, value: Value, start: usize) -> Read<i64> {
        self.integer_in(value, start..self.at)
    }

    fn integer_in(&mut self, value: Value, range: Range<usize>) -> Read<i64> {
        match value {
            Value::Int(value) => Ok(value),
            _ if !self.live => Ok(1),
            other => {
                let message = format!("expected an integer, found {}", other.describe());
                Err(error(message, self.trimmed(range)))
            }
        }
    }

    /// Checks that the value is a boolean. Returns `None` if nothing is computed.
    fn truth(&mut self, value: Value, start: usize) -> Read<Option<bool>> {
        match value {
            _ if !self.live => Ok(None),
            Value::Bool(value) => Ok(Some(value)),
            other => {
                let message = format!("expected `true` or `false`, found {}", other.describe());
                Err(error(message, self.trimmed(start..self.at)))
            }
        }
    }

    /// Returns the range without trailing blanks and operators.
    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let text = &self.text[range.clone()];
        let kept = text.trim_end_matches(|c: char| c.is_whitespace() || "<>=!&|".contains(c));
        range.start..range.start + kept.len()
    }

    /// Reads the digits, letters and underscores from the current position.
    fn word(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| c != '_' && !c.is_alphanumeric())
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn peek(&mut self) -> Option<char> {
        let start = self.start();
        match self.text.as_bytes().get(start) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            _ => self.text[start..].chars().next(),
        }
    }

    /// Skips white space; returns where the next token starts.
    fn start(&mut self) -> usize {
        let next = self.text.as_bytes().get(self.at);
        if next.is_none_or(u8::is_ascii_graphic) {
            return self.at;
        }
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.at
    }

    /// Consumes an operator if it comes next.
    fn take(&mut self, operator: &str) -> bool {
        let start = self.start();
        let found = self.text[start..].starts_with(operator);
        if found {
            self.at += operator.len();
        }
        found
    }

    /// Consumes a keyword if it comes next.
    fn keyword(&mut self, wanted: &str) -> bool {
        let start = self.start();
        if self.text[start..].starts_with(wanted) && self.word() == wanted {
            return true;
        }
        self.at = start;
        false
    }

    fn expect_word(&mut self, wanted: &str) -> Read<()> {
        if self.keyword(wanted) {
            return Ok(());
        }
        let hint = Some("a condition is `if a then b else c`".to_owned());
        let problem = match self.peek() {
            Some(c) => self.error_here(format!("expected `{wanted}`, found `{c}`")),
            None => self.error_here(format!("missing `{wanted}` at the end")),
        };
        Err(ExpressionError { hint, ..problem })
    }

    fn expect(&mut self, wanted: char) -> Read<()> {
        match self.peek() {
            Some(c) if c == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(c) => Err(self.error_here(format!("expected `{wanted}`, found `{c}`"))),
            None => Err(self.error_here(format!("missing `{wanted}` at the end"))),
        }
    }

    fn checked(&self, value: Option<i64>, start: usize) -> Read<Value> {
        if !self.live {
            return Ok(Value::Unknown);
        }
        value
            .map(Value::Int)
            .ok_or_else(|| error("the result does not fit in 64 bits", start..self.at))
    }

    fn error_here(&mut self, message: impl Into<String>) -> ExpressionError {
        let width = self.peek().map_or(0, char::len_utf8);
        error(message, self.at..self.at + width)
    }
}

fn error(message: impl Into<String>, range: Range<usize>) -> ExpressionError {
    ExpressionError {
        message: message.into(),
        range,
        hint: None,
    }
}
