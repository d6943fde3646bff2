//! Types that request more than data from the deserializer. These are a value's place, the tree of
//! a part that is read later, and a list that may be written without brackets.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::Diagnostic;
use crate::node::Node;
use crate::source::Span;

/// A value with the place where it was written. Values created in Rust code have no place.
///
/// In a type that [`from_node`](crate::from_node) reads, such a field is written like the plain
/// value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed<T> {
    /// The value itself, without its place.
    pub value: T,
    /// Place in a description file, if it has one.
    pub place: Option<Span>,
}

impl<T> Placed<T> {
    /// Creates a value with its place in a file.
    pub fn at(value: T, place: &Span) -> Self {
        Self {
            value,
            place: Some(place.clone()),
        }
    }

    /// Creates an error that points at this value.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        self.blame(Diagnostic::error(message))
    }

    /// Sets the place of a message to that of this value.
    pub fn blame(&self, message: impl Into<Diagnostic>) -> Diagnostic {
        Diagnostic {
            place: self.place.clone(),
            ..message.into()
        }
    }
}

impl<T> From<T> for Placed<T> {
    fn from(value: T) -> Self {
        Self { value, place: None }
    }
}

impl From<&str> for Placed<String> {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// List of values; a single value may be written without brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMore<T>(pub Vec<T>);

/// Newtype name by which a [`Placed`] identifies itself to the deserializer.
pub(crate) const PLACED: &str = "$warpweave_params::Placed";
/// Newtype name by which a [`Node`] identifies itself to the deserializer.
pub(crate) const TREE: &str = "$warpweave_params::Node";
/// Newtype name by which a [`OneOrMore`] identifies itself to the deserializer.
pub(crate) const ONE_OR_MORE: &str = "$warpweave_params::OneOrMore";

// serde passes plain data only, neither places nor trees. The deserializer of this crate recognises
// the names above and stores the requested item here. The requesting type takes it immediately.
thread_local! {
    static PLACE: Cell<Option<Span>> = const { Cell::new(None) };
    static NODE: Cell<Option<Node>> = const { Cell::new(None) };
}

pub(crate) fn hand_over_place(place: Span) {
    PLACE.set(Some(place));
}

pub(crate) fn hand_over_tree(node: Node) {
    NODE.set(Some(node));
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PlacedVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for PlacedVisitor<T> {
            type Value = Placed<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Placed<T>, D::Error> {
                let place = PLACE.take();
                let value = T::deserialize(deserializer)?;
                Ok(Placed { value, place })
            }
        }

        deserializer.deserialize_newtype_struct(PLACED, PlacedVisitor(PhantomData))
    }
}

/// A field of this type keeps its subtree, to be read later.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NodeVisitor;

        impl Visitor<'_> for NodeVisitor {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part of a description file")
            }

            fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
                NODE.take()
                    .ok_or_else(|| E::custom("tree nodes can be read only from a description file"))
            }
        }

        deserializer.deserialize_newtype_struct(TREE, NodeVisitor)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = OneOrMore<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMore<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(OneOrMore(list))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<OneOrMore<T>, D::Error> {
                Ok(OneOrMore(vec![T::deserialize(deserializer)?]))
            }
        }

        deserializer.deserialize_newtype_struct(ONE_OR_MORE, ListVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entries, Source, from_node, parse};

    fn read<T: de::DeserializeOwned>(text: &str) -> T {
        let node = parse(&Source::new("a.ron", text)).unwrap_or_else(|error| panic!("{error}"));
        from_node(&node).unwrap_or_else(|error| panic!("{error}"))
    }

    fn place<T>(placed: &Placed<T>) -> String {
        placed.place.as_ref().expect("it was read").to_string()
    }

    #[derive(serde::Deserialize)]
    enum Step {
        Load(Placed<String>),
        Repeat { body: Vec<Placed<Step>> },
    }

    #[test]
    fn a_value_is_at_its_text_and_a_named_one_at_its_name() {
        let steps: Vec<Placed<Step>> = read("[Repeat(body: [Load(\"x\")]),\n Load(\"y\")]");
        assert_eq!(
            (place(&steps[0]), place(&steps[1])),
            ("a.ron:1:2".into(), "a.ron:2:2".into())
        );
        let Step::Repeat { body } = &steps[0].value else {
            panic!("a loop comes first");
        };
        let Step::Load(name) = &body[0].value else {
            panic!("a load is in it");
        };
        assert_eq!(
            (name.value.as_str(), place(name)),
            ("x", "a.ron:1:21".into())
        );
    }

    #[test]
    fn entries_keep_their_order_and_the_places_of_their_names() {
        let entries: Entries<u8> = read("{ \"z\": 1, \"a\": 2 }");
        let names = entries.iter().map(|(name, value)| (place(name), *value));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [("a.ron:1:3".into(), 1), ("a.ron:1:11".into(), 2)]
        );
        let fields: Entries<u8> = read("(z: 1)");
        assert_eq!(place(&fields.iter().next().expect("one").0), "a.ron:1:2");
    }

    #[test]
    fn a_part_of_the_tree_is_kept_with_its_places() {
        let parts: Entries<Node> = read("{ \"a\": Cache(ways: \"=n\") }");
        let (_, node) = parts.into_iter().next().expect("one");
        let field = node.field("ways").expect("as written");
        assert_eq!(
            (field.as_str(), field.span.to_string()),
            (Some("=n"), "a.ron:1:20".into())
        );
    }

    #[test]
    fn one_value_needs_no_brackets() {
        assert_eq!(read::<OneOrMore<u8>>("3"), OneOrMore(vec![3]));
        assert_eq!(read::<OneOrMore<u8>>("[3, 4]"), OneOrMore(vec![3, 4]));
        assert_eq!(read::<OneOrMore<u8>>("[]"), OneOrMore(vec![]));
    }

    #[test]
    fn other_formats_give_values_without_places() {
        let placed: Placed<u8> = ron::from_str("(3)").expect("a number");
        assert_eq!(placed, 3.into());
        assert!(ron::from_str::<Node>("()").is_err());
    }
}
