//! The tree read from a description file: every value with its place, names and order kept.

use crate::printable::shortened;
use crate::source::Span;

/// Maximum number of characters of a value's name that messages show.
const NAME_SHOWN: usize = 40;

/// One value and where it was written.
///
/// Equality compares values and ignores places.
#[derive(Clone, Debug)]
pub struct Node {
    /// Type and contents of the value.
    pub kind: Kind,
    /// Place of the value, from its first to its last character.
    pub span: Span,
}

/// Type and contents of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Unit value, written `()` in a description file.
    Unit,
    /// Boolean value, written `true` or `false`.
    Bool(bool),
    /// An integer that fits 64 bits, signed or unsigned.
    Int(i128),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// Character, written `'c'` in a description file.
    Char(char),
    /// String with its escape sequences already resolved.
    Text(String),
    /// Optional value, written `None` or `Some(value)`.
    Option(Option<Box<Node>>),
    /// List of values, written `[a, b]` in a file.
    List(Vec<Node>),
    /// Map, written `{ key: value }`; entries in the order written.
    Map(Vec<(Node, Node)>),
    /// Bare name without parentheses, such as `Lru`.
    Name(Name),
    /// Named fields, as in `(a: 1)` or `Name(a: 1)`; also `Name()`.
    Struct(Struct),
    /// Positional elements, as in `(a, b)` or `Name(a, b)`.
    Tuple(Tuple),
}

/// A name as written, with its place.
#[derive(Clone, Debug)]
pub struct Name {
    /// Text of the name as it is written.
    pub text: String,
    /// Place of the name in the source text.
    pub span: Span,
}

/// A value with named fields and an optional name.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// The name before the parenthesis, if any.
    pub name: Option<Name>,
    /// Fields in the order written, no name twice.
    pub fields: Vec<Field>,
}

/// One `name: value` pair of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name of the field with its place.
    pub name: Name,
    /// Value given to the field in the file.
    pub value: Node,
}

/// A value with positional elements and an optional name.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuple {
    /// The name before the parenthesis, if any.
    pub name: Option<Name>,
    /// Elements in order; there is at least one.
    pub items: Vec<Node>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Kind {
    /// Describes the value in words for a message: "integer `3`", "struct `Cache`".
    pub(crate) fn describe(&self) -> String {
        match self {
            Kind::Unit => "unit `()`".to_owned(),
            Kind::Bool(value) => format!("boolean `{value}`"),
            Kind::Int(value) => format!("integer `{value}`"),
            Kind::Float(value) => format!("number `{value}`"),
            Kind::Char(value) => format!("character {value:?}"),
            Kind::Text(text) if text.chars().count() > 40 => "a string".to_owned(),
            Kind::Text(text) => format!("string {text:?}"),
            Kind::Option(None) => "`None`".to_owned(),
            Kind::Option(Some(_)) => "`Some(..)`".to_owned(),
            Kind::List(_) => "a list `[..]`".to_owned(),
            Kind::Map(_) => "a map `{..}`".to_owned(),
            Kind::Name(name) => format!("`{}`", shortened(&name.text, NAME_SHOWN)),
            Kind::Struct(Struct {
                name: Some(name), ..
            })
            | Kind::Tuple(Tuple {
                name: Some(name), ..
            }) => format!("`{}(..)`", shortened(&name.text, NAME_SHOWN)),
            Kind::Struct(_) => "a struct `(field: ..)`".to_owned(),
            Kind::Tuple(_) => "a tuple `(..)`".to_owned(),
        }
    }

    /// Returns the number of values, this one and all nested ones included, and the number of
    /// nesting levels.
    pub(crate) fn extent(&self) -> (usize, usize) {
        let of_nodes = |nodes: &mut dyn Iterator<Item = &Node>| {
            nodes.fold((1, 1), |(values, levels), node| {
                let inner = node.kind.extent();
                (values + inner.0, levels.max(inner.1 + 1))
            })
        };
        match self {
            Self::Option(Some(inner)) => of_nodes(&mut std::iter::once(&**inner)),
            Self::List(items) | Self::Tuple(Tuple { items, .. }) => of_nodes(&mut items.iter()),
            Self::Map(entries) => {
                of_nodes(&mut entries.iter().flat_map(|(key, value)| [key, value]))
            }
            Self::Struct(value) => of_nodes(&mut value.fields.iter().map(|field| &field.value)),
            _ => (1, 1),
        }
    }
}

impl Node {
    /// Creates a value with its place in a text.
    pub fn new(kind: Kind, span: Span) -> Self {
        Self { kind, span }
    }

    /// Returns the approximate memory size of the value in bytes.
    pub fn bytes(&self) -> u64 {
        let mut bytes = 0;
        self.walk(&mut |node| {
            let text = match &node.kind {
                Kind::Text(text) => text.len(),
                _ => node.name().map_or(0, |name| name.text.len()),
            };
            let fields = node.fields();
            let names = fields.iter().map(|field| field.name.text.len());
            let fields = names.sum::<usize>() + fields.len() * size_of::<Name>();
            bytes += (size_of::<Self>() + text + fields) as u64;
        });
        bytes
    }

    /// Calls `visit` for this value and every value inside it.
    pub(crate) fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n Self)) {
        visit(self);
        match &self.kind {
            Kind::Option(Some(inner)) => inner.walk(visit),
            Kind::List(items) | Kind::Tuple(Tuple { items, .. }) => {
                for item in items {
                    item.walk(visit);
                }
            }
            Kind::Map(entries) => entries.iter().for_each(|(key, value)| {
                key.walk(visit);
                value.walk(visit);
            }),
            Kind::Struct(value) => {
                let fields = value.fields.iter();
                fields.for_each(|field| field.value.walk(visit));
            }
            _ => {}
        }
    }

    /// Returns the name of `Name` or `Name(..)`, if there is one.
    pub fn name(&self) -> Option<&Name> {
        match &self.kind {
            Kind::Name(name) => Some(name),
            Kind::Struct(Struct { name, .. }) | Kind::Tuple(Tuple { name, .. }) => name.as_ref(),
            _ => None,
        }
    }

    /// Returns the place to point at for the whole value: its name, or its first character if it
    /// spans lines.
    pub fn head_span(&self) -> Span {
        match self.name() {
            Some(name) => name.span.clone(),
            None if self.span.text().contains('\n') => self.span.head(),
            None => self.span.clone(),
        }
    }

    /// Returns the fields of a struct in order; empty for anything else.
    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Struct(value) => &value.fields,
            _ => &[],
        }
    }

    /// Returns the value of one field of a struct.
    pub fn field(&self, name: &str) -> Option<&Node> {
        self.fields()
            .iter()
            .find(|field| field.name.text == name)
            .map(|field| &field.value)
    }

    /// Returns the entries of a map in order; empty for anything else.
    pub fn entries(&self) -> &[(Node, Node)] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the elements of a list or tuple; empty for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) | Kind::Tuple(Tuple { items, .. }) => items,
            _ => &[],
        }
    }

    /// Returns the text if the value is a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number if the value is an integer.
    pub fn as_int(&self) -> Option<i128> {
        match self.kind {
            Kind::Int(value) => Some(value),
            _ => None,
        }
    }

    /// Describes the value in words for a message: "integer `3`", "struct `Cache`".
    pub fn describe(&self) -> String {
        self.kind.describe()
    }

    /// Calls `visit` for this value and then every value inside it, in the order written.
    pub fn walk_mut(&mut self, visit: &mut impl FnMut(&mut Node)) {
        visit(self);
        self.each_child_mut(&mut |child| child.walk_mut(visit));
    }

    /// Calls `visit` for every value directly inside this one, in the order written.
    pub fn each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        match &mut self.kind {
            Kind::Option(Some(inner)) => visit(inner),
            Kind::List(items) | Kind::Tuple(Tuple { items, .. }) => {
                items.iter_mut().for_each(visit);
            }
            Kind::Map(entries) => {
                for (key, value) in entries {
                    visit(key);
                    visit(value);
                }
            }
            Kind::Struct(value) => {
                value
                    .fields
                    .iter_mut()
                    .for_each(|field| visit(&mut field.value));
            }
            _ => {}
        }
    }
}
