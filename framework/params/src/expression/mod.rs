//! Expressions in strings that start with `=`: `"=cus * 2"`, `"=ceil_div(lines, ways)"`,
//! `"=if icc then 1 else units"`.
//!
//! Numbers are `i64` and every step is checked. Overflow, division by zero and `log2` of anything
//! but a power of two are errors at their column. No number is wrapped or rounded silently. `/` and
//! `%` round towards zero. Functions: `min(a, b, ..)`, `max(a, b, ..)`, `ceil_div(a, b)`,
//! `log2(a)`.
//!
//! Booleans come from `true`, `false`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `&&`, `||`, `!` and from
//! parameters. The branch not taken by a condition is parsed, so that its syntax is checked, but
//! not computed. A value of any other type can be passed on whole: `"=scheduler"`,
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
use crate::source::Span;
use crate::{Diagnostic, Diagnostics};

/// Upper limit on the number of values within composite values that names stand for. One name may
/// be used many times in the value of another, so this count could otherwise grow exponentially.
const PASSED_ON_MAX: usize = 1 << 20;

/// Reserved words of expressions, which cannot be parameter names.
const KEYWORDS: [&str; 5] = ["if", "then", "else", "true", "false"];

/// True if the name is reserved in expressions, so that no value can have it.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Named values an expression may use. Clones share the definitions made before cloning.
#[derive(Clone, Debug, Default)]
pub struct Env {
    shared: Arc<BTreeMap<String, Kind>>,
    /// Definitions made since the environment was cloned; they hide the shared ones.
    own: BTreeMap<String, Kind>,
    /// Number of values within the values of all names.
    passed_on: usize,
}

impl Env {
    /// Creates an environment without any names.
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
    /// and booleans; values of other types are passed on whole.
    pub fn define(&mut self, name: impl Into<String>, value: Kind) {
        self.passed_on += value.extent().0 - 1;
        match Arc::get_mut(&mut self.shared) {
            Some(values) if self.own.is_empty() => values.insert(name.into(), value),
            _ => self.own.insert(name.into(), value),
        };
    }

    /// True if a value with this name is defined.
    pub fn contains(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Iterates over all names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let all = self.shared.keys().chain(self.own.keys());
        let mut names: Vec<&str> = all.map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    /// Returns the value of a name, if defined.
    pub fn value(&self, name: &str) -> Option<&Kind> {
        self.own.get(name).or_else(|| self.shared.get(name))
    }
}

impl Env {
    /// Returns the value of an expression that consists of a name only; most do.
    fn named(&self, text: &str) -> Option<&Kind> {
        self.value(text).filter(|_| !is_keyword(text))
    }
}

/// Returns the names that a value's expressions may use, in alphabetical order, and possibly some
/// reserved words. Returns `None` if there are no expressions.
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

/// Iterates over the words of an expression; names are among them.
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

/// Reason for which an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// Describes the problem, for the message.
    pub message: String,
    /// Byte range of the text that is at fault.
    pub range: Range<usize>,
    /// Suggestion for the next step, if there is one.
    pub hint: Option<String>,
}

/// Evaluates an expression written without the leading `=`.
///
/// # Errors
/// Returns an error for a syntax error, an unknown name, values of the wrong type, or a step
/// without an `i64` result.
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

/// Evaluates an expression, without the leading `=`, that was written at `place`, if anywhere.
///
/// # Errors
/// Fails in the cases of [`eval`], at the part at fault.
pub(crate) fn eval_at(text: &str, place: Option<&Span>, env: &Env) -> Result<Kind, Diagnostic> {
    let Some(place) = place else {
        return eval(text, env).map_err(|error| Diagnostic {
            hint: error.hint.clone(),
            ..Diagnostic::error(format!("expression `{text}`: {error}"))
        });
    };
    let mut node = Node::new(Kind::Text(format!("={text}")), place.clone());
    match resolve_expressions(&mut node, env) {
        Ok(()) => Ok(node.kind),
        Err(problems) => Err(problems.into_iter().next().expect("an error has a message")),
    }
}

/// Evaluates an expression that gives an integer, as in `x[i + 1]`.
///
/// # Errors
/// Fails in the cases of [`eval`], and if the value is of another type.
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

/// Evaluates a sum of products of names and numbers, the usual form of indices of repeated parts.
/// Returns `None` for any other form and for any error; [`Reader`] handles those.
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

/// True if the text is a syntactically valid expression, whatever its names stand for.
pub fn is_expression(text: &str) -> bool {
    Reader::new(text, None).whole().is_ok()
}

/// Replaces every string that starts with `=` by its value; places are kept.
///
/// # Errors
/// Returns an error for every expression without a value. Also fails if a value makes the tree
/// deeper than [`NESTING_MAX`] or larger than names may make it. The other expressions are still
/// replaced.
pub fn resolve_expressions(node: &mut Node, env: &Env) -> Result<(), Diagnostics> {
    let mut resolver = Resolver {
        env,
        passed_on: env.passed_on,
        problems: Diagnostics::new(),
    };
    resolver.resolve(node, 0);
    resolver.problems.into_result(())
}

/// Replaces the expressions in a tree by their values.
struct Resolver<'e> {
    env: &'e Env,
    /// Number of values within the values substituted so far.
    passed_on: usize,
    problems: Diagnostics,
}

impl Resolver<'_> {
    /// Replaces expressions in `node`. Does not look into substituted values, because they were
    /// resolved where they were defined.
    fn resolve(&mut self, node: &mut Node, depth: usize) {
        let Some(expression) = node.as_str().and_then(|text| text.strip_prefix('=')) else {
            return node.each_child_mut(&mut |child| self.resolve(child, depth + 1));
        };
        match eval(expression, self.env).and_then(|value| self.fitting(value, expression, depth)) {
            Ok(value) => node.kind = value,
            Err(error) => self.problems.push(locate(node, expression, error)),
        }
    }

    /// Returns the value if it exceeds neither the depth nor the size limit at its destination.
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

/// Finds the expression inside its string literal. If the literal has escapes, the error points at
/// the whole literal.
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
