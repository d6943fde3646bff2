//! Structures: elements of several numbers, and structure arguments.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, EnumAccess, Error, IntoDeserializer, VariantAccess, Visitor};
use warpweave_inputs::{ElementType, Name, Value};
use warpweave_params::{Entries, Node, Placed, from_node};

/// Element type of a buffer: a number or a structure.
#[derive(Clone, Debug)]
pub enum Element {
    /// Numbers of one type per element.
    Number(ElementType),
    /// Structures of the type with this name.
    Struct(Name),
}

/// Structure by value: a number or an address for each of its fields.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// Name of the structure's type declaration.
    pub structure: Name,
    /// Values of its fields, in any order.
    pub fields: Entries<FieldValue>,
    /// Fields in the order of the structure, each with its type; set when the program is built.
    #[serde(skip)]
    pub(crate) laid_out: Vec<Placed<Argument>>,
}

/// Value given for a field of a [`Record`].
#[derive(Clone, Debug)]
pub enum FieldValue {
    /// Number of the same type as the field.
    Number(Value),
    /// Address as `Buffer`, `BufferAt` or `Texture`, for a field of 64 bits.
    Address(Placed<Argument>),
}

impl Record {
    /// Creates a structure value with these fields.
    pub fn new<N: Into<Name>>(
        structure: impl Into<Name>,
        fields: impl IntoIterator<Item = (N, FieldValue)>,
    ) -> Self {
        let fields = fields.into_iter().map(|(name, given)| (name.into(), given));
        Self {
            structure: structure.into(),
            fields: fields.collect(),
            laid_out: Vec::new(),
        }
    }
}

impl From<ElementType> for Element {
    fn from(element: ElementType) -> Self {
        Self::Number(element)
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ElementVisitor;

        impl<'de> Visitor<'de> for ElementVisitor {
            type Value = Element;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a numeric type such as F32, or Struct(\"name\")")
            }

            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Element, A::Error> {
                let (kind, contents) = data.variant::<Kind>()?;
                match kind {
                    Kind::Struct => Ok(Element::Struct(contents.newtype_variant()?)),
                    Kind::Number(element) => {
                        contents.unit_variant()?;
                        Ok(Element::Number(element))
                    }
                }
            }
        }

        deserializer.deserialize_enum("ElementType", &[], ElementVisitor)
    }
}

/// Keyword before the name of a structure.
enum Kind {
    Struct,
    Number(ElementType),
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == "Struct" {
            return Ok(Self::Struct);
        }
        ElementType::deserialize(name.into_deserializer()).map(Self::Number)
    }
}

impl<'de> Deserialize<'de> for FieldValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let node = Node::deserialize(deserializer)?;
        let given = match node.name() {
            Some(_) => from_node(&node).map(Self::Address),
            None => from_node(&node).map(Self::Number),
        };
        given.map_err(|problems| {
            let problem = problems.into_iter().next();
            let problem = problem.expect("an error has a message");
            let hint = problem.hint.map(|hint| format!("\nhint: {hint}"));
            D::Error::custom(problem.message + &hint.unwrap_or_default())
        })
    }
}

impl<N: Into<Value>> From<N> for FieldValue {
    fn from(number: N) -> Self {
        Self::Number(number.into())
    }
}

/// Kernel argument: an address, a texture object, a number of the named type, or a structure.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs)] // The variants name their types.
pub enum Argument {
    /// Address of the first byte of a buffer.
    Buffer(Name),
    /// Address within a buffer, or just past its end.
    BufferAt {
        buffer: Name,
        /// Offset in bytes from the start of the buffer.
        offset_bytes: Value,
    },
    Texture(Name),
    U8(Value),
    U16(Value),
    U32(Value),
    U64(Value),
    S8(Value),
    S16(Value),
    S32(Value),
    S64(Value),
    F16(Value),
    BF16(Value),
    F32(Value),
    F64(Value),
    /// Number of type `f32` with this bit pattern.
    F32Bits(Value),
    /// Number of type `f64` with this bit pattern.
    F64Bits(Value),
    /// Structure or array by value: its fields in order, each aligned to its size, as in C.
    Struct(Vec<Placed<Argument>>),
    /// Structure by value, with its fields given by name.
    Record(Record),
}
