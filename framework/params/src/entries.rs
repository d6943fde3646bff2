//! Maps in which the order of entries is significant.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::placed::Placed;

/// Map from names to values in the order written, each name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<T> {
    list: Vec<(Placed<String>, T)>,
}

impl<T> Entries<T> {
    /// Iterates over the entries in the order written.
    pub fn iter(&self) -> std::slice::Iter<'_, (Placed<String>, T)> {
        self.list.iter()
    }

    /// Returns the number of entries in the map.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the entry with this name, if any.
    pub fn get(&self, name: &str) -> Option<&(Placed<String>, T)> {
        self.list.iter().find(|(known, _)| known.value == name)
    }

    /// Returns the entry with this name for modification, if any.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut (Placed<String>, T)> {
        self.list.iter_mut().find(|(known, _)| known.value == name)
    }

    /// Iterates over the names in the order written.
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
