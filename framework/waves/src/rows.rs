//! Assignment of timeline rows to things that overlap in time.

use std::collections::BTreeMap;

use crate::perfetto::Track;

/// Key of a set of rows: component and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) component: u32,
    pub(crate) row: Row,
}

/// Type of content shown in a component's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    /// Things of this kind within the component.
    Thing(&'static str),
    /// Messages in this channel, by channel number.
    Channel(u32),
}

impl Key {
    pub(crate) fn thing(component: u32, name: &'static str) -> Self {
        Self {
            component,
            row: Row::Thing(name),
        }
    }

    pub(crate) fn channel(component: u32, channel: u32) -> Self {
        Self {
            component,
            row: Row::Channel(channel),
        }
    }
}

/// All rows of the timeline. A new thing takes the first free row of its kind.
#[derive(Default)]
pub(crate) struct Rows {
    rows: BTreeMap<Key, Vec<(Track, Option<Slice>)>>,
}

/// Slice that is open on a row.
struct Slice {
    id: u64,
    /// True if a slice with its wait reason is open inside.
    held: bool,
}

impl Rows {
    pub(crate) fn first_free(&self, key: Key) -> usize {
        let rows = self.rows.get(&key).map_or(&[][..], Vec::as_slice);
        let free = rows.iter().position(|(_, slice)| slice.is_none());
        free.unwrap_or(rows.len())
    }

    pub(crate) fn track(&self, key: Key, at: usize) -> Option<Track> {
        self.rows.get(&key)?.get(at).map(|(track, _)| *track)
    }

    pub(crate) fn add(&mut self, key: Key, track: Track) {
        self.rows.entry(key).or_default().push((track, None));
    }

    pub(crate) fn take(&mut self, key: Key, at: usize, id: u64) {
        if let Some(rows) = self.rows.get_mut(&key) {
            rows[at].1 = Some(Slice { id, held: false });
        }
    }

    /// Frees the row that shows `id`. Returns its track, and true if it was waiting.
    pub(crate) fn free(&mut self, key: Key, id: u64) -> Option<(Track, bool)> {
        let rows = self.rows.get_mut(&key)?;
        let (track, slice) = rows
            .iter_mut()
            .find(|(_, slice)| slice.as_ref().is_some_and(|slice| slice.id == id))?;
        slice.take().map(|slice| (*track, slice.held))
    }

    /// Sets whether the thing on the row of `id` waits. Returns true if it waited before.
    pub(crate) fn hold(
        &mut self,
        key: Key,
        id: u64,
        because: Option<&'static str>,
    ) -> Option<(Track, bool)> {
        let rows = self.rows.get_mut(&key)?;
        rows.iter_mut().find_map(|(track, slice)| {
            let slice = slice.as_mut().filter(|slice| slice.id == id)?;
            let before = std::mem::replace(&mut slice.held, because.is_some());
            Some((*track, before))
        })
    }

    /// Iterates over the occupied rows, with true for those that wait.
    pub(crate) fn open(&self) -> impl Iterator<Item = (Track, bool)> {
        let rows = self.rows.values().flatten();
        rows.filter_map(|(track, slice)| slice.as_ref().map(|slice| (*track, slice.held)))
    }
}
