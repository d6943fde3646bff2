//! Elements, entries, fields and variants, as serde asks for them one after another.

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

/// Elements of a list or tuple.
pub(super) struct Items<'de, 'r> {
    pub(super) items: Iter<'de, Node>,
    /// Of the list.
    pub(super) reader: NodeReader<'de, 'r>,
    /// Whether each element has a meaning of its own, so that none can be left out.
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

/// Entries of a map.
pub(super) struct Entries<'de, 'r> {
    pub(super) entries: Iter<'de, (Node, Node)>,
    pub(super) value: Option<&'de Node>,
    /// Of the map.
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

/// Fields of a struct.
pub(super) struct Fields<'de, 'r> {
    pub(super) fields: Iter<'de, Field>,
    pub(super) value: Option<&'de Node>,
    /// Of the struct.
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

/// The name of a field, read as the key of a map.
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

/// A value with a name, read as an enum.
pub(super) struct Variant<'de, 'r> {
    pub(super) reader: NodeReader<'de, 'r>,
    /// The enum, for messages.
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
    /// Reads the parameters of the variant.
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
