//! [`Node`] to typed values: a serde deserializer whose every error points at the exact token.
//!
//! Differences from ron's own deserializer, all to keep files plain: unknown fields are always
//! rejected. Options and newtypes may be written bare (`3` for `Some(3)`), and `Gto` and `Gto()`
//! are equal. A fixed-size array may be written `[a, b]`, and a quoted variant name differs from a
//! name.
//!
//! `access.rs` walks lists, maps, structs and enums; `error.rs` holds the error type.

mod access;
mod error;

use serde::de::{self, DeserializeOwned, Visitor};

use self::access::{Entries, Fields, Items, Variant};
use self::error::{TypeError, elements};
use crate::node::{Field, Kind, Node, Struct, Tuple};
use crate::placed::{self, ONE_OR_MORE, PLACED, TREE};
use crate::suggest::name_hint;
use crate::{Diagnostic, Diagnostics};

/// Maximum number of mistakes reported for one description.
const PROBLEMS_MAX: usize = 32;

/// Reads a typed value from the tree.
///
/// The name before the outermost parenthesis is not compared with the type's name, because the
/// caller usually chose the type by it. Inner names are compared.
///
/// # Errors
/// Returns every mismatch, each at its token.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T, Diagnostics> {
    // serde stops at the first mismatch. To find the others, the faulty part is left out and the
    // rest is read again. The resulting value is incomplete and serves only to find further
    // mismatches.
    let mut problems = Diagnostics::new();
    let mut left_out: Vec<&Node> = Vec::new();
    loop {
        let reader = NodeReader {
            node,
            role: Role::Outermost,
            left_out: &left_out,
        };
        let error = match T::deserialize(reader) {
            Ok(value) => return problems.into_result(value),
            Err(error) => error.at_node(node),
        };
        // What was refused for lack of a part that was left out may be right.
        let incomplete = error
            .refused
            .is_some_and(|node| left_out.iter().any(|part| holds(node, part)));
        if !incomplete {
            problems.push(*error.diagnostic);
        }
        match error.part {
            Some(part) if problems.len() < PROBLEMS_MAX => left_out.push(part),
            _ => return Err(problems),
        }
    }
}

/// Reads a typed value that must be written `name(..)` or `(..)`.
///
/// # Errors
/// Returns an error if the name differs, and every mismatch at its token.
pub fn from_named<T: DeserializeOwned>(node: &Node, name: &str) -> Result<T, Diagnostics> {
    check_name(node, name).map_err(|error| *error.diagnostic)?;
    from_node(node)
}

/// True if `wanted` is `node` or is contained in it.
fn holds(node: &Node, wanted: &Node) -> bool {
    if std::ptr::eq(node, wanted) {
        return true;
    }
    match &node.kind {
        Kind::Option(Some(inner)) => holds(inner, wanted),
        Kind::Map(entries) => entries.iter().any(|(_, value)| holds(value, wanted)),
        _ => {
            node.items().iter().any(|item| holds(item, wanted))
                || node
                    .fields()
                    .iter()
                    .any(|field| holds(&field.value, wanted))
        }
    }
}

fn mismatch<'de>(node: &Node, expected: &str) -> TypeError<'de> {
    let message = format!("expected {expected}, found {}", node.describe());
    TypeError::new(Diagnostic::error(message).at(&node.head_span()))
}

/// Rejects a name other than the expected one. A missing name is accepted.
fn check_name<'de>(node: &Node, expected: &str) -> Result<(), TypeError<'de>> {
    match node.name() {
        Some(name) if name.text != expected => {
            let message = format!("expected {expected}, found {}", node.describe());
            let hint = format!("write `{expected}(..)`, or omit the name");
            Err(TypeError::new(
                Diagnostic::error(message).at(&name.span).hint(hint),
            ))
        }
        _ => Ok(()),
    }
}

/// Meaning of the name before a value's parenthesis.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// Not checked here, because the caller has already looked at it.
    Outermost,
    /// Name of the type, if one is written.
    Inner,
    /// Name of the variant or newtype whose contents are read.
    Contents,
}

/// Deserializer that reads one value of the tree.
#[derive(Clone, Copy)]
struct NodeReader<'de, 'r> {
    node: &'de Node,
    role: Role,
    /// Elements, entries and fields known to be wrong, which are skipped.
    left_out: &'r [&'de Node],
}

impl<'de> NodeReader<'de, '_> {
    /// Returns a reader for a value inside this one.
    fn inner(self, node: &'de Node) -> Self {
        let role = Role::Inner;
        Self { node, role, ..self }
    }

    fn leaves_out(self, part: &Node) -> bool {
        self.left_out.iter().any(|known| std::ptr::eq(*known, part))
    }

    fn check_name(self, name: &str) -> Result<(), TypeError<'de>> {
        match self.role {
            Role::Inner => check_name(self.node, name),
            Role::Outermost | Role::Contents => Ok(()),
        }
    }

    /// Error for a value that is not of the expected unnamed type.
    fn wanted(self, expected: &str) -> TypeError<'de> {
        match self.node.name() {
            Some(name) if self.role == Role::Contents => {
                let message = format!("`{}` takes {expected} in parentheses", name.text);
                TypeError::new(Diagnostic::error(message).at(&name.span))
            }
            _ => mismatch(self.node, expected),
        }
    }

    /// Reads an integer with a stated range, so that the message can give the range.
    fn integer<T: TryFrom<i128>>(self, (min, max): (i128, i128)) -> Result<T, TypeError<'de>> {
        let Kind::Int(value) = self.node.kind else {
            return Err(self.wanted(&format!("an integer from {min} to {max}")));
        };
        T::try_from(value).map_err(|_| {
            let message = format!("integer `{value}` is out of range");
            let hint = format!("the range is {min} to {max}");
            TypeError::new(Diagnostic::error(message).at(&self.node.span).hint(hint))
        })
    }

    /// Adds the place of this value to an error from a visitor.
    fn placed<T>(self, visited: Result<T, TypeError<'de>>) -> Result<T, TypeError<'de>> {
        visited.map_err(|error| error.at_node(self.node))
    }

    fn float(self) -> Result<f64, TypeError<'de>> {
        match self.node.kind {
            Kind::Float(value) => Ok(value),
            Kind::Int(value) => Ok(value as f64),
            _ => Err(self.wanted("a number")),
        }
    }

    /// Visits a struct's fields. Messages call the struct `name` unless it is written with a name.
    fn fields<V: Visitor<'de>>(
        self,
        fields: &'de [Field],
        name: &str,
        valid: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        let owner = self.node.name().map_or(name, |name| &name.text);
        if let Some(valid) = valid {
            // Most are written in the order of their declaration.
            let mut next = 0;
            let mut is_known = |name: &str| {
                let (before, after) = valid.split_at(next);
                let found = after.iter().chain(before).position(|known| *known == name);
                next = found.map_or(next, |at| (next + at + 1) % valid.len());
                found.is_some()
            };
            let unknown = fields
                .iter()
                .find(|field| !is_known(&field.name.text) && !self.leaves_out(&field.value));
            if let Some(Field { name, value }) = unknown {
                let message = format!("unknown field `{}` in {owner}", name.text);
                let fields = format!("fields of {owner}");
                let hint = name_hint(&name.text, &fields, valid.iter().copied());
                let problem = Diagnostic::error(message).at(&name.span).hint(hint);
                return Err(TypeError::new(problem).within(value));
            }
        }
        let access = Fields {
            fields: fields.iter(),
            value: None,
            reader: self,
        };
        visitor.visit_map(access).map_err(|mut error| {
            if let Some(field) = error.missing.take() {
                error.diagnostic.message = format!("missing field `{field}` in {owner}");
                let valid = valid.unwrap_or_default().join(", ");
                error.diagnostic.hint =
                    Some(format!("add `{field}: ..`; fields of {owner}: {valid}"));
                // A field that is left out is not missing, nor one whose name may be misspelt.
                if fields.iter().any(|known| self.leaves_out(&known.value)) {
                    error.refused = Some(self.node);
                }
                let name = self.node.name();
                return error.at(|| name.map_or_else(|| self.node.span.head(), |n| n.span.clone()));
            }
            error.at_node(self.node)
        })
    }

    fn items<V: Visitor<'de>>(
        self,
        items: &'de [Node],
        fixed: bool,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_seq(Items {
            items: items.iter(),
            reader: self,
            fixed,
        }))
    }

    fn exactly<V: Visitor<'de>>(
        self,
        items: &'de [Node],
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        if items.len() == count {
            return self.items(items, true, visitor);
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

impl<'de> de::Deserializer<'de> for NodeReader<'de, '_> {
    type Error = TypeError<'de>;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
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
            Kind::Option(Some(inner)) => visitor.visit_some(self.inner(inner)),
            Kind::List(items) | Kind::Tuple(Tuple { items, .. }) => {
                return self.items(items, false, visitor);
            }
            Kind::Map(entries) => visitor.visit_map(Entries {
                entries: entries.iter(),
                value: None,
                reader: self,
            }),
            Kind::Struct(Struct { fields, .. }) => {
                return self.fields(fields, "this struct", None, visitor);
            }
            Kind::Name(_) if self.role == Role::Contents => return Err(self.wanted("a value")),
            // Only a type that asks for an enum can use the name; any other says what it wanted.
            Kind::Name(_) => visitor.visit_enum(Variant {
                reader: self,
                owner: "",
            }),
        };
        self.placed(visited)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        match self.node.kind {
            Kind::Bool(value) => visitor.visit_bool(value),
            _ => Err(self.wanted("`true` or `false`")),
        }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_i8(self.integer((i8::MIN.into(), i8::MAX.into()))?))
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_i16(self.integer((i16::MIN.into(), i16::MAX.into()))?))
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_i32(self.integer((i32::MIN.into(), i32::MAX.into()))?))
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_i64(self.integer((i64::MIN.into(), i64::MAX.into()))?))
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_i128(self.integer((i64::MIN.into(), u64::MAX.into()))?))
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_u8(self.integer((0, u8::MAX.into()))?))
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_u16(self.integer((0, u16::MAX.into()))?))
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_u32(self.integer((0, u32::MAX.into()))?))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_u64(self.integer((0, u64::MAX.into()))?))
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_u128(self.integer((0, u64::MAX.into()))?))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_f64(self.float()?))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.placed(visitor.visit_f64(self.float()?))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        match self.node.kind {
            Kind::Char(value) => self.placed(visitor.visit_char(value)),
            _ => Err(self.wanted("a character such as 'a'")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        match &self.node.kind {
            Kind::Text(text) => self.placed(visitor.visit_borrowed_str(text)),
            Kind::Name(name) if self.role != Role::Contents => {
                let hint = format!("write \"{}\" in quotes", name.text);
                let mut error = self.wanted("a string");
                error.diagnostic.hint = Some(hint);
                Err(error)
            }
            _ => Err(self.wanted("a string")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.deserialize_any(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        match &self.node.kind {
            Kind::Option(None) => visitor.visit_none(),
            Kind::Option(Some(inner)) => visitor.visit_some(self.inner(inner)),
            _ => visitor.visit_some(self.inner(self.node)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        match self.node.kind {
            Kind::Unit => visitor.visit_unit(),
            _ => Err(mismatch(self.node, "`()`")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        self.check_name(name)?;
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
    ) -> Result<V::Value, TypeError<'de>> {
        match name {
            PLACED => {
                placed::hand_over_place(self.node.head_span());
                return visitor.visit_newtype_struct(self);
            }
            TREE => {
                placed::hand_over_tree(self.node.clone());
                return visitor.visit_unit();
            }
            ONE_OR_MORE => {
                return match &self.node.kind {
                    Kind::List(items) => self.items(items, false, visitor),
                    _ => visitor.visit_newtype_struct(self),
                };
            }
            _ => {}
        }
        let named = self.node.name().is_some_and(|written| written.text == name);
        if named || self.role != Role::Inner {
            if let Kind::Tuple(Tuple { items, .. }) = &self.node.kind
                && let [item] = &items[..]
            {
                return visitor.visit_newtype_struct(self.inner(item));
            }
            let role = Role::Contents;
            return visitor.visit_newtype_struct(Self { role, ..self });
        }
        match &self.node.kind {
            Kind::Tuple(Tuple { name: None, items }) if items.len() == 1 => {
                visitor.visit_newtype_struct(self.inner(&items[0]))
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        match &self.node.kind {
            Kind::List(items) => self.items(items, false, visitor),
            _ => Err(self.wanted("a list `[..]`")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        match &self.node.kind {
            Kind::Unit if count == 0 => self.items(&[], true, visitor),
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
    ) -> Result<V::Value, TypeError<'de>> {
        self.check_name(name)?;
        match &self.node.kind {
            Kind::Tuple(Tuple { items, .. }) => self.exactly(items, count, visitor),
            _ => Err(mismatch(
                self.node,
                &format!("{name} with {} in parentheses", elements(count)),
            )),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        match &self.node.kind {
            Kind::Map(entries) => self.placed(visitor.visit_map(Entries {
                entries: entries.iter(),
                value: None,
                reader: self,
            })),
            // A struct with flattened parts asks for a map.
            Kind::Struct(Struct { fields, .. }) => {
                self.fields(fields, "this struct", None, visitor)
            }
            _ => Err(self.wanted("a map `{..}`")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        valid: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        self.check_name(name)?;
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
    ) -> Result<V::Value, TypeError<'de>> {
        if self.node.name().is_some() {
            let variant = Variant {
                reader: self,
                owner: name,
            };
            return self.placed(visitor.visit_enum(variant));
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

    fn deserialize_identifier<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        match self.node.name() {
            Some(name) => self.placed(visitor.visit_borrowed_str(&name.text)),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        visitor.visit_unit()
    }
}
