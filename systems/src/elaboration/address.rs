//! Addresses of instances and ports with indices and wildcards.
//!
//! `cluster[c].cu[i + 1].memory` names one address once its expressions have values;
//! `cluster[*].noc` names every address that has a number in that place.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use warpweave_params::{Diagnostic, Env, Placed, eval_index, words};

/// Bytes of most addresses behind the path of their scope.
const USUAL_BYTES: usize = 32;

/// One piece of an address pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Text without brackets.
    Literal(String),
    /// `[expression]`.
    Index(String),
    /// `[*]`.
    Any,
}

/// An address as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
}

impl Pattern {
    /// Reads an address, which is `written` or a part of it.
    pub(crate) fn parse(text: &str, written: &Placed<String>) -> Result<Self, Diagnostic> {
        let text = text.trim();
        let refuse = |what: &str| {
            written
                .error(format!("`{text}` is not an address: {what}"))
                .hint("addresses look like `cluster[c].l1[i].up`")
        };
        if text.is_empty() {
            return Err(refuse("it is empty"));
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let Some(end) = inner.find(']') else {
                    return Err(refuse("a `[` has no `]`"));
                };
                let index = inner[..end].trim();
                pieces.push(match index {
                    "" => return Err(refuse("an index is empty")),
                    "*" => Piece::Any,
                    _ => Piece::Index(index.to_owned()),
                });
                rest = &inner[end + 1..];
            } else {
                let end = rest.find('[').unwrap_or(rest.len());
                let literal = &rest[..end];
                let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
                if let Some(odd) = literal.chars().find(|c| !plain(*c)) {
                    return Err(refuse(&format!("`{odd}` has no meaning here")));
                }
                pieces.push(Piece::Literal(literal.to_owned()));
                rest = &rest[end..];
            }
        }
        if !matches!(pieces.first(), Some(Piece::Literal(l)) if !l.starts_with('.')) {
            return Err(refuse("it must begin with a name"));
        }
        Ok(Self { pieces })
    }

    /// The names used in index expressions.
    pub(crate) fn variables(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for piece in &self.pieces {
            if let Piece::Index(expression) = piece {
                names.extend(words(expression).map(str::to_owned));
            }
        }
        names
    }

    /// Gives every expression its value; wildcards stay.
    pub(crate) fn evaluate(&self, env: &Env, written: &Placed<String>) -> Result<Self, Diagnostic> {
        let pieces = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Index(expression) => {
                    let value = index_value(expression, env, written)?;
                    Ok(Piece::Index(value.to_string()))
                }
                other => Ok(other.clone()),
            })
            .collect::<Result<_, Diagnostic>>()?;
        Ok(Self { pieces })
    }

    /// The address behind `prefix`, as text, with the value of every expression.
    pub(crate) fn address(
        &self,
        prefix: &str,
        env: &Env,
        written: &Placed<String>,
    ) -> Result<String, Diagnostic> {
        let mut text = String::with_capacity(prefix.len() + USUAL_BYTES);
        text.push_str(prefix);
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Index(expression) => {
                    let value = index_value(expression, env, written)?;
                    text.push('[');
                    match u8::try_from(value) {
                        // Most are: these need no formatting.
                        Ok(digit @ 0..10) => text.push(char::from(b'0' + digit)),
                        _ => {
                            // Writing to a string does not fail.
                            let _ = write!(text, "{value}");
                        }
                    }
                    text.push(']');
                }
                Piece::Any => text.push_str("[*]"),
            }
        }
        Ok(text)
    }

    /// Whether an address that begins with `path` may match, judged by the first name.
    pub(crate) fn may_begin(&self, path: &str) -> bool {
        let Some(Piece::Literal(first)) = self.pieces.first() else {
            return true;
        };
        path.starts_with(first.as_str()) || first.starts_with(path)
    }

    /// Whether a wildcard is left.
    pub(crate) fn has_wildcard(&self) -> bool {
        self.pieces.contains(&Piece::Any)
    }

    /// The address as text.
    pub(crate) fn text(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.clone(),
                Piece::Index(index) => format!("[{index}]"),
                Piece::Any => "[*]".to_owned(),
            })
            .collect()
    }

    /// The numbers in the places of the wildcards if `address` matches as a whole.
    pub(crate) fn matches(&self, address: &str) -> Option<Vec<u64>> {
        if let Some(Piece::Literal(last)) = self.pieces.last()
            && !address.ends_with(last.as_str())
        {
            return None;
        }
        let (numbers, rest) = self.match_prefix(address)?;
        rest.is_empty().then_some(numbers)
    }

    fn match_prefix<'a>(&self, address: &'a str) -> Option<(Vec<u64>, &'a str)> {
        let mut numbers = Vec::new();
        let mut rest = address;
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => rest = rest.strip_prefix(text.as_str())?,
                Piece::Index(index) => {
                    rest = rest
                        .strip_prefix('[')?
                        .strip_prefix(index.as_str())?
                        .strip_prefix(']')?;
                }
                Piece::Any => {
                    let inner = rest.strip_prefix('[')?;
                    let end = inner.find(']')?;
                    numbers.push(inner[..end].parse().ok()?);
                    rest = &inner[end + 1..];
                }
            }
        }
        Some((numbers, rest))
    }
}

/// The value of an expression in brackets.
fn index_value(expression: &str, env: &Env, written: &Placed<String>) -> Result<i64, Diagnostic> {
    let value = eval_index(expression, env).map_err(|error| {
        let message = format!("in `[{expression}]`: {}", error.message);
        let diagnostic = written.error(message);
        match error.hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        }
    })?;
    if value < 0 {
        let message = format!("the index `[{expression}]` is negative: {value}");
        return Err(written.error(message));
    }
    Ok(value)
}

/// If `pattern` (with `[*]` wildcards) begins with the instance `path`, the field path that
/// follows.
pub(crate) fn field_path_of<'p>(pattern: &'p str, path: &str) -> Option<&'p str> {
    rest_after(pattern, path)?.strip_prefix('.')
}

/// Whether `pattern` (with `[*]` wildcards) names `path` or something in it.
pub(crate) fn is_within(pattern: &str, path: &str) -> bool {
    rest_after(pattern, path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What follows in `pattern` after what matches `path`.
fn rest_after<'p>(pattern: &'p str, path: &str) -> Option<&'p str> {
    let (mut p, mut a) = (pattern, path);
    loop {
        if a.is_empty() {
            return Some(p);
        }
        if let (Some(rest), Some(inner)) = (p.strip_prefix("[*]"), a.strip_prefix('[')) {
            p = rest;
            a = &inner[inner.find(']')? + 1..];
            continue;
        }
        let (pc, ac) = (p.chars().next()?, a.chars().next()?);
        if pc != ac {
            return None;
        }
        p = &p[pc.len_utf8()..];
        a = &a[ac.len_utf8()..];
    }
}

/// `cluster[3].l1` becomes `cluster[*].l1`.
pub fn any_index(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(open) = rest.find('[') {
        let close = rest[open..].find(']').map_or(rest.len() - 1, |c| open + c);
        pattern.push_str(&rest[..open]);
        pattern.push_str("[*]");
        rest = &rest[close + 1..];
    }
    pattern.push_str(rest);
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Pattern, String> {
        Pattern::parse(text, &text.into()).map_err(|e| e.message)
    }

    #[test]
    fn indices_are_expressions_over_the_scope() {
        let pattern = parse("dram[s % 6].up[s / 6]").unwrap();
        assert_eq!(pattern.variables().into_iter().collect::<Vec<_>>(), ["s"]);
        let env: Env = [("s", 8i64)].into_iter().collect();
        assert_eq!(
            pattern.evaluate(&env, &"x".into()).unwrap().text(),
            "dram[2].up[1]"
        );
    }

    #[test]
    fn wildcards_match_numbers_in_their_place() {
        let pattern = parse("cluster[*].l1[*].up").unwrap();
        assert_eq!(pattern.matches("cluster[3].l1[14].up"), Some(vec![3, 14]));
        assert_eq!(pattern.matches("cluster[3].l1.up"), None);
        assert_eq!(pattern.matches("cluster[3].l1[1].up.x"), None);
    }

    #[test]
    fn an_override_path_splits_into_instance_and_field() {
        assert_eq!(
            field_path_of("cluster[*].l1[0].ways", "cluster[7].l1[0]"),
            Some("ways")
        );
        assert_eq!(field_path_of("l2.timing.tcl", "l2"), Some("timing.tcl"));
        assert_eq!(field_path_of("l2x.ways", "l2"), None);
        assert_eq!(field_path_of("l2", "l2"), None);
        assert!(is_within("cluster[*].icc.up[*]", "cluster[1].icc"));
        assert!(is_within("icc", "icc") && !is_within("icc2.up", "icc"));
    }

    #[test]
    fn malformed_addresses_are_refused() {
        for text in ["", "a[", "a[]", ".b", "[0]", "a b"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
