//! [`Node`] to typed values: a serde deserializer whose every error points at the exact token.
//!
//! Differences from ron's own, all towards plain files: unknown fields are always refused, options
//! and newtypes may be written bare (`3` for `Some(3)`), `Gto` and `Gto()` mean the same, a fixed-size
//! array may be written `[a, b]`, and a quoted variant name is told apart from a name.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, EnumAccess, Expected, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};

use crate::Diagnostic;
use crate::node::{Field, Kind, Name, Node, Struct, Tuple};
use crate::source::Span;
use crate::suggest::name_hint;

/// Reads a typed value from the tree.
///
/// The name before the outermost parenthesis is not compared with the type's name, since the caller
/// usually chose the type by it; names further inside are.
///
/// # Errors
/// The first mismatch, at its token.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T, Diagnostic> {
    let reader = NodeReader {
        node,
        check_name: false,
    };
    T::deserialize(reader).map_err(|error| error.at_node(node).into_diagnostic())
}

/// Reads a typed value that must be written `name(..)` or `(..)`.
///
/// # Errors
/// Another name, or the first mismatch, at its token.
pub fn from_named<T: DeserializeOwned>(node: &Node, name: &str) -> Result<T, Diagnostic> {
    check_name(node, name).map_err(TypeError::into_diagnostic)?;
    from_node(node)
}

/// A failed read on its way up; the innermost value that has a place gives it.
#[derive(Debug)]
struct TypeError {
    diagnostic: Box<Diagnostic>,
    /// A missing field whose struct is not known yet.
    missing: Option<&'static str>,
}

impl TypeError {
    fn new(diagnostic: Diagnostic) -> Self {
        Self {
            diagnostic: Box::new(diagnostic),
            missing: None,
        }
    }

    fn at_node(self, node: &Node) -> Self {
        self.at(|| node.head_span())
    }

    fn at(mut self, place: impl FnOnce() -> Span) -> Self {
        self.diagnostic.place.get_or_insert_with(place);
        self
    }

    fn into_diagnostic(self) -> Diagnostic {
        *self.diagnostic
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl std::error::Error for TypeError {}

impl de::Error for TypeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        // A hint may follow the sentence on a line of its own.
        let message = message.to_string();
        Self::new(match message.split_once("\nhint: ") {
            Some((sentence, hint)) => Diagnostic::error(sentence).hint(hint),
            None => Diagnostic::error(message),
        })
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!(
            "expected {expected}, found {}",
            describe(&found)
        ))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::custom(format_args!(
            "expected {expected}, found {}",
            elements(found)
        ))
    }

    fn unknown_variant(found: &str, valid: &'static [&'static str]) -> Self {
        let hint = name_hint(found, "variants", valid.iter().copied());
        Self::new(Diagnostic::error(format!("unknown variant `{found}`")).hint(hint))
    }

    fn unknown_field(found: &str, valid: &'static [&'static str]) -> Self {
        let hint = name_hint(found, "fields", valid.iter().copied());
        Self::new(Diagnostic::error(format!("unknown field `{found}`")).hint(hint))
    }

    fn missing_field(field: &'static str) -> Self {
        let diagnostic = Diagnostic::error(format!("missing field `{field}`"));
        Self {
            diagnostic: Box::new(diagnostic),
            missing: Some(field),
        }
    }
}

/// What serde says it found, in the words of [`Node::describe`].
fn describe(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("boolean `{value}`"),
        Unexpected::Unsigned(value) => format!("integer `{value}`"),
        Unexpected::Signed(value) => format!("integer `{value}`"),
        Unexpected::Float(value) => format!("number `{value}`"),
        Unexpected::Char(value) => format!("character {value:?}"),
        Unexpected::Str(value) => format!("string {value:?}"),
        Unexpected::Unit => "unit `()`".to_owned(),
        Unexpected::Option => "an option".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map or struct".to_owned(),
        Unexpected::Enum => "a name".to_owned(),
        other => other.to_string(),
    }
}

fn elements(count: usize) -> String {
    if count == 1 {
        "1 element".to_owned()
    } else {
        format!("{count} elements")
    }
}

fn mismatch(node: &Node, expected: &str) -> TypeError {
    let message = format!("expected {expected}, found {}", node.describe());
    TypeError::new(Diagnostic::error(message).at(&node.head_span()))
}

/// Refuses a name other than the expected one; no name at all is fine.
fn check_name(node: &Node, expected: &str) -> Result<(), TypeError> {
    match node.name() {
        Some(name) if name.text != expected => {
            let message = format!("expected {expected}, found {}", node.describe());
            let hint = format!("write `{expected}(..)`, or leave the name out");
            Err(TypeError::new(
                Diagnostic::error(message).at(&name.span).hint(hint),
            ))
        }
        _ => Ok(()),
    }
}

/// Reads one value.
#[derive(Clone, Copy)]
struct NodeReader<'de> {
    node: &'de Node,
    /// Whether a written name must be the type's.
    check_name: bool,
}

impl<'de> NodeReader<'de> {
    fn inner(node: &'de Node) -> Self {
        Self {
            node,
            check_name: true,
        }
    }

    /// Reads an integer of a stated range, so that the message can name it.
    fn integer<T: TryFrom<i128>>(self, (min, max): (i128, i128)) -> Result<T, TypeError> {
        let Kind::Int(value) = self.node.kind else {
            return Err(mismatch(
                self.node,
                &format!("an integer from {min} to {max}"),
            ));
        };
        T::try_from(value).map_err(|_| {
            let message = format!("integer `{value}` is out of range");
            let hint = format!("the range is {min} to {max}");
            TypeError::new(Diagnostic::error(message).at(&self.node.span).hint(hint))
        })
    }

    /// Gives a visitor's refusal the place of this value.
    fn placed<T>(self, visited: Result<T, TypeError>) -> Result<T, TypeError> {
        visited.map_err(|error| error.at_node(self.node))
    }

    fn float(self) -> Result<f64, TypeError> {
        match self.node.kind {
            Kind::Float(value) => Ok(value),
            Kind::Int(value) => Ok(value as f64),
            _ => Err(mismatch(self.node, "a number")),
        }
    }

    /// Visits a struct's fields; the struct is `name` in messages unless it is written with a name.
    fn fields<V: Visitor<'de>>(
        self,
        fields: &'de [Field],
        name: &str,
        valid: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        let owner = self.node.name().map_or(name, |name| &name.text);
        let hint = |found: &str, valid: &'static [&'static str]| {
            name_hint(found, &format!("fields of {owner}"), valid.iter().copied())
        };
        if let Some(valid) = valid {
            let unknown = fields
                .iter()
                .find(|field| !valid.contains(&field.name.text.as_str()));
            if let Some(Field { name, .. }) = unknown {
                let message = format!("unknown field `{}` in {owner}", name.text);
                let hint = hint(&name.text, valid);
                return Err(TypeError::new(
                    Diagnostic::error(message).at(&name.span).hint(hint),
                ));
            }
        }
        visitor
            .visit_map(Fields {
                fields: fields.iter(),
                value: None,
            })
            .map_err(|mut error| {
                if let Some(field) = error.missing.take() {
                    error.diagnostic.message = format!("missing field `{field}` in {owner}");
                    let valid = valid.unwrap_or_default().join(", ");
                    error.diagnostic.hint =
                        Some(format!("add `{field}: ..`; fields of {owner}: {valid}"));
                    let place = self
                        .node
                        .name()
                        .map_or_else(|| self.node.span.head(), |n| n.span.clone());
                    return error.at(|| place);
                }
                error.at_node(self.node)
            })
    }

    fn items<V: Visitor<'de>>(self, items: &'de [Node], visitor: V) -> Result<V::Value, TypeError> {
        let items = Items {
            items: items.iter(),
        };
        visitor
            .visit_seq(items)
            .map_err(|error| error.at_node(self.node))
    }

    fn exactly<V: Visitor<'de>>(
        self,
        items: &'de [Node],
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        if items.len() == count {
            return self.items(items, visitor);
        }
        let message = format!(
            "expected {}, found {}",
            elements(count),
            elements(items.len())
        );
        Err(TypeError::new(
            Diagnostic::error(message).at(&self.node.head_span()),
        ))
    }
}

impl<'de> de::Deserializer<'de> for NodeReader<'de> {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        let visited = match &self.node.kind {
            Kind::Unit => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(*value),
            Kind::Int(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => visitor.visit_u64(value),
                (_, Ok(value)) => visitor.visit_i64(value),
                _ => visitor.visit_i128(*value),
            },
            Kind::Float(value) => visitor.visit_f64(*value),
            Kind::Char(value) => visitor.visit_char(*value),
            Kind::Text(text) => visitor.visit_borrowed_str(text),
            Kind::Option(None) => visitor.visit_none(),
            Kind::Option(Some(inner)) => visitor.visit_some(Self::inner(inner)),
            Kind::List(items) | Kind::Tuple(Tuple { items, .. }) => {
                return self.items(items, visitor);
            }
            Kind::Map(entries) => visitor.visit_map(Entries {
                entries: entries.iter(),
                value: None,
            }),
            Kind::Struct(Struct { fields, .. }) => {
                return self.fields(fields, "this struct", None, visitor);
            }
            // Only a type that asks for an enum can use the name; any other says what it wanted.
            Kind::Name(_) => visitor.visit_enum(Variant {
                node: self.node,
                owner: "",
            }),
        };
        self.placed(visited)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.node.kind {
            Kind::Bool(value) => visitor.visit_bool(value),
            _ => Err(mismatch(self.node, "`true` or `false`")),
        }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_i8(self.integer((i8::MIN.into(), i8::MAX.into()))?))
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_i16(self.integer((i16::MIN.into(), i16::MAX.into()))?))
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_i32(self.integer((i32::MIN.into(), i32::MAX.into()))?))
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_i64(self.integer((i64::MIN.into(), i64::MAX.into()))?))
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_i128(self.integer((i64::MIN.into(), u64::MAX.into()))?))
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_u8(self.integer((0, u8::MAX.into()))?))
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_u16(self.integer((0, u16::MAX.into()))?))
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_u32(self.integer((0, u32::MAX.into()))?))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_u64(self.integer((0, u64::MAX.into()))?))
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_u128(self.integer((0, u64::MAX.into()))?))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_f64(self.float()?))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.placed(visitor.visit_f64(self.float()?))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.node.kind {
            Kind::Char(value) => self.placed(visitor.visit_char(value)),
            _ => Err(mismatch(self.node, "a character such as 'a'")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match &self.node.kind {
            Kind::Text(text) => self.placed(visitor.visit_borrowed_str(text)),
            Kind::Name(name) => {
                let hint = format!("write \"{}\" in quotes", name.text);
                let mut error = mismatch(self.node, "a string");
                error.diagnostic.hint = Some(hint);
                Err(error)
            }
            _ => Err(mismatch(self.node, "a string")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match &self.node.kind {
            Kind::Option(None) => visitor.visit_none(),
            Kind::Option(Some(inner)) => visitor.visit_some(Self::inner(inner)),
            _ => visitor.visit_some(Self::inner(self.node)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.node.kind {
            Kind::Unit => visitor.visit_unit(),
            _ => Err(mismatch(self.node, "`()`")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        if self.check_name {
            check_name(self.node, name)?;
        }
        match &self.node.kind {
            Kind::Unit | Kind::Name(_) => visitor.visit_unit(),
            Kind::Struct(Struct {
                name: Some(_),
                fields,
            }) if fields.is_empty() => visitor.visit_unit(),
            _ => Err(mismatch(self.node, &format!("`{name}`"))),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        match &self.node.kind {
            Kind::Tuple(tuple) if tuple.items.len() == 1 => {
                let named = tuple.name.as_ref().map_or(name, |name| &name.text);
                if named == name || !self.check_name {
                    return visitor.visit_newtype_struct(Self::inner(&tuple.items[0]));
                }
                visitor.visit_newtype_struct(self)
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match &self.node.kind {
            Kind::List(items) => self.items(items, visitor),
            _ => Err(mismatch(self.node, "a list `[..]`")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        match &self.node.kind {
            Kind::Unit if count == 0 => self.items(&[], visitor),
            Kind::List(items) | Kind::Tuple(Tuple { name: None, items }) => {
                self.exactly(items, count, visitor)
            }
            _ => Err(mismatch(
                self.node,
                &format!("{} in parentheses", elements(count)),
            )),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        if self.check_name {
            check_name(self.node, name)?;
        }
        match &self.node.kind {
            Kind::Tuple(Tuple { items, .. }) => self.exactly(items, count, visitor),
            _ => Err(mismatch(
                self.node,
                &format!("{name} with {} in parentheses", elements(count)),
            )),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match &self.node.kind {
            Kind::Map(entries) => visitor
                .visit_map(Entries {
                    entries: entries.iter(),
                    value: None,
                })
                .map_err(|error| error.at_node(self.node)),
            // A struct with flattened parts asks for a map.
            Kind::Struct(Struct { fields, .. }) => {
                self.fields(fields, "this struct", None, visitor)
            }
            _ => Err(mismatch(self.node, "a map `{..}`")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        valid: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        if self.check_name {
            check_name(self.node, name)?;
        }
        match &self.node.kind {
            Kind::Struct(Struct { fields, .. }) => self.fields(fields, name, Some(valid), visitor),
            Kind::Unit | Kind::Name(_) => self.fields(&[], name, Some(valid), visitor),
            _ => {
                let mut error = mismatch(self.node, name);
                let shape = valid
                    .first()
                    .map_or_else(String::new, |field| format!("{field}: .."));
                error.diagnostic.hint = Some(format!(
                    "write `({shape})` with fields: {}",
                    valid.join(", ")
                ));
                Err(error)
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        if self.node.name().is_some() {
            let variant = Variant {
                node: self.node,
                owner: name,
            };
            return visitor
                .visit_enum(variant)
                .map_err(|error| error.at_node(self.node));
        }
        let mut error = mismatch(self.node, &format!("a variant of {name}"));
        error.diagnostic.hint = Some(
            match self.node.as_str().filter(|text| variants.contains(text)) {
                Some(text) => format!("write `{text}` without quotes"),
                None => format!("variants of {name}: {}", variants.join(", ")),
            },
        );
        Err(error)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.node.name() {
            Some(name) => self.placed(visitor.visit_borrowed_str(&name.text)),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_unit()
    }
}

/// Elements of a list or tuple.
struct Items<'de> {
    items: std::slice::Iter<'de, Node>,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = TypeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TypeError> {
        let read = |node| {
            seed.deserialize(NodeReader::inner(node))
                .map_err(|e| e.at_node(node))
        };
        self.items.next().map(read).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// Entries of a map.
struct Entries<'de> {
    entries: std::slice::Iter<'de, (Node, Node)>,
    value: Option<&'de Node>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = TypeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TypeError> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(NodeReader::inner(key))
            .map(Some)
            .map_err(|e| e.at_node(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, TypeError> {
        let value = self
            .value
            .take()
            .expect("serde asks for a value after its key");
        seed.deserialize(NodeReader::inner(value))
            .map_err(|e| e.at_node(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// Fields of a struct.
struct Fields<'de> {
    fields: std::slice::Iter<'de, Field>,
    value: Option<&'de Node>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = TypeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TypeError> {
        let Some(Field { name, value }) = self.fields.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        read_name(name, seed).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, TypeError> {
        let value = self
            .value
            .take()
            .expect("serde asks for a value after its name");
        seed.deserialize(NodeReader::inner(value))
            .map_err(|e| e.at_node(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len())
    }
}

fn read_name<'de, S: DeserializeSeed<'de>>(
    name: &'de Name,
    seed: S,
) -> Result<S::Value, TypeError> {
    let reader = BorrowedStrDeserializer::<TypeError>::new(&name.text);
    seed.deserialize(reader)
        .map_err(|error| error.at(|| name.span.clone()))
}

/// A value with a name, read as an enum.
struct Variant<'de> {
    node: &'de Node,
    /// The enum, for messages.
    owner: &'static str,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = TypeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), TypeError> {
        let name = self
            .node
            .name()
            .expect("an enum is read from a value with a name");
        let variant = seed.deserialize(BorrowedStrDeserializer::<TypeError>::new(&name.text));
        let owner = self.owner;
        let variant = variant.map_err(|mut error| {
            if !owner.is_empty() && error.diagnostic.place.is_none() {
                error.diagnostic.message.push_str(" of ");
                error.diagnostic.message.push_str(owner);
            }
            error.at(|| name.span.clone())
        })?;
        Ok((variant, self))
    }
}

impl<'de> Variant<'de> {
    fn reader(&self) -> NodeReader<'de> {
        NodeReader {
            node: self.node,
            check_name: false,
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = TypeError;

    fn unit_variant(self) -> Result<(), TypeError> {
        match &self.node.kind {
            Kind::Name(_) => Ok(()),
            Kind::Struct(Struct { fields, .. }) if fields.is_empty() => Ok(()),
            _ => {
                let name = self.node.name().map_or("", |name| &name.text);
                let message = format!("`{name}` takes no parameters");
                let hint = format!("write `{name}`");
                Err(TypeError::new(
                    Diagnostic::error(message)
                        .at(&self.node.head_span())
                        .hint(hint),
                ))
            }
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, TypeError> {
        match &self.node.kind {
            Kind::Tuple(Tuple { items, .. }) if items.len() == 1 => seed
                .deserialize(NodeReader::inner(&items[0]))
                .map_err(|e| e.at_node(&items[0])),
            // `Gto(window: 4)` for a variant that wraps a struct.
            _ => seed
                .deserialize(self.reader())
                .map_err(|e| e.at_node(self.node)),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        self.reader().exactly(self.node.items(), count, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        match &self.node.kind {
            Kind::Tuple(_) => Err(mismatch(
                self.node,
                &format!("fields {}", fields.join(", ")),
            )),
            _ => self
                .reader()
                .fields(self.node.fields(), "", Some(fields), visitor),
        }
    }
}
