//! Expressions in strings that start with `=`: `"=cus * 2"`, `"=ceil_div(lines, ways)"`,
//! `"=if icc then 1 else units"`.
//!
//! Numbers are `i64` and every step is checked: overflow, division by zero and `log2` of anything but a
//! power of two are errors at their column, never a wrapped or rounded number. `/` and `%` round
//! towards zero. Functions: `min(a, b, ..)`, `max(a, b, ..)`, `ceil_div(a, b)`, `log2(a)`.
//!
//! Booleans come from `true`, `false`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `&&`, `||`, `!` and from
//! parameters. What a condition leaves out is read, so that its names and brackets are right, but not
//! computed. A value of any other type can be passed on whole: `"=scheduler"`,
//! `"=if fast then quick else slow"`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

mod reader;
#[cfg(test)]
mod tests;

use self::reader::{Reader, Value};
use crate::node::{Kind, Node};
use crate::parse::{NESTING_MAX, nested_too_deep};
use crate::{Diagnostic, Diagnostics};

/// Most values that lists and the like may hold which names stand for: a name may be used in the value
/// of another, twice, again and again.
const PASSED_ON_MAX: usize = 1 << 20;

/// Words with a meaning of their own: no parameter can be called so.
const KEYWORDS: [&str; 5] = ["if", "then", "else", "true", "false"];

/// Whether a name means something else in expressions, so that no value can have it.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// The named values an expression may use. Clones share what was defined before they were made.
#[derive(Clone, Debug, Default)]
pub struct Env {
    shared: Arc<BTreeMap<String, Kind>>,
    /// What was defined since there are clones; it hides what is shared.
    own: BTreeMap<String, Kind>,
    /// Values within the values of all names.
    passed_on: usize,
}

impl Env {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Defines an integer, hiding an earlier definition.
    pub fn set(&mut self, name: impl Into<String> + AsRef<str>, value: i64) {
        let value = Kind::Int(value.into());
        match self.own.get_mut(name.as_ref()) {
            Some(known @ Kind::Int(_)) => *known = value,
            _ => self.define(name, value),
        }
    }

    /// Defines a value of any type, hiding an earlier definition. Expressions compute with integers
    /// and booleans; others they pass on whole.
    pub fn define(&mut self, name: impl Into<String>, value: Kind) {
        self.passed_on += value.extent().0 - 1;
        match Arc::get_mut(&mut self.shared) {
            Some(values) if self.own.is_empty() => values.insert(name.into(), value),
            _ => self.own.insert(name.into(), value),
        };
    }

    /// Whether a value has this name.
    pub fn contains(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// All names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let all = self.shared.keys().chain(self.own.keys());
        let mut names: Vec<&str> = all.map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    /// The value of a name.
    pub fn value(&self, name: &str) -> Option<&Kind> {
        self.own.get(name).or_else(|| self.shared.get(name))
    }
}

impl Env {
    /// The value of an expression that is a name and nothing else: most are.
    fn named(&self, text: &str) -> Option<&Kind> {
        self.value(text).filter(|_| !is_keyword(text))
    }
}

/// The names that the expressions of a value may use, in alphabetical order, beside a few words that
/// stand for themselves. None if there are no expressions.
pub fn names_in(node: &Node) -> Option<BTreeSet<&str>> {
    let mut names: Option<BTreeSet<&str>> = None;
    node.walk(&mut |node| {
        if let Some(expression) = node.as_str().and_then(|text| text.strip_prefix('=')) {
            let names = names.get_or_insert_default();
            names.extend(words(expression));
        }
    });
    names
}

/// The words of an expression that names may be among.
pub fn words(expression: &str) -> impl Iterator<Item = &str> {
    let begins = |c: char| c.is_alphabetic() || c == '_';
    expression
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(move |word| word.starts_with(begins))
}

impl<N: Into<String> + AsRef<str>> FromIterator<(N, i64)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, i64)>>(values: I) -> Self {
        let mut env = Self::new();
        for (name, value) in values {
            env.set(name, value);
        }
        env
    }
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// What is wrong.
    pub message: String,
    /// The part of the text that is to blame, in bytes.
    pub range: Range<usize>,
    /// The next step.
    pub hint: Option<String>,
}

/// The value of an expression, written without the leading `=`.
///
/// # Errors
/// A syntax error, an unknown name, values of the wrong type, or a step that has no `i64` result.
pub fn eval(text: &str, env: &Env) -> Result<Kind, ExpressionError> {
    if let Some(value) = env.named(text) {
        return Ok(value.clone());
    }
    if let Some(value) = simple(text, env) {
        return Ok(Kind::Int(value.into()));
    }
    let mut reader = Reader::new(text, Some(env));
    Ok(match reader.whole()? {
        Value::Int(value) => Kind::Int(value.into()),
        Value::Bool(value) => Kind::Bool(value),
        Value::Other(kind) => kind,
        Value::Unknown => unreachable!("what is computed is known"),
    })
}

/// The value of an expression that gives an integer, as in `x[i + 1]`.
///
/// # Errors
/// As [`eval`]; also a value of another type.
pub fn eval_index(text: &str, env: &Env) -> Result<i64, ExpressionError> {
    if let Some(Kind::Int(value)) = env.named(text)
        && let Ok(value) = i64::try_from(*value)
    {
        return Ok(value);
    }
    if let Some(value) = simple(text, env) {
        return Ok(value);
    }
    let mut reader = Reader::new(text, Some(env));
    let value = reader.whole()?;
    reader.integer(value, 0)
}

/// The value of a sum of products of names and numbers, as most indices of repeated parts are. None for
/// whatever else there may be, and for whatever is wrong: [`Reader`] knows all of it.
fn simple(text: &str, env: &Env) -> Option<i64> {
    let mut sum: i64 = 0;
    for product in text.split('+') {
        let mut value: i64 = 1;
        for factor in product.split('*') {
            let factor = factor.trim_ascii();
            if !factor
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || c == b'_')
            {
                return None;
            }
            let factor = if factor.starts_with(|c: char| c.is_ascii_digit()) {
                factor.parse().ok()?
            } else {
                match env.named(factor)? {
                    Kind::Int(value) => i64::try_from(*value).ok()?,
                    _ => return None,
                }
            };
            value = value.checked_mul(factor)?;
        }
        sum = sum.checked_add(value)?;
    }
    Some(sum)
}

/// Whether the text can be read as an expression, whatever its names stand for.
pub fn is_expression(text: &str) -> bool {
    Reader::new(text, None).whole().is_ok()
}

/// Replaces every string that starts with `=` by the value it stands for; places are kept.
///
/// # Errors
/// Every expression that has no value, or one that makes the whole deeper than [`NESTING_MAX`] or
/// larger than names may make it; those that have are replaced all the same.
pub fn resolve_expressions(node: &mut Node, env: &Env) -> Result<(), Diagnostics> {
    let mut resolver = Resolver {
        env,
        passed_on: env.passed_on,
        problems: Diagnostics::new(),
    };
    resolver.resolve(node, 0);
    resolver.problems.into_result(())
}

/// Replaces expressions by their values.
struct Resolver<'e> {
    env: &'e Env,
    /// Values within the values passed on so far.
    passed_on: usize,
    problems: Diagnostics,
}

impl Resolver<'_> {
    /// What a value stood for is not looked into again: it has been resolved where it was defined.
    fn resolve(&mut self, node: &mut Node, depth: usize) {
        let Some(expression) = node.as_str().and_then(|text| text.strip_prefix('=')) else {
            return node.each_child_mut(&mut |child| self.resolve(child, depth + 1));
        };
        match eval(expression, self.env).and_then(|value| self.fitting(value, expression, depth)) {
            Ok(value) => node.kind = value,
            Err(error) => self.problems.push(locate(node, expression, error)),
        }
    }

    /// The value, if it is neither too deep nor too large where it is to stand.
    fn fitting(
        &mut self,
        value: Kind,
        expression: &str,
        depth: usize,
    ) -> Result<Kind, ExpressionError> {
        let (values, levels) = value.extent();
        self.passed_on += values - 1;
        let message = if depth + levels > NESTING_MAX + 1 {
            nested_too_deep()
        } else if self.passed_on > PASSED_ON_MAX {
            format!("the values that names stand for have more than {PASSED_ON_MAX} parts")
        } else {
            return Ok(value);
        };
        Err(ExpressionError {
            message,
            range: 0..expression.len(),
            hint: None,
        })
    }
}

/// Finds the expression inside its string literal; with escapes in it, the whole literal is to blame.
fn locate(node: &Node, expression: &str, error: ExpressionError) -> Diagnostic {
    let inside = node.span.text().find(&format!("={expression}"));
    let place = match inside {
        Some(start) => node
            .span
            .slice(start + 1 + error.range.start, start + 1 + error.range.end),
        None => node.span.clone(),
    };
    let diagnostic = Diagnostic::error(error.message).at(&place);
    match error.hint {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}
