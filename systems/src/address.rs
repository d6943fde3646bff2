//! Addresses of instances and ports, with indices and wildcards.
//!
//! `cluster[c].cu[i + 1].memory` names one address once its expressions have values.
//! `cluster[*].noc` names every address with a number in that position.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use warpweave_params::{Diagnostic, Env, Placed, eval_index, words};

/// One piece of an address pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Literal text that contains no brackets.
    Literal(String),
    /// Index expression, written `[expression]` in the pattern.
    Index(String),
    /// Wildcard that matches any index, written `[*]`.
    Any,
}

/// Address pattern as written in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
}

impl Pattern {
    /// Parses an address, which is `written` or a part of it.
    pub(crate) fn parse(text: &str, written: &Placed<String>) -> Result<Self, Diagnostic> {
        let text = text.trim();
        let refuse = |what: &str| {
            written
                .error(format!("`{text}` is not a valid address: {what}"))
                .hint("addresses look like `cluster[c].l1[i].up`")
        };
        if text.is_empty() {
            return Err(refuse("the address is empty"));
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
                    return Err(refuse(&format!("unexpected character `{odd}`")));
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

    /// Returns the names used in index expressions.
    pub(crate) fn variables(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for piece in &self.pieces {
            if let Piece::Index(expression) = piece {
                names.extend(words(expression).map(str::to_owned));
            }
        }
        names
    }

    /// Evaluates every index expression and keeps the wildcards.
    pub(crate) fn evaluate(
        &self,
        env: &Env,
        written: &Placed<String>,
    ) -> Result<Cow<'_, Self>, Diagnostic> {
        let is_index = |piece: &Piece| matches!(piece, Piece::Index(_));
        if !self.pieces.iter().any(is_index) {
            return Ok(Cow::Borrowed(self));
        }
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
        Ok(Cow::Owned(Self { pieces }))
    }

    /// Writes the full address to `text`: `prefix` and the pattern with evaluated expressions.
    pub(crate) fn address(
        &self,
        text: &mut String,
        prefix: &str,
        env: &Env,
        written: &Placed<String>,
    ) -> Result<(), Diagnostic> {
        text.clear();
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
        Ok(())
    }

    /// True if the pattern contains a wildcard.
    pub(crate) fn has_wildcard(&self) -> bool {
        self.pieces.contains(&Piece::Any)
    }

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

    /// Returns the numbers matched by the wildcards if all of `address` matches.
    pub(crate) fn matches(&self, address: &str) -> Option<Vec<u64>> {
        if let Some(Piece::Literal(last)) = self.pieces.last()
            && !address.ends_with(last.as_str())
        {
            return None;
        }
        let mut numbers = Vec::new();
        let rest = match_pieces(&self.pieces, address, &mut numbers)?;
        rest.is_empty().then_some(numbers)
    }

    /// Splits the pattern into those of the part and of its port.
    pub(crate) fn part_and_port(&self) -> Option<PartAndPort<'_>> {
        let last_dot = |(at, piece): (usize, &'_ Piece)| match piece {
            Piece::Literal(text) => text.rfind('.').map(|dot| (at, dot)),
            Piece::Index(_) | Piece::Any => None,
        };
        let (at, dot) = self.pieces.iter().enumerate().rev().find_map(last_dot)?;
        let Piece::Literal(literal) = &self.pieces[at] else {
            return None;
        };
        Some(PartAndPort {
            part: (&self.pieces[..at], &literal[..dot]),
            port: (&literal[dot + 1..], &self.pieces[at + 1..]),
        })
    }
}

/// Address as written, split before the port name, which contains no dot.
pub(crate) struct PartAndPort<'p> {
    part: (&'p [Piece], &'p str),
    port: (&'p str, &'p [Piece]),
}

impl PartAndPort<'_> {
    /// Returns the numbers matched by the wildcards if all of the part's `path` matches.
    pub(crate) fn matches_part(&self, path: &str) -> Option<Vec<u64>> {
        let (pieces, last) = self.part;
        if !path.ends_with(last) {
            return None;
        }
        let mut numbers = Vec::new();
        let rest = match_pieces(pieces, path, &mut numbers)?;
        (rest == last).then_some(numbers)
    }

    /// True if all of `port` matches; appends the numbers matched by the wildcards.
    pub(crate) fn matches_port(&self, port: &str, numbers: &mut Vec<u64>) -> bool {
        let (first, pieces) = self.port;
        let rest = port.strip_prefix(first);
        let rest = rest.and_then(|rest| match_pieces(pieces, rest, numbers));
        rest.is_some_and(str::is_empty)
    }
}

/// Returns the rest of `address` after the matched pieces; appends the numbers matched by the
/// wildcards.
fn match_pieces<'a>(pieces: &[Piece], address: &'a str, numbers: &mut Vec<u64>) -> Option<&'a str> {
    let mut rest = address;
    for piece in pieces {
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
                let end = inner.bytes().position(|c| c == b']')?;
                numbers.push(inner[..end].parse().ok()?);
                rest = &inner[end + 1..];
            }
        }
    }
    Some(rest)
}

/// Evaluates an index expression given in brackets.
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

/// Returns the field path that follows the instance `path` if `pattern` (with `[*]` wildcards)
/// begins with it.
pub(crate) fn field_path_of<'p>(pattern: &'p str, path: &str) -> Option<&'p str> {
    rest_after(pattern, path)?.strip_prefix('.')
}

/// True if `pattern` (with `[*]` wildcards) names `path` or something inside it.
pub(crate) fn is_within(pattern: &str, path: &str) -> bool {
    rest_after(pattern, path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the rest of `pattern` after the prefix that matches `path`.
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

/// Replaces every index by a wildcard: `cluster[3].l1` becomes `cluster[*].l1`.
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
    fn a_part_and_its_port_match_as_their_address_does() {
        let written = [
            "l1[*].up",
            "a.b[*].l1[*].up[*]",
            "l1[2].up[*]",
            "a[*]",
            "up",
            "l1[*].down",
        ];
        let parts = ["l1[0]", "l1[2]", "l1", "a.b[3].l1[4]", "a[7]", "l1[x]"];
        let ports = ["up", "up[5]", "down", "upper"];
        for written in written {
            let pattern = parse(written).unwrap();
            let cut = pattern.part_and_port();
            for (part, port) in parts.iter().flat_map(|part| ports.map(|port| (part, port))) {
                let numbers = cut.as_ref().and_then(|cut| {
                    let mut numbers = cut.matches_part(part)?;
                    cut.matches_port(port, &mut numbers).then_some(numbers)
                });
                let address = format!("{part}.{port}");
                assert_eq!(numbers, pattern.matches(&address), "{written}, {address}");
            }
        }
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
