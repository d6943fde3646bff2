//! Values in numbered places that are used again: transactions in flight.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// The place of a value in a [`Slab`] until the value is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place(u32);

/// Values by place. Which place a value gets depends on insertions and removals alone, and
/// survives saving and loading.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slab<T> {
    values: Vec<Option<T>>,
    /// Empty places, the next one to be used last.
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Puts a value into an empty place.
    pub(crate) fn insert(&mut self, value: T) -> Place {
        if let Some(place) = self.free.pop() {
            self.values[place as usize] = Some(value);
            return Place(place);
        }
        self.values.push(Some(value));
        Place(self.values.len() as u32 - 1)
    }

    /// Takes the value out of its place.
    ///
    /// # Panics
    /// When the place is empty.
    pub(crate) fn remove(&mut self, place: Place) -> T {
        let value = self.values[place.0 as usize].take();
        self.free.push(place.0);
        value.expect(EMPTY)
    }

    /// Values inside.
    pub(crate) fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Every value inside.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.values.iter().flatten()
    }

    /// Whether nothing is inside.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

const EMPTY: &str = "a place is used until its value is removed";

impl<T> Index<Place> for Slab<T> {
    type Output = T;

    fn index(&self, place: Place) -> &T {
        self.values[place.0 as usize].as_ref().expect(EMPTY)
    }
}

impl<T> IndexMut<Place> for Slab<T> {
    fn index_mut(&mut self, place: Place) -> &mut T {
        self.values[place.0 as usize].as_mut().expect(EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_the_last_one_left_first() {
        let mut slab = Slab::default();
        let places: Vec<_> = "abc".chars().map(|c| slab.insert(c)).collect();
        assert_eq!((slab.remove(places[0]), slab.remove(places[2])), ('a', 'c'));
        assert_eq!((slab.len(), slab[places[1]]), (1, 'b'));
        assert_eq!(slab.insert('d'), places[2]);
        slab[places[2]] = 'e';
        assert_eq!(slab.remove(places[2]), 'e');
        slab.remove(places[1]);
        assert!(slab.is_empty());
    }

    #[test]
    #[should_panic(expected = "a place is used until its value is removed")]
    fn an_empty_place_has_no_value() {
        let mut slab = Slab::default();
        let place = slab.insert(1);
        slab.remove(place);
        let _ = slab[place];
    }
}
