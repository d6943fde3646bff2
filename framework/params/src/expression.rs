//! Integer expressions in strings that start with `=`: `"=cus * 2"`, `"=ceil_div(lines, ways)"`.
//!
//! Values are `i64` and every step is checked: overflow, division by zero and `log2` of anything but a
//! power of two are errors at their column, never a wrapped or rounded number. `/` and `%` round
//! towards zero. Functions: `min(a, b, ..)`, `max(a, b, ..)`, `ceil_div(a, b)`, `log2(a)`.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::node::{Kind, Node};
use crate::suggest::name_hint;
use crate::{Diagnostic, Diagnostics};

/// Deepest nesting of parentheses and signs accepted.
const DEPTH_MAX: usize = 64;

const FUNCTIONS: [&str; 4] = ["ceil_div", "log2", "max", "min"];

/// The named values an expression may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    values: BTreeMap<String, i64>,
}

impl Env {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Defines a name, hiding an earlier definition.
    pub fn set(&mut self, name: impl Into<String>, value: i64) {
        self.values.insert(name.into(), value);
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<i64> {
        self.values.get(name).copied()
    }

    /// All names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.values.keys().map(String::as_str)
    }
}

impl<N: Into<String>> FromIterator<(N, i64)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, i64)>>(values: I) -> Self {
        Self {
            values: values
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        }
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

/// The value of an expression, written without the leading `=`; used for `x[i + 1]` as well.
///
/// # Errors
/// A syntax error, an unknown name, or a step that has no `i64` result.
pub fn eval_index(text: &str, env: &Env) -> Result<i64, ExpressionError> {
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        env,
    };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(c) => Err(reader.error_here(format!("unexpected `{c}` in an expression"))),
    }
}

/// Replaces every string that starts with `=` by the integer it stands for; places are kept.
///
/// # Errors
/// Every expression that has no value; those that have are replaced all the same.
pub fn resolve_expressions(node: &mut Node, env: &Env) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    node.walk_mut(&mut |node| {
        let Some(expression) = node.as_str().and_then(|text| text.strip_prefix('=')) else {
            return;
        };
        match eval_index(expression, env) {
            Ok(value) => node.kind = Kind::Int(value.into()),
            Err(error) => problems.push(locate(node, expression, error)),
        }
    });
    problems.into_result(())
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

/// Recursive descent straight to the value; expressions are evaluated once.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    env: &'t Env,
}

impl<'t> Reader<'t> {
    /// `product (('+' | '-') product)*`
    fn sum(&mut self) -> Result<i64, ExpressionError> {
        let start = self.start();
        let mut value = self.product()?;
        while let Some(operator @ ('+' | '-')) = self.peek() {
            self.at += 1;
            let right = self.product()?;
            let result = if operator == '+' {
                value.checked_add(right)
            } else {
                value.checked_sub(right)
            };
            value = self.checked(result, start)?;
        }
        Ok(value)
    }

    /// `factor (('*' | '/' | '%') factor)*`
    fn product(&mut self) -> Result<i64, ExpressionError> {
        let start = self.start();
        let mut value = self.factor()?;
        while let Some(operator @ ('*' | '/' | '%')) = self.peek() {
            self.at += 1;
            let right_start = self.start();
            let right = self.factor()?;
            if operator != '*' && right == 0 {
                return Err(error("division by zero", right_start..self.at));
            }
            let result = match operator {
                '*' => value.checked_mul(right),
                '/' => value.checked_div(right),
                _ => value.checked_rem(right),
            };
            value = self.checked(result, start)?;
        }
        Ok(value)
    }

    /// A number, a name, a call, a negation or a parenthesis.
    fn factor(&mut self) -> Result<i64, ExpressionError> {
        let start = self.start();
        if self.depth == DEPTH_MAX {
            return Err(self.error_here(format!("nested more than {DEPTH_MAX} levels deep")));
        }
        self.depth += 1;
        let value = match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.sum()?;
                self.expect(')')?;
                value
            }
            Some('-') => {
                self.at += 1;
                let value = self.factor()?.checked_neg();
                self.checked(value, start)?
            }
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some(c) if c == '_' || c.is_alphabetic() => self.named()?,
            Some(c) => {
                return Err(self.error_here(format!("expected a number or name, found `{c}`")));
            }
            None => {
                return Err(self.error_here("the expression ends where a number or name should be"));
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<i64, ExpressionError> {
        let word = self.word();
        let start = self.at - word.len();
        let digits = word.replace('_', "");
        digits.parse().map_err(|_| {
            let what = if digits.bytes().all(|b| b.is_ascii_digit()) {
                "does not fit 64 bits"
            } else {
                "is not a number"
            };
            error(format!("`{word}` {what}"), start..self.at)
        })
    }

    fn named(&mut self) -> Result<i64, ExpressionError> {
        let name = self.word();
        let range = self.at - name.len()..self.at;
        if self.peek() == Some('(') {
            return self.call(name, range);
        }
        self.env.get(name).ok_or_else(|| ExpressionError {
            message: format!("unknown name `{name}` in an expression"),
            range,
            hint: Some(name_hint(name, "names known here", self.env.names())),
        })
    }

    fn call(&mut self, name: &str, range: Range<usize>) -> Result<i64, ExpressionError> {
        if !FUNCTIONS.contains(&name) {
            let hint = Some(name_hint(name, "functions", FUNCTIONS));
            return Err(ExpressionError {
                message: format!("unknown function `{name}`"),
                range,
                hint,
            });
        }
        self.at += 1;
        let mut arguments = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        let whole = range.start..self.at;
        let value = match (name, arguments.as_slice()) {
            ("min", all) => all.iter().copied().min(),
            ("max", all) => all.iter().copied().max(),
            ("ceil_div", &[above, below]) if below > 0 => {
                let up = i64::from(above.rem_euclid(below) != 0);
                above.div_euclid(below).checked_add(up)
            }
            ("ceil_div", &[_, below]) => {
                return Err(error(
                    format!("`ceil_div` needs a divisor above zero, found {below}"),
                    whole,
                ));
            }
            ("log2", &[value]) if value > 0 && value.count_ones() == 1 => {
                Some(value.ilog2().into())
            }
            ("log2", &[value]) => {
                return Err(error(
                    format!("`log2` needs a power of two, found {value}"),
                    whole,
                ));
            }
            _ => {
                let (wanted, found) = (
                    if name == "log2" {
                        "1 value"
                    } else {
                        "2 values"
                    },
                    arguments.len(),
                );
                return Err(error(
                    format!("`{name}` takes {wanted}, found {found}"),
                    whole,
                ));
            }
        };
        self.checked(value, whole.start)
    }

    /// Digits, letters and underscores from here on.
    fn word(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| c != '_' && !c.is_alphanumeric())
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn peek(&mut self) -> Option<char> {
        self.start();
        self.text[self.at..].chars().next()
    }

    /// Skips white space; returns where the next token starts.
    fn start(&mut self) -> usize {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.at
    }

    fn expect(&mut self, wanted: char) -> Result<(), ExpressionError> {
        match self.peek() {
            Some(c) if c == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(c) => Err(self.error_here(format!("expected `{wanted}`, found `{c}`"))),
            None => Err(self.error_here(format!("`{wanted}` is missing at the end"))),
        }
    }

    fn checked(&self, value: Option<i64>, start: usize) -> Result<i64, ExpressionError> {
        value.ok_or_else(|| error("the result does not fit 64 bits", start..self.at))
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

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::{Source, parse, to_ron};

    fn env() -> Env {
        Env::from_iter([("cus", 5), ("clusters", 12)])
    }

    fn refusal(expression: &str) -> String {
        let source = Source::new("a.ron", format!("(\"é\", \"={expression}\")"));
        let mut node = parse(&source).unwrap();
        resolve_expressions(&mut node, &env())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn expressions_follow_the_usual_precedence() {
        for (text, value) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("7 - 2 - 1", 4),
            ("-7 / 2", -3),
            ("-7 % 4", -3),
            ("cus * clusters", 60),
            ("min(3, cus, 9) + max(1, 2)", 5),
            ("ceil_div(7, 2)", 4),
            ("ceil_div(-7, 2)", -3),
            ("log2(1_024)", 10),
            ("--3", 3),
        ] {
            assert_eq!(eval_index(text, &env()), Ok(value), "{text}");
        }
    }

    #[test]
    fn strings_become_integers_in_place_and_others_stay() {
        let source = Source::new(
            "a.ron",
            r#"{"a": "=cus + 1", "b": ["=2", "x"], "c": Some("=cus")}"#,
        );
        let mut node = parse(&source).unwrap();
        resolve_expressions(&mut node, &env()).unwrap();
        assert_snapshot!(to_ron(&node), @r#"{"a": 6, "b": [2, "x"], "c": Some(5)}"#);
        assert_eq!(node.entries()[0].1.span.text(), "\"=cus + 1\"");
    }

    #[test]
    fn refusals_point_into_the_string() {
        let texts = [
            "cuss * 2",
            "mix(1, 2)",
            "1 +",
            "1 2",
            "(1",
            "4 / (cus - 5)",
            "9223372036854775807 + 1",
            "log2(12)",
            "ceil_div(1, 0)",
            "log2(1, 2)",
            "99999999999999999999",
            "1x",
            "",
        ];
        let all: Vec<_> = texts.into_iter().map(refusal).collect();
        assert_snapshot!(all.join("\n\n"), @r###"
error: unknown name `cuss` in an expression
 --> a.ron:1:9
  |
1 | ("é", "=cuss * 2")
  |         ^^^^
  = hint: did you mean `cus`? names known here: clusters, cus

error: unknown function `mix`
 --> a.ron:1:9
  |
1 | ("é", "=mix(1, 2)")
  |         ^^^
  = hint: did you mean `max`? functions: ceil_div, log2, max, min

error: the expression ends where a number or name should be
 --> a.ron:1:12
  |
1 | ("é", "=1 +")
  |            ^

error: unexpected `2` in an expression
 --> a.ron:1:11
  |
1 | ("é", "=1 2")
  |           ^

error: `)` is missing at the end
 --> a.ron:1:11
  |
1 | ("é", "=(1")
  |           ^

error: division by zero
 --> a.ron:1:13
  |
1 | ("é", "=4 / (cus - 5)")
  |             ^^^^^^^^^

error: the result does not fit 64 bits
 --> a.ron:1:9
  |
1 | ("é", "=9223372036854775807 + 1")
  |         ^^^^^^^^^^^^^^^^^^^^^^^

error: `log2` needs a power of two, found 12
 --> a.ron:1:9
  |
1 | ("é", "=log2(12)")
  |         ^^^^^^^^

error: `ceil_div` needs a divisor above zero, found 0
 --> a.ron:1:9
  |
1 | ("é", "=ceil_div(1, 0)")
  |         ^^^^^^^^^^^^^^

error: `log2` takes 1 value, found 2
 --> a.ron:1:9
  |
1 | ("é", "=log2(1, 2)")
  |         ^^^^^^^^^^

error: `99999999999999999999` does not fit 64 bits
 --> a.ron:1:9
  |
1 | ("é", "=99999999999999999999")
  |         ^^^^^^^^^^^^^^^^^^^^

error: `1x` is not a number
 --> a.ron:1:9
  |
1 | ("é", "=1x")
  |         ^^

error: the expression ends where a number or name should be
 --> a.ron:1:9
  |
1 | ("é", "=")
  |         ^
"###);
    }

    #[test]
    fn deep_nesting_is_refused_not_overflowed() {
        let error = eval_index(&"(".repeat(100_000), &env()).unwrap_err();
        assert_eq!(error.message, "nested more than 64 levels deep");
        assert!(eval_index(&"-".repeat(100_000), &env()).is_err());
    }
}
