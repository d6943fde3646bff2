//! Maps whose order means something.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::placed::Placed;

/// What a map from names holds, in the order written, each name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<T> {
    list: Vec<(Placed<String>, T)>,
}

impl<T> Entries<T> {
    /// The entries in order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Placed<String>, T)> {
        self.list.iter()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&(Placed<String>, T)> {
        self.list.iter().find(|(known, _)| known.value == name)
    }

    /// The entry of this name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut (Placed<String>, T)> {
        self.list.iter_mut().find(|(known, _)| known.value == name)
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.list.iter().map(|(name, _)| name.value.as_str())
    }
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<T> FromIterator<(Placed<String>, T)> for Entries<T> {
    fn from_iter<I: IntoIterator<Item = (Placed<String>, T)>>(entries: I) -> Self {
        Self {
            list: entries.into_iter().collect(),
        }
    }
}

impl<T> IntoIterator for Entries<T> {
    type Item = (Placed<String>, T);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Entries<T> {
    type Item = &'a (Placed<String>, T);
    type IntoIter = std::slice::Iter<'a, (Placed<String>, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map `{ \"name\": .. }`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(Entries { list })
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}
