//! Table of values under ids that are never mistaken for a later value's id. For transactions in
//! flight, kernels, and requests that wait for a reply.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Id of a value in an [`IdTable`]: a place, and the generation of its contents.
///
/// ```text
///   31       20 19                0
///   generation │ place
/// ```
///
/// Its 32 bits travel in messages. A place is reused immediately, but with another generation. A
/// reply that arrives twice or too late is thus detected, unless 4096 values have occupied the
/// place since.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Id(u32);

const PLACE_BITS: u32 = 20;
const GENERATIONS: u32 = 1 << (32 - PLACE_BITS);

impl Id {
    /// Maximum number of values in a table at a time.
    pub const PLACES_MAX: usize = 1 << PLACE_BITS;

    /// Converts the bits carried by a message to an id.
    #[inline]
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the bits for a message to carry.
    #[inline]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns the place, which is below the largest number of values that the table held at a
    /// time.
    #[inline]
    pub fn place(self) -> usize {
        (self.0 & (Self::PLACES_MAX as u32 - 1)) as usize
    }

    /// Returns the id of this generation and another place. For a block that combines several
    /// tables into one range of ids, or assigns several ids to one value.
    ///
    /// # Panics
    /// Panics if the place is not below [`Id::PLACES_MAX`].
    #[inline]
    pub fn with_place(self, place: usize) -> Self {
        assert!(place < Self::PLACES_MAX, "place {place} is out of range");
        Self(self.0 & !(Self::PLACES_MAX as u32 - 1) | place as u32)
    }

    /// Returns the id of the first value in a place.
    fn first(place: usize) -> Self {
        Self(place as u32)
    }

    /// Returns the id of the next value in the same place.
    #[inline]
    fn next(self) -> Self {
        // The generation is in the upper bits and wraps around.
        Self(self.0.wrapping_add(1 << PLACE_BITS))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Values by [`Id`]. Ids depend only on the sequence of insertions and removals and survive saving
/// and loading: the place freed last is reused first.
///
/// A slotmap cannot hold these values. Its keys have 64 bits, while messages return ids of 32 bits.
/// It also does not save the order in which it reuses places.
#[derive(Clone)]
pub struct IdTable<T> {
    places: Vec<Place<T>>,
    /// Places without a value; the last one is reused first.
    free: Vec<u32>,
}

#[derive(Clone)]
struct Place<T> {
    /// Id of the value, or of the last value.
    id: Id,
    value: Option<T>,
}

impl<T> Default for IdTable<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> IdTable<T> {
    /// Creates a table with room for `capacity` values before it allocates.
    ///
    /// # Panics
    /// Panics if `capacity` exceeds [`Id::PLACES_MAX`].
    pub fn with_capacity(capacity: usize) -> Self {
        assert!(
            capacity <= Id::PLACES_MAX,
            "a capacity of {capacity} exceeds the number of ids"
        );
        Self {
            places: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
        }
    }

    /// Inserts a value and returns its id.
    ///
    /// # Panics
    /// Panics if the table already holds [`Id::PLACES_MAX`] values.
    #[inline]
    pub fn insert(&mut self, value: T) -> Id {
        let value = Some(value);
        if let Some(place) = self.free.pop() {
            let place = &mut self.places[place as usize];
            place.id = place.id.next();
            place.value = value;
            return place.id;
        }
        let place = self.places.len();
        assert!(place < Id::PLACES_MAX, "more values than ids");
        let id = Id::first(place);
        self.places.push(Place { id, value });
        id
    }

    /// Returns the value of this id, if it is still present.
    #[inline]
    pub fn get(&self, id: Id) -> Option<&T> {
        let place = self.places.get(id.place())?;
        place.value.as_ref().filter(|_| place.id == id)
    }

    /// Returns the value like [`IdTable::get`], for modification.
    #[inline]
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let place = self.places.get_mut(id.place())?;
        place.value.as_mut().filter(|_| place.id == id)
    }

    /// Removes and returns the value of this id, if it is still present.
    #[inline]
    pub fn remove(&mut self, id: Id) -> Option<T> {
        let place = self.places.get_mut(id.place())?;
        if place.id != id {
            return None;
        }
        let value = place.value.take()?;
        self.free.push(id.place() as u32);
        Some(value)
    }

    /// Returns the number of values in the table.
    #[inline]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// True if the table holds no values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over all values with their ids, in the order of places.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        let places = self.places.iter();
        places.filter_map(|place| Some((place.id, place.value.as_ref()?)))
    }

    /// Iterates over all values, in the order of places.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }
}

const GONE: &str = "ids are used only until their value is removed";

impl<T> Index<Id> for IdTable<T> {
    type Output = T;

    /// # Panics
    /// Panics if the value is not present.
    #[inline]
    fn index(&self, id: Id) -> &T {
        self.get(id).expect(GONE)
    }
}

impl<T> IndexMut<Id> for IdTable<T> {
    /// # Panics
    /// Panics if the value is not present.
    #[inline]
    fn index_mut(&mut self, id: Id) -> &mut T {
        self.get_mut(id).expect(GONE)
    }
}

impl<T: fmt::Debug> fmt::Debug for IdTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Saved contents of a table, including the state that determines future ids.
#[derive(Serialize, Deserialize)]
struct Saved<T> {
    /// Generation and value of each place.
    values: Vec<(u32, Option<T>)>,
    /// Places without a value, the next one to be reused first.
    free: Vec<usize>,
}

impl<T: Serialize> Serialize for IdTable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let places = self.places.iter();
        let values = places.map(|place| (place.id.bits() >> PLACE_BITS, place.value.as_ref()));
        let free = self.free.iter().rev().map(|place| *place as usize);
        Saved {
            values: values.collect(),
            free: free.collect(),
        }
        .serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for IdTable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Saved::<T>::deserialize(deserializer)?;
        Self::restore(saved).map_err(serde::de::Error::custom)
    }
}

impl<T> IdTable<T> {
    fn restore(saved: Saved<T>) -> Result<Self, &'static str> {
        let Saved { values, free } = saved;
        if values.len() > Id::PLACES_MAX {
            return Err("more values than ids");
        }
        let mut table = Self::with_capacity(values.len());
        let mut is_free = Vec::with_capacity(values.len());
        for (place, (generation, value)) in values.into_iter().enumerate() {
            if generation >= GENERATIONS {
                return Err("an id generation is out of range");
            }
            is_free.push(value.is_none());
            let id = Id(generation << PLACE_BITS | place as u32);
            table.places.push(Place { id, value });
        }
        for place in free.into_iter().rev() {
            if !is_free.get_mut(place).is_some_and(std::mem::take) {
                return Err("a place is listed as free twice, or as both taken and free");
            }
            table.free.push(place as u32);
        }
        if is_free.contains(&true) {
            return Err("some places are neither taken nor free");
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_used_again_the_last_one_left_first() {
        let mut table = IdTable::default();
        let ids: Vec<Id> = "abc".chars().map(|c| table.insert(c)).collect();
        assert_eq!(
            ids.iter().map(|id| id.bits()).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert_eq!(table.remove(ids[0]), Some('a'));
        assert_eq!(table.remove(ids[2]), Some('c'));
        assert_eq!((table.len(), table[ids[1]]), (1, 'b'));
        let d = table.insert('d');
        assert_eq!(d.place(), ids[2].place());
        table[d] = 'e';
        assert_eq!(table.values().collect::<String>(), "be");
        assert_eq!(table.remove(d), Some('e'));
        table.remove(ids[1]);
        assert!(table.is_empty());
    }

    #[test]
    fn the_id_of_a_value_that_is_gone_finds_nothing() {
        let mut table = IdTable::default();
        let first = table.insert(1);
        table.remove(first);
        let second = table.insert(2);
        assert_eq!(first.place(), second.place());
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!(table.get(second), Some(&2));
        assert_eq!(table.get(Id::from_bits(77)), None);
    }

    #[test]
    #[should_panic(expected = "ids are used only until their value is removed")]
    fn a_value_that_is_gone_cannot_be_indexed() {
        let mut table = IdTable::default();
        let id = table.insert(1);
        table.remove(id);
        let _ = table[id];
    }

    #[test]
    fn damaged_tables_are_refused() {
        let restored = |values, free| IdTable::<u8>::restore(Saved { values, free }).map(|_| ());
        assert_eq!(restored(vec![(4095, Some(1)), (0, None)], vec![1]), Ok(()));
        for (values, free) in [
            (vec![(4096, Some(1))], vec![]),
            (vec![(0, None)], vec![]),
            (vec![(0, Some(1))], vec![0]),
            (vec![(0, None), (0, Some(1))], vec![1]),
            (vec![(0, None), (0, None)], vec![1, 1]),
            (vec![(0, None)], vec![7]),
        ] {
            assert!(restored(values, free).is_err());
        }
    }

    proptest! {
        /// Compares the table with a map from ids to values and a list of free places. Saves and
        /// loads it at random times and expects the same ids afterwards.
        #[test]
        fn it_is_a_map_whose_ids_are_not_used_again(
            steps in proptest::collection::vec((0_u8..4, any::<proptest::sample::Index>()), 0..200),
        ) {
            let mut table = IdTable::default();
            let mut model: Vec<(Id, usize)> = Vec::new();
            let mut left: Vec<usize> = Vec::new();
            let mut gone: Vec<Id> = Vec::new();
            for (n, (what, which)) in steps.into_iter().enumerate() {
                match what {
                    0 if !model.is_empty() => {
                        let (id, value) = model.remove(which.index(model.len()));
                        prop_assert_eq!(table.remove(id), Some(value));
                        left.push(id.place());
                        gone.push(id);
                    }
                    1 => {
                        let bytes = postcard::to_stdvec(&table).unwrap();
                        table = postcard::from_bytes(&bytes).unwrap();
                        prop_assert_eq!(postcard::to_stdvec(&table).unwrap(), bytes);
                    }
                    _ => {
                        let id = table.insert(n);
                        prop_assert!(!gone.contains(&id));
                        prop_assert_eq!(id.place(), left.pop().unwrap_or(model.len()));
                        model.push((id, n));
                    }
                }
                prop_assert_eq!(table.len(), model.len());
                prop_assert!(model.iter().all(|(id, value)| table.get(*id) == Some(value)));
                prop_assert!(gone.iter().all(|id| table.get(*id).is_none()));
                model.sort_by_key(|(id, _)| id.place());
                prop_assert!(table.iter().map(|(id, v)| (id, *v)).eq(model.iter().copied()));
            }
        }
    }
}
