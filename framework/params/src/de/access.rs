//! Access to elements, entries, fields and variants in the order in which serde requests them.

use std::slice::Iter;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::TypeError;
use super::{NodeReader, Role};
use crate::Diagnostic;
use crate::node::{Field, Kind, Name, Node, Struct, Tuple};
use crate::placed::{self, PLACED};

/// Sequence access to the elements of a list or tuple.
pub(super) struct Items<'de, 'r> {
    pub(super) items: Iter<'de, Node>,
    pub(super) reader: NodeReader<'de, 'r>,
    /// True if each element has its own meaning, so that none may be left out.
    pub(super) fixed: bool,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = TypeError<'de>;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TypeError<'de>> {
        let (reader, fixed) = (self.reader, self.fixed);
        let Some(node) = self.items.find(|node| fixed || !reader.leaves_out(node)) else {
            return Ok(None);
        };
        seed.deserialize(reader.inner(node))
            .map(Some)
            .map_err(|error| {
                let error = error.at_node(node);
                if fixed { error } else { error.within(node) }
            })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// Map access to the entries of a map node.
pub(super) struct Entries<'de, 'r> {
    pub(super) entries: Iter<'de, (Node, Node)>,
    pub(super) value: Option<&'de Node>,
    pub(super) reader: NodeReader<'de, 'r>,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = TypeError<'de>;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TypeError<'de>> {
        let reader = self.reader;
        let Some((key, value)) = self.entries.find(|(_, value)| !reader.leaves_out(value)) else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(reader.inner(key))
            .map(Some)
            .map_err(|error| error.at_node(key).within(value))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, TypeError<'de>> {
        let value = self
            .value
            .take()
            .expect("serde asks for a value after its key");
        seed.deserialize(self.reader.inner(value))
            .map_err(|error| error.at_node(value).within(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// Map access to the fields of a struct node.
pub(super) struct Fields<'de, 'r> {
    pub(super) fields: Iter<'de, Field>,
    pub(super) value: Option<&'de Node>,
    pub(super) reader: NodeReader<'de, 'r>,
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = TypeError<'de>;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TypeError<'de>> {
        let reader = self.reader;
        let field = self.fields.find(|field| !reader.leaves_out(&field.value));
        let Some(Field { name, value }) = field else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(NameReader(name))
            .map(Some)
            .map_err(|error| error.at(|| name.span.clone()).within(value))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, TypeError<'de>> {
        let value = self
            .value
            .take()
            .expect("serde asks for a value after its name");
        seed.deserialize(self.reader.inner(value))
            .map_err(|error| error.at_node(value).within(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len())
    }
}

/// Deserializes the name of a field as the key of a map.
struct NameReader<'de>(&'de Name);

impl<'de> Deserializer<'de> for NameReader<'de> {
    type Error = TypeError<'de>;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError<'de>> {
        visitor.visit_borrowed_str(&self.0.text)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        if name == PLACED {
            placed::hand_over_place(self.0.span.clone());
        }
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Enum access to a value with a name.
pub(super) struct Variant<'de, 'r> {
    pub(super) reader: NodeReader<'de, 'r>,
    /// Name of the enum, used in messages.
    pub(super) owner: &'static str,
}

impl<'de> EnumAccess<'de> for Variant<'de, '_> {
    type Error = TypeError<'de>;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), TypeError<'de>> {
        let name = self
            .reader
            .node
            .name()
            .expect("an enum is read from a value with a name");
        let variant = seed.deserialize(BorrowedStrDeserializer::<TypeError<'de>>::new(&name.text));
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

impl<'de, 'r> Variant<'de, 'r> {
    /// Returns a reader of the variant's parameters.
    fn contents(&self) -> NodeReader<'de, 'r> {
        NodeReader {
            role: Role::Contents,
            ..self.reader
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'de, '_> {
    type Error = TypeError<'de>;

    fn unit_variant(self) -> Result<(), TypeError<'de>> {
        let node = self.reader.node;
        match &node.kind {
            Kind::Name(_) => Ok(()),
            Kind::Struct(Struct { fields, .. }) if fields.is_empty() => Ok(()),
            _ => {
                let name = node.name().map_or("", |name| &name.text);
                let message = format!("`{name}` takes no parameters");
                let hint = format!("write `{name}`");
                Err(TypeError::new(
                    Diagnostic::error(message).at(&node.head_span()).hint(hint),
                ))
            }
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, TypeError<'de>> {
        let node = self.reader.node;
        match &node.kind {
            Kind::Tuple(Tuple { items, .. }) if items.len() == 1 => seed
                .deserialize(self.reader.inner(&items[0]))
                .map_err(|error| error.at_node(&items[0])),
            // `Gto(window: 4)` for a variant that wraps a struct.
            _ => seed
                .deserialize(self.contents())
                .map_err(|error| error.at_node(node)),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        let items = self.reader.node.items();
        self.contents().exactly(items, count, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError<'de>> {
        let node = self.reader.node;
        match &node.kind {
            Kind::Tuple(_) => Err(TypeError::new(
                Diagnostic::error(format!(
                    "expected fields {}, found {}",
                    fields.join(", "),
                    node.describe()
                ))
                .at(&node.head_span()),
            )),
            _ => self
                .contents()
                .fields(node.fields(), "", Some(fields), visitor),
        }
    }
}
