//! Parser from RON text to a [`Node`] tree.
//!
//! The `ron` crate checks the whole text and reads every scalar. Places come from raw slices that
//! borrow from the text. Only what ron's data model drops is parsed by hand: names before a
//! parenthesis.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{self, Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::node::{Field, Kind, Name, Node, Struct, Tuple};
use crate::print::to_ron_line;
use crate::source::{Position, Source, Span, TEXT_BYTES_MAX};
use crate::{Diagnostic, Diagnostics};

/// Maximum nesting of user input: brackets, expressions, nested modules, files that name files,
/// blocks and operands of programs. Deeper input is rejected before it can exhaust the stack.
pub const NESTING_MAX: usize = 128;

/// Recursion limit given to ron for text within [`NESTING_MAX`]: two steps for each bracket.
const RON_STEPS_MAX: usize = 2 * NESTING_MAX;

/// Parses the text of a description file.
///
/// # Errors
/// Returns the first syntax error, or all duplicate fields and keys.
pub fn parse(source: &Arc<Source>) -> Result<Node, Diagnostics> {
    parse_from(source, 0)
}

/// Parses the value that begins at a byte offset of a source and ends with it.
///
/// # Errors
/// Fails in the same cases as [`parse`].
pub fn parse_from(source: &Arc<Source>, from: usize) -> Result<Node, Diagnostics> {
    let text = source.text();
    if text.len() > TEXT_BYTES_MAX {
        let size = text.len();
        return Err(Diagnostic::error(format!(
            "{} has {size} bytes; a description may have at most {TEXT_BYTES_MAX}",
            source.name()
        ))
        .into());
    }
    let options = ron::Options::default().with_recursion_limit(RON_STEPS_MAX);
    let (root, extensions) = check_syntax(source, from, &options)?;
    // Reading piecewise may count a step more than reading the whole did.
    let options = options
        .with_default_extension(extensions)
        .with_recursion_limit(RON_STEPS_MAX + 4);
    let mut reader = Reader {
        source,
        options,
        depth: 0,
        problems: Diagnostics::new(),
    };
    let node = reader.value(root)?;
    // Inner brackets are read before outer ones; readers expect the order of the file.
    let mut problems: Vec<Diagnostic> = reader.problems.into_iter().collect();
    problems.sort_by_key(|problem| problem.place.as_ref().map(|place| place.start));
    problems
        .into_iter()
        .collect::<Diagnostics>()
        .into_result(node)
}

/// Lets ron read the whole text once, so that every syntax error carries its own place. Returns the
/// text from the first value on, and the extensions enabled before it.
fn check_syntax<'t>(
    source: &'t Arc<Source>,
    from: usize,
    options: &ron::Options,
) -> Result<(&'t str, ron::extensions::Extensions), Diagnostic> {
    let fail = |error: ron::error::SpannedError| syntax_error(source, from, &error);
    let mut ron =
        ron::Deserializer::from_str_with_options(&source.text()[from..], options).map_err(fail)?;
    let root = ron.remainder();
    let extensions = ron.extensions();
    IgnoredAny::deserialize(&mut ron).map_err(|error| fail(ron.span_error(error)))?;
    ron.end().map_err(|error| fail(ron.span_error(error)))?;
    Ok((root, extensions))
}

fn syntax_error(source: &Arc<Source>, from: usize, error: &ron::error::SpannedError) -> Diagnostic {
    use ron::Error;

    // ron counts from where it began to read.
    let part = Source::new("", &source.text()[from..]);
    let offset = |at: ron::error::Position| {
        from + part.offset(Position {
            line: at.line,
            column: at.col,
        })
    };
    let (start, end) = (offset(error.span.start), offset(error.span.end));
    let point = source.span(
        end,
        end + source.text()[end..]
            .chars()
            .next()
            .map_or(0, char::len_utf8),
    );
    let token = source.span(start, end);
    let message = error.code.to_string();
    let mut chars = message.chars();
    let message: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_lowercase)
        .chain(chars)
        .collect();
    match &error.code {
        Error::ExceededRecursionLimit => too_deep(&point),
        _ if end == source.text().len() => {
            Diagnostic::error("the text ends in the middle of a value")
                .at(&point)
                .hint("is a closing bracket or quote missing?")
        }
        Error::ExpectedComma => Diagnostic::error(message)
            .at(&point)
            .hint("put a comma after the preceding value"),
        Error::TrailingCharacters => {
            Diagnostic::error("text after the end of the description").at(&point)
        }
        Error::NoSuchExtension(_) | Error::SuggestRawIdentifier(_) | Error::InvalidEscape(_) => {
            Diagnostic::error(message).at(if token.text().trim().is_empty() {
                &point
            } else {
                &token
            })
        }
        _ => Diagnostic::error(message).at(&point),
    }
}

/// Message for input nested deeper than [`NESTING_MAX`].
pub fn nested_too_deep() -> String {
    format!("nested more than {NESTING_MAX} levels deep")
}

fn too_deep(place: &Span) -> Diagnostic {
    Diagnostic::error(nested_too_deep())
        .at(place)
        .hint("no description needs this; is a closing bracket missing?")
}

struct Reader<'t> {
    source: &'t Arc<Source>,
    options: ron::Options,
    /// Number of brackets open around the value being read.
    depth: usize,
    problems: Diagnostics,
}

impl<'t> Reader<'t> {
    /// Parses the single value contained in `raw`, a slice of the source.
    fn value(&mut self, raw: &'t str) -> Result<Node, Diagnostic> {
        let text = skip_trivia(raw);
        if self.depth > NESTING_MAX {
            let start = self.offset(text);
            return Err(too_deep(&self.source.span(start, start + 1)));
        }
        self.depth += 1;
        let node = match text.chars().next() {
            Some('(') => self.parenthesis(text, None),
            Some('[') => self.list(text),
            Some('{') => self.map(text),
            Some(first) if starts_name(first, text) => self.named(text),
            _ => self.scalar(text),
        };
        self.depth -= 1;
        node
    }

    fn scalar(&mut self, text: &'t str) -> Result<Node, Diagnostic> {
        let (scalar, rest) = self.ron(text, |ron| ron.deserialize_any(ScalarVisitor))?;
        let span = self.between(text, rest);
        let kind = match scalar {
            Scalar::Kind(Kind::Float(_)) if is_integer_literal(span.text()) => {
                return Err(Diagnostic::error("integer does not fit in 64 bits")
                    .at(&span)
                    .hint(format!("the range is {} to {}", i64::MIN, u64::MAX)));
            }
            Scalar::Kind(kind) => kind,
            Scalar::Refused(what) => {
                return Err(Diagnostic::error(format!("{what} are not allowed here")).at(&span));
            }
        };
        Ok(Node::new(kind, span))
    }

    /// Parses a value starting with a name: `true`, `None`, `Some(x)`, `Name`, `Name(..)`.
    fn named(&mut self, text: &'t str) -> Result<Node, Diagnostic> {
        let (word, rest) = self.ron(text, |ron| ron.deserialize_identifier(WordVisitor))?;
        let body = skip_trivia(rest);
        let span = self.between(text, rest);
        let raw_name = text.starts_with("r#");
        match word {
            _ if raw_name => self.after_name(
                body,
                Name {
                    text: word.to_owned(),
                    span,
                },
            ),
            "true" | "false" | "inf" | "inff32" | "inff64" | "NaN" | "NaNf32" | "NaNf64" => {
                self.scalar(text)
            }
            "None" => Ok(Node::new(Kind::Option(None), span)),
            "Some" if body.starts_with('(') => {
                let inner = self.parenthesis(body, None)?;
                let whole = self
                    .source
                    .span(span.start as usize, inner.span.end as usize);
                let inner = match inner.kind {
                    Kind::Tuple(Tuple {
                        name: None,
                        mut items,
                    }) if items.len() == 1 => items.remove(0),
                    _ => inner,
                };
                Ok(Node::new(Kind::Option(Some(Box::new(inner))), whole))
            }
            _ => self.after_name(
                body,
                Name {
                    text: word.to_owned(),
                    span,
                },
            ),
        }
    }

    fn after_name(&mut self, body: &'t str, name: Name) -> Result<Node, Diagnostic> {
        if body.starts_with('(') {
            return self.parenthesis(body, Some(name));
        }
        let span = name.span.clone();
        Ok(Node::new(Kind::Name(name), span))
    }

    /// Everything in parentheses; ron tells fields from elements.
    fn parenthesis(&mut self, text: &'t str, name: Option<Name>) -> Result<Node, Diagnostic> {
        let (body, rest) = self.ron(text, |ron| ron.deserialize_any(ParenthesisVisitor))?;
        let mut span = self.between(text, rest);
        if let Some(name) = &name {
            span.start = name.span.start;
        }
        let kind = match body {
            Parenthesis::Items(items) if items.is_empty() => match name {
                None => Kind::Unit,
                Some(_) => Kind::Struct(Struct {
                    name,
                    fields: Vec::new(),
                }),
            },
            Parenthesis::Items(items) => {
                let items = items.into_iter().map(|raw| self.value(raw));
                Kind::Tuple(Tuple {
                    name,
                    items: items.collect::<Result<_, _>>()?,
                })
            }
            Parenthesis::Fields(fields) => {
                let mut read = Vec::with_capacity(fields.len());
                for (word, raw) in fields {
                    let start = self.offset(word);
                    let name_span = self.source.span(start, start + word.len());
                    let name = Name {
                        text: word.to_owned(),
                        span: name_span,
                    };
                    read.push(Field {
                        name,
                        value: self.value(raw)?,
                    });
                }
                let owner = name.as_ref().map_or("this struct", |name| &name.text);
                self.refuse_duplicates(
                    read.iter()
                        .map(|field| (field.name.text.clone(), &field.name.span)),
                    |field| format!("field `{field}` is given twice in {owner}"),
                );
                Kind::Struct(Struct { name, fields: read })
            }
        };
        Ok(Node::new(kind, span))
    }

    fn list(&mut self, text: &'t str) -> Result<Node, Diagnostic> {
        let (items, rest) = self.ron(text, |ron| Vec::<Raw<'t>>::deserialize(ron))?;
        let items = items.into_iter().map(|Raw(raw)| self.value(raw));
        let items = items.collect::<Result<_, _>>()?;
        Ok(Node::new(Kind::List(items), self.between(text, rest)))
    }

    fn map(&mut self, text: &'t str) -> Result<Node, Diagnostic> {
        let (raw, rest) = self.ron(text, |ron| ron.deserialize_map(EntriesVisitor))?;
        let mut entries = Vec::with_capacity(raw.len());
        for (key, value) in raw {
            entries.push((self.value(key)?, self.value(value)?));
        }
        self.refuse_duplicates(
            entries.iter().map(|(key, _)| (to_ron_line(key), &key.span)),
            |key| format!("key {key} is given twice in this map"),
        );
        Ok(Node::new(Kind::Map(entries), self.between(text, rest)))
    }

    fn refuse_duplicates<'s>(
        &mut self,
        names: impl Iterator<Item = (String, &'s Span)>,
        message: impl Fn(&str) -> String,
    ) {
        let mut first: BTreeMap<String, &Span> = BTreeMap::new();
        for (name, span) in names {
            if let Some(earlier) = first.get(&name) {
                self.problems.push(
                    Diagnostic::error(message(&name))
                        .at(span)
                        .related("first given here", earlier)
                        .hint("remove one of the two"),
                );
            } else {
                first.insert(name, span);
            }
        }
    }

    /// Runs a piece of ron's reader on `text`; returns what it read and the text after it.
    fn ron<T>(
        &self,
        text: &'t str,
        read: impl FnOnce(&mut ron::Deserializer<'t>) -> ron::error::Result<T>,
    ) -> Result<(T, &'t str), Diagnostic> {
        let fail = |error: &ron::Error| {
            let start = self.offset(text);
            let place = self.source.span(start, start + 1);
            Diagnostic::error(error.to_string()).at(&place)
        };
        let mut ron = ron::Deserializer::from_str_with_options(text, &self.options)
            .map_err(|error| fail(&error.code))?;
        let value = read(&mut ron).map_err(|error| fail(&error))?;
        Ok((value, ron.remainder()))
    }

    /// Byte offset of a slice of the source.
    fn offset(&self, slice: &str) -> usize {
        slice
            .as_ptr()
            .addr()
            .saturating_sub(self.source.text().as_ptr().addr())
    }

    /// The place of what was read between two slices of the source.
    fn between(&self, text: &str, rest: &str) -> Span {
        self.source.span(self.offset(text), self.offset(rest))
    }
}

/// Whether the first value of a text has one of these names, whatever follows.
pub fn begins_with_name(text: &str, names: &[&str]) -> bool {
    let mut text = skip_trivia(text);
    while let Some(attribute) = text.strip_prefix('#') {
        let Some(end) = attribute.find(']') else {
            return false;
        };
        text = skip_trivia(&attribute[end + 1..]);
    }
    let text = text.strip_prefix("r#").unwrap_or(text);
    let name = text.find(|c: char| c != '_' && !c.is_alphanumeric());
    names.contains(&&text[..name.unwrap_or(text.len())])
}

/// Skips white space and comments, as ron defines them.
fn skip_trivia(mut text: &str) -> &str {
    let is_space = |c: char| {
        c.is_ascii_whitespace()
            || matches!(
                c,
                '\x0B' | '\u{85}' | '\u{200E}' | '\u{200F}' | '\u{2028}' | '\u{2029}'
            )
    };
    loop {
        text = text.trim_start_matches(is_space);
        if text.starts_with("//") {
            text = text.find('\n').map_or("", |end| &text[end..]);
        } else if text.starts_with("/*") {
            text = skip_block_comment(text);
        } else {
            return text;
        }
    }
}

/// Skips a block comment, which may contain others.
fn skip_block_comment(text: &str) -> &str {
    let bytes = text.as_bytes();
    let (mut level, mut at) = (0_usize, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            level += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            level -= 1;
            at += 2;
            if level == 0 {
                return &text[at..];
            }
        } else {
            at += 1;
        }
    }
    ""
}

/// Whether `text` begins with a name rather than a string or byte literal.
fn starts_name(first: char, text: &str) -> bool {
    const LITERALS: [&str; 7] = ["r\"", "r#\"", "r##", "b\"", "b'", "br\"", "br#"];
    (first == '_' || first.is_alphabetic()) && !LITERALS.iter().any(|start| text.starts_with(start))
}

/// Whether a literal that ron read as a float was written as an integer (it did not fit).
fn is_integer_literal(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
}

enum Scalar {
    Kind(Kind),
    /// Valid RON that no description uses.
    Refused(&'static str),
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Kind(Kind::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Kind(Kind::Int(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar::Kind(Kind::Int(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Kind(Kind::Float(value)))
    }

    fn visit_char<E>(self, value: char) -> Result<Scalar, E> {
        Ok(Scalar::Kind(Kind::Char(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar::Kind(Kind::Text(value.to_owned())))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Scalar, E> {
        Ok(Scalar::Refused("byte strings"))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Refused("ranges"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Refused("ranges"))
    }
}

struct WordVisitor;

impl<'de> Visitor<'de> for WordVisitor {
    type Value = &'de str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, word: &'de str) -> Result<&'de str, E> {
        Ok(word)
    }
}

/// A field name borrowed from the text.
struct Word<'t>(&'t str);

impl<'de> Deserialize<'de> for Word<'de> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(WordVisitor).map(Word)
    }
}

/// The text of a value. What `ron` gives for its own `RawValue`, which would read the text a second
/// time, and no deeper than 64 brackets.
struct Raw<'t>(&'t str);

/// The name by which ron knows that the text is wanted.
const RAW_VALUE: &str = "$ron::private::RawValue";

impl<'de> Deserialize<'de> for Raw<'de> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_newtype_struct(RAW_VALUE, WordVisitor)
            .map(Raw)
    }
}

enum Parenthesis<'t> {
    Items(Vec<&'t str>),
    Fields(Vec<(&'t str, &'t str)>),
}

struct ParenthesisVisitor;

impl<'de> Visitor<'de> for ParenthesisVisitor {
    type Value = Parenthesis<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fields or elements in parentheses")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Parenthesis::Items(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(raw) = seq.next_element::<Raw<'de>>()? {
            items.push(raw.0);
        }
        Ok(Parenthesis::Items(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((Word(name), raw)) = map.next_entry::<Word<'de>, Raw<'de>>()? {
            fields.push((name, raw.0));
        }
        Ok(Parenthesis::Fields(fields))
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Vec<(&'de str, &'de str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Raw<'de>, Raw<'de>>()? {
            entries.push((key.0, value.0));
        }
        Ok(entries)
    }
}
